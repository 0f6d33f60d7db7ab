// The drawing of the graph: only what is in view is in the page; a camera follows the node at work.
import { FOLLOW, SMALLEST, at, bounds, centre, clamp, cull, cut, fits, fitScale, head, meets, path, power, visiblePath } from "./core.js";
import { Crowd, changes } from "./crowd.js";
import { attr, brief, button, focusable, h, hasStrip, s, strip, write, zoomed } from "./dom.js";
import { Finder } from "./finder.js";
import { Census, JUMP } from "./groups.js";
import { MiniMap } from "./minimap.js";
import { Scene } from "./scene.js";

const LAYERS = ["frames", "forward", "folded", "units", "backward"]; // from the back to the front; the labels of the last are above all
const CROWD = 400; // more things than this are not drawn for the sake of a glide
const ALONE = 60; // of more lines in view, those that say nothing are bundled
const NEAR = 4 * ALONE; // and of more in the region around it, wherever the view is
const LONG = 3000; // a line this long is drawn only where it is in view
const STRIP = 22; // the width of a heat strip on a line of text, as in frames.py
const SIZES = 8; // steps of the scale of magnitudes, as in frames.py
const READABLE = 0.45; // a scale at which names can still be read
const CLEAR = 0.6; // and at which they are where the whole cannot be seen at once
const MARGIN = 46; // around what the camera follows
const FAR = 0.3; // a scale at which no text can be read: none is drawn

/** How the line of a gradient of this magnitude is drawn: the larger, the wider and the deeper; nan and inf are marked. */
function weight(level) {
  const l = clamp(level, 0, SIZES);
  return `--w:${(1 + 0.65 * l).toFixed(2)}px;--c:${level > SIZES ? "var(--agl-bad)" : `color-mix(in srgb, var(--agl-deep) ${12.5 * l}%, var(--agl-faint))`}`;
}

/** The parts of a label: a box of this width, a text, and a heat strip. */
function labelParts(w) {
  const box = s("rect", { x: -w / 2, y: -9.5, width: w, height: 19, rx: 9.5 }), text = s("text", { class: "agl-num", y: 4 }), picture = s("g", { class: "agl-thumb" });
  return { w, box, text, strip: picture, parts: [box, text, picture] };
}

/** A stop sign: here a gradient ends. */
const stopSign = (x, y) => s("g", { class: "agl-stop", transform: `translate(${x} ${y})` }, s("path", { d: "M-2.5-6h5l3.5 3.5v5l-3.5 3.5h-5l-3.5-3.5v-5z" }), s("path", { d: "M-3 0h6" }));

/** The mark of a hook. */
const hookMark = (x, y) => s("g", { class: "agl-hook", transform: `translate(${x} ${y})` }, s("circle", { r: 7 }), s("path", { d: "M1-4v4.5a2 2 0 0 1-4 0" }));

