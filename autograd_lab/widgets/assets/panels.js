// Beside the graph: the code, the rule of the current node, the engine's queue, and the leaf table.
import { at, bytes, clamp, dense, escape, first, flat, into, number, product, say, upTo } from "./core.js";
import { attr, brief, card, everything, focusable, h, hasStrip, heat, numbers, s, shape, strip, tellNumber, term, write } from "./dom.js";
import { formula, symbol } from "./formula.js";
import { engineRows, functionAt, place, written } from "./engine.js";
import { closed, Opened } from "./opened.js";
import { Picked } from "./picked.js";
import { Zoom } from "./zoom.js";

/** Why a tensor has no history: on its box and at its line, and as a sentence. */
const REASONS = {
  inputs: "None of its operands requires a gradient, so the operation left no node.",
  no_grad: "It was computed under no_grad: the operation ran, but left no node. No gradient comes back through it.",
  pass: "It was computed while a backward pass ran, and that records nothing: no node. No gradient comes back through it.",
  forward: "It was computed in the forward of a custom Function, and that records nothing: only the Function itself can make a node.",
  inference_mode: "It was computed in inference mode: no node, no version counter. It can never be part of a graph.",
  copy: "tensor(...) took the numbers only: the history stayed behind.",
  detach: "It was detached: same numbers and the same memory, no history. No gradient passes here.",
  data: ".data gives the numbers without history, and autograd does not notice writes through it.",
};
const STAGES = {
  tensor: "Tensor hook: runs on the gradient of this tensor, before its node",
  retain: "retain_grad: keeps this gradient in .grad",
  pre: "Pre-hook of the node: runs before its rule",
  post: "Post-hook of the node: runs after its rule",
  post_accumulate: "Post-accumulate hook: runs after .grad was written",
  shared: "Code that ran elsewhere wrote into this gradient: two messages lie in the same memory",
};
const STRUCTURES = {
  zero: "all zero: nothing flows back",
  identity: "the identity: the gradient passes unchanged",
  diagonal: "diagonal: each element depends on its own alone",
  permutation: "a permutation: the gradient's elements change places",
  selection: "a selection: at most one 1 in each row and column; what was not selected gets 0",
  copies: "each element of the result depends on one element here at most; one that is used several times gets the sum",
  sum: "a sum: every element that was added gets the gradient of its sum",
  groups: "each element here counts in one element of the result at most, with its factor",
  row: "one row: the result is one number",
  column: "one column: the operand is one number",
  triangular: "triangular: each element depends on itself and on those on one side of it",
  blocks: "block diagonal: each block depends on itself alone",
  "blocks along dim": "block diagonal: one block for each slice along the dim",
  pieces: "pieces of an identity: each operand gets back the part it became",
  matrix: "the matrix itself:",
  "Kronecker product": "a Kronecker product",
  full: "full: everything depends on everything",
};
const ITEM_SIZES = { float64: 8, float16: 2, bfloat16: 2 };

/** A list of records as a map from their first (or `key`-th) entry to all of them. */
function grouped(list, key = 0) {
  const found = new Map();
  for (const one of list) into(found, one[key], one);
  return found;
}

/** What film.details holds (see widgets/details.py), found by node, tensor or step. */
export class Details {
  constructor({ details: d }) {
    this.jacobians = grouped(d.jacobians);
    this.origins = new Map(d.origins.map(([, t, why]) => [t, why]));
    const seen = new Set(), once = ([, t, version, n]) => !seen.has(`${n} ${t} ${version}`) && seen.add(`${n} ${t} ${version}`);
    this.pins = d.pins.filter(once);
    this.since = this.pins.map(([k]) => k);
    this.freedAt = grouped(this.pins, 4);
    this.freed = this.pins.map((pin) => pin[4]).filter((k) => k >= 0).sort((a, b) => a - b);
    this.lasting = []; // of each row of pins when the last of them is freed
    this.pins.forEach(([, , , , freed], i) => { this.lasting[i >> SHELF] = Math.max(this.lasting[i >> SHELF] ?? 0, freed < 0 ? Infinity : freed); });
    this.readers = grouped(d.pins, 1);
    this.writes = grouped(d.writes, 1);
    this.writeAt = new Map(d.writes.map((one) => [one[0], one]));
    this.hookAt = new Map(d.hooks.map((one) => [one[0], one]));
    this.failures = grouped(d.failures);
    this.marks = grouped(d.marks);
    this.advice = new Map((d.advice ?? []).map(([k, ...text]) => [k, text]));
  }

  /** The nodes that hold saved values at step k, newest first: [[node, [[tensor, version], ...], freed now], ...], and how many values. */
  held(k, most) {
    const nodes = new Map(), made = upTo(this.since, k), take = ([, t, version, n, freed]) => {
      if (!nodes.has(n)) nodes.set(n, [n, [], freed === k]);
      nodes.get(n)[1].unshift([t, version]);
    };
    for (const pin of [...(this.freedAt.get(k) ?? [])].reverse()) take(pin);
    for (let i = made - 1; i >= 0; i--) {
      const [, , , n, freed] = this.pins[i];
      if (this.lasting[i >> SHELF] < k) i &= -1 << SHELF; // none of this row is held
      else if (freed < 0 || freed > k) {
        if (nodes.size >= most && !nodes.has(n)) break;
        take(this.pins[i]);
      }
    }
    return [[...nodes.values()].slice(0, most), made - upTo(this.freed, k)];
  }
}

