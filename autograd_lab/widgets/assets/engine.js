// The engine's own source beside the program: which statement is lit, and what its variables hold. Needs no browser.
import { at, first } from "./core.js";

const OPERATIONS = ["node", "edge", "const", "inplace"];
const HELD = { // of `film.made`, by mark: as BY_MARK in engine_source.py
  const: ["inputs", "out"], "const view": ["x", "out"], "inplace recorded": ["name", "target", "rule", "inputs", "edges"],
  "edge CopySlices": ["inner", "base", "view", "edges"], mode: ["on"], flag: ["self", "value"], "flag retain_grad": ["self", "fn"],
  detach: ["self", "out"], read: ["self", "number"], "read tolist": ["self", "numbers"],
};
const HELD_WORDS = ["rule", "name", "inner", "on", "value"], HELD_VALUES = ["data", "number", "numbers"];

/** The rows of a page, [line number, text]: its functions, some under the name of their file and class; an indented heading is CUT in engine_source.py. */
export function engineRows(parts) {
  const found = [];
  for (const [heading, begin, text] of parts) {
    if (found.length && heading[0] !== " ") found.push([0, ""]);
    if (heading) found.push([0, heading]);
    found.push(...text.split("\n").map((line, i) => [begin + i, line]));
  }
  return found;
}

/** Which function a row of `engineRows` lies in, and in which file: "_loop in core/engine.py". */
export function functionAt(lines, row) {
  // the first row of a page is a heading
  for (let name; ; row--) {
    const [number, text] = lines[row], file = /^# ([^,:]+)/.exec(!number && text);
    if (file) return `${name} in ${file[1]}`;
    name ??= /^def (\w+)/.exec(number && text)?.[1];
  }
}

/** What told of step k: [the mark of a statement, a sentence]; either may be undefined. */
function toldBy(film, k) {
  return film.told[k] ? film.told[k].map((i) => film.strings[i]) : [film.kinds[film.kind[k]]];
}

/** [page, row, sentence] to be shown at step k: no row where no statement of the pages ran, and then a sentence that says what did. */
export function place(film, k, phase) {
  const [mark, sentence] = toldBy(film, k), [page, row] = film.engine.at[mark] ?? [phase === "backward" ? 1 : 0];
  return [page, row, sentence];
}

/** What the variables hold at step k, as `variables` in engine_source.py says; of long ones the first, and how many there are. */
export function variables(film, k, phase) {
  const [mark] = toldBy(film, k), kind = film.kinds[film.kind[k]];
  if (film.made[k]) {
    const names = mark === "inplace" ? (kind === "inplace" ? ["target", "data"] : ["data"]) : HELD[mark];
    return Object.fromEntries(names.map((name, i) => [name, film.made[k][i]]).map(([name, x]) => [name, HELD_WORDS.includes(name) ? film.strings[x] : x]));
  }
  if (mark === "node" || mark === "edge") {
    const node = film.nodes[film.focus[k]], held = { rule: node.name, out: node.outputs, inputs: node.inputs, edges: node.edges };
    let operation = k; // a write in place saves copies that are no tensors of the program
    while (film.kinds[film.kind[operation]] === "edge") operation--;
    return film.kinds[film.kind[operation]] === "inplace" ? held : { ...held, saved: node.saved };
  }
  if (phase !== "backward" || OPERATIONS.includes(kind)) return {};
  const [ready, queued] = first(film.queue, k), [deps, waiting] = first(film.deps, k), [held, many] = first(film.held, k);
  return { node: at(film.hand, k), ready, queued, deps: deps.map((n, i) => [n, at(film.left[i], k)]), waiting, buffers: held.map((n) => [n, at(film.nodes[n].lies, k)]), many };
}

/** The same as texts, [[name, text], ...]: nodes and tensors by the names that the graph has for them. */
export function written(film, k, phase, most = 4) {
  const held = variables(film, k, phase), node = (n) => (n < 0 ? "None" : film.nodes[n].label);
  const value = (v) => (v < 0 ? "None" : typeof film.values[v] === "string" ? film.values[v] : film.values[v].text.replace(" values", ""));
  const tuple = (all) => `(${all.slice(0, most).join(", ")}${all.length > most ? ", \u2026" : all.length === 1 ? "," : ""})`;
  const list = (open, all, count, close) => open + all.slice(0, most).join(", ") + (count > Math.min(all.length, most) ? ", \u2026" : "") + close;
  const current = (t) => {
    const state = at(film.tensors[t].tl, k);
    return value(state === undefined ? -1 : film.states[state][0]);
  };
  const tensor = (t) => (film.tensors[t].name ? `${film.tensors[t].name} = ${current(t)}` : current(t));
  const texts = {
    inputs: (all) => tuple(all.map(tensor)), edges: (all) => tuple(all.map((n) => node(n ?? -1))), fn: node,
    out: (all) => (all.length === 1 ? current(all[0]) : tuple(all.map(current))),
    saved: (all) => tuple(all.map(([name, v]) => (name ? `${name} = ${value(v)}` : value(v)))),
  };
  if (held.ready === undefined) {
    const text = (name, x) => (texts[name] ? texts[name](x) : HELD_WORDS.includes(name) ? x : HELD_VALUES.includes(name) ? value(x) : tensor(x));
    return Object.entries(held).filter(([, x]) => x !== null && x !== undefined).map(([name, x]) => [name, text(name, x)]);
  }
  return [["node", node(held.node)], ["ready", list("[", held.ready.map(node), held.queued, "]")],
    ["deps", list("{", held.deps.map(([n, left]) => `${node(n)}: ${left}`), held.waiting, "}")],
    ["buffers", list("{", held.buffers.map(([n, all]) => `${node(n)}: ${all.length > 1 ? `[${all.map(value).join(", ")}]` : value(all[0])}`), held.many, "}")]];
}
