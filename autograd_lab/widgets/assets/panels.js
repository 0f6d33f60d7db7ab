// Beside the graph: the code, the rule of the current node, the engine's queue, and the leaf table.
import { at, clamp, escape, math } from "./core.js";
import { brief, card, focusable, h, shape, short, term } from "./dom.js";

export class Panels {
  /** `stage` tells the film, the step `k` and its `kind`. */
  constructor(stage) {
    this.stage = stage;
    this.film = stage.film;
    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": "Code" }));
    this.rule = h("div", focusable({ class: "agl-rule", tabindex: "0", role: "region", "aria-label": "Rule of the current node" }));
    this.engine = h("div", { class: "agl-engine", role: "region", "aria-label": "Engine" });
    this.leaves = h("tbody");
    const table = h("table", { "aria-label": "Leaf tensors" }, h("thead", {}, h("tr", {},
      ...["tensor", "value", ".grad", "requires grad", "is leaf", "retains grad"].map((t) => h("th", { scope: "col" }, t)))), this.leaves);
    this.leafpane = h("div", focusable({ class: "agl-leaves", tabindex: "0", role: "region", "aria-label": "Leaf table" }), table);
    this.root = h("div", { class: "agl-side" }, this.code, this.rule, this.engine, this.leafpane);
    this.shownSource = undefined;
  }

  /** Sizes that stepping needs; read here, so that no step has to ask for layout. */
  measure() {
    this.lineHeight = this.code.firstChild?.offsetHeight ?? 19;
    this.codeHeight = this.code.clientHeight;
    this.rowHeight = this.leaves.firstChild?.offsetHeight ?? 21;
    this.leavesHeight = this.leafpane.clientHeight;
  }

  resize() { this.measure(); }

  /** Show the stage's step, which lies in `phase`. */
  show(phase) {
    this.showCode(phase);
    this.showRule(phase);
    this.showEngine(phase);
    this.showLeaves();
  }

