// How far the nodes in each group are: what a closed group says about its inside.
import { at } from "./core.js";

export class Census {
  constructor(film) {
    this.film = film;
    this.nodes = film.groups.map(() => []); // group -> the nodes anywhere in it
    film.units.forEach(({ node, group }) => {
      if (node < 0) return;
      for (let g = group; g >= 0; g = film.groups[g].parent) this.nodes[g].push(node);
    });
    film.groups.forEach(({ pass }, g) => { if (pass) this.nodes[g] = pass[2]; });
    this.memo = new Map();
  }

  /** Of group g at step k: {status, text, done, busy}: the two last as parts of the whole. */
  at(g, k) {
    if (this.step !== k) { this.memo.clear(); this.step = k; }
    if (!this.memo.has(g)) this.memo.set(g, this.count(g, k));
    return this.memo.get(g);
  }

  /** Whether to keep quiet about which nodes are ready: while that is asked. */
  mask(on) {
    if (on !== this.masked) this.memo.clear();
    this.masked = on;
  }

  count(g, k) {
    const { film } = this, { pass } = film.groups[g], all = this.nodes[g].length, n = { made: 0, waiting: 0, ready: 0, active: 0, done: 0, error: 0 };
    if (pass && k < pass[0]) return { status: "ghost", text: "", done: 0, busy: 0 };
    if (pass && k >= pass[1] && film.kinds[film.kind[pass[1]]] !== "error") return { status: "done", text: `${all}/${all} done`, done: 1, busy: 0 };
    if (!all) return { status: "made", text: `${film.groups[g].units} tensors`, done: 0, busy: 0 };
    for (const node of this.nodes[g]) {
      const state = at(film.nodes[node].tl, k);
      if (state !== undefined) n[film.states[state][0]]++;
    }
    if (this.masked) [n.waiting, n.ready] = [n.waiting + n.ready, 0];
    const there = n.made + n.waiting + n.ready + n.active + n.done + n.error, nodes = `${all} node${all === 1 ? "" : "s"}`;
    if (n.error) return { status: "error", text: `failed inside, ${n.done}/${all} done`, done: n.done / all, busy: 0 };
    if (n.waiting || n.ready || n.active || n.done) {
      const parts = [`${n.done}/${all} done`];
      if (n.active) parts.push(`${n.active} at work`);
      else if (n.ready) parts.push(`${n.ready} ready`);
      else if (n.waiting && !n.done) parts[0] = `${n.waiting} of ${all} waiting`;
      const status = n.active ? "active" : n.ready ? "ready" : n.waiting ? "waiting" : "done";
      return { status, text: parts.join(" \u00b7 "), done: n.done / all, busy: (n.active + n.ready) / all };
    }
    return { status: there ? "made" : "ghost", text: there && there < all ? `${there} of ${all} nodes made` : nodes, done: 0, busy: 0 };
  }
}
