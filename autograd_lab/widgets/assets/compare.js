// Two steppers side by side with one set of controls. Position p shows a pair of steps; Python has aligned them (widgets/comparison.py).
import { clamp } from "./core.js";
import { button, focusable, h, icon } from "./dom.js";
import { decode } from "./wire.js";

/** Pairs of steps as a flat list [a, b, a, b, ...]: no drawing, so it is tested in Node. */
export class Pairs {
  constructor(flat, differences) {
    this.flat = flat;
    this.last = flat.length / 2 - 1;
    this.stops = [...new Set(differences.map(([, position]) => position))].sort((a, b) => a - b);
  }

  at(p) { return [this.flat[2 * p], this.flat[2 * p + 1]]; }

  /** The first position at which a side (0 or 1) shows step k. */
  find(side, k) {
    let low = 0, high = this.last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.flat[2 * middle + side] < k) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Which side alone has moved on to reach p: 0, 1, or -1 where both have. */
  alone(p) {
    if (!p) return -1;
    const moved = [0, 1].map((side) => this.flat[2 * p + side] !== this.flat[2 * p - 2 + side]);
    return moved[0] === moved[1] ? -1 : moved[0] ? 0 : 1;
  }

  /** The next place with a difference in a direction; the ends count. */
  stop(p, direction) {
    return direction > 0 ? this.stops.find((s) => s > p) ?? this.last : this.stops.findLast((s) => s < p) ?? 0;
  }
}

export class Compare {
  /** `stage(model, element, film)` makes one stepper. */
  constructor(model, el, films, stage) {
    this.model = model;
    this.differences = model.get("_differences");
    this.pairs = new Pairs(model.get("_pairs"), this.differences);
    this.p = clamp(model.get("position"), 0, this.pairs.last);
    this.sync = model.get("sync");
    this.side = 0;
    this.build(el);
    this.stages = films.map((film, i) => {
      const own = { position: this.pairs.at(this.p)[i], by: "event", mode: "watch" };
      const one = stage({ get: (key) => own[key], set(key, value) { own[key] = value; }, on() {}, off() {}, save_changes() {} }, this.holders[i], film);
      one.go = (k) => this.moved(i, clamp(k, 0, film.steps));
      return one;
    });
    this.holders.forEach((holder, i) => holder.addEventListener("focusin", () => { if (this.side !== i) { this.side = i; this.text(); } }));
    this.onposition = () => { if (model.get("position") !== this.p && model.get("position") !== this.sent) this.show(model.get("position")); };
    this.onsync = () => { this.sync = model.get("sync"); this.text(); };
    model.on("change:position", this.onposition);
    model.on("change:sync", this.onsync);
    this.text();
  }

