// What stands where while some groups are open and the others closed: widgets/scene.py in JavaScript.
// A unit is its index, a group is -1 minus its index, the whole picture is container -1. A test compares the two.
import { byNumbers, layered } from "./layout.js";

const PAD = 14, HEAD = 30, PORT = [12, 12, 0], SIDE = 10, BUNDLE = 46;
const near = (x) => Math.floor(x + 0.5);

class Container {
  constructor() {
    Object.assign(this, { items: [], top: [], bottom: [], legs: [], seat: { in: new Map(), item: new Map(), out: new Map() }, layout: null, width: 0, height: 0, shift: 0, x: 0, y: 0 });
  }
  /** How far a port is from the frame's middle. */
  port(side, source) { return this.shift + this.layout.anchors[this.seat[side].get(source)][0] - this.width / 2; }
  /** Where an item or port is in the picture. */
  point(side, thing) {
    const [x, y] = this.layout.anchors[this.seat[side].get(thing)];
    return [this.x + x, this.y + y];
  }
}

export class Scene {
  /** The picture of a film with the groups of the set `opened` open, and without the `hidden` units; scene.py says what `document()` holds. */
  constructor(film, opened, hidden = new Set()) {
    this.hidden = hidden;
    this.film = film;
    this.units = film.units;
    this.groups = film.groups;
    this.first = this.groups.map(() => this.units.length);
    this.depth = [];
    this.closed = []; // for each group: the outermost closed group it is in or is, else -1
    this.groups.forEach(({ parent }, g) => {
      this.depth.push(parent >= 0 ? this.depth[parent] + 1 : 1);
      const outer = parent >= 0 ? this.closed[parent] : -1;
      this.closed.push(outer >= 0 ? outer : opened.has(g) ? -1 : g);
    });
    this.units.forEach(({ group }, u) => { if (group >= 0) this.first[group] = Math.min(this.first[group], u); });
    for (let g = this.groups.length - 1; g >= 0; g--) {
      const { parent } = this.groups[g];
      if (parent >= 0) this.first[parent] = Math.min(this.first[parent], this.first[g]);
    }
    this.live = this.groups.map(() => !hidden.size); // groups that hold something to be seen
    this.units.forEach(({ group }, u) => { if (!hidden.has(u)) for (let g = group; g >= 0; g = this.groups[g].parent) this.live[g] = true; });
    this.containers = new Map();
    this.routes = new Map();
    this.fill();
    this.connect();
    this.measure(-1);
    this.put(-1, 0, 0);
  }

  /** What stands for a unit: itself, or the closed group it is in. */
  seen(unit) {
    const { group } = this.units[unit], closed = group >= 0 ? this.closed[group] : -1;
    return closed >= 0 ? -1 - closed : unit;
  }

  document() {
    const whole = this.containers.get(-1), groups = [], units = [], pills = new Pills();
    this.closed.forEach((closed, g) => {
      if (this.live[g] && (closed === -1 || closed === g)) groups.push([g, ...this.box(-1 - g).map(near), closed < 0 ? 1 : 0]);
    });
    this.units.forEach((unit, u) => {
      if (this.seen(u) === u && !this.hidden.has(u)) units.push([u, ...this.containers.get(unit.group).point("item", u).map(near)]);
    });
    const lines = { forward: this.lines("forward"), backward: this.lines("backward") }, ends = this.ends(lines);
    for (const [u, x, y] of units) {
      const [left, right, height] = this.units[u].size;
      pills.take([x - left, y - height / 2, x + right, y + height / 2]);
    }
    for (const [, x, y, w, h, open] of groups) pills.take([x, y, x + w, y + (open ? 22 : h)]);
    const points = (kind, side) => lines[kind].map(([, , , way], i) =>
      [ends[kind][2 * i], ...way.map(([x, y]) => [x + side, y]), ends[kind][2 * i + 1]]);
    const forward = points("forward", -SIDE).map((p, i) => ({ lines: lines.forward[i][2], p: p.flat().map(near) }));
    const backward = points("backward", SIDE).map((p, i) => {
      const which = lines.backward[i][2], width = this.label(which), pill = pills.put(p, width, lines.backward[i][4]).map(near);
      return { lines: which, p: [...p].reverse().flat().map(near), pill: [...pill, width] };
    });
    return { size: [near(whole.width), near(whole.height)], units, groups, forward, backward };
  }

