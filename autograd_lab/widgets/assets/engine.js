// The engine's own source beside the program: which statement is lit, and what its variables hold. Needs no browser.
import { at, first } from "./core.js";

const OPERATIONS = ["node", "edge", "const", "inplace"];

/** [page, row] to be shown at step k; no row where no statement of the page told of it. */
export function place(film, k, phase) {
  const found = film.engine.at[film.kinds[film.kind[k]]];
  if (found) return [found[0], film.unmarked.includes(k) ? undefined : found[1]];
  return [phase === "backward" ? 1 : 0, undefined];
}

/** What the variables hold at step k, as `variables` in engine_source.py says; of long ones the first, and how many there are. */
export function variables(film, k, phase) {
  const kind = film.kinds[film.kind[k]];
  if (OPERATIONS.includes(kind)) {
    if (film.made[k]) {
      const [rule, inputs, out] = film.made[k];
      return { rule: film.strings[rule], inputs, out };
    }
    const node = film.nodes[film.focus[k]], told = { rule: node.name, inputs: node.inputs, edges: node.edges, out: node.outputs };
    let operation = k; // a write in place saves copies that are no tensors of the program
    while (film.kinds[film.kind[operation]] === "edge") operation--;
    return film.kinds[film.kind[operation]] === "inplace" ? told : { ...told, saved: node.saved };
  }
  if (phase !== "backward") return {};
  const [ready, queued] = first(film.queue, k), [deps, waiting] = first(film.deps, k), [held, many] = first(film.held, k);
  return { node: at(film.hand, k), ready, queued, deps: deps.map((n, i) => [n, at(film.left[i], k)]), waiting, buffers: held.map((n) => [n, at(film.nodes[n].lies, k)]), many };
}

/** The same as texts, [[name, text], ...]: nodes and tensors by the names that the graph has for them. */
export function written(film, k, phase, most = 4) {
  const told = variables(film, k, phase), node = (n) => (n < 0 ? "None" : film.nodes[n].label);
  const value = (v) => (v < 0 ? "None" : typeof film.values[v] === "string" ? film.values[v] : film.values[v].text.replace(" values", ""));
  const tuple = (all) => `(${all.slice(0, most).join(", ")}${all.length > most ? ", \u2026" : all.length === 1 ? "," : ""})`;
  const list = (open, all, count, close) => open + all.slice(0, most).join(", ") + (count > Math.min(all.length, most) ? ", \u2026" : "") + close;
  const current = (t) => {
    const state = at(film.tensors[t].tl, k);
    return value(state === undefined ? -1 : film.states[state][0]);
  };
  const tensor = (t) => (film.tensors[t].name ? `${film.tensors[t].name} = ${current(t)}` : current(t));
  if (told.rule !== undefined) {
    const results = told.out.map(current);
    return [["rule", told.rule], ["out", results.length === 1 ? results[0] : tuple(results)], ["inputs", tuple(told.inputs.map(tensor))],
      ...(told.edges ? [["edges", tuple(told.edges.map(node))]] : []), ...(told.saved ? [["saved", tuple(told.saved.map(([name, v]) => (name ? `${name} = ${value(v)}` : value(v))))]] : [])];
  }
  if (told.ready === undefined) return [];
  return [["node", node(told.node)], ["ready", list("[", told.ready.map(node), told.queued, "]")],
    ["deps", list("{", told.deps.map(([n, left]) => `${node(n)}: ${left}`), told.waiting, "}")],
    ["buffers", list("{", told.buffers.map(([n, all]) => `${node(n)}: ${all.length > 1 ? `[${all.map(value).join(", ")}]` : value(all[0])}`), told.many, "}")]];
}
