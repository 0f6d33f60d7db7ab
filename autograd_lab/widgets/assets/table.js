// The table of the same trace: one row for each variable in the order of the program, its value, and its adjoint as the
// backward passes fill it in. It is the picture in words: everything the graph shows of values can be read here.
import { at, clamp, escape } from "./core.js";
import { focusable, h, mini } from "./dom.js";

const ROW = 26; // height of a row in pixels, as in views.css
const MOST_PASSES = 3, LONG_NAME = 8; // letters that fit into the narrowest column

/** The rows of the table and what has become of their gradients: no drawing, so it is tested in Node. */
export class Ledger {
  constructor(film) {
    this.film = film;
    this.rows = film.details.rows.map(([k, t, n, slot, v, source, line]) => ({ k, t, n, slot, v, source, line }));
    this.gets = new Map(film.details.adjoints.map(([k, n]) => [k, n])); // step -> the node that gets a message there
    this.messages = new Map(); // "node slot" -> [[step, contribution, sum], ...]
    for (const [k, n, slot, v, sum] of film.details.adjoints) {
      const key = `${n} ${slot}`;
      if (!this.messages.has(key)) this.messages.set(key, []);
      this.messages.get(key).push([k, v, sum]);
    }
    this.passes = []; // [first step, last step] of each backward pass
    for (let i = 0; i < film.phase.length; i += 3) {
      const [from, name, pass] = film.phase.slice(i, i + 3);
      if (name === "backward" && !this.passes[pass - 1]) {
        if (pass > 1) this.passes[pass - 2][1] = from - 1;
        this.passes[pass - 1] = [from, film.steps];
      }
    }
    this.byNode = new Map(this.rows.map((row, i) => [row.n, i]).filter(([n]) => n >= 0).reverse());
    this.byTensor = new Map(this.rows.map((row, i) => [row.t, i]));
    const last = new Map(this.rows.map((row, i) => [row.t, i]));
    this.rows.forEach((row, i) => { row.superseded = last.get(row.t) !== i; }); // a later row shows the tensor as rewritten
  }

  /** What has arrived for a row in a pass (from 1) up to step k: {parts, sum, hook}, or null if nothing has. */
  adjoint(row, pass, k) {
    const [from, to] = this.passes[pass - 1], found = { parts: [], sum: -1, hook: false };
    for (const [step, v, sum] of this.messages.get(`${row.n} ${row.slot}`) ?? []) {
      if (step < from || step > Math.min(to, k)) continue;
      if (v === -2) found.hook = true;
      else found.parts.push(v);
      found.sum = sum;
    }
    return found.parts.length ? found : null;
  }

  /** The value a row shows at step k: -1 before it is made. */
  value(row, k) {
    if (row.k > k) return -1;
    const state = at(this.film.tensors[row.t].tl, k);
    return row.superseded || state === undefined ? row.v : this.film.states[state][0];
  }

  /** Where a click on a row leads from step k: to where its adjoint was complete in this pass, else to where it was made. */
  step(row, k) {
    const pass = this.passes.findLastIndex(([from]) => from <= k);
    const [from, to] = this.passes[pass] ?? [0, -1], steps = (this.messages.get(`${row.n} ${row.slot}`) ?? []).map(([step]) => step).filter((step) => step >= from && step <= to);
    const full = steps.at(-1);
    return full !== undefined && full !== k ? full : row.k;
  }

  /** The row that step k is about, -1 for none. */
  current(k) {
    const t = this.film.subject[k], n = this.gets.get(k) ?? this.film.focus[k];
    return (t >= 0 ? this.byTensor.get(t) : undefined) ?? this.byNode.get(n) ?? -1;
  }

  /** The words in a row's cells: variable, operation, line. */
  words(row) {
    const film = this.film, tensor = film.tensors[row.t], node = film.nodes[row.n], made = node && node.kind !== "accumulate";
    const why = made ? node.label : tensor.leaf ? (tensor.grad ? "leaf" : "no gradient") : "no gradient";
    const [, op] = (!made && !tensor.name && tensor.label.match(/^the result of (.*)/)) || []; // without a name, and without a node
    if (op) return ["", `${op}, no gradient`, row.line > 0 ? String(row.line) : ""];
    return [tensor.name || (made ? "" : tensor.label), why, row.line > 0 ? String(row.line) : ""];
  }
}

