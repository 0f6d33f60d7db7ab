// How far the nodes in each group are: what a closed group says about its inside.
import { at, into } from "./core.js";

export const JUMP = 500; // over more steps than this all is looked up anew

export class Census {
  constructor(film) {
    this.film = film;
    this.around = film.nodes.map(() => []); // node -> the groups it is anywhere in
    this.counts = film.groups.map(() => ({ all: 0, made: 0, waiting: 0, ready: 0, active: 0, done: 0, error: 0 }));
    this.changed = new Map(); // step -> the nodes that change there
    const enter = (node, g) => { this.around[node].push(g); this.counts[g].all++; };
    film.units.forEach(({ node, group }) => { if (node >= 0) for (let g = group; g >= 0; g = film.groups[g].parent) enter(node, g); });
    film.groups.forEach(({ pass }, g) => { if (pass) for (const node of pass[2]) enter(node, g); });
    film.nodes.forEach(({ tl }, node) => {
      for (let i = 0; i < tl.length; i += 2) into(this.changed, tl[i], node);
    });
    this.status = []; // of each node that is made, at step `this.step`
    this.step = 0;
  }

  /** Of group g at step k: {status, text, done, busy}: the two last as parts of the whole. */
  at(g, k) {
    this.move(k);
    return this.tell(g, k);
  }

  /** Whether to keep quiet about which nodes are ready: while that is asked. */
  mask(on) { this.masked = on; }

  /** Count again the nodes that change on the way to step k. */
  move(k) {
    const [from, to] = k > this.step ? [this.step + 1, k] : [k + 1, this.step], { film } = this;
    this.step = k;
    const nodes = new Set(to - from > JUMP ? film.nodes.keys() : []);
    if (!nodes.size) for (let step = from; step <= to; step++) for (const node of this.changed.get(step) ?? []) nodes.add(node);
    for (const node of nodes) {
      const state = at(film.nodes[node].tl, k), was = this.status[node], is = state === undefined ? undefined : film.states[state][0];
      if (is === was) continue;
      this.status[node] = is;
      for (const g of this.around[node]) {
        if (was) this.counts[g][was]--;
        if (is) this.counts[g][is]++;
      }
    }
  }

  tell(g, k) {
    const { film } = this, { pass } = film.groups[g], n = { ...this.counts[g] }, { all } = n;
    if (pass && k < pass[0]) return { status: "ghost", text: "", done: 0, busy: 0 };
    if (pass && k >= pass[1] && film.kinds[film.kind[pass[1]]] !== "error") return { status: "done", text: `${all}/${all} done`, done: 1, busy: 0 };
    if (!all) return { status: "made", text: `${film.groups[g].units} tensors`, done: 0, busy: 0 };
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
