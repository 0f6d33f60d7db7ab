// A slider for an input that is one number: the graph follows while it is dragged. Beside it the nudge quotient, for a size h of the nudge
// that has a slider too. The kernel runs the function again (widgets/rerun.py, nudge.py); a page without one may hold what it would answer.
// It belongs to the view, not to a stage: what is dragged stays in the page while a stage takes another's place.
import { clamp, number, phase } from "./core.js";
import { attr, button, focusable, h, s, write } from "./dom.js";
import { PATIENCE, SILENT } from "./edit.js";
import { decode } from "./wire.js";

const NUDGES = [...Array(15).keys()].map((i) => Number(`1e${i - 15}`)); // of the nudge, from 1e-15 to 1e-1
const CURVE = [112, 30]; // its size
const QUICK = 120; // ms until an answer, for each question it waits for: a kernel that is so quick has the next question when it has answered one

/** A question at a time, or more: of what is wanted meanwhile only the newest is asked next. */
export class Newest {
  constructor(ask) { Object.assign(this, { ask, most: 1, asked: 0, next: null }); }

  want(what) {
    if (this.asked >= this.most) { this.next = [what]; return; }
    this.asked++;
    this.ask(what);
  }

  /** An answer is there, of a kernel after so many ms; ask what has been wanted since. */
  answered(took) {
    const { next } = this;
    this.most = took < QUICK * this.asked ? 2 : 1;
    this.asked--;
    this.next = null;
    if (next) this.want(next[0]);
  }
}

/** The value at a stop of a slider, and the stop nearest to a value; `by` is not 0. */
export const valueAt = ({ low, by }, i) => Number((low + i * by).toPrecision(10));
export const stopAt = ({ low, by, count }, x) => clamp(Math.round((x - low) / by), 0, count - 1);

/** The number in a text such as "[2]", and the text with another number in it. */
const inner = (text) => Number(text.replace(/[[\]]/g, ""));
const withNumber = (text, x) => text.replace(/[^[\]]+/, x);

/** The points [size, |quotient - gradient|] of a measurement, from the smallest size on, where both are known. */
export function errors({ h: sizes, q, gradient }) {
  if (gradient === null) return [];
  return sizes.map((size, i) => [size, q[i] === null ? null : Math.abs(q[i] - gradient)]).filter(([, x]) => x !== null).sort((a, b) => a[0] - b[0]);
}

/** The step of film `b` that corresponds to step k of film `a`: as many events into the same pass (rerun._same_place). */
export function samePlace(a, k, b) {
  if (a.steps === b.steps) return k;
  const here = phase(a, k);
  for (let at = 0; at <= b.steps;) {
    const one = phase(b, at);
    if (one.name === here.name && one.pass === here.pass) return Math.min(one.from + k - here.from, one.to);
    at = one.to + 1;
  }
  return b.steps;
}

