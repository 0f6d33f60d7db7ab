// The curves of a training loop: the loss, and the norm of each layer's gradients, with the pass on screen marked.
import { number } from "./core.js";
import { h, s } from "./dom.js";

const ACROSS = 124, HIGH = 44, LINE = 10, BESIDE = 118; // the room for names beside several curves, a row each

/** A long name without its beginning: what tells layers apart is at the end. */
const ending = (name) => (name.length > 13 ? `\u2026${name.slice(-12)}` : name);

export class Curves {
  constructor(stage) {
    this.stage = stage;
    this.data = stage.film.curves;
    this.marks = [];
    const { grads } = this.data, layers = Object.entries(grads);
    this.root = h("div", { class: "agl-curves", role: "group", "aria-label": "Curves of the training loop" },
      ...[this.data, ...(this.data.others ?? [])].filter(({ loss }) => loss.filter((x) => x !== null).length > 1).map(({ name, loss, steps }) => this.plot(steps, name, [[name, loss]])),
      ...(layers.length ? [this.plot(this.data.steps, "\u2016grad\u2016 of each layer, log scale", layers, Math.log10, "The norm of each layer's gradients after each pass: the square root of the sum of the squares of all elements")] : []));
  }

  /** One small plot of several lines over the passes that begin at `steps`, each named at its end; `scale` is applied to what is drawn. */
  plot(steps, title, lines, scale = (x) => x, meaning = "") {
    const several = meaning !== "", drawn = lines.map(([name, list]) => [name, list.map((x) => (x === null || !Number.isFinite(scale(x)) ? null : scale(x)))]);
    const all = drawn.flatMap(([, list]) => list.filter((y) => y !== null)), low = Math.min(...all), high = Math.max(...all), count = steps.length;
    const tall = several ? Math.max(HIGH, LINE * lines.length + 4) : HIGH, wide = ACROSS + (several ? BESIDE : 0);
    const x = (i) => 4 + ((ACROSS - 8) * i) / Math.max(count - 1, 1), y = (v) => (high > low ? tall - 4 - ((tall - 8) * (v - low)) / (high - low) : tall / 2);
    const tone = (i) => (several ? `--c: color-mix(in oklch, var(--agl-blue) ${Math.round(100 - (100 * i) / Math.max(lines.length - 1, 1))}%, var(--agl-verm))` : ""); // from the first layer to the last
    const paths = drawn.map(([name, list], i) => s("path", { class: "agl-curve", style: tone(i),
      d: list.map((v, j) => (v === null ? "" : `${j && list[j - 1] !== null ? "L" : "M"}${x(j).toFixed(1)} ${y(v).toFixed(1)}`)).join("") }, s("title", {}, name)));
    const mark = s("path", { class: "agl-curve-now" }), dots = drawn.map(() => s("circle", { r: 2.6, class: "agl-curve-dot" })), says = h("span", { class: "agl-curve-says" });
    const ends = drawn.map(([, list], i) => { const last = list.findLastIndex((v) => v !== null); return [i, x(last), last < 0 ? tall : y(list[last])]; });
    const labels = !several ? [] : ends.sort((a, b) => a[2] - b[2] || a[0] - b[0]).map(([i, x0, y0], row) => {
      const at = 2 + (row + 0.5) * ((tall - 4) / lines.length), value = s("tspan", { class: "agl-curve-says" });
      return [i, value, s("g", { style: tone(i) }, s("path", { class: "agl-curve-end", d: `M${x0.toFixed(1)} ${y0.toFixed(1)}L${ACROSS + 8} ${at.toFixed(1)}h4` }),
        s("text", { x: ACROSS + 15, y: (at + 3.2).toFixed(1), class: "agl-curve-name" }, s("title", {}, lines[i][0]), `${ending(lines[i][0])} `, value))];
    });
    const picture = s("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `${title}, ${count} passes` }, mark, ...labels.map(([, , g]) => g), ...paths, ...dots);
    this.marks.push({ steps, mark: (i) => {
      mark.setAttribute("d", i < 0 ? "" : `M${x(i).toFixed(1)} 1V${tall - 1}`);
      dots.forEach((dot, j) => {
        const v = i < 0 ? null : drawn[j][1][i];
        dot.setAttribute("display", v === null ? "none" : "");
        if (v !== null) { dot.setAttribute("cx", x(i)); dot.setAttribute("cy", y(v)); }
      });
      const now = (j) => (i < 0 || lines[j][1][i] === null ? "\u2013" : number(lines[j][1][i]));
      if (several) for (const [j, value] of labels) value.textContent = now(j);
      else says.textContent = now(0);
    } });
    return h("div", { class: "agl-plot" }, h("div", {}, h("b", { title: meaning }, title), " ", says), picture);
  }

  /** Mark the last pass that has begun at step k. */
  show(k) {
    for (const one of this.marks) {
      const { steps } = one;
      let i = one.i ?? -1;
      if (i >= 0 && steps[i] > k) i = -1;
      while (i + 1 < steps.length && steps[i + 1] <= k) i++;
      if (i !== one.i) one.mark(i);
      one.i = i;
    }
  }
}
