// The larger view of a value or of a Jacobian: a dialog over the stepper.
import { button, focusable, h } from "./dom.js";

export class Zoom {
  constructor() {
    this.title = h("h3", { id: `agl-zoom-${Math.random().toString(36).slice(2, 8)}` });
    this.body = h("div", focusable({ class: "agl-zoom-body", tabindex: "0", role: "region", "aria-label": "Numbers" }));
    this.close = button("Close", ["Close"], () => this.hide());
    this.panel = h("div", { class: "agl-zoom-panel", role: "dialog", "aria-modal": "true", "aria-labelledby": this.title.id },
      h("div", { class: "agl-zoom-head" }, this.title, this.close), this.body);
    this.root = h("div", { class: "agl-zoom-veil", hidden: "", onkeydown: (e) => this.key(e), onclick: (e) => { if (e.target === this.root) this.hide(); } }, this.panel);
  }

  /** Show HTML, or an element, under a title; `back` is who gets the focus afterwards. */
  show(title, content, back) {
    this.back = back;
    this.title.textContent = title;
    if (typeof content === "string") this.body.innerHTML = content;
    else this.body.replaceChildren(content);
    this.root.hidden = false;
    this.close.focus();
  }

  hide() {
    this.root.hidden = true;
    this.back?.isConnected ? this.back.focus() : this.root.parentElement?.querySelector(".agl-rule")?.focus();
  }

  key(event) {
    event.stopPropagation(); // the stepper stands still while this is open
    if (event.key === "Escape") { event.preventDefault(); this.hide(); }
    if (event.key === "Tab") {
      event.preventDefault();
      const all = [this.close, this.body, ...this.body.querySelectorAll("button, [tabindex]")];
      const i = all.indexOf(this.root.getRootNode().activeElement) + (event.shiftKey ? -1 : 1);
      all[(i + all.length) % all.length].focus();
    }
  }
}
