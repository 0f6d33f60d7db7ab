// A compiled node opened: the lines of NumPy it ran, one by one, with what they read and made and where they come from.
import { clamp, escape } from "./core.js";
import { button, focusable, h, mini } from "./dom.js";

/** A value of the compiled source by its name there, and the user's name where it is an argument. */
function named(film, [name, yours, v]) {
  return `<span class="agl-named"><code>${escape(name)}</code>${yours ? ` <small>(${escape(yours)})</small>` : ""} ${mini(film, v)}</span>`;
}

/** The rules and lines of the user's code that a compiled line comes from. */
export function origin(from, part) {
  const rules = [...new Set(from.map(([rule]) => rule))], places = [...new Set(from.map(([, , line]) => line).filter(Boolean))];
  const what = rules.map((rule) => (!rule ? "a sum of two gradients" : `${part === "backward" ? "the rule of " : ""}<code>${escape(rule)}</code>`)).join(", ");
  return `${what || "not known"}${places.map((place) => `<small>${escape(place)}</small>`).join("")}`;
}

/** The body of the larger view: a table of which `count` lines have run, and the controls. */
export class Opened {
  constructor(film, node) {
    this.film = film;
    this.node = node;
  }

  /** The element to show for a part, "forward" or "backward"; all lines have run at first. */
  element(part) {
    this.part = part;
    this.lines = this.node.compiled[part];
    this.at = this.lines.length;
    this.rows = this.lines.map((line, i) => {
      const row = h("tr", {}, h("th", { scope: "row" }, String(i + 1)), ...[0, 1, 2, 3].map(() => h("td")));
      row.children[1].append(h("code", {}, line.text));
      row.children[4].innerHTML = origin(line.from, part);
      return row;
    });
    const head = h("thead", {}, h("tr", {}, ...["", "line of NumPy", "reads", "makes", "comes from"].map((t) => h("th", { scope: "col" }, t))));
    this.count = h("span", { class: "agl-count", role: "status", "aria-live": "polite" });
    const controls = h("div", { class: "agl-opened-controls" },
      button("Before the first line", ["First"], () => this.go(0)), button("One line back", ["Back"], () => this.go(this.at - 1)),
      button("Run one line", ["Run a line"], () => this.go(this.at + 1), { class: "agl-primary" }), button("After the last line", ["Last"], () => this.go(this.lines.length)), this.count);
    const root = h("div", { class: "agl-opened", onkeydown: (e) => this.key(e) }, controls,
      h("div", focusable({ class: "agl-opened-lines", tabindex: "0", role: "region", "aria-label": "Lines of the compiled function" }), h("table", { class: "agl-lines" }, head, h("tbody", {}, ...this.rows))));
    this.show();
    return root;
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.go(this.at + step);
  }

  go(at) {
    this.at = clamp(at, 0, this.lines.length);
    this.show();
    this.rows[Math.max(this.at - 1, 0)]?.scrollIntoView({ block: "nearest" });
  }

  show() {
    this.lines.forEach((line, i) => {
      const row = this.rows[i], ran = i < this.at, now = i === this.at - 1;
      if (row.getAttribute("data-ran") !== String(ran)) {
        row.setAttribute("data-ran", String(ran));
        row.children[2].innerHTML = ran ? line.reads.map((one) => named(this.film, one)).join("") : "";
        row.children[3].innerHTML = ran ? line.makes.map((one) => named(this.film, one)).join("") : "";
      }
      row.setAttribute("data-now", String(now));
      row.setAttribute("aria-current", now ? "step" : "false");
    });
    this.count.textContent = `${this.at} of ${this.lines.length} lines have run`;
  }
}

/** The block of the rule panel: closed, with the ways to open it. */
export function closed(node, n, backwardRan) {
  const { forward, backward } = node.compiled, lines = (list) => `${list.length} line${list.length === 1 ? "" : "s"}`;
  const way = (part, list) => (list.length ? `<button type="button" class="agl-open agl-way" data-lm-suppress-shortcuts="true" data-opened="${n} ${part}">Open the ${part}: ${lines(list)} of NumPy</button>` : "");
  return `<div class="agl-will agl-closed"><h4>One node for a whole function</h4><p>Its operations left no nodes of their own: compiled code ran in their place.</p><div class="agl-ways">${way("forward", forward)}${backwardRan ? way("backward", backward) : ""}</div></div>`;
}
