// What a pass costs: the memory that saved values hold at each step, and which node holds how much of it.
import { bytes, clamp } from "./core.js";
import { button, focusable, h, s } from "./dom.js";

const COST_WIDE = 400, COST_HIGH = 96, COST_EDGE = 5, COST_ROWS = 200;
const COST_COLUMNS = [["node"], ["line"], ["holds", "Bytes of values computed for this graph alone"], ["lives anyway", "Bytes of parameters and data, which live without the graph"],
  ["from step"], ["to step"], ["forward", "Microseconds of its operation"], ["backward", "Microseconds of its rule"]];

/** The bytes that are held at step k: the last entry of the curve that is not above it. */
export function heldAt(curve, k) {
  let low = 0, high = curve.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (curve[middle][0] <= k) low = middle;
    else high = middle - 1;
  }
  return curve[low].slice(1);
}

const DROPPED = " What no backward pass has freed counts to the end, even if the program lets go of it before."; // as in tracing/cost.py

export class Cost {
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.model = stage.model;
    this.order = [2, -1]; // column, and whether the largest comes first
    this.mark = s("path", { class: "agl-cost-now" });
    this.draw(this.film.cost, DROPPED);
    this.says = h("p", {});
    this.top = button("Go to the peak", ["Go to the peak"], () => stage.go(this.peak));
    this.measure = button("Measure times", ["Measure times"], () => this.ask());
    this.message = h("span", { "aria-live": "polite" });
    this.table = h("table", { "aria-label": "What each node holds" });
    this.root = h("div", focusable({ class: "agl-cost", hidden: "", tabindex: "0", role: "region", "aria-label": "Cost" }), this.says, ...this.drawn, h("div", { class: "agl-cost-do" }, this.top, this.measure, this.message), this.table);
    this.onmeasured = () => this.measured();
    this.model.on("change:_measured", this.onmeasured);
    this.look();
  }

  /** Draw the curve; `dropped` is said below it where something is held at the end. */
  draw({ curve, nodes }, dropped) {
    const steps = Math.max(this.film.steps, 1);
    this.curve = curve;
    this.most = Math.max(...curve.map(([, held]) => held));
    this.peak = curve.find(([, held]) => held === this.most)[0];
    this.of = new Map(nodes.map((one) => [one[0], one]));
    this.largest = Math.max(1, ...nodes.map(([, held]) => held));
    this.x = (k) => COST_EDGE + ((COST_WIDE - 2 * COST_EDGE) * k) / steps;
    const y = (held) => COST_HIGH - COST_EDGE - ((COST_HIGH - 2 * COST_EDGE) * held) / Math.max(this.most, 1);
    const line = `${curve.map(([k, held], i) => `${i ? `H${this.x(k).toFixed(1)}V` : `M${COST_EDGE} `}${y(held).toFixed(1)}`).join("")}H${COST_WIDE - COST_EDGE}`;
    const passes = [];
    for (let i = 0; i < this.film.phase.length; i += 3) if (this.film.phase[i + 1] === "backward") passes.push(this.film.phase[i]);
    const picture = s("svg", { viewBox: `0 0 ${COST_WIDE} ${COST_HIGH}`, preserveAspectRatio: "none", role: "img", class: "agl-cost-curve",
      "aria-label": `Bytes held by saved values over ${this.film.steps} steps: most, ${bytes(this.most)}, at step ${this.peak}; ${bytes(curve.at(-1)[1])} at the end`,
      onclick: (e) => this.jump(e, picture, steps) },
    s("path", { class: "agl-cost-area", d: `${line}V${y(0)}H${COST_EDGE}z` }), s("path", { class: "agl-cost-pass", d: passes.map((k) => `M${this.x(k).toFixed(1)} 0V${COST_HIGH}`).join("") }), s("path", { class: "agl-cost-line", d: line }), this.mark);
    const drawn = [picture, h("small", {}, `Click on the curve to go there. A dotted line: a backward pass begins.${curve.at(-1)[1] ? dropped : ""}`)];
    this.drawn?.forEach((old, i) => old.replaceWith(drawn[i]));
    this.drawn = drawn;
  }

  get active() { return !this.root.hidden; }

  /** Whether times can be measured, and if not why. */
  look() {
    const why = this.model.get("_kernel") === false ? "Times need a kernel, and this is a saved copy." : this.model.get("_can_measure") ? "" : "Times need a function to run again: lab.step(fn, *inputs).";
    this.measure.setAttribute("aria-disabled", String(Boolean(why)));
    this.why = why;
    this.message.textContent = why;
  }

  ask() {
    if (this.why) return;
    this.message.textContent = "Measuring \u2026";
    this.waiting = (this.model.get("_measure") ?? 0) + 1;
    this.model.set("_measure", this.waiting);
    this.model.save_changes();
  }

  measured() {
    const { n, error, times, cost } = this.model.get("_measured") ?? {};
    if (n !== this.waiting) return;
    this.message.textContent = error ?? "Measured in runs of their own, which are not recorded.";
    if (cost) this.draw(cost, "");
    if (!times) return;
    this.times = new Map(times.map(([node, ...pair]) => [node, pair]));
    this.longest = Math.max(...times.map(([, a, b]) => a + b));
    this.fill();
    this.stage.refresh();
  }

  jump(event, picture, steps) {
    const box = picture.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * COST_WIDE;
    this.stage.go(clamp(Math.round(((at - COST_EDGE) / (COST_WIDE - 2 * COST_EDGE)) * steps), 0, this.film.steps));
  }

  /** One row's cells, to be sorted. */
  cells([n, held, own, since, until]) {
    const node = this.film.nodes[n], times = this.times?.get(n) ?? [0, 0];
    return [node.label, node.src?.[1] ?? 0, held, own, since[0] ?? 0, until.at(-1) < 0 ? Infinity : until.at(-1) ?? 0, ...times];
  }

  /** Write the table in the chosen order. */
  fill() {
    const [column, sign] = this.order, shown = COST_COLUMNS.slice(0, this.times ? 8 : 6), more = [...(this.times?.keys() ?? [])].filter((n) => !this.of.has(n)).map((n) => [n, 0, 0, [], []]);
    const rows = [...this.of.values(), ...more].map((one) => [one, this.cells(one)]);
    rows.sort(([, a], [, b]) => sign * (typeof a[column] === "string" ? a[column].localeCompare(b[column], "en", { numeric: true }) : a[column] === b[column] ? 0 : a[column] - b[column]));
    const head = shown.map(([name, title], i) => h("th", { scope: "col", "aria-sort": i === column ? (sign > 0 ? "ascending" : "descending") : "none" },
      h("button", focusable({ type: "button", title, onclick: () => this.sort(i) }), name, h("span", { "aria-hidden": "true" }, i === column ? (sign > 0 ? " \u25b4" : " \u25be") : ""))));
    this.rows = rows.slice(0, COST_ROWS).map(([one, cells]) => {
      const [label, line, held, own, first] = cells, took = cells.slice(6).map((x) => (x * 1e6).toFixed(1));
      const texts = [line || "\u2013", bytes(held), bytes(own), ...one.slice(3).map((steps) => steps.map((k) => (k < 0 ? "the end" : k)).join(", ") || "\u2013"), ...(this.times ? took : [])];
      const row = h("tr", {}, h("th", { scope: "row" }, h("button", focusable({ type: "button", title: `Go to where ${label} begins to hold it`, onclick: () => this.stage.go(first) }), label)), ...texts.map((text) => h("td", {}, String(text))));
      return [row, one];
    });
    this.table.replaceChildren(h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...this.rows.map(([row]) => row)));
    this.show();
  }

  sort(column) {
    this.order = [column, this.order[0] === column ? -this.order[1] : column > 1 && column !== 4 ? -1 : 1];
    this.fill();
    this.table.querySelectorAll("thead button")[column].focus();
  }

  /** Whether a node holds something at step k. */
  holds(n, k) {
    const [, , , since = [], until] = this.of.get(n) ?? [];
    return since.some((from, i) => from <= k && (until[i] < 0 || k < until[i]));
  }

  /** Mark the stage's step. */
  show() {
    if (!this.active) return;
    if (!this.rows) return this.fill();
    const { k } = this.stage, [held, own] = heldAt(this.curve, k);
    this.mark.setAttribute("d", `M${this.x(k).toFixed(1)} 0V${COST_HIGH}`);
    this.says.replaceChildren("Saved values hold ", h("b", {}, bytes(held)), ` at step ${k}. Most: ${bytes(this.most)}, at step ${this.peak}.${own ? ` Besides, ${bytes(own)} of parameters and data, which live anyway.` : ""}`);
    for (const [row, [n]] of this.rows) row.setAttribute("data-on", this.holds(n, k) ? "1" : "0");
  }

  close() { this.model.off("change:_measured", this.onmeasured); }
}
