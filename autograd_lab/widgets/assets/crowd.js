// Lines and boxes in such numbers that none is read by itself: one path for all of a state, as many elements for thousands as for a hundred.
import { s } from "./dom.js";

const LEAST = 4, MOST = 64; // a bundle holds 2^4 numbers or more, so that it is quickly made anew; a layer has at most so many for each state

export class Crowd {
  /** `make(state)` gives the element of a bundle and its paths, `shape(id)` the piece of each path that is this thing's. */
  constructor(layer, make, shape) { Object.assign(this, { layer, make, shape, bundles: new Map(), taken: new Set() }); }

  /** Begin anew; `count` is how many there are at most. */
  start(count) {
    this.shift = Math.max(LEAST, Math.ceil(Math.log2(count / MOST)));
    this.next = new Map();
    this.taken.clear();
  }

  take(id, state) {
    const key = `${id >> this.shift} ${state}`, found = this.next.get(key);
    if (found) found.push(id);
    else this.next.set(key, [id]);
    this.taken.add(id);
  }

  /** Draw what was taken; a bundle that holds the same as before is not touched. `region`: another one when the pieces are others. */
  finish(region) {
    if (region !== this.region) this.pieces = [];
    this.region = region;
    for (const [key, { g }] of this.bundles) if (!this.next.has(key)) { g.remove(); this.bundles.delete(key); }
    for (const [key, ids] of this.next) {
      let bundle = this.bundles.get(key);
      if (!bundle) {
        this.bundles.set(key, bundle = this.make(key.slice(key.indexOf(" ") + 1)));
        bundle.g.setAttribute("pointer-events", "none");
        this.layer.insertBefore(bundle.g, bundle.above ? this.layer.querySelector(":scope > :not([pointer-events])") : this.layer.firstChild); // below what is drawn alone
      }
      const members = ids.join();
      if (bundle.members === members && bundle.region === region) continue;
      Object.assign(bundle, { members, region });
      const shapes = ids.map((id) => this.pieces[id] ??= this.shape(id));
      bundle.paths.forEach((path, i) => path.setAttribute("d", shapes.map((shape) => shape[i]).join("")));
    }
  }

  clear() { this.start(1); this.finish(); }
}
