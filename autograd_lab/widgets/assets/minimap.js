// A small picture of the whole graph: where the camera looks, and the node at work. Click or drag to move the camera.
import { clamp } from "./core.js";
import { focusable, h, zoomed } from "./dom.js";

const WIDE = 150, TALL = 64, THIN = 40; // at most so wide and tall; at least so much of either

export class MiniMap {
  constructor(graph) {
    this.graph = graph;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.frame = h("span", { class: "agl-map-view", "aria-hidden": "true" });
    this.dot = h("span", { class: "agl-map-dot", "aria-hidden": "true" });
    this.root = h("div", focusable({ class: "agl-map", tabindex: "0", role: "group", "aria-label": "Map of the graph: arrow keys move the view", onkeydown: (e) => this.key(e) }),
      this.canvas, this.frame, this.dot);
    let held = false;
    const move = (e) => {
      const box = this.canvas.getBoundingClientRect(), zoom = zoomed(this.canvas);
      this.look_at((e.clientX - box.left) / zoom / this.scale[0], (e.clientY - box.top) / zoom / this.scale[1]);
    };
    this.root.addEventListener("pointerdown", (e) => { held = true; this.root.setPointerCapture(e.pointerId); move(e); e.preventDefault(); });
    this.root.addEventListener("pointermove", (e) => { if (held) move(e); });
    for (const end of ["pointerup", "pointercancel"]) this.root.addEventListener(end, () => { held = false; });
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.draw();
    this.theme.addEventListener("change", this.repaint);
  }

  close() { this.theme.removeEventListener("change", this.repaint); }

  look_at(x, y) {
    const { graph } = this;
    graph.free = true;
    graph.target = null;
    cancelAnimationFrame(graph.gliding);
    graph.camera.x = clamp(x, 0, graph.size[0]);
    graph.camera.y = clamp(y, 0, graph.size[1]);
    graph.paint();
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { camera, pane } = this.graph;
    this.look_at(camera.x + (step[0] * pane[0]) / 3 / camera.scale, camera.y + (step[1] * pane[1]) / 3 / camera.scale);
  }

  /** Draw the boxes; called when the layout or the theme changes. */
  draw() {
    const { size, rects, things } = this.graph, fit = Math.min(WIDE / size[0], TALL / size[1]);
    const wide = clamp(size[0] * fit, THIN, WIDE), tall = clamp(size[1] * fit, THIN, TALL), dpr = globalThis.devicePixelRatio || 1;
    this.scale = [wide / size[0], tall / size[1]];
    this.canvas.width = wide * dpr;
    this.canvas.height = tall * dpr;
    for (const el of [this.canvas, this.root]) { el.style.width = `${wide}px`; el.style.height = `${tall}px`; }
    const paint = this.canvas.getContext("2d"), style = getComputedStyle(this.root);
    paint.scale(dpr, dpr);
    const fill = (thing, color, alpha) => {
      const [x, y, w, hh] = rects.get(thing);
      paint.globalAlpha = alpha;
      paint.fillStyle = color;
      paint.fillRect(x * this.scale[0], y * this.scale[1], Math.max(w * this.scale[0], 1.2), Math.max(hh * this.scale[1], 1.2));
    };
    for (const [g] of things.frames) fill(-1 - g, style.color, 0.08);
    for (const [g] of things.folded) fill(-1 - g, style.color, 0.6);
    for (const [u] of things.units) fill(u, style.color, 0.45);
    this.shown = null;
    this.look();
  }

  /** Move the rectangle that is in view and the dot of the node at work. */
  look() {
    if (!this.scale) return;
    const { camera, pane, target, size } = this.graph, { x, y, scale } = target ?? camera, rect = this.graph.subject();
    const w = pane[0] / scale, hh = pane[1] / scale, whole = w >= size[0] && hh >= size[1];
    const x0 = clamp(x - w / 2, 0, size[0]), y0 = clamp(y - hh / 2, 0, size[1]), x1 = clamp(x + w / 2, 0, size[0]), y1 = clamp(y + hh / 2, 0, size[1]);
    const [sx, sy] = this.scale, key = [x0, y0, x1, y1, whole, rect].join();
    if (key === this.shown) return;
    this.shown = key;
    this.root.style.visibility = whole ? "hidden" : "visible";
    this.frame.style.transform = `translate(${(x0 * sx).toFixed(1)}px, ${(y0 * sy).toFixed(1)}px)`;
    this.frame.style.width = `${Math.max((x1 - x0) * sx, 3).toFixed(1)}px`;
    this.frame.style.height = `${Math.max((y1 - y0) * sy, 3).toFixed(1)}px`;
    this.dot.style.display = rect ? "" : "none";
    if (rect) this.dot.style.transform = `translate(${((rect[0] + rect[2] / 2) * sx - 3.5).toFixed(1)}px, ${((rect[1] + rect[3] / 2) * sy - 3.5).toFixed(1)}px)`;
  }
}