export class Table {
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.ledger = new Ledger(stage.film);
    this.cursor = -1;
    this.id = `agl-t${Math.random().toString(36).slice(2, 8)}`;
    const passes = this.ledger.passes.map((_, i) => i + 1).slice(-MOST_PASSES);
    this.shown = passes;
    const names = ["variable", "operation", "line", "value", ...(passes.length ? passes.map((p) => (this.ledger.passes.length > 1 ? `adjoint, pass ${p}` : "adjoint")) : [])];
    this.head = h("div", { class: "agl-tr agl-th", role: "row", "aria-rowindex": "1" }, ...names.map((name) => h("span", { role: "columnheader" }, name)));
    this.inner = h("div", { class: "agl-tbody", role: "rowgroup" });
    this.inner.style.height = `${this.ledger.rows.length * ROW}px`;
    this.root = h("div", focusable({ class: "agl-table", tabindex: "0", role: "grid", "aria-label": "Values and adjoints", "aria-rowcount": this.ledger.rows.length + 1,
      hidden: "", onkeydown: (e) => this.key(e), onscroll: () => this.fill() }), h("div", { role: "rowgroup", class: "agl-thead" }, this.head), this.inner);
    this.root.style.setProperty("--agl-passes", Math.max(passes.length, 0));
    this.inner.addEventListener("click", (e) => {
      const row = e.target.closest(".agl-tr");
      if (row) this.choose(Number(row.dataset.i));
    });
    this.pool = [];
  }

  /** The film has other numbers. */
  renew() { this.ledger = new Ledger(this.film); }

  get active() { return !this.root.hidden; }

  resize() {
    this.height = this.root.clientHeight - ROW;
    this.show();
  }

  /** Show the stage's step: the row it is about is lit and in view. */
  show() {
    if (!this.active) return;
    const now = this.ledger.current(this.stage.k);
    if (now >= 0 && now !== this.now) { this.cursor = now; this.reveal(now); }
    this.now = now;
    this.fill();
  }

  reveal(i) {
    const top = this.root.scrollTop, y = i * ROW;
    if (y < top || y + ROW > top + this.height) this.root.scrollTop = clamp(y - this.height / 2, 0, Math.max(0, this.ledger.rows.length * ROW - this.height));
  }

  /** Put words into the rows in view; a row element is used again for whatever row comes to its place. */
  fill() {
    const { rows } = this.ledger, first = Math.max(0, Math.floor(this.root.scrollTop / ROW) - 4), count = Math.min(rows.length, Math.ceil((this.height || 400) / ROW) + 8);
    while (this.pool.length < count) {
      const el = h("div", { class: "agl-tr", role: "row" });
      this.pool.push({ el });
      this.inner.append(el);
    }
    this.pool.forEach((slot, j) => {
      const i = first + ((j - (first % this.pool.length)) + this.pool.length) % this.pool.length;
      const row = rows[i];
      if (!row) { slot.el.hidden = true; slot.html = null; return; }
      slot.el.hidden = false;
      const html = this.cells(row), state = `${row.k > this.stage.k ? "later" : ""}${i === this.now ? " now" : ""}${i === this.cursor ? " cursor" : ""}`;
      if (slot.i !== i) {
        slot.i = i;
        slot.el.dataset.i = i;
        slot.el.id = `${this.id}-${i}`;
        slot.el.setAttribute("aria-rowindex", i + 2);
        slot.el.style.transform = `translateY(${i * ROW}px)`;
      }
      if (slot.html !== html) slot.el.innerHTML = slot.html = html;
      if (slot.state !== state) {
        slot.state = state;
        slot.el.dataset.s = state;
        slot.el.setAttribute("aria-selected", String(i === this.cursor));
      }
    });
    if (this.cursor >= 0) this.root.setAttribute("aria-activedescendant", `${this.id}-${this.cursor}`);
  }

  cells(row) {
    const film = this.film, k = this.stage.k, [name, what, line] = this.ledger.words(row), later = row.k > k;
    const why = this.stage.why?.(row.t), v = this.ledger.value(row, k);
    const text = (value) => { const item = film.values[value]; return `<span title="${escape(item?.text ?? "")}">${mini(film, value)}</span>`; };
    const adjoints = this.shown.map((pass) => {
      if (row.n < 0 || !film.nodes[row.n]) return '<span role="gridcell" class="agl-dim">\u2013</span>';
      const found = this.ledger.adjoint(row, pass, k);
      if (!found) return '<span role="gridcell"></span>';
      const parts = found.parts.length > 4 ? `${found.parts.length} messages` : found.parts.map(text).join(" + ");
      const several = found.parts.length > 1 || found.hook;
      return `<span role="gridcell">${several ? `<small>${parts}${found.hook ? ", hook" : ""} =</small> ` : ""}<b>${text(found.sum)}</b></span>`;
    });
    return `<span role="rowheader"${name.length > LONG_NAME ? ` class="agl-tail" title="${escape(name)}"` : ""}>${name.length > LONG_NAME ? `<bdi>${escape(name)}</bdi>` : name ? escape(name) : '<i class="agl-dim">unnamed</i>'}</span><span role="gridcell">${escape(why && row.n < 0 ? why : what)}</span><span role="gridcell">${line}</span><span role="gridcell">${later ? "" : text(v)}</span>${adjoints.join("")}`;
  }

  choose(i) {
    this.cursor = i;
    this.stage.go(this.ledger.step(this.ledger.rows[i], this.stage.k));
    this.fill();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.ledger.rows.length - 1, page = Math.max(1, Math.floor((this.height || 400) / ROW) - 1);
    const to = { ArrowUp: this.cursor - 1, ArrowDown: this.cursor + 1, PageUp: this.cursor - page, PageDown: this.cursor + page, Home: 0, End: last }[event.key];
    if (to === undefined && event.key !== "Enter") return; // the stepper's own keys
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") { if (this.cursor >= 0) this.choose(this.cursor); return; }
    this.cursor = clamp(to, 0, last);
    this.reveal(this.cursor);
    this.fill();
  }
}
