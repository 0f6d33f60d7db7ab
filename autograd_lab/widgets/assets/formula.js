// The rules' texts as MathML: "g * (1 - y ** 2)" becomes a formula that looks like one and that screen readers can read.
// The texts mix arithmetic with words ("g where y > 0"): what does not parse as arithmetic is set as words.
import { escape } from "./core.js";

const NUMBERED = /^([\u2080-\u2089]+)(\u2032*)((?:\.\p{L}+)*)$/u; // tells tensors of one name apart: see tracing/called.py
const WORDS = new Set(["of", "or", "to", "and", "over", "the", "with", "if", "else", "where", "by", "only", "for", "in", "from", "along", "is", "as", "at", "so", "not"]);
const RULE_TOKEN = /\s+|\d+\.?\d*(?:e[+-]?\d+)?|\p{L}[\p{L}\p{Nd}_]*'s|\p{L}[\p{L}\p{M}\p{Nd}]*(?:[_.][\p{L}\p{M}\p{Nd}]+)*_*(?:[\u2080-\u2089]+\u2032*(?:\.\p{L}+)*)?|[\u2080-\u2089]+\u2032*(?:\.\p{L}+)*|_[\p{L}\p{Nd}_]+|#\d+|\*\*|\.\.\.?|:=|<-|[<>!=+]=|./gu;
const GREEK = { pi: "\u03c0", alpha: "\u03b1", beta: "\u03b2", gamma: "\u03b3", delta: "\u03b4", lambda: "\u03bb", Phi: "\u03a6", phi: "\u03c6" };
const FUNCTIONS = new Set(["log", "exp", "sqrt", "sin", "cos", "tan", "tanh", "sign", "det", "diag", "max", "min", "mean", "norm", "sigmoid", "skew"]);
const RELATIONS = { "=": "=", "==": "=", "<": "<", ">": ">", "<=": "\u2264", ">=": "\u2265", "!=": "\u2260", ":=": "\u2254", "<-": "\u2190", "~": "~", "+=": "+=" };
const PRODUCTS = { "*": "\u00d7", "/": "/", "@": "@", kron: "\u2297", mod: "mod" };

const BREAK = "\u2063"; // where a line may be broken; fractions, roots and powers stay whole
const LONGEST = 44; // a fraction or root with more letters would be wider than its pane: it stands on the line, which may be broken
const isWide = (part) => part.replace(/<[^>]*>/g, "").length > LONGEST;
const xml = (name, ...inner) => `<${name}>${/^m[fs]/.test(name) ? inner.join("").replaceAll(BREAK, "").replace(/(mrow)>/g, "$1 >") : inner.join("")}</${name}>`;
const variable = (name) => `<mi class="agl-var">${escape(name)}</mi>`; // italics by the style sheet: few fonts have the letters of mathematics
const mo = (sign) => `<mo>${escape(sign)}</mo>${",;=+\u00d7".includes(sign) ? BREAK : ""}`;
const mrow = (...parts) => (parts.length === 1 ? parts[0] : xml("mrow", ...parts));
const isName = (token) => /^[\p{L}_]/u.test(token ?? "");
const isNumber = (token) => /^\d/.test(token ?? "");

class RuleParser {
  constructor(text, names) {
    this.tokens = [...text.matchAll(RULE_TOKEN)].map((m) => m[0]).filter((t) => t.trim());
    this.names = names;
    this.inner = new Map(); // what stood in parentheses -> the same without them
    this.i = 0;
  }

  get next() { return this.tokens[this.i]; }
  take(token) { return this.next === token ? (this.i++, true) : false; }

