// Reading and judging answers without a kernel: the twin of tracing/answers.py, and which question comes next.
// What is right and which wrong number belongs to which misconception stands in the question already.

const RELATIVE = 5e-3, ABSOLUTE = 1e-6;
const SIGNS = { "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/" };
const HELP = "Write a number, please, like 24, -0.5, 1/3 or [1, 2].";
const plainSigns = (text) => text.trim().replace(/[\u2212\u2013\u00d7\u00b7\u00f7]/g, (c) => SIGNS[c]);
const called = (text) => text.match(/^(?:torch\.)?(?:tensor|size|array)\(([\s\S]*)\)$/i)?.[1] ?? text;

/** The text is no answer of the kind that was asked for; the message says what would be. */
export class AnswerError extends Error {}

/** What a text says: null for None, {x, slack} for a number, or nested lists of them. */
export function read(text) {
  text = plainSigns(text).replaceAll("^", "**");
  if (/^(none|null|nothing)$/i.test(text)) return null;
  return new Reader(called(text)).everything();
}

/** What a text says where one number is asked for; throws AnswerError for "0,5", which reads as two. */
export function readOne(text) {
  const [, whole, decimals] = plainSigns(text).match(/^([-+]?\d+),(\d+)$/) ?? [];
  if (whole) throw new AnswerError(`The question asks for one number, and a comma stands between two: write ${whole}.${decimals} with a point.`);
  return read(text);
}

/** The sizes in "(2, 3)", "[2, 3]", "2x3", "2 3"; "()", "[]" and "scalar" have none. */
export function readShape(text) {
  text = called(plainSigns(text)).trim();
  if (["scalar", "()", "[]"].includes(text.toLowerCase())) return [];
  const found = text.match(/^[[(]?\s*(\d+(?:\s*[x*,\s]\s*\d+)*)?\s*,?\s*[\])]?$/i);
  if (!found?.[1]) throw new AnswerError("Write a shape like 2x3, [2, 3] or (), please.");
  return found[1].match(/\d+/g).map(Number);
}

const flattened = (data) => (Array.isArray(data) ? data.flatMap(flattened) : [data]);
const float = (x) => (x === "nan" ? NaN : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x);

/** Whether an answer that was read is `right`: a number, nested lists of numbers, or null. */
export function same(given, right) {
  if (given === null || right === null) return given === right;
  if (Array.isArray(given) !== Array.isArray(right)) { // [24] and 24 are the same number
    [given, right] = [flattened(given), flattened(right)];
    return given.length === 1 && right.length === 1 && agree(given, right);
  }
  return agree(given, right);
}

function agree(given, right) {
  if (Array.isArray(right)) return Array.isArray(given) && given.length === right.length && right.every((r, i) => agree(given[i], r));
  if (Array.isArray(given)) return false;
  const wanted = float(right);
  if (!Number.isFinite(wanted)) return Object.is(given.x, wanted);
  return Math.abs(given.x - wanted) <= Math.max(RELATIVE * Math.abs(wanted), given.slack * (1 + 1e-9), ABSOLUTE);
}

/** What an answer is worth: {verdict, misconception, note}; throws AnswerError if it is no answer to the question. */
export function judge(question, given) {
  const { type, options, answer, wrong } = question, verdict = (name, misconception = "", note = "") => ({ verdict: name, misconception, note });
  if (type === "node") {
    const found = options.find(([n]) => n === given);
    return found && verdict(found[1], found[2], found[3]);
  }
  let right, wrongs;
  if (type === "choice") {
    const word = given.trim().toLowerCase(), chosen = options.filter((option) => word && option.toLowerCase().startsWith(word));
    if (chosen.length !== 1) throw new AnswerError(`Answer one of: ${options.join(", ")}.`);
    right = chosen[0] === answer;
    wrongs = wrong.filter(([, value]) => value === chosen[0]);
  } else if (type === "shape") {
    const shape = readShape(given), equal = (other) => other.length === shape.length && other.every((size, i) => size === shape[i]);
    right = equal(answer);
    wrongs = wrong.filter(([, value]) => equal(value));
  } else {
    const value = (Array.isArray(answer) ? read : readOne)(given);
    right = same(value, answer);
    wrongs = wrong.filter(([, other]) => same(value, other));
    if (!right && !wrongs.length && value !== null && answer !== null && agree(flattened(value), flattened(answer))) {
      wrongs = [["shape", null, `These are the right numbers, in another shape: it is ${question.shown}.`]];
    }
  }
  return right ? verdict("right") : verdict("wrong", wrongs[0]?.[0], wrongs[0]?.[2]);
}

/** Why a node that is not ready cannot be next; `texts` are STANDING of tracing/questions.py. */
export function standing(texts, name, [status, arrived, of]) {
  const [misconception, sentence] = texts[status] ?? texts.made;
  return { verdict: "wrong", misconception, note: sentence.replace(/\{(\d)\}/g, (_, i) => [name, arrived, of][i]) };
}

const ALWAYS = 1, ASKED = 2, ENGINE = 4;