export class Slider {
  constructor(model) {
    this.model = model;
    this.size = 1e-3;
    this.queue = new Newest((what) => this.ask(what));
    this.waiting = new Map(); // number of a question -> its text, and when it was asked
    this.n = Date.now(); // other views have others
    this.which = h("select", focusable({ "aria-label": "Input of the slider", onchange: () => { this.chosen = this.which.value; this.measured = null; this.show(); } }));
    this.name = h("b", { "aria-hidden": "true" });
    this.range = h("input", focusable({ type: "range", class: "agl-slider", min: 0, oninput: () => this.moved(true), onchange: () => this.moved(false) }));
    this.value = h("b");
    this.opener = button("Nudge", ["Nudge"], () => this.open(), { title: "Measure the derivative: nudge the input by h and see how far the result moves", "aria-expanded": "false" });
    this.sizes = h("input", focusable({ type: "range", class: "agl-slider", min: 0, max: NUDGES.length - 1, value: NUDGES.indexOf(this.size), "aria-label": "Size h of the nudge", oninput: () => this.resized() }));
    this.said = h("b");
    this.nudge = h("span", { class: "agl-nudge", hidden: "" });
    this.head = h("label", {}, h("b", {}, "h"), this.sizes, this.said);
    this.nudge.append(this.head);
    this.note = h("span", { class: "agl-slide-note", "aria-live": "polite" });
    this.moving = h("span", { class: "agl-slide-x" }, this.which, this.name, this.range, this.value, this.opener);
    this.root = h("div", { class: "agl-slide", role: "group", "aria-label": "Slider", hidden: "" }, this.moving, this.note, this.nudge);
    this.root.addEventListener("keydown", (event) => { if (event.target.type === "range" && /^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation(); }); // they move it, not the step
    this.listeners = [["_edit_answer", () => this.answered(model.get("_edit_answer"))], ["_inputs", () => { this.problem = ""; this.show(); }], ["mode", () => this.show()]];
    for (const [name, listener] of this.listeners) model.on(`change:${name}`, listener);
    this.show();
  }

  get inputs() { return (this.model.get("_inputs") ?? []).filter((one) => one.stops?.count); }

  get input() { return this.inputs.find((one) => one.name === this.chosen) ?? this.inputs[0]; }

  /** Why it cannot be moved, or "". */
  get reason() {
    if (this.model.get("_kernel") !== false) return this.silent ? SILENT : "";
    return this.carries ? "" : this.model.get("_resting") || "The slider needs a kernel, and this is a saved copy.";
  }

  /** Whether the page holds what a kernel would answer: itself, or behind an address. */
  get carries() { return Boolean(this.model.get("_slides") || this.model.get("_slides_at")); }

  /** Bring it up to date with the inputs, when their picture is there; what is being dragged stays under the pointer. */
  show() {
    if (this.coming?.()) return;
    const { inputs, input, reason } = this, resting = (this.model.get("mode") ?? "watch") !== "watch";
    this.root.hidden = !input;
    this.root.toggleAttribute("data-resting", resting);
    if (!input) return;
    if (resting) return this.tell("No slider in this mode: it would give the answers away.");
    const names = inputs.map((one) => one.name);
    if (names.join() !== [...this.which.options].map((option) => option.value).join()) this.which.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    this.which.value = input.name;
    this.which.toggleAttribute("hidden", names.length < 2);
    this.name.toggleAttribute("hidden", names.length > 1);
    write(this.name, input.name);
    attr(this.range, "max", input.stops.count - 1);
    attr(this.range, "aria-label", `Value of ${input.name}`);
    this.range.disabled = this.opener.disabled = Boolean(reason);
    if (!this.queue.asked && !this.problem) this.range.value = stopAt(input.stops, inner(input.text)); // else it is ahead of the picture
    const text = this.problem ? withNumber(input.text, valueAt(input.stops, this.range.value)) : input.text; // of the picture
    write(this.value, text);
    attr(this.range, "aria-valuetext", `${input.name} = ${text}`);
    this.tell(reason || this.problem || this.path || (this.carries && this.model.get("_resting")) || "");
    this.measure();
  }

  tell(text) { write(this.note, text); }

  /** The program took another path, with so many steps. */
  turned(before, now) {
    this.path = `The program takes another path here: ${now} steps, not ${before}.`;
    this.show();
  }

  moved(more) {
    if (!this.dragged) this.path = "";
    this.dragged = more;
    const { name, stops } = this.input;
    this.queue.want({ name, text: String(valueAt(stops, this.range.value)), more });
  }

  open() {
    this.nudge.hidden = !this.nudge.hidden;
    this.opener.setAttribute("aria-expanded", String(!this.nudge.hidden));
    if (!this.nudge.hidden) this.queue.want({ name: this.input.name, text: this.input.text, more: false });
  }

  // ---- asking -----------------------------------------------------------------------------------------------

  ask(what) {
    if (this.model.get("_kernel") === false) return this.answerHere(what);
    const { model } = this, n = ++this.n, edit = { n, k: this.stage.k, ...what, ...(this.nudge.hidden ? {} : { h: this.size }) };
    this.waiting.set(n, [what.text, Date.now()]);
    if (model.widget_manager) model.send({ edit }); // in Jupyter a state waits until the kernel is idle
    else {
      model.set("_edit", edit);
      model.save_changes();
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.silent = this.waiting.has(n); this.show(); }, PATIENCE);
  }

  /** The answer from what the page holds: the film at the nearest stop. */
  async answerHere({ text }) {
    const { model, stage } = this, [input] = model.get("_inputs").filter((one) => one.name === this.input.name);
    try {
      this.held ??= await this.unpack();
    } catch (error) {
      this.problem = `The values of the slider could not be loaded (${error.message}). Load the page again.`;
      this.queue.answered();
      return this.show();
    }
    const { runs, errors, films, nudges } = this.held, i = stopAt(input.stops, Number(text)), run = runs[i];
    if (run >= 0) {
      const film = { ...this.first, ...Object.fromEntries(Object.entries(films).map(([part, each]) => [part, each[run]])) };
      model.set("position", samePlace(stage.film, stage.k, film));
      this.put(structuredClone(film)); // a stage writes into its film
      this.measured = nudges[run];
      input.text = withNumber(input.text, valueAt(input.stops, i));
    }
    this.problem = run < 0 ? this.stays(errors[i], input) : "";
    this.queue.answered();
    this.show();
  }