const SHELF = 6; // 2^6 saved values are passed over at once if none of them is held
const BRIEF_VARIABLES = ["rule", "out", "name", "target", "inner"]; // variables of which two stand side by side

export class Panels {
  /** `stage` tells the film, the step `k` and its `kind`. */
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.details = new Details(this.film);
    this.names = new Set(this.film.tensors.flatMap(({ name }) => [name, name.replace(/[\u2080-\u2089].*/, "")]));
    this.zoom = new Zoom();
    this.picked = new Picked(this);
    this.elsewhere = h("div", { class: "agl-elsewhere", hidden: "" });
    this.view = this.film.yours ? "yours" : "program";
    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": "Code" }));
    this.tabs = this.film.engine && this.makeTabs();
    this.rule = h("div", focusable({ class: "agl-rule", tabindex: "0", role: "region", "aria-label": "Rule of the current node" }));
    this.engine = h("div", { class: "agl-engine", role: "region", "aria-label": "Engine" });
    this.leaves = h("tbody");
    const { leaves, tensors, states } = this.film, retained = leaves.some((t) => tensors[t].tl.some((state, i) => i % 2 && states[state][3]));
    this.columns = ["tensor", "value", ".grad", "requires a gradient", "is leaf", ...(retained ? ["retains grad"] : [])];
    const table = h("table", { "aria-label": "Leaf tensors" }, h("thead", {}, h("tr", {},
      ...this.columns.map((t) => h("th", { scope: "col" }, t)))), this.leaves);
    this.leafpane = h("div", focusable({ class: "agl-leaves", tabindex: "0", role: "region", "aria-label": "Leaf table" }), table);
    this.root = h("div", { class: "agl-side", "data-view": this.film.yours && "engine" }, h("div", { class: "agl-col" }, this.code, this.rule), h("div", { class: "agl-col" }, this.engine, this.leafpane));
    this.root.addEventListener("click", (e) => this.open(e));
    this.root.addEventListener("pointermove", tellNumber);
    this.rule.addEventListener("scroll", () => { this.scrolled = true; });
    this.shownSource = undefined;
  }

  /** The film has other numbers. */
  renew() {
    this.details = new Details(this.film);
    for (const [n, text] of this.film.sources[this.shownSource]?.lines ?? []) { // a number in the program may be what changed
      const code = this.rows.get(n).children[1];
      write(code, text || " ");
    }
    for (const leaf of this.leafRows ?? []) leaf.state = NaN;
  }

  /** Sizes that stepping needs; read here, so that a step asks for layout only if it comes to another line, which may be wrapped. */
  measure() {
    this.codeHeight = this.code.clientHeight;
    this.rowHeight = this.leaves.firstChild?.offsetHeight ?? 21;
    this.leavesHeight = this.leafpane.clientHeight;
  }

  resize() {
    this.measure();
    if (this.lit || this.made) this.bring(this.made, this.lit, this.other);
  }

  /** Show the panels of the stage's level. A table with inputs to change stays: it is what one plays with. */
  relevel(simple) {
    const { level, editor } = this.stage;
    this.engine.hidden = !level.has("queue");
    this.leafpane.hidden = simple && !editor.inputs.size;
    if (this.tabs) this.tabs.hidden = !level.has("queue");
    if (!level.has("queue") && this.view !== "program") this.look("program");
    this.engineWas = this.ruleWas = null;
  }

  /** Show what was chosen in the graph in place of the node at work, until the next step; null: no longer. */
  pick(what) {
    if (!what && !this.picked.what) return;
    this.picked.what = what;
    if (this.phase) this.showRule(this.phase);
  }

  /** Show the stage's step, which lies in `phase`. */
  show(phase) {
    this.phase = phase;
    this.showCode(phase);
    this.showRule(phase);
    this.showEngine(phase);
    this.showLeaves();
  }

  /** Two tabs over the code: the program, and the engine that runs it. */
  makeTabs() {
    const tab = (view, text, title) => h("button", focusable({ type: "button", class: "agl-tab", "data-view": view, "aria-pressed": String(view === this.view), title, onclick: () => this.look(view) }), text);
    this.variables = h("div", { class: "agl-variables" });
    this.where = h("span", { class: "agl-where" });
    return h("div", { class: "agl-listings", role: "group", "aria-label": "Which code" },
      tab("program", "your code", "The line of your program that runs, or that made the node at work"),
      tab("engine", "engine", "The engine's source as it runs"), this.film.yours ? tab("yours", "your engine", "Your pieces of an engine, on the same numbers") : "", this.where, this.variables);
  }

  look(view) {
    this.view = view;
    for (const tab of this.tabs.querySelectorAll("button")) tab.setAttribute("aria-pressed", String(tab.dataset.view === view));
    this.root.setAttribute("data-view", view === "yours" ? "engine" : view);
    this.measure();
    this.showCode(this.phase);
  }

  /** What the engine's variables hold: as far as the ready queue may be seen. */
  showVariables(p, sentence, own) {
    const held = own ?? (p.name === "backward" && this.stage.quiz.hidesQueue ? [] : written(this.film, this.stage.k, p.name));
    this.variables.replaceChildren(...(sentence ? [h("p", {}, sentence)] : []),
      ...held.map(([name, text]) => h("code", { class: own || BRIEF_VARIABLES.includes(name) ? "agl-brief" : "" }, h("b", {}, name), ` = ${text}`)));
    if (!this.variables.firstChild) this.variables.textContent = p.name === "backward" ? "" : "runs at the next operation";
  }

  showCode(p) {
    const film = this.film, k = this.stage.k, node = film.nodes[film.focus[k]], yours = this.view === "yours" && film.yours, engine = yours || (this.view === "engine" && film.engine);
    let line = at(film.line, k), earlier; // the line of one's own engine that has run before
    if (engine) {
      const [page, row, sentence, held, now] = yours ? yours.steps[k] : place(film, k, p.name);
      line = [-1 - page, row == null || now === 0 ? undefined : row + 1];
      if (now === 0 && row !== null) earlier = row + 1;
      this.showVariables(p, sentence, held);
      this.code.toggleAttribute("data-idle", row == null && sentence !== undefined); // other code than this ran
    }
    const source = line ? line[0] : Math.max(this.shownSource ?? 0, 0), listing = engine ? engine.pages[-1 - source] : film.sources[source];
    if (source !== this.shownSource && listing) {
      this.shownSource = source;
      const { name, lines } = engine ? { name: "the engine", lines: engineRows(listing) } : listing;
      this.lines = lines;
      this.rows = new Map(lines.map(([n, text], i) => [engine ? i + 1 : n, h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n || ""), h("code", {}, text || " "))]));
      for (const [, line, why] of this.details.marks.get(source) ?? []) {
        this.rows.get(line)?.append(h("span", { class: "agl-mark", title: REASONS[why] }, this.film.captions[why]));
        this.rows.get(line)?.setAttribute("data-mark", why);
      }
      this.code.replaceChildren(...(this.tabs ? [this.tabs] : []), ...this.rows.values(), this.elsewhere);
      this.measure();
      this.code.title = name;
      this.code.scrollTop = 0;
    }
    if (this.tabs) {
      const where = engine && line[1] ? functionAt(this.lines, line[1] - 1) : "";
      write(this.where, where);
      attr(this.where, "title", where);
    }
    const lit = line && this.rows?.get(line[1]);
    const made = earlier ? this.rows.get(earlier) : p.name === "backward" && node?.src && node.src[0] === source ? this.rows?.get(node.src[1]) : undefined;
    const other = !engine && p.name === "backward" && node?.src && node.src[0] !== source ? node.src : null, beside = String(other);
    if (lit === this.lit && made === this.made && beside === this.beside) return;
    [this.beside, this.other] = [beside, other];
    for (const row of [this.lit, this.made]) row?.removeAttribute("data-lit");
    made?.setAttribute("data-lit", "made");
    lit?.setAttribute("data-lit", "now");
    [this.lit, this.made] = [lit, made];
    this.bring(made, lit, other);
  }

  /** Bring both lit lines into view: the one that made the node and the one that runs. Where one has no room, or stands in another listing, it is repeated below. */
  bring(made, lit, other) {
    const head = this.tabs?.offsetHeight ?? 0, row = made ?? lit, tall = row?.offsetHeight ?? 0;
    const far = made && lit && Math.abs(made.offsetTop - lit.offsetTop) + 2 * tall > this.codeHeight - head;
    this.elsewhere.hidden = !far && !other;
    if (far) this.elsewhere.replaceChildren(lit.cloneNode(true));
    else if (other) this.elsewhere.replaceChildren(...this.line(...other));
    if (!row) return;
    const middle = made && lit && !far ? (made.offsetTop + lit.offsetTop) / 2 : row.offsetTop;
    this.code.scrollTop = middle + (tall - this.codeHeight - head + (this.elsewhere.hidden ? 0 : this.elsewhere.offsetHeight)) / 2;
  }

  /** A line of another listing, with that one's name. */
  line(source, number) {
    const { name, lines } = this.film.sources[source], text = lines.find(([n]) => n === number)?.[1] ?? "";
    return [h("small", {}, name), h("div", { class: "agl-line", "data-lit": "made" }, h("span", { class: "agl-no" }, number), h("code", {}, text))];
  }

  math(text) { return formula(text, this.names); }

  /** What the formulas call the gradient that comes in: g, if the program has no variable of that name. */
  get g() { return escape(this.film.g ?? "g"); }

  showRule(p) {
    const film = this.film, k = this.stage.k, n = film.focus[k], t = film.subject[k], kind = this.stage.kind, simple = this.stage.level.name === "simple";
    const { what } = this.picked;
    this.root.toggleAttribute("data-picked", Boolean(what));
    this.rule.hidden = simple && !what && kind !== "error";
    if (this.rule.hidden) return;
    let html;
    if (what) html = this.picked.html(p);
    else if (kind === "hook" && this.details.hookAt.has(k)) html = this.hookText(k);
    else if (kind === "inplace") html = this.writeText(k);
    else if (kind === "error" && !(n >= 0 && p.name === "backward")) html = this.stoppedText(k);
    else if (n >= 0) html = this.nodeText(n, p) + (kind === "error" ? this.adviceText(k) : "");
    else if (t >= 0) html = this.tensorText(t);
    else if (k === 0) {
      html = this.head("Ready", "") + `<p><b>Step</b> or <kbd>\u2192</kbd> goes on by one event, <kbd>Page Down</kbd> by one node, <kbd>Space</kbd> plays.</p>`;
    } else html = this.head(kind === "done" ? "Pass complete" : "Engine", "") + `<p>${kind === "done" ? this.root.closest(".agl-half") ? "Each leaf's box shows its <code>.grad</code> now." : "What is in each <code>.grad</code> now: see the leaf table." : ""}</p>`;
    const sum = film.sums[k];
    if (sum && !what) {
      const [to, old, v, total] = sum, cards = [old, v, total].map((x) => card(film, "", x));
      html += `<div class="agl-buffer"><h4>Adds up at ${escape(film.nodes[to].label)}</h4>${cards[0]}<span>+</span>${cards[1]}<span>=</span>${cards[2]}</div>`;
    }
    if (html === this.ruleWas) return;
    const focused = this.rule.contains(document.activeElement) && document.activeElement !== this.rule;
    this.rule.innerHTML = this.ruleWas = html;
    if (this.scrolled) this.rule.scrollTop = 0; // else not asked for: it would cost a layout of all that the step changed
    this.scrolled = false;
    if (focused) this.rule.focus(); // what had the focus is gone: the keys must go on working
  }

  /** The program stopped, and no node was at work: the error and what to do about it. */
  stoppedText(k) { return this.head(say(this.film, k).startsWith("A call fails") ? "This call fails" : "Your program stops here", "") + `<p class="agl-error">${escape(say(this.film, k))}</p>${this.adviceText(k)}`; }

  /** What lab.why says of the error. */
  adviceText(k) {
    const [caption, says, fix] = this.details.advice.get(k) ?? [];
    return caption ? `<div class="agl-advice"><h4>${escape(caption)}</h4>${says ? `<p>${escape(says)}</p>` : ""}${fix ? `<p><b>To do:</b> ${escape(fix)}</p>` : ""}</div>` : "";
  }

  head(name, note, mark = "") {
    return `<div class="agl-rule-head"><b>${escape(name)}</b>${mark ? `<span class="agl-tag">${mark}</span>` : ""}<span>${note}</span></div>`;
  }

  nodeText(n, p) {
    const film = this.film, k = this.stage.k, node = film.nodes[n], index = at(node.panel, k), entry = index === undefined ? {} : film.states[index];
    const backward = p.name === "backward" && this.since(node.panel) >= p.from, saved = entry.saved !== 0;
    if (node.kind === "accumulate") {
      const name = escape(film.tensors[node.of]?.label ?? "");
      let html = this.head(node.label, `<code>${name}.grad</code> = <code>${name}.grad</code> + ${formula(this.g)}`);
      if (backward && entry.add) {
        const [old, add, sum] = entry.add;
        html += `<div class="agl-flow">${card(film, `${name}.grad before`, old)}<span>+</span>${card(film, `incoming <i>${this.g}</i>`, add, "agl-in")}<span>=</span>${card(film, `${name}.grad`, sum, "agl-out")}</div>`;
      } else if (backward && entry.g) html += `<div class="agl-flow">${card(film, `incoming <i>${this.g}</i>`, entry.g[0], "agl-in")}</div>`;
      else html += `<p>Adds what arrives to <code>${name}.grad</code>; it has nothing behind it.</p>`;
      return html;
    }
    const { pass, compiled } = node, own = node.kind === "function" && !compiled;
    let html = this.head(node.label, compiled ? "" : node.math ? this.math(node.math) : escape(node.op), compiled ? "compiled" : own ? "your Function" : pass ? `made in backward pass ${pass}` : "");
    // First, so that the way to open it is never below the edge.
    if (compiled) html += closed(node, n, backward && entry.out);
    if (!backward || !entry.g) {
      const ins = node.inputs.slice(0, 4).map((i) => this.tensorCard(i, "", node.outputs.includes(i) ? film.units[node.unit].since - 1 : k)).join("");
      if (p.name === "forward" || pass) html += `<div class="agl-flow">${ins}<span>\u2192</span>${node.outputs.slice(0, 2).map((i) => this.tensorCard(i, "agl-value")).join("")}</div>`;
      if (p.name === "forward" && node.numbers) html += `<p class="agl-sum">${this.math(node.numbers)}</p>`;
      if (pass) html += `<p>${node.aside ? `Your code recorded it while backward pass ${pass} ran: in a hook, or in a forward that <code>checkpoint</code> runs again` : `Backward pass ${pass} ran with <code>create_graph=True</code>: the engine's own arithmetic is recorded, so that its result can be differentiated again`}.</p>`;
      if (node.rule.length) html += `<div class="agl-will"><h4>Backward it will send</h4>${node.rule.filter(([to]) => to).map(([to, rule]) => `<p>to <i>${escape(to)}</i>${rule ? `: ${this.math(rule)}` : " nothing: it needs no gradient"}</p>`).join("")}</div>`;
      else if (own) html += "<p>Its backward is code of yours: the engine calls it with the incoming gradient.</p>";
    } else {
      const out = entry.out ?? node.rule.map(([to, rule], i) => [i, to, rule, "", null]).filter(([, to]) => to);
      const told = out.filter(([, to, , , v]) => v !== -1 || film.strings[to]); // not an operand from before the recording that gets nothing
      const sends = told.map(([, to, rule, text, v]) => (v === null ? term(film, to, rule, null, "", this.names)
        : term(film, film.strings[to], film.strings[rule], v, film.strings[text], this.names)));
      const several = node.outputs.length > 1 && node.rule.some(([, rule]) => node.outputs.some((_, nr) => rule?.includes(`${this.g}${nr}`)));
      html += `<div class="agl-vjp">${entry.g.map((v, nr) => card(film, `incoming <i>${this.g}${several ? nr : ""}</i>`, v, "agl-in")).join("")}<span>\u2192</span><div class="agl-sends">${sends.join("")}</div></div>`;
      if (own) html += "<p>The rule is the <code>backward</code> of your Function.</p>";
    }
    if (entry.error !== undefined && backward) html += this.failureText(k) + `<p class="agl-error">${escape(film.strings[entry.error])}</p>`;
    html += this.wordsText(node.math, ...node.rule.map(([, rule]) => rule)) + this.jacobianText(n);
    if (node.saved.length) {
      html += `<div class="agl-saved" data-freed="${saved ? 0 : 1}"><h4>${saved ? "Saved" : "Saved, now freed"}</h4>${node.saved.map(([name, v, version]) =>
        `<span>${escape(name)}${v >= 0 ? `${name ? " = " : ""}${brief(film, v)}` : ""} <small>v${version}</small></span>`).join("")}</div>`;
    }
    return html;
  }

  tensorText(t) {
    const film = this.film, tensor = film.tensors[t], why = this.details.origins.get(t), kind = this.stage.kind;
    const facts = [...(this.stage.level.has("all") ? [tensor.dtype] : []), ...(tensor.shape.length ? [shape(tensor.shape)] : [])];
    let html = this.head(tensor.label, facts.join(", "), this.film.captions[why] ?? "");
    const name = escape(tensor.label), grad = (k) => card(film, `${name}.grad`, film.states[at(tensor.tl, k)]?.[2] ?? -1);
    const set = kind === "grad" || kind === "retain" ? `${grad(this.stage.k - 1)}<span>\u2192</span>${grad(this.stage.k)}` : "";
    html += `<div class="agl-flow">${this.tensorCard(t, "agl-value")}${set}</div>`;
    html += `<p>${REASONS[why] ? REASONS[why] : tensor.grad ? (tensor.leaf ? "A leaf: what is learned. Its gradient will gather in <code>.grad</code>." : "Computed from tensors that require a gradient.") : "Needs no gradient: nothing will flow back to it."}</p>`;
    return html + this.readersText(t) + this.versionsText(t);
  }

  /** Which nodes keep a tensor for their rule, and which have let go of it. */
  readersText(t) {
    const k = this.stage.k, found = new Map();
    for (const [since, , version, n, freed] of this.details.readers.get(t) ?? []) if (since <= k) found.set(`${n} ${version}`, [n, version, freed >= 0 && freed <= k]);
    if (!found.size) return "";
    return `<div class="agl-saved"><h4>Saved for</h4>${[...found.values()].slice(0, 12).map(([n, version, gone]) =>
      `<span${gone ? ' class="agl-gone"' : ""}>${escape(this.film.nodes[n].label)} <small>v${version}${gone ? ", freed" : ""}</small></span>`).join("")}</div>`;
  }

  /** The versions of a tensor so far: who wrote, where, and which saved values look at which of them. */
  versionsText(t) {
    const k = this.stage.k, writes = (this.details.writes.get(t) ?? []).filter((w) => w[0] <= k);
    if (!writes.length) return "";
    const pins = (this.details.readers.get(t) ?? []).filter(([since, , , , freed]) => since <= k && (freed < 0 || freed > k));
    const tick = (version, how) => {
      const users = [...new Set(pins.filter((pin) => pin[2] === version).map((pin) => this.film.nodes[pin[3]].label))];
      return `<li><b>v${version}</b> ${how}${users.length ? `<small>saved for ${escape(users.slice(0, 3).join(", "))}</small>` : ""}</li>`;
    };
    const first = writes[0][2] - 1, shown = writes.slice(-6);
    return `<div class="agl-versions-of"><h4>Versions</h4><ol class="agl-versions">${shown.length === writes.length ? tick(first, "as it was made") : ""}${shown.map((w) => tick(w[2], `${escape(w[7])}${w[9] > 0 ? `, line ${w[9]}` : ""}`)).join("")}</ol></div>`;
  }

  writeText(k) {
    const [, t, version, before, after, old, made, op] = this.details.writeAt.get(k) ?? [], film = this.film;
    if (t === undefined) return "";
    const name = escape(film.tensors[t].label), fn = (n) => (n < 0 ? "None" : escape(film.nodes[n].label));
    const rewritten = made !== old ? `<p><code>${name}.grad_fn</code>: ${fn(old)} \u2192 <b>${fn(made)}</b>. The tensor is the same object; its history is a new one.</p>` : "";
    return this.head(`${op} writes ${film.tensors[t].label} in place`, "", `version ${version - 1} \u2192 ${version}`) +
      `<div class="agl-flow">${card(film, `${name} before`, before)}<span>\u2192</span>${card(film, `${name} after`, after, "agl-value")}</div>${rewritten}${this.versionsText(t)}`;
  }

  hookText(k) {
    const [, n, stage, before, after, t] = this.details.hookAt.get(k), film = this.film, changed = after.some((v, i) => v !== before[i]);
    const pairs = before.map((v, i) => `${card(film, "before", v, "agl-in")}<span>\u2192</span>${card(film, changed && after[i] !== v ? "after" : "after, the same", after[i] ?? v, "agl-out")}`);
    const on = t >= 0 ? film.tensors[t].label : stage === "tensor" ? `the result of ${film.nodes[n].label}` : film.nodes[n].label;
    return this.head(on, "", changed ? "hook changed it" : "hook looked") + `<p>${STAGES[stage] ?? "A hook"}.</p><div class="agl-flow">${pairs.slice(0, 3).join("")}</div>`;
  }

  /** A line of the user's code: "line 4: x.mul_(2)". */
  lineText(source, line) {
    const text = this.film.sources[source]?.lines.find(([n]) => n === line)?.[1];
    return line < 0 ? "" : `line ${line}${text ? `: <code>${escape(text.trim())}</code>` : ""}`;
  }

  /** Why a node could not use what it had saved: both versions, both lines. */
  failureText(k) {
    const film = this.film;
    return (this.details.failures.get(k) ?? []).map(([, kind, t, was, now, then, after, s1, l1, s2, l2]) => {
      if (kind === "freed") return `<div class="agl-fault"><p>Its saved values are gone: an earlier pass freed them at step ${was}. <code>retain_graph=True</code> there would have kept them.</p><p>Saved at ${this.lineText(s1, l1)}</p></div>`;
      const name = escape(film.tensors[t].label);
      return `<div class="agl-fault"><div class="agl-flow">${card(film, `${name} as saved: v${was}`, then)}<span>\u2260</span>${card(film, `written over: v${was + 1}`, after)}${now > was + 1 ? `<span>\u2026 v${now}</span>` : ""}</div>
        <p>Saved at ${this.lineText(s1, l1)}</p><p>Written over at ${this.lineText(s2, l2)}</p></div>`;
    }).join("");
  }

  /** What the words in some formulas mean that nobody can look up. */
  wordsText(...texts) {
    const words = [...new Set(texts.join(" ").match(/[\p{L}_][\p{L}\p{Nd}_]*\(?/gu))].filter((word) => Object.hasOwn(this.film.words, word));
    const rows = words.map((word) => `<div><dt>${symbol(word.replace("(", ""))}:</dt><dd>${escape(this.film.words[word])}</dd></div>`);
    return rows.length ? `<dl class="agl-words">${rows.join("")}</dl>` : "";
  }

  // ---- the local Jacobian -----------------------------------------------------------------------------------

  jacobianText(n) {
    if (this.stage.quiz.hidesRule(n)) return ""; // it would tell what is asked
    const list = this.details.jacobians.get(n);
    if (!list) return "";
    const film = this.film, node = film.nodes[n], size = ITEM_SIZES[film.tensors[node.outputs[0]]?.dtype] ?? 4;
    const lines = list.map(([, i, rowCount, columnCount, structure, words, entries], nr) => {
      const to = escape(node.rule[i]?.[0] || film.tensors[node.inputs[i]].label), out = node.math.split("=")[0].trim() || "y";
      if (rowCount === 1 && columnCount === 1 && entries) {
        return `<span class="agl-local"><math displaystyle="true"><mfrac><mrow><mo>\u2202</mo><mi class="agl-var">${escape(out)}</mi></mrow><mrow><mo>\u2202</mo><mi class="agl-var">${to}</mi></mrow></mfrac><mo>=</mo><mn>${number(entries[2] ?? 0)}</mn></math></span>`;
      }
      const what = `${rowCount}\u00d7${columnCount}, ${STRUCTURES[structure] ?? "no structure named"}${words ? ` ${formula(words)}` : ""}`;
      if (!entries) return `<p>to <i>${to}</i>: ${rowCount * columnCount > 1 ? `${what}. ` : ""}${Math.max(rowCount, columnCount) > 16 ? `Never built: it would take ${bytes(rowCount * columnCount * size)}` : "The recording does not have its numbers"}.</p>`;
      const matrix = dense(rowCount, columnCount, entries), cell = Math.max(3, Math.min(8, Math.floor(48 / rowCount)));
      return `<button type="button" class="agl-card agl-open agl-jac" data-lm-suppress-shortcuts="true" data-jacobian="${n} ${nr}" title="Larger view"
        aria-label="Local Jacobian to ${to}, ${rowCount} by ${columnCount}. Larger view"><span class="agl-card-label">to <i>${to}</i>: ${what}</span>${heat(matrix, cell, `${rowCount} by ${columnCount} numbers`)}</button>`;
    });
    return `<div class="agl-jacobian"><h4>Local ${list.every((one) => one[2] * one[3] === 1) ? "derivatives" : "Jacobian"}</h4>${lines.join("")}</div>`;
  }

  /** The Jacobian in numbers, g beside its rows, J^T g below its columns and written out. */
  jacobianTable(n, nr) {
    const [, i, rowCount, columnCount, structure, words, entries] = this.details.jacobians.get(n)[nr], film = this.film, node = film.nodes[n];
    const to = node.rule[i]?.[0] || film.tensors[node.inputs[i]].label, matrix = dense(rowCount, columnCount, entries);
    const index = at(node.panel, this.stage.k), entry = index === undefined ? {} : film.states[index], item = film.values[entry.g?.[0]];
    const g = item === undefined ? null : typeof item === "string" ? [Number(item)] : flat(item.data);
    const sent = film.values[entry.out?.find(([operand]) => operand === i)?.[4]], gives = sent === undefined ? [] : typeof sent === "string" ? [Number(sent)] : flat(sent.data);
    const known = g?.length === rowCount, sums = [...Array(columnCount).keys()].map((c) => product(matrix, c, known ? g : Array(rowCount).fill(0)));
    if (gives.length === columnCount) sums.forEach((one, c) => { one.sum = gives[c]; }); // what was sent, not the sum of rounded numbers
    const text = `<p>Row r, column c: how much element r of the result moves with element c of <i>${escape(to)}</i> (${rowCount}\u00d7${columnCount}, ${STRUCTURES[structure] ?? "no structure named"}${words ? ` ${formula(words)}` : ""}).
      ${known ? `Below each column: its sum of <i>${this.g}</i> times the entries, which is what the node sends.` : `Its incoming <i>${this.g}</i> is not here yet.`} The engine computes J<sup>T</sup><i>${this.g}</i> by the rule and never builds J.</p>`;
    const table = numbers(matrix, { label: `Local Jacobian to ${to}`, columns: sums.map((_, c) => `[${c}]`), names: matrix.map((_, r) => (known ? `[${r}] <i>${this.g}</i> = ${number(g[r])}` : `[${r}]`)),
      foot: known ? sums.map((one) => one.sum) : undefined, footName: `J<sup>T</sup><i>${this.g}</i>` });
    const put = (x) => (Number(x) < 0 ? `(${number(x)})` : number(x));
    const written = known ? `<ul class="agl-written">${sums.map(({ terms, sum }, c) => `<li>[${c}]: ${formula(`${terms.map(([x, gr]) => `${put(gr)} * ${put(x)}`).join(" + ") || "0"} = ${number(sum)}`)}</li>`).join("")}</ul>` : "";
    return [`Local Jacobian of ${node.label} to ${to}`, text + table + written];
  }

  /** The larger view of what was clicked. */
  open(event) {
    const edge = event.target.closest("[data-edge]");
    if (edge) this.pick({ edge: Number(edge.dataset.edge) });
    if (edge || event.target.closest(".agl-drop")) {
      if (!edge) this.pick(null);
      (this.rule.hidden ? this.stage.graph.svg : this.rule).focus();
      return;
    }
    const target = event.target.closest(".agl-open");
    if (!target) return;
    const { value, name, jacobian, opened } = target.dataset;
    if (opened) {
      const [n, part] = opened.split(" "), node = this.film.nodes[n];
      this.zoom.show(`${node.label}, opened: its ${part}`, new Opened(this.film, node).element(part), target);
      return;
    }
    if (jacobian) this.zoom.show(...this.jacobianTable(...jacobian.split(" ").map(Number)), target);
    else this.zoom.show(name || "Value", everything(this.film.values[value], name || "Value"), target);
  }

  tensorCard(t, extra = "", k = this.stage.k) {
    const tensor = this.film.tensors[t], state = at(tensor.tl, k), v = state === undefined ? -1 : this.film.states[state][0];
    return card(this.film, tensor.name ? escape(tensor.name) : tensor.leaf ? "constant" : "result", v, extra);
  }

  /** The step of the timeline's current entry. */
  since(tl) {
    let found = -1;
    for (let i = 0; i < tl.length && tl[i] <= this.stage.k; i += 2) found = tl[i];
    return found;
  }

  showEngine(p) {
    const film = this.film, on = p.name === "backward";
    const [queue, total] = on ? first(film.queue, this.stage.k) : [[], 0], [waiting, many] = (on && at(film.waiting, this.stage.k)) || [[], 0];
    const chip = (n, extra, lead = "") => `<span class="agl-chip ${extra}">${lead}${escape(film.nodes[n].label)}</span>`;
    const count = (all) => (all > 1 ? ` (${all})` : "");
    const yours = (what) => `<div><h4>${what}</h4><div><span class="agl-more">yours to say</span></div></div>`;
    let html = on && this.stage.quiz.hidesQueue ? yours("Ready queue") + yours("Waiting") : `<div><h4>Ready queue${count(total)}</h4><div>${queue.map((n, i) => chip(n, i ? "" : "agl-next")).join("") || `<span class="agl-more">${on ? "empty" : "idle until backward"}</span>`}</div></div>
      <div><h4>Waiting${count(many)}</h4><div>${waiting.map(([n, a, of]) => chip(n, "", `<b>${a} of ${of}</b> at `)).join("") || '<span class="agl-more">none</span>'}</div></div>`;
    const [nodes, held] = this.stage.level.has("saved") ? this.details.held(this.stage.k, 6) : [[], 0];
    const value = (n) => ([t, version]) => `${escape(film.tensors[t].name || (film.nodes[n].outputs.includes(t) ? "own result" : film.tensors[t].label.replace(/^the /, "")))}${version ? ` v${version}` : ""}`;
    const pin = ([n, values, gone]) => `<span class="agl-chip${gone ? " agl-gone" : ""}"><b>${values.map(value(n)).join(", ")}</b> ${gone ? "freed by" : "for"} ${escape(film.nodes[n].label)}</span>`;
    if (this.stage.level.has("saved")) html += `<div><h4>Saved${count(held)}</h4><div>${nodes.map(pin).join("") || '<span class="agl-more">nothing</span>'}</div></div>`;
    if (html !== this.engineWas) this.engine.innerHTML = this.engineWas = html;
  }

  showLeaves() {
    const film = this.film, most = 24, all = film.leaves;
    let from = 0;
    if (all.length > most) {
      const i = all.indexOf(film.subject[this.stage.k]);
      from = i < 0 ? this.leafFrom ?? 0 : clamp(i - 5, 0, all.length - most);
    }
    if (from !== this.leafFrom) {
      this.leafFrom = from;
      this.leafRows = all.slice(from, from + most).map((t) => ({ t, row: h("tr", {}, h("th", { scope: "row", title: film.tensors[t].label }, h("bdi", {}, film.tensors[t].label)), ...this.columns.slice(1).map(() => h("td"))) }));
      this.leaves.replaceChildren(...this.leafRows.map(({ row }) => row));
    }
    const flag = (yes) => (yes ? "\u2713" : "\u2013");
    for (const leaf of this.leafRows) {
      const tensor = film.tensors[leaf.t], state = at(tensor.tl, this.stage.k), now = film.subject[this.stage.k] === leaf.t;
      if (leaf.state !== state || leaf.state === undefined) {
        leaf.state = state;
        const [v, , grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
        const cells = state === undefined ? ["", "", flag(tensor.grad), flag(tensor.leaf), ""] : [brief(film, v), tensor.grad ? brief(film, grad) : "\u2013", flag(tensor.grad), flag(tensor.leaf), flag(retains)];
        cells.slice(0, this.columns.length - 1).forEach((text, i) => {
          const item = state === undefined || (i && !tensor.grad) ? undefined : film.values[[v, grad][i]], cell = leaf.row.children[i + 1];
          cell.style.whiteSpace = hasStrip(item) || text.length > 12 ? "" : "nowrap";
          if (!hasStrip(item) && !cell.firstElementChild) return write(cell, text);
          cell.replaceChildren(h("span", {}, text), ...(hasStrip(item) ? [s("svg", { class: "agl-mini agl-thumb", viewBox: "0 0 22 12", "aria-hidden": "true" })] : []));
          if (hasStrip(item)) cell.lastChild.innerHTML = strip(item, 0, 0, 22, 12);
        });
        this.stage.editor.dress(leaf.row.children[1], leaf.t);
        attr(leaf.row, "data-known", state === undefined ? "0" : "1");
      }
      if (leaf.now !== now) {
        leaf.now = now;
        leaf.row.setAttribute("data-now", now ? "1" : "0");
        if (now) this.leafpane.scrollTop = (this.leafRows.indexOf(leaf) + 1.5) * this.rowHeight - this.leavesHeight / 2;
      }
    }
  }
}
