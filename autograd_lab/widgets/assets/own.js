// A function of one's own, stepped line by line (widgets/own_code.py): its source, the line that has just run, and its variables; beside it, perhaps, the lab's.
import { clamp } from "./core.js";
import { button, focusable, h, icon } from "./dom.js";
import { engineRows } from "./engine.js";
import { hideStill } from "./host.js";

/** Some source with one line lit, and the variables as that line left them. */
class Listing {
  constructor(parts, label, variables) {
    this.held = h("div", focusable({ class: "agl-variables", tabindex: "0", role: "region", "aria-label": variables }));
    this.rows = engineRows(parts).map(([n, text]) => h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n || ""), h("code", {}, text || " ")));
    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": label }), ...this.rows);
    this.row = null;
  }

  /** Light the row of a step (or none, and say `idle` in place of variables); returns its line number. */
  show(step, texts, lit, idle) {
    for (const what of ["data-lit", "data-failed"]) this.row?.removeAttribute(what);
    this.row = step ? this.rows[step[0]] : null;
    if (!step) {
      this.held.textContent = idle;
      return "";
    }
    this.held.replaceChildren(...step[1].map(([variable, i]) => h("code", {}, h("b", {}, variable), ` = ${texts[i]}`)));
    this.row.setAttribute("data-lit", lit);
    if (step[2]) this.row.setAttribute("data-failed", "");
    this.code.scrollTop = this.row.offsetTop + (this.row.offsetHeight - this.code.clientHeight) / 2;
    return this.row.firstChild.textContent;
  }
}

class OwnCode {
  constructor(model, el) {
    this.model = model;
    this.ran = JSON.parse(model.get("_own"));
    this.last = this.ran.steps.length;
    const { beside, parts } = this.ran;
    this.yours = new Listing(parts, "Your code", "Variables");
    this.ours = beside && new Listing(beside.parts, beside.title, `Variables of ${beside.title}`);
    this.says = h("div", { class: "agl-say", role: "status" });
    this.range = h("input", focusable({ type: "range", min: "0", max: String(this.last), "aria-label": "Line of the run", oninput: () => this.go(Number(this.range.value)) }));
    this.count = h("span", { class: "agl-count" });
    this.buttons = [
      [button("To the beginning", [icon("first")], () => this.go(0)), () => this.k > 0],
      [button("Back", [icon("back")], () => this.go(this.k - 1)), () => this.k > 0],
      [button("Step", [icon("step"), "Step"], () => this.go(this.k + 1), { class: "agl-primary" }), () => this.k < this.last],
      [button("To the end", [icon("last")], () => this.go(this.last)), () => this.k < this.last],
    ];
    const controls = h("div", { class: "agl-controls" }, ...this.buttons.map(([b]) => b), this.range, this.count);
    const column = (name, { code, held }) => h("div", { class: "agl-side", "data-view": "engine" }, ...(beside ? [h("div", { class: "agl-side-name" }, h("b", {}, name))] : []), code, held);
    const sides = beside ? [h("div", { class: "agl-pair" }, column("Yours", this.yours), column(beside.title, this.ours))] : [column("", this.yours)];
    this.root = h("div", { class: "agl agl-own", "data-quiz": "watch", role: "group", "aria-label": "Stepper of your code" }, ...sides, this.says, controls);
    this.root.addEventListener("keydown", (e) => this.key(e));
    el.append(h("div", { class: "agl-root" }, this.root));
    this.onposition = () => { if (model.get("position") !== this.k) this.show(model.get("position")); };
    model.on("change:position", this.onposition);
    this.show(model.get("position"));
  }

  key(e) {
    const to = { ArrowRight: this.k + 1, ArrowLeft: this.k - 1, Home: 0, End: this.last }[e.key];
    if (to === undefined || e.target === this.range || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    e.stopPropagation();
    this.go(to);
  }

  go(k) {
    this.show(k);
    clearTimeout(this.saving);
    this.saving = setTimeout(() => { this.model.set("position", this.k); this.model.save_changes(); }, 60);
  }

  show(k) {
    this.k = clamp(k, 0, this.last);
    const { steps, texts, end, name, beside } = this.ran, step = steps[this.k - 1], error = step?.[2];
    const at = this.yours.show(step, texts, "now", `the variables of ${name}, as each line leaves them`);
    let told = !step ? `${name} is about to run.` : error ? `Line ${at} raised ${error}` : `Line ${at} has run.`;
    if (beside) {
      const [place, did] = step?.slice(3) ?? [-1, ""];
      const there = this.ours.show(beside.steps[place], texts, did ? "now" : "made", "the lab waits for yours to begin");
      if (did) told += ` ${did[0].toUpperCase()}${did.slice(1)}: the lab's line ${there}.`;
    }
    this.says.textContent = this.k === this.last ? `${error && end.endsWith(error) ? `Line ${at}: ` : `${told} `}${end}` : told;
    this.count.textContent = `${this.k} / ${this.last}`;
    this.range.value = String(this.k);
    for (const [one, on] of this.buttons) one.setAttribute("aria-disabled", String(!on()));
  }

  close() {
    clearTimeout(this.saving);
    this.model.off("change:position", this.onposition);
  }
}

export default {
  render({ model, el }) {
    const own = new OwnCode(model, el), showStill = hideStill(el, model);
    return () => { own.close(); showStill(); };
  },
};