  stays(error, { name, text }) { return `${error}${/[.!?]$/.test(error) ? "" : "."} The picture stays at ${name} = ${text}.`; }

  async unpack() {
    let text = this.model.get("_slides");
    if (!text) {
      const answer = await fetch(this.model.get("_slides_at"));
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      text = await answer.text();
    }
    this.first = await decode(this.model.get("_film"));
    return decode(text);
  }

  answered({ n, error, nudge } = {}) {
    const [text, asked] = this.waiting.get(n) ?? [];
    if (!this.waiting.delete(n)) return;
    if (!this.waiting.size) clearTimeout(this.timer);
    this.silent = false;
    this.problem = error && this.stays(error, this.input);
    if (nudge) this.measured = nudge;
    if (error && this.queue.next?.[0].text === text) this.queue.next = null; // it would fail once more
    this.queue.answered(this.model.widget_manager ? Date.now() - asked : NaN);
    this.show();
  }

  // ---- the nudge --------------------------------------------------------------------------------------------

  resized() {
    this.size = NUDGES[this.sizes.value];
    this.measure();
    if (this.measured && !this.measured.why && !this.measured.h.includes(this.size)) this.queue.want({ name: this.input.name, text: this.input.text, more: false });
  }

  /** Write what was measured with the size h: quotient, gradient, difference, and the curve of all sizes. */
  measure() {
    if (this.nudge.hidden) return;
    const found = this.measured?.name === this.input.name ? this.measured : null, i = found ? found.h.indexOf(this.size) : -1, q = i < 0 ? null : found.q[i];
    const { name } = this.input, gradient = found?.gradient ?? null, tell = (x) => (x === null ? "\u2013" : digits(x)), apart = q === null || gradient === null ? null : q - gradient;
    const part = (term, value, title) => h("span", { title }, `${term} `, h("b", {}, value)), points = found && !found.why ? errors(found) : [];
    this.said.textContent = this.size.toExponential();
    for (const old of [...this.nudge.children].slice(1)) old.remove();
    this.nudge.append(...(found?.why ? [h("span", {}, found.why)] : [
      part(`(f(${name} + h) \u2212 f(${name})) / h =`, tell(q), q === null && i >= 0 ? `The function gives no number at ${name} + h.` : `Two runs without a recording, in ${found?.dtype ?? "the input's dtype"}`),
      ...(found?.plain ? [h("span", {}, `no gradient: ${name} is a plain number, not a tensor`)] : [
        part("gradient", gradient === null ? "None" : tell(gradient), "What the backward pass gave"),
        part("difference", apart === null ? "\u2013" : number(apart), "The quotient minus the gradient")])]), ...(points.length > 2 ? [this.plot(points)] : []));
    this.sizes.setAttribute("aria-valuetext", `h = ${this.said.textContent}: quotient ${tell(q)}, difference ${apart === null ? "unknown" : number(apart)}`);
  }

  /** The difference over the size of the nudge, both on a logarithmic scale; none at all stands at the bottom. */
  plot(points) {
    const logs = points.map(([, x]) => (x ? Math.log10(x) : null)), known = logs.filter((x) => x !== null), low = Math.min(...known, 0) - 1, high = Math.max(...known, low + 2), [wide, tall] = CURVE;
    const x = (size) => 5 + ((wide - 10) * (Math.log10(size) + 15)) / 14, y = (log) => tall - 4 - ((tall - 8) * ((log ?? low) - low)) / (high - low);
    const now = points.findIndex(([size]) => size === this.size);
    return s("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "The difference over the size h of the nudge, from 1e-15 to 1e-1, both on a logarithmic scale" },
      s("title", {}, "The difference over h, from 1e-15 to 1e-1, both on a logarithmic scale. On the left rounding wins, on the right the bend of the function."),
      s("path", { class: "agl-curve", d: points.map(([size], i) => `${i ? "L" : "M"}${x(size).toFixed(1)} ${y(logs[i]).toFixed(1)}`).join("") }),
      ...points.map(([size], i) => s("circle", { class: "agl-curve-dot", cx: x(size).toFixed(1), cy: y(logs[i]).toFixed(1), r: i === now ? 4 : 1.6 })));
  }

  close() {
    clearTimeout(this.timer);
    for (const [name, listener] of this.listeners) this.model.off(`change:${name}`, listener);
  }
}

/** A measured number with as many digits as tell it from the gradient. */
function digits(x) { return x !== 0 && Math.abs(x) < 1e-4 ? number(x) : String(Number(x.toPrecision(9))); }