  /** x, y, width and height of a group's box or frame. */
  box(thing) {
    const g = -1 - thing, [w, h] = this.size(g), [x, y] = this.containers.get(this.groups[g].parent).point("item", thing);
    return [x - w / 2, y - h / 2, w, h];
  }

  // Which things are in which layout, and how they are joined.

  fill() {
    this.containers.set(-1, new Container());
    const things = [];
    this.closed.forEach((closed, g) => {
      if (!this.live[g]) return;
      if (closed < 0) this.containers.set(g, new Container());
      if (closed === -1 || closed === g) things.push([this.first[g], 0, -1 - g]);
    });
    this.units.forEach((_, u) => { if (this.seen(u) === u && !this.hidden.has(u)) things.push([u, 1, u]); });
    for (const [, , thing] of things.sort(byNumbers)) this.containers.get(this.parent(thing)).items.push(thing);
  }

  connect() {
    for (const line of [...this.film.forward, ...this.film.backward]) {
      const source = this.seen(line.u), target = this.seen(line.v), key = this.key(source, target);
      if (source === target || this.routes.has(key) || this.gone(line)) continue;
      const legs = this.route(source, target);
      this.routes.set(key, legs);
      for (const [where, ...leg] of legs) where.legs.push([...leg, source]);
    }
    for (const container of this.containers.values()) {
      for (const side of ["top", "bottom"]) {
        container[side] = [...new Set(container[side])].sort((a, b) => byNumbers(this.time(a), this.time(b)));
      }
      let i = 0;
      for (const [side, things] of [["in", container.top], ["item", container.items], ["out", container.bottom]]) {
        for (const thing of things) container.seat[side].set(thing, i++);
      }
    }
  }

  /** Whether a line has a hidden end. */
  gone({ u, v }) { return this.hidden.has(u) || this.hidden.has(v); }

  /** A number for a pair of things. */
  key(source, target) { return (source + this.groups.length) * 2 ** 24 + target + this.groups.length; }

  time(thing) { return thing < 0 ? [this.first[-1 - thing], 0] : [thing, 1]; }

  parent(thing) { return thing < 0 ? this.groups[-1 - thing].parent : this.units[thing].group; }

  /** The pieces of the way from one thing to another, out of frames and into frames. */
  route(source, target) {
    const out = [], into = [], depth = (c) => (c >= 0 ? this.depth[c] : 0);
    let a = source, b = target, here = this.parent(a), there = this.parent(b), sideA = "item", sideB = "item";
    while (here !== there) {
      if (depth(here) >= depth(there)) {
        this.containers.get(here).bottom.push(source);
        out.push([this.containers.get(here), a, source, sideA, "out"]);
        a = -1 - here; here = this.groups[here].parent; sideA = "item";
      } else {
        this.containers.get(there).top.push(source);
        into.push([this.containers.get(there), source, b, "in", sideB]);
        b = -1 - there; there = this.groups[there].parent; sideB = "item";
      }
    }
    return [...out, [this.containers.get(here), a, b, sideA, sideB], ...into.reverse()];
  }

  // Sizes from the inside out, places from the outside in.