  build(el) {
    const labels = this.model.get("_labels");
    this.heads = labels.map((label) => h("div", { class: "agl-side-name" }, h("b", {}, label), h("span", { class: "agl-waits" })));
    this.holders = labels.map((label, i) => h("section", { class: "agl-half", "aria-label": label }, this.heads[i]));
    this.list = h("ol", { class: "agl-differences", "aria-label": "Differences" }, ...this.differences.map(([kind, position, text], i) =>
      h("li", {}, h("button", focusable({ type: "button", class: `agl-difference agl-is-${kind.replace(" ", "-")}`, onclick: () => this.go(position, i) }), h("span", { "aria-hidden": "true" }, { value: "\u2260", result: "\u2260", "only a": "\u25c0", "only b": "\u25b6", other: "\u25c6" }[kind]), h("span", {}, text)))));
    this.count = h("span", { class: "agl-count" });
    this.range = h("input", focusable({ type: "range", min: 0, max: this.pairs.last, value: this.p, class: "agl-range", "aria-label": "Position", oninput: () => this.go(Number(this.range.value)) }));
    const marks = this.pairs.stops.map((s) => ((100 * s) / Math.max(this.pairs.last, 1)).toFixed(2));
    this.range.style.setProperty("--agl-track", `${marks.map((x) => `linear-gradient(var(--agl-bad), var(--agl-bad)) ${x}% 0 / 3px 100% no-repeat,`).join("")} var(--agl-outline)`);
    this.both = button("Move both sides together", ["Together"], () => this.toggle(), { class: "agl-sync" });
    this.turn = [
      h("span", { class: "agl-set" }, button("First", [icon("first")], () => this.go(0)), button("Step back", [icon("back")], () => this.move(-1)),
        button("Step", [icon("step"), h("span", {}, "Step")], () => this.move(1), { class: "agl-primary" }), button("Last", [icon("last")], () => this.go(this.pairs.last))),
      h("span", { class: "agl-set" }, button("Previous difference", [icon("up"), h("span", {}, "difference")], () => this.go(this.pairs.stop(this.p, -1))),
        button("Next difference", [icon("down"), h("span", {}, "difference")], () => this.go(this.pairs.stop(this.p, 1)))),
    ];
    this.says = h("div", { class: "agl-sr", role: "status", "aria-live": "polite" });
    const title = this.differences.length ? `${this.differences.length} difference${this.differences.length > 1 ? "s" : ""}` : "No differences";
    this.root = h("div", { class: "agl-root agl-compare" }, h("div", { class: "agl agl-frame", role: "group", "aria-label": "Two traces compared", onkeydown: (e) => this.key(e) },
      h("div", { class: "agl-halves" }, ...this.holders),
      h("details", focusable({ class: "agl-list", open: "" }), h("summary", focusable({}), title), this.list), this.says,
      h("div", { class: "agl-controls" }, ...this.turn, this.range, this.count, this.both)));
    el.append(this.root);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "SUMMARY" || event.defaultPrevented) return;
    const action = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), Home: () => this.go(0), End: () => this.go(this.pairs.last),
      PageDown: () => this.go(this.pairs.stop(this.p, 1)), PageUp: () => this.go(this.pairs.stop(this.p, -1)),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  move(direction) {
    if (this.sync) this.go(this.p + direction);
    else this.moved(this.side, clamp(this.stages[this.side].k + direction, 0, this.stages[this.side].film.steps));
  }

  /** One side was moved by hand; the other follows if they go together. */
  moved(side, k) {
    if (this.sync) {
      const from = this.stages[side].k;
      this.go(k === from + 1 ? this.p + 1 : k === from - 1 ? this.p - 1 : this.pairs.find(side, k));
    } else {
      this.stages[side].show(k);
      this.text();
    }
  }

  go(p, chosen) {
    this.chosen = chosen;
    this.show(clamp(p, 0, this.pairs.last));
    clearTimeout(this.saving);
    this.saving = setTimeout(() => { this.sent = this.p; this.model.set("position", this.p); this.model.save_changes(); }, 60);
  }

  show(p) {
    this.p = clamp(p, 0, this.pairs.last);
    this.pairs.at(this.p).forEach((k, i) => { if (this.stages[i].k !== k) this.stages[i].show(k); });
    this.text();
  }

  toggle() {
    this.sync = !this.sync;
    this.model.set("sync", this.sync);
    this.model.save_changes();
    if (this.sync) this.go(this.pairs.find(this.side, this.stages[this.side].k));
    this.text();
  }

  text() {
    const alone = this.sync ? this.pairs.alone(this.p) : -1;
    this.heads.forEach((head, i) => {
      head.lastChild.textContent = this.sync ? (alone >= 0 && alone !== i ? "waits: the other side is alone here" : "") : this.side === i ? "the keys move this side" : "";
      this.holders[i].setAttribute("data-waits", String(alone >= 0 && alone !== i));
    });
    this.count.textContent = `${this.p} / ${this.pairs.last}`;
    this.range.value = this.p;
    this.both.setAttribute("aria-pressed", String(this.sync));
    let here = "";
    [...this.list.children].forEach((item, i) => {
      const [, position, text] = this.differences[i], on = this.sync && position === this.p && (this.chosen === undefined || this.chosen === i || this.differences[this.chosen]?.[1] !== this.p);
      item.firstChild.setAttribute("aria-current", on ? "step" : "false");
      if (on && !here) { here = text; this.list.scrollTop = item.offsetTop - this.list.offsetTop - 20; }
    });
    if (this.says.textContent !== here) this.says.textContent = here;
  }

  close() {
    clearTimeout(this.saving);
    this.stages.forEach((one) => one.close());
    this.model.off("change:position", this.onposition);
    this.model.off("change:sync", this.onsync);
  }
}

/** A comparison in `el`; `stage(model, element, film)` makes one stepper. Returns what takes it away again. */
export async function showCompare(model, el, stage) {
  const films = await Promise.all(model.get("_films").map(decode));
  const compare = new Compare(model, el, films, stage);
  return () => compare.close();
}
