// The stepper: draws one film (widgets/frames.py) and walks through it. No framework, no build step; it asks its
// host for nothing but the anywidget model (get, set, on, off, save_changes), so the same file runs in exports.
import * as core from "./core.js";

const SVG = "http://www.w3.org/2000/svg";
const SPEEDS = [["0.5", "0.5\u00d7"], ["1", "1\u00d7"], ["2", "2\u00d7"], ["4", "4\u00d7"], ["10", "10\u00d7"]];
const STATUS = { waiting: "waiting", ready: "ready", active: "at work", done: "done", error: "failed", made: "" };
const ICONS = {
  first: "M3 2.5v11M13 3 6 8l7 5z", back: "M11.5 3 4.5 8l7 5z", step: "M4.5 3l7 5-7 5z",
  play: "M3.5 2.5 13 8l-9.5 5.5z", pause: "M4.5 3v10M11.5 3v10", last: "M13 2.5v11M3 3l7 5-7 5z",
  up: "M4 9.5 8 5.5l4 4", down: "M4 6l4 4 4-4", kind: "M3 5h7a3 3 0 0 1 0 6H6m0 0 2.4-2.4M6 11l2.4 2.4",
};

function element(space, tag, props = {}, ...children) {
  const node = space ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
const h = (tag, props, ...children) => element(false, tag, props, ...children);
const s = (tag, props, ...children) => element(true, tag, props, ...children);

/** Every element that can have the focus says so to Jupyter: else "d d" would delete the cell under it. */
const focusable = (props) => ({ ...props, "data-lm-suppress-shortcuts": "true" });

const icon = (name) => s("svg", { viewBox: "0 0 16 16", class: "agl-icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

function button(label, children, action, props = {}) {
  return h("button", focusable({ type: "button", "aria-label": label, title: label, onclick: action, ...props }), ...children);
}

/** A number's colour: orange above zero, blue below, paler the nearer. */
function shade(x, most) {
  if (typeof x !== "number") return "var(--agl-bad)";
  const part = most ? Math.round((Math.abs(x) / most) * 100) : 0;
  return `color-mix(in oklab, var(--agl-${x < 0 ? "neg" : "pos"}) ${part}%, var(--agl-zero))`;
}
const most = (grid) => Math.max(...grid.flat().map((x) => (typeof x === "number" ? Math.abs(x) : 0)), 0);

/** A small picture of an array inside the drawing. */
function thumb(item, x, y, size) {
  const grid = core.rows(item.data).slice(0, 6).map((row) => row.slice(0, 6));
  const w = size / Math.max(...grid.map((r) => r.length), 1), hgt = size / grid.length, cell = Math.min(w, hgt, 9), top = most(grid);
  const x0 = x + (size - cell * grid[0].length) / 2, y0 = y + (size - cell * grid.length) / 2;
  return grid.map((row, j) => row.map((v, i) =>
    `<rect x="${(x0 + i * cell).toFixed(1)}" y="${(y0 + j * cell).toFixed(1)}" width="${cell.toFixed(1)}" height="${cell.toFixed(1)}" style="fill:${shade(v, top)}"/>`).join("")).join("");
}

const shape = (dims) => (dims.length > 1 ? dims.join("\u00d7") : `[${dims.join(", ")}]`);

class Stage {
  constructor(model, el) {
    this.model = model;
    this.film = JSON.parse(model.get("_film"));
    this.k = core.clamp(model.get("position"), 0, this.film.steps);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.camera = { x: this.film.size[0] / 2, y: 0, scale: 1 };
    this.pane = [560, 360];
    this.free = false; // the user has moved the camera
    this.drawn = { units: new Map(), forward: new Map(), backward: new Map() };
    this.index();
    this.build();
    el.append(this.root);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.graph);
    this.sent = this.k;
    this.onposition = () => { // not for the echo of what this view sent, which may come when it has gone on
      const k = model.get("position");
      if (k !== this.sent && k !== this.k) { clearTimeout(this.saving); this.sent = k; this.show(k, false); }
    };
    model.on("change:position", this.onposition);
    this.resize();
  }

  /** Bounding boxes of everything, for culling. */
  index() {
    const { units, forward, backward } = this.film;
    this.boxes = {
      units: Float32Array.from(units.flatMap(({ at: [x, y, w, hh] }) => [x, y, x + w, y + hh])),
      forward: Float32Array.from(forward.flatMap((line) => core.bounds(line.p))),
      backward: Float32Array.from(backward.flatMap(({ p, pill: [x, , w] }) => {
        const [x0, y0, x1, y1] = core.bounds(p);
        return [Math.min(x0, x - w / 2), y0, Math.max(x1, x + w / 2), y1];
      })),
    };
    this.seats = new Map(); // tensor -> unit
    units.forEach((unit, i) => unit.boxes.forEach(([t]) => this.seats.set(t, i)));
  }

  // ---- the page ---------------------------------------------------------------------------------------------

  build() {
    const film = this.film;
    this.world = s("g", {});
    this.layers = ["forward", "units", "backward"].map((name) => s("g", { class: `agl-${name}` }));
    this.world.append(...this.layers);
    this.svg = s("svg", focusable({ class: "agl-svg", tabindex: "0", role: "img", "aria-label": "Computation graph" }), this.world);
    this.graph = h("div", { class: "agl-graph" }, this.svg, this.legend());
    this.lens = h("span", { class: "agl-zoom" },
      button("Zoom out", ["\u2212"], () => this.zoom(0.8)), button("Zoom in", ["+"], () => this.zoom(1.25)),
      button("Fit graph", ["Fit"], () => this.fit()), button("Follow the active node", ["Follow"], () => this.follow()));
    this.drag();

    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": "Code" }));
    this.rule = h("div", focusable({ class: "agl-rule", tabindex: "0", role: "region", "aria-label": "Rule of the current node" }));
    this.engine = h("div", { class: "agl-engine", role: "region", "aria-label": "Engine" });
    this.leaves = h("tbody");
    const table = h("table", { "aria-label": "Leaf tensors" }, h("thead", {}, h("tr", {},
      ...["tensor", "value", ".grad", "requires grad", "is leaf", "retains grad"].map((t) => h("th", { scope: "col" }, t)))), this.leaves);
    this.leafpane = h("div", focusable({ class: "agl-leaves", tabindex: "0", role: "region", "aria-label": "Leaf table" }), table);
    this.side = h("div", { class: "agl-side" }, this.code, this.rule, this.engine, this.leafpane);

    this.narration = h("div", { class: "agl-say", role: "status", "aria-live": "polite" });
    this.phases = ["forward", "backward"].map((name) => h("span", { class: `agl-phase agl-phase-${name}` }, name));
    this.mode = h("span", { class: "agl-mode" });
    this.title = h("span", { class: "agl-title" }, film.title);
    this.head = h("div", { class: "agl-head" }, h("span", { class: "agl-phases", "aria-label": "Phase" }, ...this.phases), this.mode, this.title, this.lens);
    this.root = h("div", { class: "agl-root" }, h("div", { class: "agl", role: "group", "aria-label": "Autograd stepper", onkeydown: (e) => this.key(e) },
      this.head, h("div", { class: "agl-body" }, this.graph, this.side), this.narration, this.controls()));
    this.shownSource = undefined;
  }

  legend() {
    const key = (draw, text) => h("span", {}, s("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, ...draw), text);
    return h("div", { class: "agl-legend", "aria-hidden": "true" },
      key([s("rect", { x: 3, y: 2, width: 20, height: 10, rx: 2, class: "agl-box" })], "tensor"),
      key([s("ellipse", { cx: 13, cy: 7, rx: 11, ry: 5.5, class: "agl-node" })], "grad_fn"),
      key([s("path", { d: "M13 1l6.5 6-6.5 6-6.5-6z", class: "agl-node" })], "accumulator"),
      key([s("path", { d: "M1 7h24", class: "agl-fline" })], "data"),
      key([s("path", { d: "M1 7h24", class: "agl-fline agl-free" })], "no gradient"),
      key([s("path", { d: "M25 7H7", class: "agl-bline" }), s("path", { d: "M1 7l8-4v8z", class: "agl-bhead" })], "gradient"));
  }

  controls() {
    const film = this.film;
    this.playing = null;
    this.buttons = {
      first: button("First", [icon("first")], () => this.go(0)),
      back: button("Step back", [icon("back")], () => this.move(-1)),
      step: button("Step", [icon("step"), h("span", {}, "Step")], () => this.move(1), { class: "agl-primary" }),
      play: button("Play", [icon("play"), h("span", {}, "Play")], () => this.toggle()),
      last: button("Last", [icon("last")], () => this.go(film.steps)),
      up: button("Previous node", [icon("up"), h("span", {}, "node")], () => this.go(core.stop(film, this.k, -1))),
      down: button("Next node", [icon("down"), h("span", {}, "node")], () => this.go(core.stop(film, this.k, 1))),
      kind: button("Next event of this kind", [icon("kind")], () => this.go(core.sameKind(film, this.k))),
    };
    const parts = [];
    for (let k = 0; k <= film.steps;) {
      const p = core.phase(film, k), of = (x) => `${((100 * x) / Math.max(film.steps, 1)).toFixed(2)}%`;
      parts.push(`var(--agl-${p.name === "forward" ? "blue" : "verm"}) ${of(p.from)} ${of(p.to)}`);
      k = p.to + 1;
    }
    this.range = h("input", focusable({ type: "range", min: 0, max: film.steps, value: this.k, "aria-label": "Position", class: "agl-range",
      style: `--agl-track: linear-gradient(90deg, ${parts.join(", ")})`, oninput: () => this.go(Number(this.range.value)) }));
    this.count = h("span", { class: "agl-count" });
    this.by = h("select", focusable({ "aria-label": "Step by", title: "What one step is", onchange: () => { this.model.set("by", this.by.value); this.save(); } }),
      h("option", { value: "event" }, "by event"), h("option", { value: "node" }, "by node"));
    this.by.value = this.model.get("by") ?? "event";
    this.speed = h("select", focusable({ "aria-label": "Speed", title: "Speed of Play", onchange: () => { if (this.playing) { this.toggle(); this.toggle(); } } }),
      ...SPEEDS.map(([value, text]) => h("option", { value }, text)));
    this.speed.value = "1";
    const b = this.buttons;
    return h("div", { class: "agl-controls" },
      h("span", { class: "agl-set" }, b.first, b.back, b.step, b.play, b.last),
      h("span", { class: "agl-set" }, b.up, b.down, b.kind),
      this.range, this.count, this.by, this.speed);
  }

  // ---- moving -----------------------------------------------------------------------------------------------

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const on = event.target.tagName, keys = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), Home: () => this.go(0), End: () => this.go(this.film.steps),
      PageDown: () => this.go(core.stop(this.film, this.k, 1)), PageUp: () => this.go(core.stop(this.film, this.k, -1)),
      " ": on === "BUTTON" || on === "SELECT" ? null : () => this.toggle(),
      Escape: () => this.root.closest(".jp-Notebook")?.focus(),
    };
    const action = on === "SELECT" && event.key.startsWith("Arrow") ? null : keys[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  move(direction) {
    this.go(this.by.value === "node" ? core.stop(this.film, this.k, direction) : this.k + direction);
  }

  go(k) {
    k = core.clamp(k, 0, this.film.steps);
    if (k === this.k) return;
    this.show(k);
    this.save();
  }

  save() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      this.sent = this.k;
      this.model.set("position", this.k);
      this.model.save_changes();
    }, 60);
  }

  toggle() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.k === this.film.steps) this.go(0);
      this.playing = setInterval(() => {
        this.move(1);
        if (this.k === this.film.steps) this.toggle();
      }, 1000 / Number(this.speed.value));
    }
    const label = this.playing ? "Pause" : "Play";
    this.buttons.play.replaceChildren(icon(label.toLowerCase()), h("span", {}, label));
    this.buttons.play.setAttribute("aria-label", label);
    this.buttons.play.title = label;
  }

  // ---- the camera -------------------------------------------------------------------------------------------

  resize() {
    const box = this.graph.getBoundingClientRect();
    if (box.width) this.pane = [this.svg.clientWidth || box.width, this.svg.clientHeight || box.height];
    this.measure();
    this.mode_ = this.mode_ ?? (core.fitScale(this.film.size, this.pane) >= core.SMALLEST ? "fit" : "follow");
    this.show(this.k, false);
  }

  /** Sizes that stepping needs; read here, so that no step has to ask for layout. */
  measure() {
    this.lineHeight = this.code.firstChild?.offsetHeight ?? 19;
    this.codeHeight = this.code.clientHeight;
    this.rowHeight = this.leaves.firstChild?.offsetHeight ?? 21;
    this.leavesHeight = this.leafpane.clientHeight;
  }

  zoom(factor) {
    this.free = true;
    this.camera.scale = core.clamp(this.camera.scale * factor, 0.05, 2.5);
    this.paint();
  }

  fit() { this.mode_ = "fit"; this.free = false; this.show(this.k); }
  follow() { this.mode_ = "follow"; this.free = false; this.show(this.k); }

  drag() {
    let start = null;
    this.svg.addEventListener("pointerdown", (e) => { start = [e.clientX, e.clientY, this.camera.x, this.camera.y]; this.svg.setPointerCapture(e.pointerId); });
    this.svg.addEventListener("pointermove", (e) => {
      if (!start) return;
      this.free = true;
      this.camera.x = start[2] - (e.clientX - start[0]) / this.camera.scale;
      this.camera.y = start[3] - (e.clientY - start[1]) / this.camera.scale;
      this.paint();
    });
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => { start = null; });
    this.svg.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.zoom(e.deltaY < 0 ? 1.1 : 0.9);
    }, { passive: false });
  }

  /** The unit that the step is about. */
  subject() {
    const node = this.film.focus[this.k], t = this.film.subject[this.k];
    if (t >= 0 && this.seats.has(t)) return this.film.units[this.seats.get(t)];
    return node >= 0 ? this.film.units[this.film.nodes[node].unit] : undefined;
  }

  /** Where the camera should be for this step: [x, y, scale]. */
  aim() {
    const [w, hh] = this.film.size, scale = core.fitScale(this.film.size, this.pane);
    if (this.mode_ === "fit") return [w / 2, hh / 2, scale];
    const big = this.free ? this.camera.scale : Math.max(core.FOLLOW, scale), view = this.pane.map((v) => v / big);
    const unit = this.subject();
    if (!unit) return [this.camera.x, this.camera.y, big];
    const [x, y, uw, uh] = unit.at, margin = 46;
    const inside = !this.fresh && big === this.camera.scale &&
      x - margin > this.camera.x - view[0] / 2 && x + uw + margin < this.camera.x + view[0] / 2 &&
      y - margin > this.camera.y - view[1] / 2 && y + uh + margin < this.camera.y + view[1] / 2;
    if (inside) return [this.camera.x, this.camera.y, big];
    return [core.centre(x + uw / 2, w, view[0]), core.centre(y + uh / 2, hh, view[1]), big];
  }

  glide([x, y, scale]) {
    cancelAnimationFrame(this.gliding);
    const c = this.camera, from = [c.x, c.y, c.scale], far = Math.hypot(x - c.x, y - c.y) * scale;
    this.target = { x, y, scale };
    if (this.fresh || this.still.matches || far < 1 || far > 2 * Math.hypot(...this.pane)) {
      Object.assign(c, this.target);
      this.fresh = false;
      return this.paint();
    }
    const t0 = performance.now();
    const tick = (now) => {
      const t = core.clamp((now - t0) / 220, 0, 1), ease = 1 - (1 - t) ** 3;
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

  /** Show step k. `travel`: whether the camera may glide and gradients ride. */
  show(k, travel = true) {
    const forward = k === this.k + 1;
    this.k = core.clamp(k, 0, this.film.steps);
    this.kind = this.film.kinds[this.film.kind[this.k]];
    if (!travel) this.fresh = true;
    this.glide(this.aim());
    if (travel && forward && this.kind === "deliver" && !this.still.matches) this.ride();
    this.text();
  }

  /** Bring what is in view up to date; make what has come into view, drop what has left it. */
  paint() {
    const view = this.view();
    this.place();
    this.layers.forEach((layer, i) => {
      const name = ["forward", "units", "backward"][i], drawn = this.drawn[name], seen = new Set(core.cull(this.boxes[name], view));
      for (const [id, thing] of drawn) if (!seen.has(id)) { thing.g.remove(); drawn.delete(id); }
      for (const id of seen) {
        let thing = drawn.get(id);
        if (!thing) { thing = this[`make_${name}`](id); drawn.set(id, thing); layer.append(thing.g); }
        this[`draw_${name}`](thing, id);
      }
    });
  }

  make_forward(id) {
    const { p, free } = this.film.forward[id];
    return { g: s("g", { class: "agl-f" }, s("path", { d: core.path(p, 5), class: `agl-fline${free ? " agl-free" : ""}` }), s("path", { d: core.head(p, 4), class: "agl-fhead" })) };
  }

  draw_forward(thing, id) {
    this.set(thing, "g", thing.g, "data-s", this.film.forward[id].k > this.k ? "ghost" : "made");
  }

  make_backward(id) {
    const { p, pill: [x, y, w] } = this.film.backward[id];
    const thing = { g: s("g", { class: "agl-b" }), pill: s("g", { class: "agl-pill", transform: `translate(${x} ${y})` }) };
    thing.g.append(s("path", { d: core.path(p, 7), class: "agl-bline" }), s("path", { d: core.head(p), class: "agl-bhead" }), thing.pill);
    thing.text = s("text", { class: "agl-num", y: 4 });
    thing.pill.append(s("rect", { x: -w / 2, y: -9.5, width: w, height: 19, rx: 9.5 }), thing.text);
    return thing;
  }

  draw_backward(thing, id) {
    const tl = this.film.backward[id].tl, state = core.at(tl, this.k);
    const [status, v] = state === undefined ? ["ghost", -1] : this.film.states[state];
    const hot = ["edge", "deliver", "pruned"].includes(this.kind) && this.changed(tl);
    this.set(thing, "g", thing.g, "data-s", status + (hot ? " hot" : ""));
    if (thing.v !== v) {
      thing.v = v;
      thing.pill.style.display = v < 0 ? "none" : "";
      thing.text.textContent = v < 0 ? "" : this.brief(v);
    }
  }

  make_units(id) {
    const unit = this.film.units[id], g = s("g", { class: "agl-unit" }), thing = { g, boxes: [] };
    unit.boxes.forEach(([t, x, y, w, hh]) => {
      const { name, leaf, shape: dims, grad } = this.film.tensors[t], array = dims.length > 0;
      const box = { t, g: s("g", { class: "agl-tensor" }), name: s("text", { x: x + (array ? 10 : w / 2), y: y + (name ? 17 : 0), class: `agl-name${array ? " agl-left" : ""}` }, name),
        value: s("text", { x: x + (array ? 10 : w / 2), y: y + (name ? 32 : 24.5), class: `agl-val${array ? " agl-left" : ""}` }),
        thumb: s("g", { class: "agl-thumb" }), at: [x, y, w, hh] };
      box.g.append(s("rect", { x, y, width: w, height: hh, rx: 4, class: "agl-box" }));
      if (leaf && !unit.fed) box.g.append(s("text", { x: x + 1, y: y - 4, class: "agl-cap agl-left" }, grad ? "leaf" : "data"));
      if (hh > 50) {
        box.g.append(s("path", { d: `M${x} ${y + 40}h${w}`, class: "agl-rule-line" }));
        box.grad = s("text", { x: x + w / 2, y: y + 52, class: "agl-grad" });
        box.g.append(box.grad);
      }
      box.version = s("text", { x: x + w - 1, y: y - 4, class: "agl-cap agl-right" });
      box.g.append(box.name, box.value, box.thumb, box.version);
      g.append(box.g);
      thing.boxes.push(box);
    });
    if (unit.node >= 0) {
      const node = this.film.nodes[unit.node], [x, y, rx, ry] = unit.shape, round = node.kind !== "accumulate";
      thing.node = s("g", { class: "agl-grad-fn" });
      if (unit.boxes.length && round) {
        const [, bx, , bw] = unit.boxes[unit.boxes.length - 1];
        thing.node.append(s("path", { d: `M${bx + bw} ${y}H${x - rx}`, class: "agl-link" }));
      }
      thing.node.append(round ? s("ellipse", { cx: x, cy: y, rx, ry, class: "agl-node" }) : s("path", { d: `M${x} ${y - ry}L${x + rx} ${y}L${x} ${y + ry}L${x - rx} ${y}z`, class: "agl-node" }));
      if (round) {
        const [, name, number] = node.label.match(/^(.*?)( #\d+)?$/);
        thing.node.append(s("text", { x, y: y + 4, class: "agl-label" }, name, s("tspan", { class: "agl-dim" }, number ?? "")));
      } else thing.node.append(s("text", { x, y: y + 4.5, class: "agl-label agl-plus" }, "+="), s("text", { x, y: y - ry - 5, class: "agl-cap" }, "AccumulateGrad"));
      thing.badge = s("g", { class: "agl-badge", transform: round ? `translate(${x + rx * 0.74} ${y - ry * 0.98})` : `translate(${x + rx + 14} ${y})` });
      thing.badgeText = s("text", { y: 3.5 });
      thing.badgeBox = s("rect", { y: -7.5, height: 15, rx: 7.5 });
      thing.badge.append(thing.badgeBox, thing.badgeText);
      thing.node.append(thing.badge);
      g.append(thing.node);
    }
    return thing;
  }

  draw_units(thing, id) {
    const film = this.film, unit = film.units[id], ghost = unit.since > this.k;
    this.set(thing, "g", thing.g, "data-s", ghost ? "ghost" : "made");
    for (const box of thing.boxes) {
      const tensor = film.tensors[box.t], state = ghost ? undefined : core.at(tensor.tl, this.k);
      const now = film.subject[this.k] === box.t || (this.kind === "node" && film.focus[this.k] === unit.node);
      this.set(box, "g", box.g, "data-now", now && !ghost ? "1" : "0");
      if (box.state === state) continue;
      box.state = state;
      const [v, version, grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
      const item = film.values[v];
      box.value.textContent = v < 0 ? "" : this.brief(v);
      box.name.style.display = state === undefined ? "none" : "";
      box.thumb.innerHTML = item?.shape ? thumb(item, box.at[0] + box.at[2] - 35, box.at[1] + 6, 28) : "";
      box.version.textContent = version ? `version ${version}` : "";
      if (box.grad) {
        const shown = state !== undefined && (tensor.leaf || retains);
        box.grad.textContent = shown ? (grad < 0 ? ".grad None" : `.grad ${this.brief(grad)}`) : "";
        box.grad.setAttribute("data-set", grad < 0 ? "0" : "1");
      }
    }
    if (!thing.node) return;
    const node = film.nodes[unit.node], state = core.at(node.tl, this.k);
    const [status, arrived, of] = state === undefined ? ["ghost", 0, 0] : film.states[state];
    const now = film.focus[this.k] === unit.node;
    this.set(thing, "node", thing.node, "data-s", status + (now ? " now" : ""));
    const badge = status === "waiting" ? (of > 1 ? `${arrived}/${of}` : "") : { ready: "ready", done: "\u2713", error: "!" }[status] ?? "";
    if (thing.badgeWas !== badge) {
      thing.badgeWas = badge;
      thing.badge.style.display = badge ? "" : "none";
      thing.badgeText.textContent = badge;
      const w = Math.max(15, 9 + 6.1 * badge.length);
      thing.badgeBox.setAttribute("x", -w / 2);
      thing.badgeBox.setAttribute("width", w);
    }
  }

  /** A gradient travels from its node to its place on the line. */
  ride() {
    for (const [id, thing] of this.drawn.backward) {
      const { tl, p, pill: [x, y] } = this.film.backward[id];
      if (!this.changed(tl) || !thing.pill.animate) continue;
      thing.pill.animate([{ transform: `translate(${p[0]}px, ${p[1]}px)`, opacity: 0.2 }, { transform: `translate(${x}px, ${y}px)`, opacity: 1 }], { duration: 260, easing: "ease-out" });
    }
  }

  /** Whether the timeline has an entry at exactly this step. */
  changed(tl) {
    return tl.length > 0 && core.at(tl, this.k) !== core.at(tl, this.k - 1);
  }

  set(thing, slot, node, name, value) {
    const memo = `${slot}:${name}`;
    if (thing[memo] === value) return;
    thing[memo] = value;
    node.setAttribute(name, value);
  }

  // ---- the words --------------------------------------------------------------------------------------------

  /** A value in a few characters. */
  brief(v) {
    const item = this.film.values[v];
    return v < 0 ? "None" : typeof item === "string" ? item : shape(item.shape);
  }

  /** The same, with a short vector's numbers. */
  short(v) {
    const item = this.film.values[v];
    return item?.shape?.length === 1 && item.shape[0] <= 3 ? item.text : this.brief(v);
  }

  /** A value with a label, as a number, a table of numbers or a heat map. */
  card(label, v, extra = "") {
    const item = this.film.values[v];
    let body;
    if (v < 0) body = `<b class="agl-none">None</b>`;
    else if (typeof item === "string") body = `<b>${item}</b>`;
    else {
      const grid = core.rows(item.data).slice(0, 8).map((r) => r.slice(0, 8)), top = most(grid), cols = grid[0]?.length ?? 0;
      if (grid.length <= 3 && cols <= 4) {
        body = `<table class="agl-grid">${grid.map((r) => `<tr>${r.map((x) => `<td style="--c:${shade(x, top)}">${core.number(x)}</td>`).join("")}</tr>`).join("")}</table>`;
      } else {
        const cell = Math.floor(Math.min(11, 42 / grid.length, 88 / cols));
        body = `<svg class="agl-heat" role="img" aria-label="${core.escape(item.text)}" width="${cols * cell}" height="${grid.length * cell}">${grid.map((r, j) => r.map((x, i) =>
          `<rect x="${i * cell}" y="${j * cell}" width="${cell - 0.6}" height="${cell - 0.6}" style="fill:${shade(x, top)}"><title>${core.number(x)}</title></rect>`).join("")).join("")}</svg>`;
      }
      body += `<small>${shape(item.shape)}</small>`;
    }
    return `<span class="agl-card ${extra}"><span class="agl-card-label">${label}</span>${body}</span>`;
  }

  /** What goes to one operand: the rule, then the numbers; `v` is null before the rule has run, -1 for nothing. */
  term(to, rule, v, numbers = "") {
    const label = `to <i>${to}</i>`;
    if (v === -1) return `<span class="agl-term agl-off"><span>${label}</span>not needed</span>`;
    if (v === null || typeof this.film.values[v] === "string") {
      const value = v === null ? "" : core.math(this.brief(v)), sum = numbers && numbers !== value && numbers !== rule ? ` = ${numbers}` : "";
      return `<span class="agl-term ${v === null ? "agl-later" : "agl-out"}"><span>${label}</span><em>${rule}${sum}${v === null ? "" : ` = <b>${value}</b>`}</em></span>`;
    }
    return this.card(`${label}: <em>${rule}</em>`, v, "agl-out");
  }

  text() {
    const film = this.film, k = this.k, p = core.phase(film, k);
    const words = core.say(film, k);
    if (this.narration.textContent !== words) this.narration.textContent = words;
    this.count.textContent = `${k} / ${film.steps}`;
    this.range.value = k;
    this.range.setAttribute("aria-valuetext", `step ${k} of ${film.steps}, ${p.name}`);
    this.phases.forEach((el, i) => el.setAttribute("data-on", p.name === ["forward", "backward"][i] ? "1" : "0"));
    this.phases[1].textContent = p.pass > 1 ? `backward ${p.pass}` : "backward";
    this.root.firstChild.setAttribute("data-phase", p.name);
    this.mode.textContent = core.at(film.gradMode, k) === 0 ? "no_grad: recording is off" : "";
    for (const [name, off] of [["first", k === 0], ["back", k === 0], ["up", k === 0], ["step", k === film.steps], ["last", k === film.steps], ["down", k === film.steps]]) {
      this.buttons[name].setAttribute("aria-disabled", String(off));
    }
    this.showCode(p);
    this.showRule(p);
    this.showEngine(p);
    this.showLeaves();
  }

  showCode(p) {
    const line = core.at(this.film.line, this.k), node = this.film.nodes[this.film.focus[this.k]];
    const source = line ? line[0] : this.shownSource ?? 0;
    if (source !== this.shownSource && this.film.sources[source]) {
      this.shownSource = source;
      const { name, lines } = this.film.sources[source];
      this.rows = new Map(lines.map(([n, text]) => [n, h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n), h("code", {}, text || " "))]));
      let i = 0;
      for (const row of this.rows.values()) row.index = i++;
      this.code.replaceChildren(...this.rows.values());
      this.measure();
      this.code.title = name;
    }
    const lit = line ? this.rows?.get(line[1]) : undefined;
    const made = p.name === "backward" && node?.src && node.src[0] === source ? this.rows?.get(node.src[1]) : undefined;
    if (lit === this.lit && made === this.made) return;
    for (const row of [this.lit, this.made]) row?.removeAttribute("data-lit");
    made?.setAttribute("data-lit", "made");
    lit?.setAttribute("data-lit", "now");
    [this.lit, this.made] = [lit, made];
    const row = made ?? lit;
    if (row) this.code.scrollTop = (row.index + 0.5) * this.lineHeight - this.codeHeight / 2 + 4;
  }

  showRule(p) {
    const film = this.film, k = this.k, n = film.focus[k], t = film.subject[k], words = (i) => core.math(film.strings[i]);
    const title = (name, note = "") => `<div class="agl-rule-head"><b>${core.escape(name)}</b><span>${note}</span></div>`;
    let html;
    if (n >= 0) {
      const node = film.nodes[n], index = core.at(node.panel, k), entry = index === undefined ? {} : film.states[index];
      const backward = p.name === "backward" && this.since(node.panel) >= p.from, saved = entry.saved !== 0;
      if (node.kind === "accumulate") {
        const name = core.escape(film.tensors[node.of]?.label ?? "");
        html = title(node.label, `${name}.grad = ${name}.grad + <i>g</i>`);
        if (backward && entry.add) {
          const [old, add, sum] = entry.add;
          html += `<div class="agl-flow">${this.card(`${name}.grad before`, old)}<span>+</span>${this.card("incoming <i>g</i>", add, "agl-in")}<span>=</span>${this.card(`${name}.grad`, sum, "agl-out")}</div>`;
        } else if (backward && entry.g) html += `<div class="agl-flow">${this.card("incoming <i>g</i>", entry.g[0], "agl-in")}</div>`;
        else html += `<p>Adds what arrives to <code>${name}.grad</code>; it has nothing behind it.</p>`;
      } else {
        html = title(node.label, node.math ? core.math(node.math) : core.escape(node.op));
        if (!backward || !entry.g) {
          const ins = node.inputs.slice(0, 4).map((i) => this.tensorCard(i)).join("");
          if (p.name === "forward") html += `<div class="agl-flow">${ins}<span>\u2192</span>${node.outputs.slice(0, 2).map((i) => this.tensorCard(i, "agl-value")).join("")}</div>`;
          if (p.name === "forward" && node.numbers) html += `<p class="agl-sum">${core.math(node.numbers)}</p>`;
          if (node.rule.length) html += `<div class="agl-will"><h4>Backward it will send</h4>${node.rule.map(([to, rule]) => `<p>to <i>${core.escape(to)}</i>${rule ? `: ${core.math(rule)}` : " nothing: it needs no gradient"}</p>`).join("")}</div>`;
        } else {
          const out = entry.out ?? node.rule.map(([to, rule], i) => [i, to, rule, "", null]);
          const sends = out.map(([, to, rule, numbers, v]) => (v === null
            ? this.term(core.escape(to), core.math(rule), null) : this.term(core.escape(film.strings[to]), words(rule), v, words(numbers))));
          html += `<div class="agl-vjp">${entry.g.map((v) => this.card("incoming <i>g</i>", v, "agl-in")).join("")}<span>\u2192</span><div class="agl-sends">${sends.join("")}</div></div>`;
        }
        if (node.saved.length) {
          html += `<div class="agl-saved" data-freed="${saved ? 0 : 1}"><h4>${saved ? "Saved" : "Saved, now freed"}</h4>${node.saved.map(([name, v, version]) =>
            `<span>${core.escape(name)}${v >= 0 ? `${name ? " = " : ""}${this.brief(v)}` : ""}${version ? ` <small>v${version}</small>` : ""}</span>`).join("")}</div>`;
        }
        if (entry.error !== undefined && backward) html += `<p class="agl-error">${core.escape(film.strings[entry.error])}</p>`;
      }
    } else if (t >= 0) {
      const tensor = film.tensors[t];
      html = title(tensor.label, `${tensor.dtype}${tensor.shape.length ? `, ${shape(tensor.shape)}` : ""}`) +
        `<div class="agl-flow">${this.tensorCard(t, "agl-value")}</div><p>${tensor.grad ? (tensor.leaf ? "A leaf: what is learned. Its gradient will gather in <code>.grad</code>." : "Computed from tensors that require grad.") : "Needs no gradient: nothing will flow back to it."}</p>`;
    } else if (k === 0) {
      html = title("Ready", "") + `<p><b>Step</b> or <kbd>\u2192</kbd> goes on by one event, <kbd>Page Down</kbd> by one node, <kbd>Space</kbd> plays.</p>`;
    } else html = title(this.kind === "done" ? "Pass complete" : "Engine", "") + `<p>${this.kind === "done" ? "Every leaf that wanted a gradient has it in <code>.grad</code>: see the leaf table." : ""}</p>`;
    const sum = film.sums[k];
    if (sum) {
      const [to, old, v, total] = sum;
      html += `<div class="agl-buffer"><h4>Adds up at ${core.escape(film.nodes[to].label)}</h4>${[old, v, total].map((x) => this.card("", x)).join("<span>+</span>").replace(/<span>\+<\/span>(?!.*<span>\+<\/span>)/s, "<span>=</span>")}</div>`;
    }
    if (html !== this.ruleWas) { this.rule.innerHTML = this.ruleWas = html; this.rule.scrollTop = 0; }
  }

  tensorCard(t, extra = "") {
    const tensor = this.film.tensors[t], state = core.at(tensor.tl, this.k), v = state === undefined ? -1 : this.film.states[state][0];
    return this.card(tensor.name ? core.escape(tensor.name) : tensor.leaf ? "constant" : "result", v, extra);
  }

  /** The step of the timeline's current entry. */
  since(tl) {
    let found = -1;
    for (let i = 0; i < tl.length && tl[i] <= this.k; i += 2) found = tl[i];
    return found;
  }

  showEngine(p) {
    const film = this.film, on = p.name === "backward";
    const [queue, total] = (on && core.at(film.queue, this.k)) || [[], 0], [waiting, many] = (on && core.at(film.waiting, this.k)) || [[], 0];
    const chip = (n, note, extra) => `<span class="agl-chip ${extra}">${core.escape(film.nodes[n].label)}${note}</span>`;
    const count = (all) => (all > 1 ? ` (${all})` : "");
    const html = `<div><h4>Ready queue${count(total)}</h4><div>${queue.map((n, i) => chip(n, "", i ? "" : "agl-next")).join("") || `<span class="agl-more">${on ? "empty" : "idle until backward"}</span>`}</div></div>
      <div><h4>Waiting${count(many)}</h4><div>${waiting.map(([n, a, of]) => chip(n, ` <b>${a} of ${of}</b> arrived`, "")).join("") || '<span class="agl-more">none</span>'}</div></div>`;
    if (html !== this.engineWas) this.engine.innerHTML = this.engineWas = html;
  }

  showLeaves() {
    const film = this.film, most = 24, all = film.leaves;
    let from = 0;
    if (all.length > most) {
      const i = all.indexOf(film.subject[this.k]);
      from = i < 0 ? this.leafFrom ?? 0 : core.clamp(i - 5, 0, all.length - most);
    }
    if (from !== this.leafFrom) {
      this.leafFrom = from;
      this.leafRows = all.slice(from, from + most).map((t) => ({ t, row: h("tr", {}, h("th", { scope: "row" }, film.tensors[t].label), ...[0, 1, 2, 3, 4].map(() => h("td"))) }));
      this.leaves.replaceChildren(...this.leafRows.map(({ row }) => row));
    }
    const flag = (yes) => (yes ? "\u2713" : "\u2013");
    for (const leaf of this.leafRows) {
      const tensor = film.tensors[leaf.t], state = core.at(tensor.tl, this.k), now = film.subject[this.k] === leaf.t;
      if (leaf.state !== state || leaf.state === undefined) {
        leaf.state = state;
        const [v, , grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
        const cells = state === undefined ? ["", "", flag(tensor.grad), flag(tensor.leaf), ""] : [this.short(v), tensor.grad ? this.short(grad) : "\u2013", flag(tensor.grad), flag(tensor.leaf), flag(retains)];
        cells.forEach((text, i) => { leaf.row.children[i + 1].textContent = text; });
        leaf.row.setAttribute("data-known", state === undefined ? "0" : "1");
      }
      if (leaf.now !== now) {
        leaf.now = now;
        leaf.row.setAttribute("data-now", now ? "1" : "0");
        if (now) this.leafpane.scrollTop = (this.leafRows.indexOf(leaf) + 1.5) * this.rowHeight - this.leavesHeight / 2;
      }
    }
  }

  close() {
    clearInterval(this.playing);
    clearTimeout(this.saving);
    cancelAnimationFrame(this.gliding);
    this.observer.disconnect();
    this.model.off("change:position", this.onposition);
  }
}

export default {
  render({ model, el }) {
    const stage = new Stage(model, el);
    return () => stage.close();
  },
};