  showCode(p) {
    const line = at(this.film.line, this.stage.k), node = this.film.nodes[this.film.focus[this.stage.k]];
    const source = line ? line[0] : this.shownSource ?? 0;
    if (source !== this.shownSource && this.film.sources[source]) {
      this.shownSource = source;
      const { name, lines } = this.film.sources[source];
      this.rows = new Map(lines.map(([n, text]) => [n, h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n), h("code", {}, text || " "))]));
      let i = 0;
      for (const row of this.rows.values()) row.index = i++;
      this.code.replaceChildren(...this.rows.values());
      this.measure();
      this.code.title = name;
    }
    const lit = line ? this.rows?.get(line[1]) : undefined;
    const made = p.name === "backward" && node?.src && node.src[0] === source ? this.rows?.get(node.src[1]) : undefined;
    if (lit === this.lit && made === this.made) return;
    for (const row of [this.lit, this.made]) row?.removeAttribute("data-lit");
    made?.setAttribute("data-lit", "made");
    lit?.setAttribute("data-lit", "now");
    [this.lit, this.made] = [lit, made];
    const row = made ?? lit;
    if (row) this.code.scrollTop = (row.index + 0.5) * this.lineHeight - this.codeHeight / 2 + 4;
  }

  showRule(p) {
    const film = this.film, k = this.stage.k, n = film.focus[k], t = film.subject[k], words = (i) => math(film.strings[i]);
    const title = (name, note = "") => `<div class="agl-rule-head"><b>${escape(name)}</b><span>${note}</span></div>`;
    let html;
    if (n >= 0) {
      const node = film.nodes[n], index = at(node.panel, k), entry = index === undefined ? {} : film.states[index];
      const backward = p.name === "backward" && this.since(node.panel) >= p.from, saved = entry.saved !== 0;
      if (node.kind === "accumulate") {
        const name = escape(film.tensors[node.of]?.label ?? "");
        html = title(node.label, `${name}.grad = ${name}.grad + <i>g</i>`);
        if (backward && entry.add) {
          const [old, add, sum] = entry.add;
          html += `<div class="agl-flow">${card(this.film, `${name}.grad before`, old)}<span>+</span>${card(this.film, "incoming <i>g</i>", add, "agl-in")}<span>=</span>${card(this.film, `${name}.grad`, sum, "agl-out")}</div>`;
        } else if (backward && entry.g) html += `<div class="agl-flow">${card(this.film, "incoming <i>g</i>", entry.g[0], "agl-in")}</div>`;
        else html += `<p>Adds what arrives to <code>${name}.grad</code>; it has nothing behind it.</p>`;
      } else {
        html = title(node.label, node.math ? math(node.math) : escape(node.op));
        if (!backward || !entry.g) {
          const ins = node.inputs.slice(0, 4).map((i) => this.tensorCard(i)).join("");
          if (p.name === "forward") html += `<div class="agl-flow">${ins}<span>\u2192</span>${node.outputs.slice(0, 2).map((i) => this.tensorCard(i, "agl-value")).join("")}</div>`;
          if (p.name === "forward" && node.numbers) html += `<p class="agl-sum">${math(node.numbers)}</p>`;
          if (node.rule.length) html += `<div class="agl-will"><h4>Backward it will send</h4>${node.rule.map(([to, rule]) => `<p>to <i>${escape(to)}</i>${rule ? `: ${math(rule)}` : " nothing: it needs no gradient"}</p>`).join("")}</div>`;
        } else {
          const out = entry.out ?? node.rule.map(([to, rule], i) => [i, to, rule, "", null]);
          const sends = out.map(([, to, rule, numbers, v]) => (v === null
            ? term(this.film, escape(to), math(rule), null) : term(this.film, escape(film.strings[to]), words(rule), v, words(numbers))));
          html += `<div class="agl-vjp">${entry.g.map((v) => card(this.film, "incoming <i>g</i>", v, "agl-in")).join("")}<span>\u2192</span><div class="agl-sends">${sends.join("")}</div></div>`;
        }
        if (node.saved.length) {
          html += `<div class="agl-saved" data-freed="${saved ? 0 : 1}"><h4>${saved ? "Saved" : "Saved, now freed"}</h4>${node.saved.map(([name, v, version]) =>
            `<span>${escape(name)}${v >= 0 ? `${name ? " = " : ""}${brief(this.film, v)}` : ""}${version ? ` <small>v${version}</small>` : ""}</span>`).join("")}</div>`;
        }
        if (entry.error !== undefined && backward) html += `<p class="agl-error">${escape(film.strings[entry.error])}</p>`;
      }
    } else if (t >= 0) {
      const tensor = film.tensors[t];
      html = title(tensor.label, `${tensor.dtype}${tensor.shape.length ? `, ${shape(tensor.shape)}` : ""}`) +
        `<div class="agl-flow">${this.tensorCard(t, "agl-value")}</div><p>${tensor.grad ? (tensor.leaf ? "A leaf: what is learned. Its gradient will gather in <code>.grad</code>." : "Computed from tensors that require grad.") : "Needs no gradient: nothing will flow back to it."}</p>`;
    } else if (k === 0) {
      html = title("Ready", "") + `<p><b>Step</b> or <kbd>\u2192</kbd> goes on by one event, <kbd>Page Down</kbd> by one node, <kbd>Space</kbd> plays.</p>`;
    } else html = title(this.stage.kind === "done" ? "Pass complete" : "Engine", "") + `<p>${this.stage.kind === "done" ? "Every leaf that wanted a gradient has it in <code>.grad</code>: see the leaf table." : ""}</p>`;
    const sum = film.sums[k];
    if (sum) {
      const [to, old, v, total] = sum;
      html += `<div class="agl-buffer"><h4>Adds up at ${escape(film.nodes[to].label)}</h4>${[old, v, total].map((x) => card(this.film, "", x)).join("<span>+</span>").replace(/<span>\+<\/span>(?!.*<span>\+<\/span>)/s, "<span>=</span>")}</div>`;
    }
    if (html !== this.ruleWas) { this.rule.innerHTML = this.ruleWas = html; this.rule.scrollTop = 0; }
  }

  tensorCard(t, extra = "") {
    const tensor = this.film.tensors[t], state = at(tensor.tl, this.stage.k), v = state === undefined ? -1 : this.film.states[state][0];
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
    const [queue, total] = (on && at(film.queue, this.stage.k)) || [[], 0], [waiting, many] = (on && at(film.waiting, this.stage.k)) || [[], 0];
    const chip = (n, note, extra) => `<span class="agl-chip ${extra}">${escape(film.nodes[n].label)}${note}</span>`;
    const count = (all) => (all > 1 ? ` (${all})` : "");
    const html = `<div><h4>Ready queue${count(total)}</h4><div>${queue.map((n, i) => chip(n, "", i ? "" : "agl-next")).join("") || `<span class="agl-more">${on ? "empty" : "idle until backward"}</span>`}</div></div>
      <div><h4>Waiting${count(many)}</h4><div>${waiting.map(([n, a, of]) => chip(n, ` <b>${a} of ${of}</b> arrived`, "")).join("") || '<span class="agl-more">none</span>'}</div></div>`;
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
      this.leafRows = all.slice(from, from + most).map((t) => ({ t, row: h("tr", {}, h("th", { scope: "row" }, film.tensors[t].label), ...[0, 1, 2, 3, 4].map(() => h("td"))) }));
      this.leaves.replaceChildren(...this.leafRows.map(({ row }) => row));
    }
    const flag = (yes) => (yes ? "\u2713" : "\u2013");
    for (const leaf of this.leafRows) {
      const tensor = film.tensors[leaf.t], state = at(tensor.tl, this.stage.k), now = film.subject[this.stage.k] === leaf.t;
      if (leaf.state !== state || leaf.state === undefined) {
        leaf.state = state;
        const [v, , grad, retains] = state === undefined ? [-1, 0, -1, 0] : film.states[state];
        const cells = state === undefined ? ["", "", flag(tensor.grad), flag(tensor.leaf), ""] : [short(this.film, v), tensor.grad ? short(this.film, grad) : "\u2013", flag(tensor.grad), flag(tensor.leaf), flag(retains)];
        cells.forEach((text, i) => { leaf.row.children[i + 1].textContent = text; });
        leaf.row.setAttribute("data-known", state === undefined ? "0" : "1");
      }
      if (leaf.now !== now) {
        leaf.now = now;
        leaf.row.setAttribute("data-now", now ? "1" : "0");
        if (now) this.leafpane.scrollTop = (this.leafRows.indexOf(leaf) + 1.5) * this.rowHeight - this.leavesHeight / 2;
      }
    }
  }
}
