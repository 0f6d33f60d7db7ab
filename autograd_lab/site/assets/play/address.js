// A program and a step in an address: #p=<the program, deflated, in base64url>&s=<the step>. What stands behind # is sent to nobody.

/** So many characters may stand behind #; longer addresses are cut by what passes them on. */
export const MOST = 8000;
const MOST_PROGRAM = 200_000; // bytes: a short address can unfold to millions

export class DamagedLink extends Error {}

/** What stands behind # for a program at a step. */
export async function toFragment(program, step) {
  const packed = await through(new CompressionStream("deflate"), new TextEncoder().encode(program), Infinity);
  let text = "";
  for (let i = 0; i < packed.length; i += 4096) text += String.fromCharCode(...packed.subarray(i, i + 4096));
  return `#p=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}${step ? `&s=${step}` : ""}`;
}

/** The program and the step of an address, null if there is none. Throws DamagedLink, with a sentence for the reader. */
export async function fromFragment(fragment) {
  const link = fragment.replace(/^#/, "").replace(/([)\]}>.,;:!?"']|%(22|3E))+$/, ""); // a text around the link is often taken for a part of it
  const found = new Map(link.split("&").map((part) => [part.slice(0, 2), part.slice(2)]));
  const packed = found.get("p="), step = found.get("s=") ?? "";
  if (packed === undefined) return null;
  try {
    if (!/^[\w-]+$/.test(packed)) throw new TypeError("characters that are not of base64url");
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const program = await through(new DecompressionStream("deflate"), bytes, MOST_PROGRAM);
    return { program: new TextDecoder("utf-8", { fatal: true }).decode(program), step: /^\d{1,9}$/.test(step) ? Number(step) : 0 };
  } catch (error) { // of the browser's decoders, each with errors of its own
    throw new DamagedLink(`This link is damaged, and its program cannot be read: a part was probably cut off on its way. Ask for the link once more, or paste the program here. (${error.message})`);
  }
}

/** The first 16 hex digits of the program's SHA-256: the name of its trace, if the site has one. Browsers have it too, but at safe addresses only. */
export function digest(program) {
  const bytes = new TextEncoder().encode(program), blocks = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(blocks.buffer).set(bytes);
  blocks.setUint8(bytes.length, 0x80);
  blocks.setBigUint64(blocks.byteLength - 8, BigInt(bytes.length) * 8n);
  const state = new Uint32Array(SQUARES), w = new Uint32Array(64), turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < blocks.byteLength; at += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) w[i] = blocks.getUint32(at + 4 * i);
      else w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3)) + w[i - 7] + (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + CUBES[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { state[i] += x; });
  }
  return [state[0], state[1]].map((x) => x.toString(16).padStart(8, "0")).join("");
}

const PRIMES = [...Array(312).keys()].slice(2).filter((n) => ![...Array(n).keys()].slice(2).some((k) => n % k === 0));
const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
const SQUARES = PRIMES.slice(0, 8).map((n) => fraction(Math.sqrt(n))), CUBES = PRIMES.map((n) => fraction(Math.cbrt(n)));

async function through(stream, bytes, most) {
  const writer = stream.writable.getWriter(), parts = [];
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => {}); // the reader sees the same error
  let size = 0;
  const reader = stream.readable.getReader();
  for (let one = await reader.read(); !one.done; one = await reader.read()) {
    size += one.value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new RangeError("it is too long");
    }
    parts.push(one.value);
  }
  await written;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}