export class Graph {
  /** `stage` tells the film, the step `k` and its `kind`. */
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.camera = { x: 0, y: 0, scale: 1 };
    this.pane = [560, 360];
    this.free = false; // the user has moved the camera
    this.over = [0, 0]; // how much of the picture's head and foot something lies over
    this.drawn = Object.fromEntries(LAYERS.map((name) => [name, new Map()]));
    this.census = new Census(this.film);
    this.opened = new Set(this.film.open);
    this.inside = false; // open the groups around the node at work
    this.changes = changes(this.film);
    this.seats = new Map(); // tensor -> unit
    this.film.units.forEach((unit, i) => unit.boxes.forEach(([t]) => this.seats.set(t, i)));
    this.off = new Set([...this.film.units.keys()].filter((u) => this.film.units[u].off)); // no gradient has to do with them
    this.edge = null; // the line that is pointed at by keys: [layer, number]
    this.arrange();
    this.camera.x = this.size[0] / 2;
    this.build();
  }

  // ---- groups -----------------------------------------------------------------------------------------------

  /** Lay out what is seen while the groups in `opened` are open. */
  arrange() {
    this.scene = new Scene(this.film, this.opened, this.only ? this.off : undefined);
    const { size, units, groups, forward, backward } = this.scene.document();
    this.size = size;
    this.things = { frames: groups.filter((g) => g[5]), folded: groups.filter((g) => !g[5]), units, forward, backward };
    for (const line of forward) {
      const found = line.lines.map((i) => this.film.forward[i]);
      Object.assign(line, { since: Math.min(...found.map(({ k }) => k)), free: found.every((one) => one.free), cut: found.some((one) => one.cut) });
    }
    this.index();
    this.forget();
    this.pointed = null; // its number is another now
  }

  /** Open and close groups; what `anchor` names stays where it is on the screen. */
  reopen(opened, anchor = null) {
    const before = anchor === null ? null : this.rects.get(anchor) ?? this.rects.get(this.scene.seen(anchor));
    this.opened = opened;
    this.edge = null; // its number is another now
    this.arrange();
    const after = before && (this.rects.get(anchor) ?? this.rects.get(this.scene.seen(anchor)));
    if (after) {
      this.camera.x += after[0] + after[2] / 2 - before[0] - before[2] / 2;
      this.camera.y += after[1] - before[1];
    }
    this.wipe();
    if (this.map) {
      this.map.draw();
      this.resize();
    }
    this.bar?.update();
    this.target = null;
    cancelAnimationFrame(this.gliding);
    if (this.mode === "fit") this.mode = this.fitting();
    this.fresh = !after;
    this.show(false, false);
  }

  /** Drop all that is drawn. */
  wipe() {
    for (const name of LAYERS) {
      for (const thing of this.drawn[name].values()) this.drop(thing);
      this.drawn[name].clear();
      this.crowds[name]?.clear();
    }
    this.forget(); // what is drawn of long lines is another now
  }

  /** Another film of the same graph, in the old one's object. Boxes stay where they are while their numbers have room; else all is laid out anew, with the step's own where it was. */
  take(film) {
    const was = this.film, scale = was.scale.join(), room = film.units.map((unit, u) => fits(unit, was.units[u])), grown = room.includes(false) || film.backward.some(({ w }, i) => w > was.backward[i].w);
    film.units = film.units.map((unit, u) => (room[u] ? was.units[u] : unit));
    film.backward = film.backward.map((line, i) => (line.w < was.backward[i].w ? { ...line, w: was.backward[i].w } : line));
    Object.assign(was, film);
    Object.assign(this, { census: new Census(was), changes: changes(was) });
    for (const line of this.things.backward) line.sums = null;
    this.forget();
    if (film.scale.join() !== scale) this.root.querySelector(".agl-legend").replaceWith(this.legend());
    if (grown) return this.reopen(this.opened, this.focused());
    for (const { boxes } of this.drawn.units.values()) for (const box of boxes) box.known = false;
  }

  /** Open a closed group, close an open one. */
  toggle(g) {
    if (this.film.groups[g].pass) return; // it holds nothing to be drawn
    const opened = new Set(this.opened);
    if (!opened.delete(g)) opened.add(g);
    this.free = true;
    this.reopen(opened, -1 - g);
    this.cursor = -1 - g;
    this.mark();
  }

  /** Show only what gradients have to do with, or everything again. */
  hide() {
    this.only = !this.only;
    this.hider.setAttribute("aria-pressed", String(this.only));
    this.reopen(this.opened, this.focused());
  }

  openAll() { this.reopen(new Set([...this.film.groups.keys()].filter((g) => !this.film.groups[g].pass)), this.focused()); }
  closeAll() { this.reopen(new Set(), this.focused()); }

  /** Open the groups around a unit. */
  reveal(unit) {
    const opened = new Set(this.opened);
    for (let g = this.film.units[unit].group; g >= 0; g = this.film.groups[g].parent) opened.add(g);
    if (opened.size > this.opened.size) this.reopen(opened);
  }

  /** The unit that the step is about, null if it is about none. */
  focused() {
    const node = this.film.focus[this.stage.k], t = this.film.subject[this.stage.k];
    if (t >= 0 && this.seats.has(t)) return this.seats.get(t);
    return node >= 0 && this.film.nodes[node].unit >= 0 ? this.film.nodes[node].unit : null;
  }

  /** Show one thing: a unit or a group (-1 minus its index), wherever the camera was. */
  goTo(thing) {
    if (thing >= 0) this.reveal(thing);
    const rect = this.rects.get(thing >= 0 ? this.scene.seen(thing) : thing);
    if (!rect) return;
    this.free = true;
    this.cursor = thing;
    this.edge = null;
    const scale = Math.max(this.camera.scale, FOLLOW * 0.8);
    this.glide([rect[0] + rect[2] / 2, rect[1] + rect[3] / 2, scale]);
    this.mark();
  }

  /** Bounding boxes of everything, for culling. */
  index() {
    const { units, frames, folded, forward, backward } = this.things;
    this.rects = new Map(); // thing -> x, y, width, height
    for (const [u, x, y] of units) {
      const [left, right, height] = this.film.units[u].size;
      this.rects.set(u, [x - left, y - height / 2, left + right, height]);
    }
    for (const [g, x, y, w, hh] of [...frames, ...folded]) this.rects.set(-1 - g, [x, y, w, hh]);
    const corners = (thing) => { const [x, y, w, hh] = this.rects.get(thing); return [x, y, x + w, y + hh]; };
    this.boxes = {
      units: Float32Array.from(units.flatMap(([u]) => corners(u))),
      frames: Float32Array.from(frames.flatMap(([g]) => corners(-1 - g))),
      folded: Float32Array.from(folded.flatMap(([g]) => corners(-1 - g))),
      forward: Float32Array.from(forward.flatMap((line) => bounds(line.p))),
      backward: Float32Array.from(backward.flatMap(({ p, pill: [x, , w] }) => {
        const [x0, y0, x1, y1] = bounds(p);
        return [Math.min(x0, x - w / 2), y0, Math.max(x1, x + w / 2), y1];
      })),
    };
    this.drawnAs = { units: new Map(units.map(([u], id) => [u, id])) }; // of each line and unit of the film the number of what stands for it
    for (const layer of ["forward", "backward"]) this.drawnAs[layer] = new Map(this.things[layer].flatMap(({ lines }, id) => lines.map((i) => [i, id])));
  }

  build() {
    this.world = s("g", {});
    this.layers = LAYERS.map((name) => s("g", { class: name === "folded" ? "agl-groups" : `agl-${name}` }));
    this.crowds = { forward: this.crowdOf("forward"), units: this.crowdOf("units"), backward: this.crowdOf("backward") };
    this.ring = s("rect", { class: "agl-cursor", rx: 8, visibility: "hidden" });
    this.labels = s("g", { class: "agl-labels" });
    this.world.append(...this.layers, this.labels, this.ring);
    this.svg = s("svg", focusable({ class: "agl-svg", tabindex: "0", role: "img", "aria-label": "Computation graph", onkeydown: (e) => this.key(e) }), this.world);
    this.spoken = h("span", { class: "agl-hidden", "aria-live": "polite" });
    this.cursor = null;
    this.large = this.film.units.length > 24 || this.film.groups.length > 0;
    this.bar = this.large ? new Finder(this) : null;
    this.map = this.large ? new MiniMap(this) : null;
    this.root = h("div", { class: "agl-graph" }, ...(this.large ? [this.bar.root] : []), this.svg, this.spoken, h("div", { class: "agl-foot" }, this.legend(), ...(this.large ? [this.map.root] : [])));
    this.lens = h("span", { class: "agl-zoom" },
      button("Zoom out", ["\u2212"], () => this.zoom(0.8)), button("Zoom in", ["+"], () => this.zoom(1.25)),
      button("Fit graph", ["Fit"], () => this.fit()), button("Follow the active node", ["Follow"], () => this.follow()));
    this.hider = button("Hide what gets no gradient", ["Gradients only"], () => this.hide(), { "aria-pressed": "false" });
    if (this.off.size) this.root.lastChild.firstChild.after(this.hider); // beside the legend: the head is full
    this.drag();
    this.svg.addEventListener("pointerover", (e) => this.hover(e.target));
  }

  legend() {
    const { film } = this, key = (draw, text, wide = 26) => h("span", {}, s("svg", { viewBox: `0 0 ${wide} 14`, style: `width:${wide}px`, "aria-hidden": "true" }, ...draw), text);
    const keys = [
      key([s("rect", { x: 3, y: 2, width: 20, height: 10, rx: 2, class: "agl-box" })], "tensor"),
      key([s("ellipse", { cx: 13, cy: 7, rx: 11, ry: 5.5, class: "agl-node" })], "grad_fn"),
      key([s("path", { d: "M13 1l6.5 6-6.5 6-6.5-6z", class: "agl-node" })], "accumulator"),
      key([s("path", { d: "M1 7h24", class: "agl-fline" })], "data"),
      key([s("path", { d: "M1 7h24", class: "agl-fline agl-free" })], "no gradient"),
      key([s("path", { d: "M25 7H7", class: "agl-bline" }), s("path", { d: "M1 7l8-4v8z", class: "agl-bhead" })], "gradient")];
    if (film.scale.length) {
      const [low, high] = film.scale.map(power), parts = [...Array(SIZES + 1).keys()];
      keys.push(key(parts.map((l) => s("path", { d: `M${6 * l} 7h6`, class: "agl-weight", style: weight(l) })), h("span", { class: "agl-ends" }, `its size: ${low} to ${high}`), 54));
    }
    if (film.nodes.some((node) => node.dead.length)) keys.push(key([stopSign(13, 7)], "dead end", 20));
    if (film.forward.some((line) => line.cut)) keys.push(key([s("path", { d: cut([13, 0, 13, 14]), class: "agl-cut" })], "cut"));
    if (film.units.some((unit) => unit.hooks.some((tl) => tl.length)) || film.nodes.some((node) => node.hooks.length)) keys.push(key([hookMark(13, 7)], "hook"));
    if (film.nodes.some((node) => node.saved.length)) keys.push(key([s("rect", { x: 9, y: 3, width: 8, height: 8, class: "agl-kept" })], "saved values"));
    return h("div", { class: "agl-legend", "aria-hidden": "true" }, ...keys);
  }

  // ---- the cursor: one thing of the graph, moved with the keyboard -------------------------------------------

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const group = (thing) => (thing < 0 ? -1 - thing : this.film.units[thing].group), here = this.cursor;
    const closed = here !== null && here < 0 && !this.opened.has(-1 - here);
    const keys = {
      ArrowDown: () => this.walk(1), ArrowUp: () => this.walk(-1), "]": () => this.turn(1), "[": () => this.turn(-1),
      n: () => this.bar?.next(1), N: () => this.bar?.next(-1), "/": () => this.bar?.input.focus(),
      e: () => this.turnEdge(1), E: () => this.turnEdge(-1),
      Enter: () => (this.edge || here === null || here >= 0 ? this.pick() : this.toggle(-1 - here)),
      "+": () => closed && this.toggle(-1 - here),
      "-": () => {
        const g = here === null || closed ? (closed ? this.film.groups[-1 - here].parent : -1) : group(here);
        if (g >= 0 && this.opened.has(g)) this.toggle(g);
      },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** Move the cursor along an edge: down to what uses it, up to what it is made of. The nearest one across is taken. */
  walk(direction) {
    const start = this.focused();
    if (this.cursor === null || !this.rects.has(this.cursor)) return start === null ? this.turn(1) : this.goTo(this.scene.seen(start));
    const [x0, y0, w0, h0] = this.rects.get(this.cursor), middle = x0 + w0 / 2, seen = (u) => this.scene.seen(u);
    let best = null, least = Infinity;
    for (const { u, v } of [...this.film.forward, ...this.film.backward]) {
      const [from, to] = direction > 0 ? [seen(u), seen(v)] : [seen(v), seen(u)];
      if (from !== this.cursor || to === from || !this.rects.has(to)) continue;
      const [x, y, w, hh] = this.rects.get(to), far = Math.hypot(x + w / 2 - middle, y + hh / 2 - y0 - h0 / 2);
      if (far < least) { least = far; best = to; }
    }
    if (best !== null) this.goTo(best);
  }

  /** Move the cursor to the next thing as one reads, from the top and from the left, or to the one before. */
  turn(direction) {
    const things = [...this.rects.keys()].sort((a, b) => this.rects.get(a)[1] - this.rects.get(b)[1] || this.rects.get(a)[0] - this.rects.get(b)[0]);
    const here = this.cursor === null ? -1 : things.indexOf(this.cursor), next = here < 0 ? 0 : clamp(here + direction, 0, things.length - 1);
    if (things.length) this.goTo(things[next]);
  }

  /** Move the cursor from line to line of the thing it stands on. */
  turnEdge(direction) {
    const here = this.cursor === null ? this.focused() : this.cursor;
    if (here === null) return;
    this.cursor = here >= 0 ? this.scene.seen(here) : here;
    const film = this.film, ends = (layer, id) => { const { u, v } = film[layer][this.things[layer][id].lines[0]]; return [this.scene.seen(u), this.scene.seen(v)]; };
    const near = ["backward", "forward"].flatMap((layer) => this.things[layer].map((_, id) => [layer, id])).filter(([layer, id]) => ends(layer, id).includes(this.cursor));
    if (!near.length) return;
    const was = this.edge ? near.findIndex(([layer, id]) => layer === this.edge[0] && id === this.edge[1]) : -1;
    this.edge = near[was < 0 ? 0 : (was + direction + near.length) % near.length];
    this.mark();
  }

  /** Tell the stage what is pointed at: {unit}, or {edge} with a line of film.backward; null for a group. */
  pick() {
    const [layer, id] = this.edge ?? [], lines = this.edge && this.things[layer][id].lines;
    if (layer === "backward" && lines.length === 1) this.stage.pick?.({ edge: lines[0] });
    else if (layer === "forward") this.stage.pick?.(this.scene.seen(this.film.forward[lines[0]].v) < 0 ? null : { unit: this.film.forward[lines[0]].v });
    else this.stage.pick?.(!layer && this.cursor >= 0 ? { unit: this.cursor } : null);
  }

  /** One line about what the pointer is on, made when it is asked for. */
  hover(target) {
    const on = target?.closest?.("[data-thing], [data-line]"), thing = Number(on?.getAttribute("data-thing") ?? -1), line = on?.getAttribute("data-line");
    if (!on || (!line && thing < 0)) return;
    if (on.firstChild?.tagName !== "title") on.prepend(s("title"));
    const text = line ? this.describeLine(...this.lineOf(line)) : this.describe(thing);
    write(on.firstChild, text);
  }

  lineOf(name) { return [name[0] === "b" ? "backward" : "forward", Number(name.slice(1))]; }

  /** Draw the ring around the cursor and say what it stands on. */
  mark() {
    let rect = this.cursor === null ? undefined : this.rects.get(this.cursor >= 0 ? this.scene.seen(this.cursor) : this.cursor);
    if (this.edge) {
      const [layer, id] = this.edge, { p, pill: at } = this.things[layer][id], [x, y, w] = at ?? [(p[0] + p[2]) / 2, (p[1] + p[3]) / 2, 0];
      rect = [x - Math.max(w, 20) / 2, y - 9, Math.max(w, 20), 18];
    }
    this.ring.setAttribute("visibility", rect ? "visible" : "hidden");
    if (!rect) return;
    const [x, y, w, hh] = rect;
    for (const [name, value] of [["x", x - 6], ["y", y - 8], ["width", w + 12], ["height", hh + 14]]) this.ring.setAttribute(name, value);
    this.spoken.textContent = this.edge ? this.describeLine(...this.edge) : this.describe(this.cursor);
    this.pick();
  }

  /** A line in words. */
  describeLine(layer, id) {
    const film = this.film, lines = this.things[layer][id].lines.map((i) => film[layer][i]), { k } = this.stage, { u, v, box, tl, free } = lines[0];
    const name = (unit) => { const thing = this.scene.seen(unit), of = film.units[unit]; return thing < 0 ? `group ${film.groups[-1 - thing].name}` : of.node >= 0 ? film.nodes[of.node].label : film.tensors[of.boxes[0]?.[0]]?.label ?? "a tensor"; };
    if (layer === "forward") return `${film.tensors[film.units[u].boxes[box]?.[0]]?.label ?? "a gradient"} goes into ${name(v)}${free ? "; no gradient comes back this way" : ""}`;
    const way = `from ${name(v)} to ${name(u)}`, index = at(tl, k);
    if (lines.length > 1) return `${lines.length} edges ${way}`;
    if (index === undefined) return `edge ${way}, not made yet`;
    const [is, value, after] = film.states[index];
    if (is === "pruned") return `edge ${way}: nothing is sent`;
    if (is !== "sent") return `edge ${way}: no gradient yet`;
    return `gradient ${brief(film, value)} ${way}${after >= 0 ? `; a hook made it ${brief(film, after)}` : ""}`;
  }

  /** A thing in words. */
  describe(thing) {
    if (thing < 0) {
      const g = -1 - thing;
      return `group ${this.film.groups[g].name}, ${this.opened.has(g) ? "open" : "closed"}, ${this.census.at(g, this.stage.k).text}`;
    }
    const unit = this.film.units[thing], node = this.film.nodes[unit.node], state = node && at(node.tl, this.stage.k);
    const values = unit.boxes.map(([t]) => {
      const now = at(this.film.tensors[t].tl, Math.min(this.stage.k, unit.until));
      return now === undefined ? `${this.film.tensors[t].label}, not made yet` : `${this.film.tensors[t].label}, value ${brief(this.film, this.film.states[now][0])}`;
    });
    if (!node) return values.join("; ");
    const [status, arrived, of] = state === undefined ? ["not made yet", 0, 0] : this.film.states[state];
    if (this.census.masked && (status === "ready" || status === "waiting")) return [node.label, "not done yet", ...values].join(", ");
    return [node.label, status === "waiting" && of > 1 ? `${arrived} of ${of} messages ${arrived === 1 ? "is" : "are"} here` : status, ...values].join(", ");
  }

  /** Open the groups around a unit, and close those opened this way before. */
  follow_inside(unit) {
    const opened = new Set([...this.opened].filter((g) => !this.guests?.has(g)));
    this.guests = new Set();
    for (let g = this.film.units[unit].group; g >= 0; g = this.film.groups[g].parent) {
      if (!opened.has(g)) this.guests.add(g);
      opened.add(g);
    }
    this.reopen(opened, unit);
  }

  // ---- the camera -------------------------------------------------------------------------------------------

  resize() {
    const box = this.root.getBoundingClientRect();
    if (this.map && !this.map.scale) this.map.draw(); // it takes its room first
    if (box.width) this.pane = [this.svg.clientWidth || box.width, this.svg.clientHeight || box.height].map((size) => size / (this.magnify ?? 1));
    this.svg.setAttribute("viewBox", `0 0 ${this.pane[0]} ${this.pane[1]}`); // larger than life for a presenter
    if (!this.chosen) this.mode = this.fitting(); // in a smaller window the names must be readable still
  }

  fitting() { return fitScale(this.size, this.pane) >= (this.least ?? SMALLEST) ? "fit" : "follow"; }

  zoom(factor) {
    this.free = true;
    this.camera.scale = clamp(this.camera.scale * factor, 0.05, 2.5);
    this.paint();
  }

  /** The whole graph, as far as it can be read; asked once more, all of it. */
  fit() {
    this.all = this.mode === "fit" && !this.free && !this.all;
    this.mode = "fit";
    this.chosen = true;
    this.free = false;
    this.stage.show(this.stage.k);
  }

  follow() { this.mode = "follow"; this.chosen = true; this.free = false; this.stage.show(this.stage.k); }

  drag() {
    let start = null;
    this.svg.addEventListener("pointerdown", (e) => {
      start = [e.clientX, e.clientY, this.camera.x, this.camera.y, e.target.closest?.("[data-thing], [data-line]") ?? this.single(e)];
      this.svg.setPointerCapture(e.pointerId);
    });
    this.svg.addEventListener("pointermove", (e) => {
      if (!start) this.hover(this.single(e));
      if (!start || Math.hypot(e.clientX - start[0], e.clientY - start[1]) < 3) return;
      start[4] = start[5] = null;
      this.free = true;
      const scale = this.camera.scale * (this.magnify ?? 1) * zoomed(this.root);
      this.camera.x = start[2] - (e.clientX - start[0]) / scale;
      this.camera.y = start[3] - (e.clientY - start[1]) / scale;
      this.paint();
    });
    this.svg.addEventListener("pointercancel", () => { start = null; });
    this.svg.addEventListener("pointerup", () => {
      const clicked = start?.[4];
      start = null;
      if (!clicked) return;
      const thing = Number(clicked.getAttribute("data-thing") ?? 0), line = clicked.getAttribute("data-line");
      this.edge = line ? this.lineOf(line) : null;
      if (thing < 0) return this.toggle(-1 - thing);
      if (!line) this.cursor = thing;
      this.mark();
    });
    this.svg.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1.1 : 0.9);
    }, { passive: false });
  }

  /** The rectangle of what the step is about: a unit, or the closed group it is in. */
  subject() {
    const unit = this.focused();
    return unit === null ? undefined : this.rects.get(this.scene.seen(unit));
  }

  /** The node that is drawn at a point of the graph, -1 for none. */
  nodeAt(x, y) {
    const hit = this.things.units.find(([u, cx, cy]) => {
      const { node, since, shape: [sx, sy, rx, ry] } = this.film.units[u];
      return node >= 0 && since <= this.stage.k && Math.abs(x - cx - sx) <= rx + 3 && Math.abs(y - cy - sy) <= ry + 3;
    });
    return hit ? this.film.units[hit[0]].node : -1;
  }

  /** Told how much of the picture's head and foot lies under what stays in view while the page scrolls: the camera moves, the page does not. */
  cover(over, now) {
    const same = over.join() === this.over.join();
    this.over = over;
    if (now && !same && !this.free) this.glide(this.aim());
  }

  /** Where the camera should be for this step: [x, y, scale], with what the step or an open question is about clear of what lies over the picture. */
  aim() {
    const [x, y, scale] = this.look(), rect = this.about(), [head, foot] = this.over.map((share) => share * this.pane[1]);
    if (!rect || !(head || foot)) return [x, y, scale];
    const tall = this.pane[1], top = tall / 2 + (rect[1] - 10 - y) * scale, end = top + (rect[3] + 20) * scale;
    const down = end > tall - foot ? Math.min(end - tall + foot, top - head) : Math.min(top - head, 0);
    return [x, y + down / scale, scale];
  }

  /** The rectangle of what an open question is about, else of what the step is about; before the first step, of where the graph begins. */
  about() {
    const unit = this.film.nodes[this.stage.quiz?.about]?.unit ?? -1, begins = !this.stage.k && this.film.units.length;
    return (unit >= 0 && this.rects.get(this.scene.seen(unit))) || this.subject() || (begins ? this.rects.get(this.scene.seen(0)) : undefined);
  }

  look() {
    const [w, hh] = this.size, scale = fitScale(this.size, this.pane);
    if (this.mode === "fit" && (scale >= READABLE || this.all)) return [w / 2, hh / 2, scale];
    if (this.mode === "fit") { // at least its width or its height, if names can be read then
      const rect = this.about() ?? [w / 2, hh / 2, 0, 0];
      const part = clamp(Math.max(fitScale([w, 0], this.pane), fitScale([0, hh], this.pane)), READABLE, CLEAR), [wide, tall] = this.pane.map((v) => v / part);
      return [this.towards(rect, 0, w, wide), this.towards(rect, 1, hh, tall), part];
    }
    const big = this.free ? this.camera.scale : Math.max(FOLLOW, scale), view = this.pane.map((v) => v / big);
    const unit = this.about(), { x: atX, y: atY } = this.camera;
    if (!unit) return [atX, atY, big];
    const [x, y, uw, uh] = unit;
    const inside = !this.fresh && big === this.camera.scale &&
      x - MARGIN > atX - view[0] / 2 && x + uw + MARGIN < atX + view[0] / 2 &&
      y - MARGIN > atY - view[1] / 2 && y + uh + MARGIN < atY + view[1] / 2;
    const [cx, cy] = inside ? [atX, atY] : [this.towards(unit, 0, w, view[0]), this.towards(unit, 1, hh, view[1])];
    return [cx, cy, big];
  }

  /** Where the camera shows a rectangle on one axis: in the middle; before the first step as near to the graph's left and upper end as it can. */
  towards(rect, axis, length, view) {
    const at = rect[axis], size = rect[axis + 2];
    return centre(this.stage.k ? at + size / 2 : at + size + MARGIN - view / 2, length, view);
  }

  /** Whether so much is on the camera's way to its target that drawing it would take longer than a frame. */
  crowded() {
    this.locate();
    let room = CROWD;
    return ["units", "forward", "backward"].some((name) => {
      const ids = this.near(name);
      return ids.length > 4 * CROWD || (room -= ids.filter((id) => this.within(name, id)).length) < 0;
    });
  }

  glide([x, y, scale]) {
    cancelAnimationFrame(this.gliding);
    const c = this.camera, from = [c.x, c.y, c.scale], far = Math.hypot(x - c.x, y - c.y) * scale;
    this.target = { x, y, scale };
    if (this.fresh || this.still.matches || far < 1 || far > Math.hypot(...this.pane) || this.crowded()) {
      Object.assign(c, this.target);
      this.fresh = false;
      this.target = null;
      return this.paint();
    }
    const t0 = performance.now();
    const tick = (now) => {
      const t = clamp((now - t0) / 220, 0, 1), ease = 1 - (1 - t) ** 3;
      c.x = from[0] + (x - from[0]) * ease; c.y = from[1] + (y - from[1]) * ease; c.scale = from[2] + (scale - from[2]) * ease;
      this.place();
      if (t < 1) this.gliding = requestAnimationFrame(tick);
      else { this.target = null; this.paint(); }
    };
    this.paint();
    this.gliding = requestAnimationFrame(tick);
  }

  /** Put the world where the camera looks; setting the same again would cost a layout of all that is drawn. */
  place() {
    const { x, y, scale } = this.camera, [w, hh] = this.pane;
    const transform = `translate(${(w / 2 - x * scale).toFixed(2)} ${(hh / 2 - y * scale).toFixed(2)}) scale(${scale.toFixed(4)})`;
    if (transform !== this.placed) this.world.setAttribute("transform", this.placed = transform);
  }

  /** The part of the world in view now or at the end of the camera's way, with a margin. */
  view() {
    const around = ({ x, y, scale }) => [x - this.pane[0] / 2 / scale - 40, y - this.pane[1] / 2 / scale - 40, x + this.pane[0] / 2 / scale + 40, y + this.pane[1] / 2 / scale + 40];
    const a = around(this.camera), b = this.target ? around(this.target) : a;
    return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
  }

  // ---- the drawing ------------------------------------------------------------------------------------------

  /** Show the stage's step. `travel`: whether the camera may glide; `forward`: whether gradients may ride. */
  show(travel, forward) {
    const unit = this.inside ? this.focused() : null;
    if (unit !== null && this.scene.seen(unit) !== unit) return this.follow_inside(unit);
    if (!travel && !this.free) this.fresh = true;
    this.glide(this.aim());
    if (travel && forward && this.stage.kind === "deliver" && !this.still.matches) this.ride();
  }

  /** Find what is in view, and the region around it in which a move of the camera changes little. */
  locate() {
    const [x0, y0, x1, y1] = this.seen = this.view(), far = this.camera.scale < FAR, had = far === this.far && this.region;
    if (had && x0 >= had[0] && y0 >= had[1] && x1 <= had[2] && y1 <= had[3] && x1 - x0 >= (had[2] - had[0]) / 6) return;
    this.forget();
    if (far !== this.far) this.svg.setAttribute("data-far", (this.far = far) ? "1" : "0");
    this.region = [x0 * 1.5 - x1 / 2, y0 * 1.5 - y1 / 2, x1 * 1.5 - x0 / 2, y1 * 1.5 - y0 / 2];
  }

  forget() { Object.assign(this, { region: null, nearby: {}, known: {} }); }

  /** What of a layer is in the region. */
  near(name) { return this.nearby[name] ??= cull(this.boxes[name], this.region).filter((id) => this.within(name, id, this.region)); }

  /** Whether something is in a rectangle: of lines only those that come through it, however many run past. */
  within(name, id, [x0, y0, x1, y1] = this.seen) {
    const { p, pill } = this.things[name][id], boxes = this.boxes[name], i = 4 * id;
    if (boxes[i] > x1 || boxes[i + 2] < x0 || boxes[i + 1] > y1 || boxes[i + 3] < y0) return false;
    return !p || meets(p, [x0, y0, x1, y1]) || (pill && this.labelled(pill, [x0, y0, x1, y1]));
  }

  /** What of a layer the steps from a to b change. */
  between(name, a, b) {
    const found = new Set();
    for (let k = Math.min(a, b); k <= Math.max(a, b); k++) {
      for (const i of this.changes[name].get(k) ?? []) found.add(this.drawnAs[name].get(i));
    }
    found.delete(undefined); // what is inside a closed group, or hidden
    return found;
  }

  /** What of a layer is drawn by itself, with its state; of many the rest goes into bundles, and only what the step changes is looked at. */
  apart(name) {
    const crowd = this.crowds[name], ids = this.near(name), apart = new Map(), state = (id) => this[`state_${name}`]?.(id);
    const many = crowd && (this.far || name !== "units") && (ids.length > NEAR || ids.filter((id) => this.within(name, id)).length > ALONE);
    if (!many) {
      if (crowd?.taken.size) crowd.start(1);
      this.known[name] = null;
      for (const id of ids) {
        const is = this.within(name, id) ? state(id) : null;
        if (is !== null) apart.set(id, is);
      }
      return apart;
    }
    const { k } = this.stage, { pointed } = this, all = () => { crowd.start(this.things[name].length); return { members: new Set(ids), own: new Map(), fresh: true }; };
    const known = this.known[name] = !this.known[name] || Math.abs(this.known[name].k - k) > JUMP || this.known[name].begun !== this.begun ? all() : this.known[name];
    for (const id of known.fresh ? ids : [...this.between(name, known.k, k), ...[pointed, known.pointed].flatMap((one) => (one?.[0] === name ? one[1] : []))]) {
      if (!known.members.has(id)) continue;
      const is = state(id), own = is !== null && (is.bundle === undefined || is.label || (pointed?.[0] === name && pointed[1] === id));
      if (own) known.own.set(id, is);
      else known.own.delete(id);
      crowd.put(id, is === null || own ? undefined : is.bundle);
    }
    for (const [id, is] of known.own) {
      const out = is.label && is.bundle !== undefined && !this.labelled(this.things[name][id].pill, this.seen) && !(pointed?.[0] === name && pointed[1] === id);
      if (!out) apart.set(id, is);
      crowd.put(id, out ? is.bundle : undefined);
    }
    Object.assign(known, { k, pointed, begun: this.begun, fresh: false });
    return apart;
  }

  /** Whether a label is in view. */
  labelled([x, y, w], [x0, y0, x1, y1]) { return x + w / 2 >= x0 && x - w / 2 <= x1 && y >= y0 - 10 && y <= y1 + 10; }

  /** Bring what is in view up to date; make what has come into view, drop what has left it. A line that cannot be seen yet is not made. */
  paint() {
    this.locate();
    this.place();
    this.begun = (this.film.curves && this.film.turns?.findLast((k) => k <= this.stage.k)) || 0; // in a training loop: lines of earlier iterations are faint
    this.layers.forEach((layer, i) => {
      const name = LAYERS[i], drawn = this.drawn[name], alone = this.apart(name);
      for (const [id, thing] of drawn) if (!alone.has(id)) { this.drop(thing); drawn.delete(id); }
      for (const [id, state] of alone) {
        let thing = drawn.get(id);
        if (!thing) { thing = this[`make_${name}`](id); drawn.set(id, thing); layer.append(thing.g); }
        this[`draw_${name}`](thing, id, state);
      }
      this.crowds[name]?.finish();
    });
    this.map?.look();
  }

  /** Bundles of a layer: the same elements, classes and states as of one thing, with the shapes of many. */
  crowdOf(name) {
    const make = {
      forward: (free) => { const paths = [s("path", { class: `agl-fline${free}` }), s("path", { class: `agl-fhead${free}` })]; return { g: s("g", { class: "agl-f", "data-s": "made" }, ...paths), paths }; },
      backward: (state) => { const [status, style] = state.split("|"), paths = [s("path", { class: "agl-bline" }), s("path", { class: "agl-bhead" })]; return { g: s("g", { class: "agl-b", "data-s": status, style }, ...paths), paths, above: Boolean(style) }; },
      units: (state) => {
        const [is, status] = state.split("|"), paths = ["agl-box", "agl-box", "agl-link", "agl-node"].map((c) => s("path", { class: c }));
        return { g: s("g", { class: "agl-unit", "data-s": is }, paths[0], s("g", { class: "agl-off-grad" }, paths[1]), s("g", { class: "agl-grad-fn", "data-s": status }, ...paths.slice(2))), paths };
      },
    }[name];
    const line = (short, size) => (id) => {
      const { p } = this.things[name][id];
      return [this.isLong(p) ? visiblePath(p, this.region, short) : path(p, short), this.far ? "" : head(p, size)];
    };
    const unit = (id) => {
      const [u, cx, cy] = this.things.units[id], { boxes, node, shape: [sx, sy, rx, ry] } = this.film.units[u], shape = ["", "", "", ""], x = cx + sx, y = cy + sy;
      for (const [t, bx, by, w, hh] of boxes) shape[this.film.tensors[t].grad ? 0 : 1] += `M${cx + bx} ${cy + by}h${w}v${hh}h${-w}z`;
      if (node < 0) return shape;
      const [[, bx, , bw] = []] = boxes.slice(-1), round = this.film.nodes[node].kind !== "accumulate";
      if (boxes.length && round) shape[2] = `M${cx + bx + bw} ${y}H${x - rx}`;
      shape[3] = round ? `M${x - rx} ${y}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0` : `M${x} ${y - ry}l${rx} ${ry}l${-rx} ${ry}l${-rx} ${-ry}z`;
      return shape;
    };
    return new Crowd(this.layers[LAYERS.indexOf(name)], make, { forward: line(5, 4), backward: line(7), units: unit }[name]);
  }

  /** What is under the pointer leaves its bundle: drawn alone it has a hover, and can be chosen. */
  single(e) {
    const crowds = ["units", "backward", "forward"].filter((name) => this.crowds[name].taken.size);
    if (!crowds.length || e.target.closest?.("[data-thing], [data-line]")) return null;
    const { x, y } = new DOMPoint(e.clientX, e.clientY).matrixTransform(this.world.getScreenCTM().inverse()), near = [x - 6, y - 6, x + 6, y + 6];
    for (const name of crowds) {
      const id = cull(this.boxes[name], near).find((one) => this.crowds[name].taken.has(one) && (name === "units" || meets(this.things[name][one].p, near)));
      if (id === undefined) continue;
      this.pointed = [name, id];
      this.paint();
      return this.drawn[name].get(id).g;
    }
    return null;
  }

  drop(thing) { thing.g.remove(); thing.top?.remove(); }

  make_frames(id) {
    const [g, x, y, w, hh] = this.things.frames[id], { name } = this.film.groups[g];
    const top = s("g", { class: "agl-frame-head", "data-thing": -1 - g }, s("title", {}, `Close ${name}`), // lines pass under it
      s("rect", { x: x + 1, y: y + 1, width: Math.min(w - 2, 44 + 7.2 * name.length), height: 22, rx: 6 }), s("path", { d: `M${x + 10} ${y + 12}h8` }),
      s("text", { x: x + 24, y: y + 16, class: "agl-name agl-left" }, name));
    this.labels.prepend(top);
    return { g: s("g", { class: "agl-frame" }, s("rect", { x, y, width: w, height: hh, rx: 7, class: "agl-frame-box" })), top };
  }

  draw_frames() {}

  /** A closed group: its name, how many nodes are inside, and how far they are. */
  make_folded(id) {
    const [g, x, y, w, hh] = this.things.folded[id], { name, pass } = this.film.groups[g];
    const thing = { g: s("g", { class: `agl-folded${pass ? " agl-pass" : ""}`, "data-thing": -1 - g }), text: s("text", { x: w / 2, y: 34, class: "agl-grad" }),
      done: s("rect", { x: 12, y: 40, height: 4, rx: 1.5, class: "agl-part-done" }), busy: s("rect", { y: 40, height: 4, rx: 1.5, class: "agl-part-busy" }) };
    thing.g.append(...(pass ? [] : [s("title", {}, `Open ${name}`)]), s("g", { transform: `translate(${x} ${y})` },
      s("rect", { x: 4, y: -4, width: w, height: hh, rx: 7, class: "agl-behind" }), s("rect", { width: w, height: hh, rx: 7, class: "agl-folded-box" }),
      ...(pass ? [] : [s("path", { d: "M10 15h8m-4-4v8", class: "agl-plus-sign" })]), s("text", { x: pass ? 12 : 23, y: 19, class: "agl-name agl-left" }, name),
      thing.text, s("rect", { x: 12, y: 40, width: w - 24, height: 4, rx: 1.5, class: "agl-part" }), thing.done, thing.busy));
    return thing;
  }

  draw_folded(thing, id) {
    const [g, , , w] = this.things.folded[id], count = this.census.at(g, this.stage.k), unit = this.focused(), room = w - 24;
    const { pass } = this.film.groups[g], now = pass ? this.stage.k >= pass[0] && this.stage.k <= pass[1] : unit !== null && this.scene.seen(unit) === -1 - g;
    this.set(thing, "g", thing.g, "data-s", count.status + (now ? " now" : ""));
    if (thing.said === count.text) return;
    thing.said = thing.text.textContent = count.text;
    thing.done.setAttribute("width", (room * count.done).toFixed(1));
    thing.busy.setAttribute("x", (12 + room * count.done).toFixed(1));
    thing.busy.setAttribute("width", (room * count.busy).toFixed(1));
  }

  state_forward(id) {
    const { since, free, cut } = this.things.forward[id];
    const past = since < this.begun ? " agl-past" : "";
    return since > this.stage.k ? null : { past, bundle: cut ? undefined : (free ? " agl-free" : "") + past };
  }

  make_forward(id) {
    const { p, free, cut: isCut } = this.things.forward[id], line = s("path", { class: `agl-fline${free ? " agl-free" : ""}` }), long = this.long(line, p, 5);
    const thing = { g: s("g", { class: "agl-f", "data-line": `f${id}`, "data-s": "made" }, ...this.hit(p, long), line, s("path", { d: head(p, 4), class: "agl-fhead" })), ...long };
    if (isCut) thing.g.append(s("path", { d: cut(p), class: "agl-cut" }));
    return thing;
  }

  /** A broad line that cannot be seen: a thin one is hard to point at. */
  hit(p, { long }) { return long ? [] : [s("path", { d: path(p), class: "agl-hit" })]; }

  isLong(p) {
    const [x0, y0, x1, y1] = bounds(p);
    return x1 - x0 > LONG || y1 - y0 > LONG;
  }

  /** How to draw a line: at once, or if it is long, anew when other parts of it come into view. */
  long(line, p, short) {
    const is = this.isLong(p);
    if (!is) line.setAttribute("d", path(p, short));
    return { long: is && { line, p, short } };
  }

  /** Draw the part of a long line that is in view, and some more. */
  stretch({ long }) {
    if (!long || long.seen === this.region) return;
    long.seen = this.region;
    long.line.setAttribute("d", visiblePath(long.p, this.region, long.short));
  }

  draw_forward(thing, id, { past }) {
    this.stretch(thing);
    this.set(thing, "g", thing.g, "class", `agl-f${past}`);
  }

  make_backward(id) {
    const { p } = this.things.backward[id], thing = { g: s("g", { class: "agl-b", "data-line": `b${id}` }) };
    const line = s("path", { class: "agl-bline" }), long = this.long(line, p, 7);
    Object.assign(thing, long);
    thing.g.append(...this.hit(p, long), line, s("path", { d: head(p), class: "agl-bhead" }));
    return thing;
  }

  /** The label of a line, when it first says something: of a thousand lines between two rows few do. */
  label(thing, id) {
    const { pill: [x, y, w] } = this.things.backward[id];
    thing.top = s("g", { class: "agl-b", "data-line": `b${id}` }, thing.pill = s("g", { class: "agl-pill", transform: `translate(${x} ${y})` }));
    this.labels.append(thing.top);
    Object.assign(thing, labelParts(w));
    thing.pill.append(...thing.parts);
  }

  /** What a line says: its gradient; of several together, how many have come, and at its step the one that comes. Null if it is not made yet. */
  state_backward(id) {
    const { film } = this, thing = this.things.backward[id], { lines, pill } = thing, { k, kind } = this.stage, one = lines.length === 1;
    const now = at(thing.sums ??= this.sums(lines), k);
    if (!now) return null;
    const { sent, pruned, level, last } = now, came = now.k === k && ["edge", "deliver", "pruned", "hook"].includes(kind);
    const about = kind === "vjp" && this.changes.lines[film.focus[k]]?.some((i) => this.drawnAs.backward.get(i) === id && film.states[at(film.backward[i].tl, k)]?.[0] !== "sent"); // its rule has run, and nothing is sent yet
    const status = sent ? "sent" : pruned === lines.length ? "pruned" : "made", hot = about ? " about" : came ? " hot" : "";
    const state = (one || came) && last?.[0] === "sent" ? last : null, [, v, after] = state ?? [0, -1, -1];
    const text = !sent ? "" : !state ? `${sent}/${lines.length}` : brief(film, v) + (after < 0 ? "" : ` \u2192 ${brief(film, after)}`);
    const s = status + hot + (sent && level < 0 ? " zero" : "") + (!sent && thing.sums[0] < this.begun ? " past" : ""), style = sent ? weight(level) : "";
    return { s, style, text, item: film.values[after < 0 ? v : after], wide: one ? 0 : Math.max(30, 13 + 6.6 * text.length),
      label: text !== "" && !this.far && this.labelled(pill, this.region), bundle: hot ? undefined : `${s}|${style}` };
  }

  /** What several lines that are drawn as one are together, over time: how many have sent and send nothing, the highest level, and the state that came last. */
  sums(lines) {
    const { film } = this, moves = [], timeline = [], levels = new Map(), is = new Map(), sum = { sent: 0, pruned: 0 };
    for (const i of lines) for (let j = 0, { tl } = film.backward[i]; j < tl.length; j += 2) if (tl[j + 1] !== tl[j - 1]) moves.push([tl[j], i, film.states[tl[j + 1]]]);
    const count = ([what, value, after], by) => {
      if (what === "pruned") sum.pruned += by;
      if (what !== "sent") return;
      const level = film.levels[after < 0 ? value : after];
      sum.sent += by;
      levels.set(level, (levels.get(level) ?? 0) + by);
    };
    for (const [k, i, state] of moves.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
      if (is.has(i)) count(is.get(i), -1);
      is.set(i, state);
      count(state, 1);
      const now = { ...sum, k, last: state, level: Math.max(-1, ...[...levels].map(([level, many]) => (many ? level : -1))) };
      if (timeline.at(-2) === k) timeline.splice(-1, 1, now);
      else timeline.push(k, now);
    }
    return timeline;
  }

  draw_backward(thing, id, { s, style, text, item, wide }) {
    this.stretch(thing);
    if (style) this.set(thing, "g", thing.g, "style", style);
    if (text && !thing.top) this.label(thing, id);
    for (const part of thing.top ? ["g", "top"] : ["g"]) this.set(thing, part, thing[part], "data-s", s);
    if (thing.top) this.fill(thing, text, item, wide);
  }

  /** Write into a label: its text, and of many numbers their heat strip. A `wide` of 0 leaves its width. */
  fill(thing, text, item, wide = 0) {
    if (thing.said === text && thing.item === item) return;
    write(thing.text, thing.said = text);
    thing.item = item;
    thing.pill.style.display = text ? "" : "none";
    const pictured = hasStrip(item), w = wide ? wide + (pictured ? STRIP + 5 : 0) : thing.w;
    attr(thing.box, "x", -w / 2);
    attr(thing.box, "width", w);
    attr(thing.text, "x", pictured ? -(STRIP + 5) / 2 : 0);
    thing.strip.innerHTML = pictured ? strip(item, w / 2 - STRIP - 7, -6, STRIP, 12) : "";
  }

  make_units(id) {
    const [u, cx, cy] = this.things.units[id], unit = this.film.units[u];
    const g = s("g", { class: "agl-unit", "data-thing": u, transform: `translate(${cx} ${cy})` }), thing = { g, boxes: [] };
    unit.boxes.forEach(([t, x, y, w, hh], nr) => {
      const { name, leaf, shape: dims, grad } = this.film.tensors[t], hooks = unit.hooks[nr], count = dims.reduce((a, b) => a * b, 1), pictured = count > 4 || !count;
      const left = pictured ? " agl-left" : "", middle = x + (pictured ? 10 : w / 2);
      const box = { t, g: s("g", { class: "agl-tensor" }), name: s("text", { x: middle, y: y + (name ? 17 : 0), class: `agl-name${left}` }, name.length > 36 ? `${name.slice(0, 20)}\u2026${name.slice(-14)}` : name),
        value: s("text", { x: middle, y: y + (name ? 32 : 24.5), class: `agl-val${left}` }),
        thumb: s("g", { class: "agl-thumb" }), at: [x, y, w, hh] };
      if (!grad) box.g.classList.add("agl-off-grad");
      box.g.append(s("rect", { x, y, width: w, height: hh, rx: 4, class: "agl-box" }));
      if (unit.why) {
        if (nr === unit.boxes.length - 1) box.g.append(s("text", { x: x + w + 5, y: y + hh / 2 + 3.5, class: "agl-cap agl-left agl-why" }, this.film.captions[unit.why]));
      } else if (leaf && !unit.fed) box.g.append(s("text", { x: x + (hooks.length ? 10 : 1), y: y - 4, class: "agl-cap agl-left" }, grad ? "leaf" : "data"));
      if (unit.ignored.includes(nr)) box.g.append(s("text", { x: x + w / 2 + 6, y: y + hh + 12, class: "agl-cap agl-left agl-ignored" }, "ignored"));
      if (hh > 50) {
        box.g.append(box.line = s("path", { d: `M${x} ${y + 40}h${w}`, class: "agl-rule-line" }));
        box.grad = s("text", { y: y + 52, class: "agl-grad" });
        box.strip = s("g", { class: "agl-thumb" });
        box.g.append(box.grad, box.strip);
      }
      box.version = s("text", { ...(unit.fed ? { x: x - 5, y: y + hh / 2 + 3 } : { x: x + w - 1, y: y - 4 }), class: "agl-cap agl-right agl-version" });
      box.g.append(box.name, box.value, box.thumb, box.version);
      if (hooks.length) box.g.append(box.hook = hookMark(x, y));
      g.append(box.g);
      thing.boxes.push(box);
    });
    if (unit.node >= 0) {
      const node = this.film.nodes[unit.node], [x, y, rx, ry] = unit.shape, round = node.kind !== "accumulate", [[, bx, by, bw, bh] = []] = unit.boxes.slice(-1);
      thing.node = s("g", { class: "agl-grad-fn" });
      if (!round && bh > 50) { // where it adds
        const x0 = x - rx, x1 = bx + bw, y1 = by + 48.5, m = (x0 + x1) / 2;
        thing.node.append(s("g", { class: "agl-joined" }, s("path", { d: `M${x0} ${y}C${m} ${y} ${m} ${y1} ${x1 + 5} ${y1}` }), s("path", { d: `M${x1} ${y1}l7 -3.5v7z` })));
      }
      if (unit.boxes.length && round) {
        thing.node.append(s("path", { d: `M${bx + bw} ${y}H${x - rx}`, class: "agl-link" }));
      }
      thing.node.append(round ? s("ellipse", { cx: x, cy: y, rx, ry, class: "agl-node" }) : s("path", { d: `M${x} ${y - ry}L${x + rx} ${y}L${x} ${y + ry}L${x - rx} ${y}z`, class: "agl-node" }));
      if (round) {
        const [, name, number] = node.label.match(/^(.*?)( #\d+)?$/);
        thing.node.append(s("text", { x, y: y + 4, class: "agl-label" }, name, s("tspan", { class: "agl-dim" }, number ?? "")));
      } else thing.node.append(s("text", { x, y: y + 4.5, class: "agl-label agl-plus" }, "+="), s("text", { x, y: y - ry - 5, class: "agl-cap" }, "AccumulateGrad"));
      if (round && node.pass) thing.node.append(s("ellipse", { cx: x, cy: y, rx: rx - 3.5, ry: ry - 3.5, class: "agl-ring" }));
      thing.dead = node.dead.map((_, j) => s("g", { class: "agl-dead" }, s("path", { d: `M${x - rx * 0.82 + 15 * j} ${y - ry * 0.55}V${y - ry - 7}`, class: "agl-bline" }), stopSign(x - rx * 0.82 + 15 * j, y - ry - 7)));
      if (node.saved.length) thing.kept = s("rect", { x: x - rx * 0.74 - 4, y: y + ry * 0.66 - 3, width: 8, height: 8, class: "agl-kept" });
      thing.node.append(...thing.dead, ...(thing.kept ? [thing.kept] : []));
      if (node.kind === "function") thing.node.append(s("g", { class: "agl-own", transform: `translate(${x + rx * 0.8} ${y + ry * 0.9})` }, s("circle", { r: 7.5 }), s("text", { y: 3.5 }, "\u0192")));
      thing.badge = s("g", { class: "agl-badge", transform: round ? `translate(${x + rx * 0.74} ${y - ry * 0.98})` : `translate(${x + rx + 4} ${y + (unit.heap.length ? 17 : 0)})` });
      thing.aside = !round;
      thing.badgeText = s("text", { y: 3.5 });
      thing.badgeBox = s("rect", { y: -7.5, height: 15, rx: 7.5 });
      thing.badge.append(thing.badgeBox, thing.badgeText);
      thing.labels = ["heap", "seed"].filter((name) => unit[name].length).map((name) => {
        const [lx, ly, w] = unit[name], one = { name, g: s("g", { class: `agl-at agl-${name}`, transform: `translate(${lx} ${ly})` }), ...labelParts(w) };
        one.pill = one.g;
        one.box.setAttribute("rx", 3);
        if (name === "seed") one.g.append(s("path", { d: `M${-w / 2} 0h-18`, class: "agl-seed-line" }), s("path", { d: `M${-w / 2 - 25} 0l9 -4.5v9z`, class: "agl-seed-head" }));
        one.g.append(...one.parts, name === "seed" ? s("text", { class: "agl-cap", y: -13 }, name) : s("text", { class: "agl-cap agl-left", x: w / 2 + 4, y: 3.5 }, "sum"));
        return one;
      });
      if (node.hooks.length) thing.node.append(thing.hook = round ? hookMark(x - rx, y) : hookMark(x + rx * 0.55, y - ry * 0.55));
      thing.node.append(thing.badge, ...thing.labels.map((label) => label.g));
      g.append(thing.node);
    }
    return thing;
  }

  /** Far away a box is told from others by its state alone. */
  state_units(id) {
    const { film } = this, { k } = this.stage, unit = film.units[this.things.units[id][0]], ghost = unit.since > k, state = at(film.nodes[unit.node]?.tl ?? [], k);
    const now = film.focus[k] === unit.node && unit.node >= 0 || unit.boxes.some(([t]) => film.subject[k] === t);
    return { bundle: now ? undefined : `${ghost ? "ghost" : "made"}|${state === undefined ? "ghost" : film.states[state][0]}` };
  }

  draw_units(thing, id) {
    const film = this.film, { k, kind } = this.stage, unit = film.units[this.things.units[id][0]], ghost = unit.since > k;
    this.set(thing, "g", thing.g, "data-s", ghost ? "ghost" : "made");
    const [, , stage, , , on] = kind === "hook" && film.focus[k] === unit.node ? this.stage.panels.details.hookAt.get(k) ?? [] : [];
    const hooked = (thing, tl, runs) => this.set(thing, "hook", thing.hook, "data-s", !at(tl, k) ? "none" : runs ? "now" : "set");
    thing.boxes.forEach((box, nr) => {
      const tensor = film.tensors[box.t], state = ghost ? undefined : at(tensor.tl, Math.min(k, unit.until));
      const now = k <= unit.until && film.subject[k] === box.t || (kind === "node" && film.focus[k] === unit.node);
      this.set(box, "g", box.g, "data-now", now && !ghost ? "1" : "0");
      if (box.hook) hooked(box, unit.hooks[nr], on === box.t);
      if (box.state === state && box.known) return;
      box.state = state;
      box.known = true;
      const [v, version, grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
      const item = film.values[v], [x, y, w] = box.at;
      write(box.value, v < 0 ? "" : brief(film, v));
      box.name.style.display = state === undefined ? "none" : "";
      if (hasStrip(item) || box.thumb.firstChild) box.thumb.innerHTML = hasStrip(item) ? strip(item, x + w - 35, y + 6, 28, 28) : "";
      write(box.version, version ? `version ${version}` : "");
      if (box.grad) {
        const shown = state !== undefined && (tensor.leaf || retains);
        write(box.grad, shown ? (grad < 0 ? ".grad None" : `.grad ${brief(film, grad)}`) : "");
        box.line.style.display = shown ? "" : "none";
        attr(box.grad, "data-set", grad < 0 ? "0" : "1");
        const pictured = shown && hasStrip(film.values[grad]);
        attr(box.grad, "x", x + (pictured ? (w - STRIP - 5) / 2 : w / 2));
        if (pictured || box.strip.firstChild) box.strip.innerHTML = pictured ? strip(film.values[grad], x + w - STRIP - 7, y + 42.5, STRIP, 12) : "";
      }
    });
    if (!thing.node) return;
    const node = film.nodes[unit.node], state = at(node.tl, k);
    const [status, arrived, of] = state === undefined ? ["ghost", 0, 0] : film.states[state];
    const now = film.focus[k] === unit.node;
    this.set(thing, "node", thing.node, "data-s", status + (now ? " now" : "") + (now && kind === "accumulate" ? " adds" : ""));
    thing.dead.forEach((sign, j) => this.set(thing, `dead${j}`, sign, "data-s", film.states[at(node.dead[j][1], k)]?.[0] ?? "made"));
    if (thing.hook) hooked(thing, node.hooks, stage === "pre" || stage === "post");
    if (thing.kept) this.set(thing, "kept", thing.kept, "data-freed", film.states[at(node.panel, k)]?.saved === 0 ? "1" : "0");
    if (this.stage.cost?.active) this.drawBars(thing, unit);
    for (const label of thing.labels) {
      const index = at(node[label.name], k), [text, v] = index >= 0 ? film.states[index] : [-1, -1];
      this.fill(label, film.strings[text] ?? "", film.values[v]);
      this.set(label, "at", label.g, "data-now", index >= 0 && this.changed(node[label.name]) ? "1" : "0");
    }
    const badge = status === "waiting" ? (of > 0 ? `${arrived} of ${of}` : "") : { ready: "ready", done: "\u2713", error: "!" }[status] ?? "";
    if (thing.badgeWas !== badge) {
      thing.badgeWas = badge;
      thing.badge.style.display = badge ? "" : "none";
      thing.badgeText.textContent = badge;
      const w = Math.max(15, 8 + 5.4 * badge.length);
      thing.badgeBox.setAttribute("x", thing.aside ? 0 : -w / 2);
      thing.badgeText.setAttribute("x", thing.aside ? w / 2 : 0);
      thing.badgeBox.setAttribute("width", w);
    }
  }

  /** What a node holds, filled while it holds it, and below how long it takes, if that was measured. */
  drawBars(thing, { node, shape: [x, y, rx, ry] }) {
    const { cost, k } = this.stage, [forward, backward] = cost.times?.get(node) ?? [0, 0], [, held] = cost.of.get(node) ?? [];
    if (!thing.bars) {
      thing.bars = ["holds", "takes"].map((what, i) => s("rect", { x: x - rx, y: y + ry + 2 + 5 * i, height: 4, width: i || !held ? 0 : Math.max(1, (2 * rx * held) / cost.largest), class: `agl-bar-${what}` }));
      thing.node.append(...thing.bars);
    }
    this.set(thing, "holds", thing.bars[0], "data-on", cost.holds(node, k) ? "1" : "0");
    this.set(thing, "takes", thing.bars[1], "width", ((2 * rx * (forward + backward)) / (cost.longest ?? 1)).toFixed(1));
  }

  /** A gradient travels from its node to its place on the line. */
  ride() {
    const { k } = this.stage;
    for (const id of this.between("backward", k, k)) {
      const { p, pill: [x, y] } = this.things.backward[id], thing = this.drawn.backward.get(id);
      if (!thing?.pill?.animate) continue;
      thing.pill.animate([{ transform: `translate(${p[0]}px, ${p[1]}px)`, opacity: 0.2 }, { transform: `translate(${x}px, ${y}px)`, opacity: 1 }], { duration: 260, easing: "ease-out" });
    }
  }

  /** Whether the timeline has an entry at exactly this step. */
  changed(tl) {
    return tl.length > 0 && at(tl, this.stage.k) !== at(tl, this.stage.k - 1);
  }

  set(thing, slot, node, name, value) {
    const memo = `${slot}:${name}`;
    if (thing[memo] === value) return;
    thing[memo] = value;
    node.setAttribute(name, value);
  }
  close() { cancelAnimationFrame(this.gliding); this.map?.close(); }
}