/** The numbers of the questions that belong to a mode. */
export function asked(questions, mode, kinds) {
  const level = mode === "engine" ? ENGINE : kinds.length ? ASKED : ALWAYS;
  const all = questions.map((_, i) => i);
  if (mode === "watch") return [];
  return all.filter((i) => questions[i].level & level && (mode === "engine" || !kinds.length || kinds.includes(questions[i].kind)));
}

/** Whether a question is done with: a prediction always, the engine's when it was right, ready or shown. */
export const settles = (record) => record.mode === "predict" || record.verdict !== "wrong";

/** The questions that are still to be answered. `seen`: what has been shown cannot be predicted. */
export function unanswered(questions, numbers, log, run, seen) {
  const settled = new Set(log.filter((r) => r.run === run && settles(r)).map((r) => r.id));
  return numbers.filter((i) => questions[i].k > seen && !settled.has(i));
}

/** How the first tries of this round went. */
export function tally(log, run, of) {
  const first = new Map();
  for (const r of log) if (r.run === run && !first.has(r.id)) first.set(r.id, r.verdict);
  const count = (verdict) => [...first.values()].filter((v) => v === verdict).length;
  return { right: count("right"), ready: count("ready"), wrong: count("wrong"), shown: count("shown"), open: of - first.size, of };
}

/** A reader of arithmetic and lists: numbers, + - * / **, parentheses, brackets. */
class Reader {
  constructor(text) {
    const token = /\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\*\*|[-+*/()[\],]|nan|inf(?:inity)?)/iy;
    text = text.trim();
    this.tokens = []; // token, space before it, space after it
    while (token.lastIndex < text.length) {
      const from = token.lastIndex, found = token.exec(text);
      if (!found) throw new AnswerError(HELP);
      this.tokens.push([found[1].toLowerCase(), /\s/.test(text[from]), /\s/.test(text[token.lastIndex] ?? "")]);
    }
    this.at = this.depth = 0;
  }

  everything() {
    const items = this.items("");
    if (!items.length) throw new AnswerError(HELP);
    return items.length === 1 ? items[0] : items;
  }

  /** Values up to `end`, separated by commas or spaces. */
  items(end) {
    const items = [];
    while (this.peek() !== end) {
      if (this.peek() === "") throw new AnswerError("A bracket is not closed.");
      items.push(this.value());
      if (this.peek() === ",") this.take();
    }
    if (end) this.take();
    return items;
  }

  value() {
    if (this.peek() !== "[") return this.sum();
    this.take();
    this.depth++;
    const items = this.items("]");
    this.depth--;
    return items;
  }

  sum() {
    let value = this.product();
    while (["+", "-"].includes(this.peek()) && !this.startsItem()) {
      const sign = this.take(), other = this.product();
      value = exact(sign === "+" ? value.x + other.x : value.x - other.x);
    }
    return value;
  }

  /** In a list, "3 -2" are two numbers, as NumPy prints them. */
  startsItem() {
    const [, before, after] = this.tokens[this.at];
    return this.depth > 0 && before && !after;
  }

  product() {
    let value = this.signed();
    while (["*", "/"].includes(this.peek())) {
      const sign = this.take(), other = this.signed();
      if (sign === "/" && other.x === 0) throw new AnswerError("That divides by zero.");
      value = exact(sign === "*" ? value.x * other.x : value.x / other.x);
    }
    return value;
  }

  signed() {
    if (["+", "-"].includes(this.peek())) {
      const sign = this.take(), value = this.signed();
      return sign === "-" ? { x: -value.x, slack: value.slack } : value;
    }
    let value = this.atom();
    if (this.peek() === "**") {
      this.take();
      const power = this.signed();
      if ((value.x === 0 && power.x < 0) || (value.x < 0 && !Number.isInteger(power.x)) || Math.abs(power.x) > 99) {
        throw new AnswerError("That power is not a number.");
      }
      value = exact(value.x ** power.x);
    }
    return value;
  }

  atom() {
    const token = this.take();
    if (token === "(") {
      const value = this.sum();
      if (this.take() !== ")") throw new AnswerError("A parenthesis is not closed.");
      return { x: value.x, slack: 0 };
    }
    if (token === "nan") return { x: NaN, slack: 0 };
    if (token.startsWith("inf")) return { x: Infinity, slack: 0 };
    if (!/^[\d.]/.test(token)) throw new AnswerError(HELP);
    const [digits, exponent] = token.split("e"), [whole, decimals = ""] = digits.split(".");
    const bare = !decimals || (whole + decimals).replace(/^0+/, "").length < 2;
    return { x: Number(token), slack: bare ? 0 : 0.5 * 10 ** (Number(exponent ?? 0) - decimals.length) };
  }

  peek() { return this.tokens[this.at]?.[0] ?? ""; }

  take() {
    const token = this.peek();
    this.at++;
    return token;
  }
}

function exact(x) {
  if (Math.abs(x) === Infinity) throw new AnswerError("That number is too large.");
  return { x, slack: 0 };
}
