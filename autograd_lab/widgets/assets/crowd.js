// Lines and boxes in such numbers that none is read by itself: one path for all of a state, as many elements for thousands as for a
// hundred; and which of them a step changes, so that a step costs what it changes, however many there are.
import { into } from "./core.js";
import { s } from "./dom.js";

const LEAST = 4, MOST = 64; // a bundle holds 2^4 numbers or more, so that it is quickly made anew; a layer has at most so many for each state

export class Crowd {
  /** `make(state)` gives the element of a bundle and its paths, `shape(id)` the piece of each path that is this thing's. */
  constructor(layer, make, shape) { Object.assign(this, { layer, make, shape, bundles: new Map(), taken: new Map(), stale: new Set() }); }

  /** Begin anew, with nothing taken and other pieces; `count` is how many there are at most. */
  start(count) {
    this.shift = Math.max(LEAST, Math.ceil(Math.log2(count / MOST)));
    this.pieces = [];
    this.taken.clear();
    for (const [key, bundle] of this.bundles) { bundle.members.clear(); this.stale.add(key); }
  }

  /** Take a thing in this state; undefined: no longer. */
  put(id, state) {
    const key = state === undefined ? undefined : `${id >> this.shift} ${state}`, was = this.taken.get(id);
    if (key === was) return;
    if (was !== undefined) { this.bundles.get(was).members.delete(id); this.stale.add(was); }
    if (key === undefined) { this.taken.delete(id); return; }
    this.taken.set(id, key);
    this.stale.add(key);
    if (!this.bundles.has(key)) this.bundles.set(key, { members: new Set() });
    this.bundles.get(key).members.add(id);
  }

  /** Draw what was put since it was drawn. */
  finish() {
    for (const key of this.stale) {
      const bundle = this.bundles.get(key), { members } = bundle;
      if (!members.size) { bundle.g?.remove(); this.bundles.delete(key); continue; }
      if (!bundle.g) {
        Object.assign(bundle, this.make(key.slice(key.indexOf(" ") + 1)));
        bundle.g.setAttribute("pointer-events", "none");
        this.layer.insertBefore(bundle.g, bundle.above ? this.layer.querySelector(":scope > :not([pointer-events])") : this.layer.firstChild); // below what is drawn alone
      }
      const shapes = [...members].map((id) => this.pieces[id] ??= this.shape(id));
      bundle.paths.forEach((path, i) => path.setAttribute("d", shapes.map((shape) => shape[i]).join("")));
    }
    this.stale.clear();
  }

  clear() { this.start(1); this.finish(); }
}

/** Which lines and units of the film each step changes: of each layer a map from steps to them. */
export function changes(film) {
  const found = { forward: new Map(), backward: new Map(), units: new Map() }, lines = film.nodes.map(() => []), homes = film.tensors.map(() => []);
  const note = (layer, k, i) => into(found[layer], k, i);
  const each = (layer, tl, i) => { for (let j = 0; j < tl.length; j += 2) note(layer, tl[j], i); };
  film.forward.forEach(({ k }, i) => note("forward", k, i));
  film.backward.forEach(({ tl, n }, i) => { each("backward", tl, i); lines[n]?.push(i); });
  film.units.forEach(({ since, node, boxes }, u) => {
    note("units", since, u);
    if (node >= 0) each("units", film.nodes[node].tl, u);
    for (const [t] of boxes) homes[t].push(u);
  });
  film.focus.forEach((n, k) => {
    if (n >= 0 && film.nodes[n].unit >= 0) note("units", k, film.nodes[n].unit);
    for (const u of homes[film.subject[k]] ?? []) note("units", k, u);
    if (n >= 0 && film.kinds[film.kind[k]] === "vjp") for (const i of lines[n]) note("backward", k, i); // its lines are lit
  });
  return { ...found, lines };
}