  /** Everything: formulas where there are some, words between them. */
  all() {
    const parts = [];
    let words = [];
    const flush = () => { if (words.length) parts.push(`<mtext>${parts.length ? "\u00a0" : ""}${escape(words.join(" "))}\u00a0</mtext>${words.at(-1) === "=" ? BREAK : ""}`); words = []; };
    while (this.i < this.tokens.length) {
      const start = this.i;
      if (this.isWord()) words.push(this.tokens[this.i++]);
      else {
        let found;
        try { found = this.relation(); } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          this.i = start;
        }
        if (found !== undefined) { flush(); parts.push(found); }
        else if (/^[,;:]$/.test(this.next)) { flush(); parts.push(mo(this.tokens[this.i++])); }
        else words.push(this.tokens[this.i++]);
      }
    }
    flush();
    return parts.join("");
  }

  /** A name that is no quantity: an English word, told by what stands beside it. */
  isWord(i = this.i) {
    const token = this.tokens[i], after = this.tokens[i + 1];
    if (token?.startsWith("#")) return true; // "result of mul #2"
    if (!isName(token) || this.names.has(token)) return false;
    if (WORDS.has(token) || token.includes("'")) return true;
    if (token.length === 1 || GREEK[token] || token.includes("_") || /\d/.test(token)) return false;
    if (after === "(" || after === "[") return false;
    if (FUNCTIONS.has(token) && this.starts(i + 1)) return false;
    const before = this.tokens[i - 1];
    return (isName(after) && !(after in PRODUCTS)) || isName(before) || isNumber(before) || before === ")" || before === "]" || isNumber(after);
  }

  /** Whether an operand can start here. */
  starts(i = this.i) {
    const token = this.tokens[i];
    return token !== undefined && (isNumber(token) || token === "(" || token === "|" || (isName(token) && !(token in PRODUCTS) && !this.isWord(i)));
  }

  /** The right operand, or nothing if words follow: "y = max of a". */
  perhaps(read) {
    const start = this.i;
    try { return read.call(this); } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.i = start;
      return "";
    }
  }

  relation() {
    const parts = [this.sum()];
    while (this.next in RELATIONS) {
      parts.push(mo(RELATIONS[this.tokens[this.i++]]));
      parts.push(this.perhaps(this.sum));
    }
    return mrow(...parts);
  }

  sum() {
    const parts = [this.product()];
    while (this.next === "+" || this.next === "-") {
      parts.push(mo(this.tokens[this.i++] === "-" ? "\u2212" : "+"));
      parts.push(this.perhaps(this.product));
    }
    return mrow(...parts);
  }

  product() {
    let left = this.unary();
    for (;;) {
      const sign = this.next;
      if (sign === "/") {
        this.i++;
        const below = this.perhaps(this.unary);
        if (below && !isWide(this.bare(left)) && !isWide(this.bare(below))) left = xml("mfrac", this.bare(left), this.bare(below));
        else left = mrow(left, mo("/"), below && BREAK + below);
      } else if (sign in PRODUCTS && sign !== "/") {
        this.i++;
        left = mrow(left, mo(PRODUCTS[sign]), this.perhaps(this.unary));
      } else if (this.starts() && this.next !== "|") left = mrow(left, mo("\u2062"), this.unary()); // side by side: a product without a sign
      else return left;
    }
  }

  unary() {
    if (this.take("-")) return mrow(mo("\u2212"), this.unary());
    return this.power();
  }

  power() {
    let base = this.atom();
    for (;;) {
      if (this.next === "." && this.tokens[this.i + 1] === "T" && (this.i += 2)) base = xml("msup", base, "<mi mathvariant=\"normal\">T</mi>");
      else if (this.take("[")) base = mrow(base, mo("["), this.list("]"), mo("]"));
      else if (this.take("**")) base = xml("msup", base, this.bare(this.unary()));
      else if (this.next === "^" && this.tokens[this.i + 1] === "+") { this.i += 2; base = xml("msup", base, mo("+")); }
      else if (this.take("^")) base = xml("msup", base, this.next === "T" && this.i++ >= 0 ? "<mi mathvariant=\"normal\">T</mi>" : this.bare(this.unary()));
      else return base;
    }
  }

  atom() {
    const token = this.next;
    if (isNumber(token)) { this.i++; return xml("mn", token); }
    if (token === "(") {
      this.i++;
      const inner = this.list(")"), whole = mrow(mo("("), inner, mo(")"));
      this.inner.set(whole, inner);
      return whole;
    }
    if (token === "|") {
      this.i++;
      const inner = this.sum();
      if (!this.take("|")) throw new SyntaxError("no second |");
      return mrow(mo("|"), inner, mo("|"));
    }
    if (token === ".." || token === "...") { this.i++; return mo("\u2026"); }
    if (!isName(token) || this.isWord()) throw new SyntaxError(`no operand: ${token}`);
    this.i++;
    return this.calls(token);
  }

  calls(name) {
    let shown = this.next === "(" && !this.names.has(name) ? xml("mi", GREEK[name] ?? escape(name)) : this.name(name);
    if (name === "sqrt" && this.take("(")) {
      const inner = this.list(")");
      return isWide(inner) ? mrow(shown, mo("\u2061"), mo("("), inner, mo(")")) : xml("msqrt", inner);
    }
    if (this.take("(")) return mrow(shown, mo("\u2061"), mo("("), this.list(")"), mo(")"));
    if (FUNCTIONS.has(name) && this.starts()) return mrow(shown, mo("\u2061"), this.power());
    while (this.take("[")) shown = mrow(shown, mo("["), this.list("]"), mo("]"));
    return NUMBERED.test(this.next ?? "") ? this.numbered(shown, this.tokens[this.i++]) : shown; // params[0]₂
  }

  /** What stands between brackets, up to the closing one. */
  list(close) {
    const parts = [];
    while (!this.take(close)) {
      if (this.next === undefined) throw new SyntaxError(`no ${close}`);
      if (this.next === ",") { this.i++; parts.push(mo(",")); } else if (this.next === ":") { this.i++; parts.push(mo(":")); } else if (this.isWord()) parts.push(`<mtext>\u00a0${escape(this.tokens[this.i++])}\u00a0</mtext>`);
      else parts.push(this.relation());
    }
    return mrow(...parts);
  }

  name(token) {
    const numbered = token.search(/[\u2080-\u2089]/);
    if (numbered > 0) return this.numbered(this.name(token.slice(0, numbered)), token.slice(numbered));
    const transposed = token.endsWith(".T") && token.slice(0, -2);
    if (transposed) return xml("msup", this.name(transposed), "<mi mathvariant=\"normal\">T</mi>");
    const [, base, below] = token.match(/^([A-Za-z])_(\w{1,3})$/) ?? [];
    if (base) return xml("msub", this.name(base), isNumber(below) ? xml("mn", below) : variable(below));
    if (GREEK[token] && !this.names.has(token)) return variable(GREEK[token]);
    return FUNCTIONS.has(token) ? xml("mi", escape(token)) : variable(token);
  }

  /** A name with what tells it from others of the same name, and perhaps an attribute: w₂, h₁′, w₁.grad. */
  numbered(name, marks) {
    const [, nr, primes, attribute] = marks.match(NUMBERED);
    const below = xml("mn", [...nr].map((c) => c.charCodeAt(0) - 0x2080).join(""));
    const shown = primes ? xml("msubsup", name, below, mo(primes)) : xml("msub", name, below);
    return attribute ? mrow(shown, variable(attribute)) : shown;
  }

  /** An operand of a fraction or a power: it needs no parentheses there. */
  bare(part) { return this.inner.get(part) ?? part; }
}

/** The name of a function as it stands in a formula. */
export const symbol = (name) => `<math>${xml("mi", GREEK[name] ?? escape(name))}</math>`;

const NO_NAMES = new Set();

/** A rule's text as a <math> element, or several if it is long: a browser breaks no line inside of one. `names` are the variables of the user's code, which are never taken for words. */
export function formula(text, names = NO_NAMES) {
  if (!text) return "";
  const math = `<math displaystyle="true">${new RuleParser(text, names).all()}</math>`, long = math.replace(/<[^>]*>/g, "").length > 40;
  return (long ? math.replace(/<\/?mrow>/g, "").replaceAll(BREAK, '</math>\u200b<math displaystyle="true">') : math.replaceAll(BREAK, "")).replaceAll("mrow >", "mrow>");
}
