// The drawing of the graph: only what is in view is in the page; a camera follows the node at work.
import { FOLLOW, SMALLEST, at, bounds, centre, clamp, cull, fitScale, head, path } from "./core.js";
import { brief, button, focusable, h, s, thumb } from "./dom.js";

export class Graph {
  /** `stage` tells the film, the step `k` and its `kind`. */
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.camera = { x: this.film.size[0] / 2, y: 0, scale: 1 };
    this.pane = [560, 360];
    this.free = false; // the user has moved the camera
    this.drawn = { units: new Map(), forward: new Map(), backward: new Map() };
    this.index();
    this.build();
  }

  /** Bounding boxes of everything, for culling. */
  index() {
    const { units, forward, backward } = this.film;
    this.boxes = {
      units: Float32Array.from(units.flatMap(({ at: [x, y, w, hh] }) => [x, y, x + w, y + hh])),
      forward: Float32Array.from(forward.flatMap((line) => bounds(line.p))),
      backward: Float32Array.from(backward.flatMap(({ p, pill: [x, , w] }) => {
        const [x0, y0, x1, y1] = bounds(p);
        return [Math.min(x0, x - w / 2), y0, Math.max(x1, x + w / 2), y1];
      })),
    };
    this.seats = new Map(); // tensor -> unit
    units.forEach((unit, i) => unit.boxes.forEach(([t]) => this.seats.set(t, i)));
  }

  build() {
    this.world = s("g", {});
    this.layers = ["forward", "units", "backward"].map((name) => s("g", { class: `agl-${name}` }));
    this.world.append(...this.layers);
    this.svg = s("svg", focusable({ class: "agl-svg", tabindex: "0", role: "img", "aria-label": "Computation graph" }), this.world);
    this.root = h("div", { class: "agl-graph" }, this.svg, this.legend());
    this.lens = h("span", { class: "agl-zoom" },
      button("Zoom out", ["\u2212"], () => this.zoom(0.8)), button("Zoom in", ["+"], () => this.zoom(1.25)),
      button("Fit graph", ["Fit"], () => this.fit()), button("Follow the active node", ["Follow"], () => this.follow()));
    this.drag();
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

  // ---- the camera -------------------------------------------------------------------------------------------

  resize() {
    const box = this.root.getBoundingClientRect();
    if (box.width) this.pane = [this.svg.clientWidth || box.width, this.svg.clientHeight || box.height].map((size) => size / (this.magnify ?? 1));
    this.svg.setAttribute("viewBox", `0 0 ${this.pane[0]} ${this.pane[1]}`); // larger than life for a presenter
    this.mode = this.mode ?? (fitScale(this.film.size, this.pane) >= SMALLEST ? "fit" : "follow");
  }

  zoom(factor) {
    this.free = true;
    this.camera.scale = clamp(this.camera.scale * factor, 0.05, 2.5);
    this.paint();
  }

  fit() { this.mode = "fit"; this.free = false; this.stage.show(this.stage.k); }
  follow() { this.mode = "follow"; this.free = false; this.stage.show(this.stage.k); }

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
    const node = this.film.focus[this.stage.k], t = this.film.subject[this.stage.k];
    if (t >= 0 && this.seats.has(t)) return this.film.units[this.seats.get(t)];
    return node >= 0 ? this.film.units[this.film.nodes[node].unit] : undefined;
  }

  /** Where the camera should be for this step: [x, y, scale]. */
  aim() {
    const [w, hh] = this.film.size, scale = fitScale(this.film.size, this.pane);
    if (this.mode === "fit") return [w / 2, hh / 2, scale];
    const big = this.free ? this.camera.scale : Math.max(FOLLOW, scale), view = this.pane.map((v) => v / big);
    const unit = this.subject();
    if (!unit) return [this.camera.x, this.camera.y, big];
    const [x, y, uw, uh] = unit.at, margin = 46;
    const inside = !this.fresh && big === this.camera.scale &&
      x - margin > this.camera.x - view[0] / 2 && x + uw + margin < this.camera.x + view[0] / 2 &&
      y - margin > this.camera.y - view[1] / 2 && y + uh + margin < this.camera.y + view[1] / 2;
    if (inside) return [this.camera.x, this.camera.y, big];
    return [centre(x + uw / 2, w, view[0]), centre(y + uh / 2, hh, view[1]), big];
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
    if (!travel) this.fresh = true;
    this.glide(this.aim());
    if (travel && forward && this.stage.kind === "deliver" && !this.still.matches) this.ride();
  }

  /** Bring what is in view up to date; make what has come into view, drop what has left it. */
  paint() {
    const view = this.view();
    this.place();
    this.layers.forEach((layer, i) => {
      const name = ["forward", "units", "backward"][i], drawn = this.drawn[name], seen = new Set(cull(this.boxes[name], view));
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
    return { g: s("g", { class: "agl-f" }, s("path", { d: path(p, 5), class: `agl-fline${free ? " agl-free" : ""}` }), s("path", { d: head(p, 4), class: "agl-fhead" })) };
  }

  draw_forward(thing, id) {
    this.set(thing, "g", thing.g, "data-s", this.film.forward[id].k > this.stage.k ? "ghost" : "made");
  }

  make_backward(id) {
    const { p, pill: [x, y, w] } = this.film.backward[id];
    const thing = { g: s("g", { class: "agl-b" }), pill: s("g", { class: "agl-pill", transform: `translate(${x} ${y})` }) };
    thing.g.append(s("path", { d: path(p, 7), class: "agl-bline" }), s("path", { d: head(p), class: "agl-bhead" }), thing.pill);
    thing.text = s("text", { class: "agl-num", y: 4 });
    thing.pill.append(s("rect", { x: -w / 2, y: -9.5, width: w, height: 19, rx: 9.5 }), thing.text);
    return thing;
  }

  draw_backward(thing, id) {
    const tl = this.film.backward[id].tl, state = at(tl, this.stage.k);
    const [status, v] = state === undefined ? ["ghost", -1] : this.film.states[state];
    const hot = ["edge", "deliver", "pruned"].includes(this.stage.kind) && this.changed(tl);
    this.set(thing, "g", thing.g, "data-s", status + (hot ? " hot" : ""));
    if (thing.v !== v) {
      thing.v = v;
      thing.pill.style.display = v < 0 ? "none" : "";
      thing.text.textContent = v < 0 ? "" : brief(this.film, v);
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
      const why = unit.node < 0 && this.stage.why?.(t);
      if (why) box.g.append(s("text", { x: x + w + 5, y: y + hh / 2 + 3.5, class: "agl-cap agl-left agl-why" }, why));
      else if (leaf && !unit.fed) box.g.append(s("text", { x: x + 1, y: y - 4, class: "agl-cap agl-left" }, grad ? "leaf" : "data"));
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
      if (round && this.stage.madeIn?.(unit.node)) thing.node.append(s("ellipse", { cx: x, cy: y, rx: rx - 3.5, ry: ry - 3.5, class: "agl-ring" }));
      if (node.kind === "function") thing.node.append(s("g", { class: "agl-own", transform: `translate(${x - rx * 0.8} ${y - ry * 0.9})` }, s("circle", { r: 7.5 }), s("text", { y: 3.5 }, "\u0192")));
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
    const film = this.film, unit = film.units[id], ghost = unit.since > this.stage.k;
    this.set(thing, "g", thing.g, "data-s", ghost ? "ghost" : "made");
    for (const box of thing.boxes) {
      const tensor = film.tensors[box.t], state = ghost ? undefined : at(tensor.tl, this.stage.k);
      const now = film.subject[this.stage.k] === box.t || (this.stage.kind === "node" && film.focus[this.stage.k] === unit.node);
      this.set(box, "g", box.g, "data-now", now && !ghost ? "1" : "0");
      if (box.state === state) continue;
      box.state = state;
      const [v, version, grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
      const item = film.values[v];
      box.value.textContent = v < 0 ? "" : brief(film, v);
      box.name.style.display = state === undefined ? "none" : "";
      box.thumb.innerHTML = item?.shape ? thumb(item, box.at[0] + box.at[2] - 35, box.at[1] + 6, 28) : "";
      box.version.textContent = version ? `version ${version}` : "";
      if (box.grad) {
        const shown = state !== undefined && (tensor.leaf || retains);
        box.grad.textContent = shown ? (grad < 0 ? ".grad None" : `.grad ${brief(film, grad)}`) : "";
        box.grad.setAttribute("data-set", grad < 0 ? "0" : "1");
      }
    }
    if (!thing.node) return;
    const node = film.nodes[unit.node], state = at(node.tl, this.stage.k);
    const [status, arrived, of] = state === undefined ? ["ghost", 0, 0] : film.states[state];
    const now = film.focus[this.stage.k] === unit.node;
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
    return tl.length > 0 && at(tl, this.stage.k) !== at(tl, this.stage.k - 1);
  }

  set(thing, slot, node, name, value) {
    const memo = `${slot}:${name}`;
    if (thing[memo] === value) return;
    thing[memo] = value;
    node.setAttribute(name, value);
  }
  close() { cancelAnimationFrame(this.gliding); }
}
