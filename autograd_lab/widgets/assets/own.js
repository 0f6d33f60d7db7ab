// A function of one's own, stepped line by line (widgets/own_code.py): its source, the line that has just run, and its variables.
import { clamp } from "./core.js";
import { button, focusable, h, icon } from "./dom.js";
import { engineRows } from "./engine.js";

class OwnCode {
  constructor(model, el) {
    this.model = model;
    this.ran = JSON.parse(model.get("_run"));
    this.last = this.ran.steps.length;
    this.variables = h("div", focusable({ class: "agl-variables", tabindex: "0", role: "region", "aria-label": "Variables" }));
    this.rows = engineRows(this.ran.parts).map(([n, text]) => h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n || ""), h("code", {}, text || " ")));
    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": "Your code" }), ...this.rows);
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
    const side = h("div", { class: "agl-side", "data-view": "engine" }, this.code, this.variables);
    this.root = h("div", { class: "agl agl-own", "data-quiz": "watch", role: "group", "aria-label": "Stepper of your code" }, side, this.says, controls);
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
    const { steps, texts, end, name } = this.ran, step = steps[this.k - 1], error = step?.[2];
    for (const row of this.rows) for (const what of ["data-lit", "data-failed"]) row.removeAttribute(what);
    if (step) {
      const row = this.rows[step[0]];
      row.setAttribute("data-lit", "now");
      if (error) row.setAttribute("data-failed", "");
    }
    this.variables.replaceChildren(...(step?.[1] ?? []).map(([variable, i]) => h("code", {}, h("b", {}, variable), ` = ${texts[i]}`)));
    if (step) {
      const row = this.rows[step[0]];
      this.code.scrollTop = row.offsetTop + (row.offsetHeight - this.code.clientHeight) / 2;
    } else {
      this.variables.textContent = `the variables of ${name}, as each line leaves them`;
    }
    const at = step ? this.rows[step[0]].firstChild.textContent : "";
    const told = !step ? `${name} is about to run.` : error ? `Line ${at} raised ${error}` : `Line ${at} has run.`;
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
    const own = new OwnCode(model, el);
    return () => own.close();
  },
};
