// The bar above a large graph: find a node, open and close groups.
import { button, focusable, h } from "./dom.js";

/** The units that a query means: "line 12" a line, "12" a line or a number in a name, else part of the name of a node, an operation, a variable or a group. */
export function matches(film, query) {
  const text = query.trim().toLowerCase(), line = text.match(/^(line\s*)?(\d+)$/);
  if (!text) return [];
  const found = [];
  film.units.forEach((unit, u) => {
    const node = film.nodes[unit.node];
    if (line && node?.src?.[1] === Number(line[2])) { found.push(u); return; }
    if (line?.[1]) return;
    const names = unit.boxes.map(([t]) => film.tensors[t].name);
    if (node) names.push(node.label, node.op);
    for (let g = unit.group; g >= 0; g = film.groups[g].parent) names.push(film.groups[g].name);
    if (line ? names.some((name) => name.toLowerCase() === text || name.endsWith(`#${line[2]}`)) : names.some((name) => name.toLowerCase().includes(text))) found.push(u);
  });
  return found;
}

export class Finder {
  constructor(graph) {
    this.graph = graph;
    this.found = [];
    this.input = h("input", focusable({ type: "search", placeholder: "Find a node", "aria-label": "Find a node by name, variable, operation, group or line",
      oninput: () => this.search(), onkeydown: (e) => this.key(e) }));
    this.count = h("span", { class: "agl-found", "aria-live": "polite" });
    this.root = h("div", { class: "agl-bar", role: "search" }, this.input, this.count,
      button("Previous match", ["\u2039"], () => this.next(-1)), button("Next match", ["\u203a"], () => this.next(1)),
      button("Go to the line and step that made it", ["Line"], () => this.made()));
    if (graph.film.groups.length) {
      this.inside = button("Open what is at work, close it when done", ["Auto"], () => { graph.inside = !graph.inside; this.update(); graph.stage.show(graph.stage.k); }, { "aria-pressed": "false" });
      this.all = button("Open all groups", ["+ all"], () => graph.openAll());
      this.none = button("Close all groups", ["\u2212 all"], () => graph.closeAll());
      this.active = button("Open the groups around the active node", ["To node"], () => {
        const unit = graph.focused();
        if (unit !== null) graph.goTo(unit);
      });
      this.root.append(this.active, this.inside, this.none, this.all);
    }
  }

  update() { this.inside?.setAttribute("aria-pressed", String(this.graph.inside)); }

  key(event) {
    if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && this.input.value) { this.input.value = ""; this.search(); }
    else if (event.key === "Escape") this.graph.svg.focus();
    else { event.stopPropagation(); return; }
    event.preventDefault();
    event.stopPropagation();
  }

  search() {
    this.found = matches(this.graph.film, this.input.value);
    this.here = -1;
    this.say();
    if (this.found.length && this.found.length < this.graph.film.units.length) this.next(1);
  }

  /** Go to the next match, or the one before; round and round. */
  next(direction) {
    if (!this.found.length) return;
    const n = this.found.length;
    this.here = this.here < 0 ? (direction > 0 ? 0 : n - 1) : (this.here + direction + n) % n;
    this.say();
    this.graph.goTo(this.found[this.here]);
  }

  say() {
    this.count.textContent = !this.input.value.trim() ? "" : this.found.length ? `${this.here + 1} of ${this.found.length}` : "none";
  }

  /** Go to the step at which the thing under the cursor was made: its line lights up in the code. */
  made() {
    const { cursor, film, stage } = this.graph, unit = cursor === null ? this.graph.focused() : cursor;
    if (unit !== null && unit >= 0) stage.go(film.units[unit].since);
  }
}