  measure(index) {
    const container = this.containers.get(index), sizes = container.top.map(() => PORT), { seat } = container;
    for (const thing of container.items) {
      if (thing >= 0) { sizes.push(this.units[thing].size); continue; }
      if (this.containers.has(-1 - thing)) this.measure(-1 - thing);
      const [w, h] = this.size(-1 - thing);
      sizes.push([w / 2, w / 2, h]);
    }
    sizes.push(...container.bottom.map(() => PORT));
    const inner = (side, thing) => (side === "item" && thing < 0 ? this.containers.get(-1 - thing) : undefined);
    const edges = container.legs.map(([a, b, sideA, sideB, source]) => [
      seat[sideA].get(a), seat[sideB].get(b), inner(sideA, a)?.port("out", source) ?? 0, inner(sideB, b)?.port("in", source) ?? 0, source]);
    const top = container.top.length, bottom = container.bottom.length, firm = new Set();
    container.items.forEach((thing, i) => { if (thing < 0) firm.add(top + i); });
    container.layout = layered(sizes, edges, top, bottom, firm);
    container.width = container.layout.width;
    container.height = container.layout.height;
    if (index >= 0) {
      container.width = Math.max(container.width + 2 * PAD, this.groups[index].size[0]);
      container.shift = (container.width - container.layout.width) / 2;
      container.height += (top ? 0 : HEAD) + (bottom ? 0 : PAD);
    }
  }

  size(g) {
    const container = this.containers.get(g);
    return container ? [container.width, container.height] : this.groups[g].size;
  }

  put(index, x, y) {
    const container = this.containers.get(index);
    container.x = x + container.shift;
    container.y = y + (container.top.length || index < 0 ? 0 : HEAD);
    for (const thing of container.items) {
      if (thing < 0 && this.containers.has(-1 - thing)) this.put(-1 - thing, ...this.box(thing));
    }
  }

  // Lines.

  /** The lines to draw: what they join, and the film's lines that each stands for. */
  lines(kind) {
    const found = new Map();
    this.film[kind].forEach((line, i) => {
      const source = this.seen(line.u), target = this.seen(line.v);
      if (source === target || this.gone(line)) return;
      const own = source >= 0 && target >= 0 ? i : source >= 0 ? -1 - (line.box ?? 0) : -1, key = own >= 0 ? own : -1 - (this.key(source, target) * 8 - own);
      if (found.has(key)) found.get(key)[2].push(i);
      else found.set(key, [source, target, [i]]);
    });
    return [...found.values()].map(([source, target, which]) => [source, target, which, this.way(source, target), this.shares(source, target)]);
  }

  /** The width of the label on a line that stands for these lines of the film. */
  label(which) {
    const widths = which.map((line) => this.film.backward[line].w);
    return which.length === 1 ? widths[0] : widths.some(Boolean) ? BUNDLE : 0;
  }

  way(source, target) {
    const points = [];
    for (const [where, a, b, sideA, sideB] of this.routes.get(this.key(source, target))) {
      if (sideA === "in") points.push(where.point("in", a));
      for (const [x, y] of where.layout.between(where.seat[sideA].get(a), where.seat[sideB].get(b), source)) points.push([where.x + x, where.y + y]);
      if (sideB === "out") points.push(where.point("out", b));
    }
    return points;
  }

  /** Where lines start and end: several at one side stand apart, in the order in which they go on. */
  ends(lines) {
    const sides = new Map(), ends = { forward: [], backward: [] };
    const add = (kind, thing, box, side, x, index) => {
      const key = ((thing + this.groups.length) * 8 + box) * 4 + (kind === "forward" ? 2 : 0) + side;
      if (!sides.has(key)) sides.set(key, [kind, thing, box, side, []]);
      sides.get(key)[4].push([x, index]);
    };
    for (const kind of ["forward", "backward"]) {
      lines[kind].forEach(([source, target, which, way], index) => {
        add(kind, source, source >= 0 ? this.film[kind][which[0]].box ?? 0 : 0, 0, way.length ? way[0][0] : this.middle(target), index);
        add(kind, target, 0, 1, way.length ? way[way.length - 1][0] : this.middle(source), index);
      });
    }
    for (const [kind, thing, box, side, here] of sides.values()) {
      const [middle, edge, room, curve] = this.edge(kind, thing, box, side), count = here.length;
      const wide = Math.max(26, ...(kind === "backward" ? here.map(([, index]) => this.label(lines.backward[index][2]) + 6) : []));
      const step = count > 1 ? Math.min(wide, room / (count - 1)) : 0;
      here.sort(byNumbers).forEach(([, index], i) => {
        const dx = (i - (count - 1) / 2) * step;
        let dy = 0;
        if (curve && dx) {
          const [rx, ry] = curve, lost = Math.abs(dx) / rx;
          const off = rx === ry ? lost : 1 - Math.sqrt(1 - Math.min(lost, 1) * Math.min(lost, 1));
          dy = side === 0 ? -ry * off : ry * off;
        }
        ends[kind][2 * index + side] = [middle + dx, edge + dy];
      });
    }
    return ends;
  }

