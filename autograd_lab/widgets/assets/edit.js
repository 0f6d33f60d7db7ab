// Changing an input where it stands in the leaf table. The kernel runs the function again and sends a new film.
import { button, focusable, h } from "./dom.js";

export const PATIENCE = 6000; // ms without an answer
export const SILENT = "No answer from the kernel: it is busy, or it was restarted and the cell has to run again.";

export class Editor {
  constructor(stage) {
    this.stage = stage;
    this.model = stage.model;
    this.buttons = new Map(); // name of an input -> its button
    this.onanswer = () => this.answered(this.model.get("_edit_answer"));
    this.model.on("change:_edit_answer", this.onanswer);
    this.undo = button("Reset inputs", ["Reset inputs"], () => this.request({ reset: true }, ""), { class: "agl-reset", title: "Run again with the inputs as they were at first" });
    this.oninputs = () => {
      const inputs = this.model.get("_inputs") ?? [];
      this.inputs = new Map(inputs.filter(({ t }) => t >= 0).map((input) => [input.t, input])); // the others have no row
      this.undo.hidden = !inputs.some((input) => input.changed);
    };
    this.oninputs();
    this.model.on("change:_inputs", this.oninputs);
    this.message = h("div", { class: "agl-edit-message", role: "alert", hidden: "" });
  }

  /** The value cell of a leaf: a button that opens a field, where the leaf is an input that can be changed. */
  dress(cell, t) {
    const input = this.inputs.get(t);
    if (!input) return;
    const text = cell.textContent || input.text;
    const edit = button(`Change ${input.name}, now ${text}`, [text, h("span", { class: "agl-pencil", "aria-hidden": "true" }, "\u270e")],
      () => this.open(cell, input), { class: "agl-edit", title: `Change ${input.name} and run again` });
    this.buttons.set(input.name, edit);
    cell.replaceChildren(edit);
  }

  /** The input that is being changed or has the focus, if any. */
  get focus() {
    const active = this.stage.root.getRootNode().activeElement;
    return [...this.buttons].find(([name, edit]) => edit === active || (this.field && this.name === name))?.[0];
  }

  open(cell, input) {
    this.shut?.();
    const was = [...cell.childNodes];
    const field = h("input", focusable({ type: "text", class: "agl-edit-field", value: input.text, "aria-label": `New value of ${input.name}`, autocomplete: "off", spellcheck: "false",
      size: Math.min(Math.max(input.text.length + 1, 6), 26) }));
    cell.replaceChildren(field);
    this.tell("");
    this.shut = (focus = false) => {
      this.shut = null;
      this.field = null;
      this.tell("");
      cell.replaceChildren(...was);
      if (focus) cell.firstChild.focus();
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { event.preventDefault(); this.send(input, field); }
      else if (event.key === "Escape") this.shut(true);
    });
    this.field = field;
    this.name = input.name;
    field.focus();
    field.select();
  }

  send(input, field) {
    field.setAttribute("aria-busy", "true");
    this.request({ name: input.name, text: field.value }, ` ${input.name} stays as it is.`);
  }

  request(what, otherwise) {
    if (this.model.get("_kernel") === false) return this.tell(`Running again needs a kernel, and this is a saved copy.${otherwise}`);
    const n = this.waiting = (this.model.get("_edit")?.n ?? 0) + 1;
    this.model.set("_edit", { n, ...what });
    this.model.save_changes();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.waiting === n && this.tell(SILENT + otherwise), PATIENCE);
  }

  answered({ n, error } = {}) {
    if (n !== this.waiting) return;
    this.waiting = null;
    clearTimeout(this.timer);
    this.field?.removeAttribute("aria-busy");
    if (error) {
      this.tell(error);
      this.field?.focus();
    } else this.shut?.(true);
  }

  tell(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
    this.field?.setAttribute("aria-invalid", text ? "true" : "false");
  }

  close() {
    clearTimeout(this.timer);
    this.model.off("change:_edit_answer", this.onanswer);
    this.model.off("change:_inputs", this.oninputs);
  }
}
