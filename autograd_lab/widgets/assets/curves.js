// The curves of a training loop: the loss, and the largest element of each layer's gradients, with the pass on screen marked.
import { number } from "./core.js";
import { h, s } from "./dom.js";

const ACROSS = 150, HIGH = 44;
const DASHES = ["", "6 2", "2 2", "7 2 2 2"], STROKES = ["\u2014", "- -", "\u00b7\u00b7\u00b7", "-\u00b7-"]; // a line is told apart by its dashes and its tone

export class Curves {
  constructor(stage) {
    this.stage = stage;
    this.data = stage.film.curves;
    this.marks = [];
    const { loss, grads } = this.data, layers = Object.entries(grads);
    this.root = h("div", { class: "agl-curves", role: "group", "aria-label": "Curves of the training loop" },
      ...(loss.filter((x) => x !== null).length > 1 ? [this.plot("loss", [["loss", loss]])] : []),
      ...(layers.length ? [this.plot("max |grad|, log scale", layers, Math.log10, "The largest element of each layer's gradients in absolute value (their max norm) after each pass")] : []));
  }

  /** One small plot of several lines; `scale` is applied to what is drawn. */
  plot(title, lines, scale = (x) => x, meaning = "") {
    const drawn = lines.map(([name, list]) => [name, list.map((x) => (x === null || !Number.isFinite(scale(x)) ? null : scale(x)))]);
    const all = drawn.flatMap(([, list]) => list.filter((y) => y !== null)), low = Math.min(...all), high = Math.max(...all), count = this.data.steps.length;
    const x = (i) => 4 + ((ACROSS - 8) * i) / Math.max(count - 1, 1), y = (v) => (high > low ? HIGH - 4 - ((HIGH - 8) * (v - low)) / (high - low) : HIGH / 2);
    const paths = drawn.map(([name, list], i) => s("path", { class: "agl-curve", "data-i": Math.floor(i / DASHES.length) % 2, "stroke-dasharray": DASHES[i % DASHES.length],
      d: list.map((v, j) => (v === null ? "" : `${j && list[j - 1] !== null ? "L" : "M"}${x(j).toFixed(1)} ${y(v).toFixed(1)}`)).join("") }, s("title", {}, name)));
    const mark = s("path", { class: "agl-curve-now" }), dots = drawn.map(() => s("circle", { r: 2.6, class: "agl-curve-dot" })), says = h("span", { class: "agl-curve-says" });
    const several = lines.length > 1;
    const picture = s("svg", { width: ACROSS, height: HIGH, viewBox: `0 0 ${ACROSS} ${HIGH}`, role: "img", "aria-label": `${title}, ${count} passes` }, mark, ...paths, ...dots);
    this.marks.push((i) => {
      mark.setAttribute("d", i < 0 ? "" : `M${x(i).toFixed(1)} 1V${HIGH - 1}`);
      dots.forEach((dot, j) => {
        const v = i < 0 ? null : drawn[j][1][i];
        dot.setAttribute("display", v === null ? "none" : "");
        if (v !== null) { dot.setAttribute("cx", x(i)); dot.setAttribute("cy", y(v)); }
      });
      const now = (list) => (i < 0 || list[i] === null ? "\u2013" : number(list[i]));
      says.textContent = several ? lines.map(([name, list], j) => `${STROKES[j % STROKES.length]} ${name} ${now(list)}`).join("  ") : now(lines[0][1]);
      says.title = several ? lines.map(([name, list]) => `${name}: ${now(list)}`).join("\n") : "";
    });
    return h("div", { class: "agl-plot" }, h("div", {}, h("b", { title: meaning }, title), " ", says), picture);
  }

  /** Mark the last pass that has begun at step k. */
  show(k) {
    const { steps } = this.data;
    let i = this.i ?? -1;
    if (i >= 0 && steps[i] > k) i = -1;
    while (i + 1 < steps.length && steps[i + 1] <= k) i++;
    if (i !== this.i) this.marks.forEach((mark) => mark(i));
    this.i = i;
  }
}
