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

/** The document that `encode` of wire.py was given; the browser itself inflates it. */
export async function decode(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return unpack(await new Response(inflated).json());
}