  /** Whether a line shares its lane with those of other things: only its first piece is its own. */
  shares(source, target) {
    const [where, a, , side] = this.routes.get(this.key(source, target))[0];
    return where.layout.joined.has(where.seat[side].get(a)) && this.way(source, target).length > 0;
  }

  middle(thing) { return this.containers.get(this.parent(thing)).point("item", thing)[0]; }

  /** Where lines may touch a thing's lower (0) or upper (1) side: the middle, the height, the room, the curve. */
  edge(kind, thing, box, side) {
    if (thing < 0) {
      const [x, y, w, h] = this.box(thing);
      return [x + w / 2 + (kind === "forward" ? -SIDE : SIDE), y + h * (1 - side), w - 60, null];
    }
    const unit = this.units[thing], [cx, cy] = this.containers.get(unit.group).point("item", thing);
    if (kind === "forward" && unit.boxes.length) {
      const [, bx, by, bw, bh] = unit.boxes[Math.min(box, unit.boxes.length - 1)];
      return [cx + bx + bw / 2, cy + by + bh * (1 - side), bw - 24, null];
    }
    const [x, y, rx, ry] = unit.shape.length ? unit.shape : [0, 0, 0, 0];
    return [cx + x, cy + y + (side === 0 ? ry : -ry), 1.1 * rx, kind === "backward" && rx ? [rx, ry] : null];
  }
}

/** Places for the gradients' labels on their lines, clear of each other and of the boxes. */
class Pills {
  constructor() { this.taken = new Map(); }

  put(points, width, first) {
    const all = points.slice(1).map((b, i) => [points[i], b]).reverse(), pieces = first ? all.slice(-1) : all;
    if (!width) return curvePoint(...all[0], 0.5);
    const aside = width / 2 - 9; // a label need not have its middle on the line
    for (const dx of aside > 0 ? [0, aside, -aside] : [0]) {
      for (const piece of pieces.slice(0, 4)) {
        for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8]) {
          const [on, y] = curvePoint(...piece, t), x = on + dx, box = [x - width / 2 - 2, y - 11, x + width / 2 + 2, y + 11];
          if (!this.hits(box)) { this.take(box); return [x, y]; }
        }
      }
    }
    const [x, y] = curvePoint(...pieces[0], 0.5);
    this.take([x - width / 2, y - 10, x + width / 2, y + 10]);
    return [x, y];
  }

  cells([x0, y0, x1, y1]) {
    const found = [];
    for (let i = Math.floor(x0 / 200); i <= Math.floor(x1 / 200); i++) for (let j = Math.floor(y0 / 200); j <= Math.floor(y1 / 200); j++) found.push(i * 1e6 + j);
    return found;
  }

  take(box) {
    for (const cell of this.cells(box)) {
      if (!this.taken.has(cell)) this.taken.set(cell, []);
      this.taken.get(cell).push(box);
    }
  }

  hits([x0, y0, x1, y1]) {
    return this.cells([x0, y0, x1, y1]).some((cell) => this.taken.get(cell)?.some((b) => x0 < b[2] && b[0] < x1 && y0 < b[3] && b[1] < y1));
  }
}

function curvePoint([x0, y0], [x1, y1], t) {
  const middle = (y0 + y1) / 2, s = 1 - t;
  return [x0 * s * s * s + 3 * x0 * s * s * t + 3 * x1 * s * t * t + x1 * t * t * t,
    y0 * s * s * s + 3 * middle * s * s * t + 3 * middle * s * t * t + y1 * t * t * t];
}
