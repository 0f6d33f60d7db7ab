// How much the stepper shows beside graph, code and sentence: what the notebook has taught so far, or what the reader chose.
// The choice is the reader's own: it stays in the browser, for all notebooks, and neither kernel nor notebook hears of it.
import { focusable, h } from "./dom.js";

const LEVELS = { simple: "Simple", rules: "+ rules", queue: "+ queue", saved: "+ saved values", all: "Everything" };
const KEY = "autograd-lab-level", CHANGED = "autograd-lab-level";

function kept() {
  try { return localStorage.getItem(KEY); } catch { return null; } // a frame without storage of its own
}

export class Level {
  constructor(stage) {
    this.stage = stage;
    this.given = stage.model.get("level"); // none for the halves of a comparison, which show everything
    this.select = h("select", focusable({ "aria-label": "How much to show", title: "How much to show: graph and code alone, or also rules, queue, saved values, versions", class: "agl-level",
      onchange: () => this.choose(this.select.value) }), ...Object.entries(LEVELS).map(([value, text]) => h("option", { value }, text)));
    this.select.hidden = !this.given;
    this.onchange = () => this.stage.relevel();
    document.addEventListener(CHANGED, this.onchange);
  }

  get name() {
    const own = this.given && kept();
    return own in LEVELS ? own : this.given ?? "all";
  }

  /** Whether something that comes with level `name` is shown. */
  has(name) {
    const order = Object.keys(LEVELS);
    return order.indexOf(this.name) >= order.indexOf(name);
  }

  /** Choose a level for every stepper; the notebook's own means: what each notebook says. */
  choose(name) {
    try {
      if (name === this.given) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, name);
    } catch { this.given = name; }
    document.dispatchEvent(new Event(CHANGED));
  }

  close() { document.removeEventListener(CHANGED, this.onchange); }
}
