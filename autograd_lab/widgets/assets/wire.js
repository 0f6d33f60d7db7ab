// The film as it travels: deflated columns become the document again. widgets/wire.py says what the packed form is.

/** What `pack` of wire.py was given. */
export function unpack([kind, a, b]) {
  switch (kind) {
    case "=": return a;
    case "@": return Object.fromEntries(Object.entries(a).map(([key, value]) => [key, unpack(value)]));
    case "*": return new Array(a).fill(b);
    case "+":
      for (let i = a; i < b.length; i++) b[i] += b[i - a];
      return b;
    case "$": return unpack(b).map((i) => a[i]);
    case "|": {
      const columns = b.map(unpack);
      return columns[0].map((_, i) => columns.map((column) => column[i]));
    }
    case "#": {
      const columns = b.map(unpack);
      return columns[0].map((_, i) => {
        const record = {};
        for (let c = 0; c < a.length; c++) record[a[c]] = columns[c][i];
        return record;
      });
    }
    case "/": {
      const flat = unpack(b);
      let start = 0;
      return unpack(a).map((length) => flat.slice(start, start += length));
    }
  }
  throw new Error(`The stepper cannot read this film: it is packed as ${JSON.stringify(kind)}. Run the cell again.`);
}

/** What `new` was for `difference(old, new)` of wire.py; `old` stays as it is, and is part of the result where that is the same. */
export function changed(old, packed) {
  const [kind, a] = packed;
  if (kind === "&") {
    const record = { ...old };
    for (const [key, part] of Object.entries(a)) record[key] = changed(old[key], part);
    return record;
  }
  if (kind === "~") {
    const [, , places, parts, more] = packed, list = old.slice(0, a);
    if (more) list.push(...unpack(more));
    places.forEach((i, j) => { list[i] = changed(old[i], parts[j]); });
    return list;
  }
  if (kind !== "<") return unpack(packed);
  const texts = [];
  let next = -1; // the place after the text taken last
  for (const one of a) {
    if (typeof one === "string") texts.push(one);
    else if (one >= 0) { texts.push(old[one]); next = one + 1; } else { texts.push(...old.slice(next, next - one - 1)); next += -1 - one; }
  }
  return texts;
}

/** The document that `encode` of wire.py was given; the browser itself inflates it. */
export async function decode(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return unpack(await new Response(inflated).json());
}
