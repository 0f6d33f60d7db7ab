// Define-by-run beside captured: three views of one function. widgets/static.py says what the document holds.
import { clamp, path } from "./core.js";
import { button, focusable, h, icon, s } from "./dom.js";
import { decode } from "./wire.js";

const OP_HEIGHT = 34;
const STATIC_VIEWS = [["run", "As it runs"], ["passes", "Passes"], ["source", "Source"]];
const GUARD_SIGNS = { captured: "\u25c6", holds: "\u2713", missed: "\u2260", broken: "\u2715" };
const STAGE_BYTES = { split: "bytes saved" };

/** How many times each line of a source ran, as a map from line to count; no drawing, so it is tested in Node. */
export function timesRun(operations, source, upTo = operations.length) {
  const found = new Map();
  for (const { src, where } of operations.slice(0, upTo)) {
    if (!src || src[0] !== source) continue;
    const turn = Number(/\(iteration (\d+)\)/.exec(where)?.[1] ?? 1);
    found.set(src[1], Math.max(found.get(src[1]) ?? 0, turn));
  }
  return found;
}

/** Where one step leads among the changes of the passes: [stage, change]; change -1 points at none. */
export function stepped(stages, stage, change, direction) {
  const next = change + direction;
  if (next >= -1 && next < stages[stage].changes.length) return [stage, next];
  if (direction > 0) return stage + 1 < stages.length ? [stage + 1, -1] : [stage, change];
  return stage > 0 ? [stage - 1, stages[stage - 1].changes.length - 1] : [0, -1];
}

/** ["32 \u2192 28 steps", "664 \u2192 568 bytes"]: of the arrays that have a name. */
export function saving({ title, steps: [s0, s1], bytes: [b0, b1] }) {
  const unit = title === "write" ? "lines" : "steps", what = STAGE_BYTES[title] ?? "bytes", n = (x) => x.toLocaleString("en-US");
  return [s0 === s1 ? `${s0} ${unit}` : `${s0} \u2192 ${s1} ${unit}`, b0 === b1 ? `${n(b0)} ${what}` : `${n(b0)} \u2192 ${n(b1)} ${what}`];
}

/** A drawing of operations; `tell(i)` is called when one is chosen. */
function drawing(picture, label) {
  const xs = picture.nodes.flatMap(([x, , w]) => [x - w / 2, x + w / 2]), ys = picture.nodes.map(([, y]) => y);
  const left = Math.min(...xs, 0) - 8, top = Math.min(...ys, 0) - OP_HEIGHT / 2 - 8, width = Math.max(...xs, 60) - left + 8, height = Math.max(...ys, 20) + OP_HEIGHT / 2 + 8 - top;
  const lines = picture.edges.map(([, v, points]) => s("path", { class: "agl-op-line", "data-to": v, d: path(points) }));
  const nodes = picture.nodes.map(([x, y, w, op, shape]) => s("g", { class: "agl-op" },
    s("rect", { x: x - w / 2, y: y - OP_HEIGHT / 2, width: w, height: OP_HEIGHT, rx: 6 }), s("text", { x, y: y - 2, class: "agl-op-name" }, op), s("text", { x, y: y + 12, class: "agl-op-shape" }, shape)));
  const svg = s("svg", { viewBox: `${left} ${top} ${width} ${height}`, role: "img", "aria-label": label, style: `width:${width}px;height:${height}px` }, ...lines, ...nodes);
  return { svg, nodes, lines, edges: picture.edges };
}

class Static {
  constructor(model, el, data) {
    this.model = model;
    this.data = data;
    this.drawn = {};
    this.build(el);
    this.onchange = () => { if (!this.own) this.show(); };
    for (const name of ["view", "run", "position", "stage", "change"]) model.on(`change:${name}`, this.onchange);
    this.show();
  }

  get(name) { return this.model.get(name); }

  set(values) {
    this.own = true;
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.own = false;
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.model.save_changes(), 60);
    this.show();
  }

  build(el) {
    const { name, runs, stages } = this.data;
    this.tabs = STATIC_VIEWS.map(([view, text]) => button(text, [text], () => this.set({ view }), { class: "agl-tab" }));
    this.runs = h("select", focusable({ "aria-label": "Run", onchange: () => this.set({ run: Number(this.runs.value), position: this.data.runs[this.runs.value].operations.length }) }),
      ...runs.map((run, i) => h("option", { value: i }, `run ${i + 1}: ${run.title}`)));
    this.verdict = h("p", { class: "agl-held", role: "status", "aria-live": "polite" });
    this.code = h("div", focusable({ class: "agl-code", tabindex: "0", role: "region", "aria-label": "Code" }));
    this.list = h("ol", focusable({ class: "agl-operations", tabindex: "0", "aria-label": "Operations that ran" }));
    this.halves = ["Define by run", "Captured"].map((text) => {
      const note = h("span", { class: "agl-beside" }), place = h("div", focusable({ class: "agl-drawing", tabindex: "0", role: "region", "aria-label": text }));
      return { root: h("section", { class: "agl-half" }, h("div", { class: "agl-side-name" }, h("b", {}, text), note), place), note, place };
    });
    this.running = h("div", { class: "agl-running" }, h("div", { class: "agl-text" }, this.code, this.list), ...this.halves.map((half) => half.root));
    this.stages = stages.map((stage, i) => h("button", focusable({ type: "button", class: "agl-stage", onclick: () => this.set({ stage: i, change: -1 }) }),
      h("b", {}, `${i + 1}. ${stage.title}`), h("small", {}, saving(stage).join(", "))));
    this.about = h("p", { class: "agl-about" });
    this.said = h("p", { class: "agl-said", role: "status", "aria-live": "polite" });
    this.sides = ["before", "after"].map((text) => ({ title: h("p", { class: "agl-over" }), list: h("ol", focusable({ class: "agl-rows", tabindex: "0", "aria-label": `Graph ${text} the pass` })) }));
    this.passes = h("div", { class: "agl-passes" }, h("div", { class: "agl-stages", role: "group", "aria-label": "Passes" }, ...this.stages), this.about, this.said,
      h("div", { class: "agl-halves" }, ...this.sides.map(({ title, list }) => h("section", { class: "agl-half" }, title, list))));
    this.source = h("div", focusable({ class: "agl-sources", tabindex: "0", role: "region", "aria-label": "Source" }));
    this.range = h("input", focusable({ type: "range", min: 0, class: "agl-range", "aria-label": "Position", oninput: () => this.set({ position: Number(this.range.value) }) }));
    this.range.style.setProperty("--agl-track", "var(--agl-outline)");
    this.count = h("span", { class: "agl-count" });
    this.controls = h("div", { class: "agl-controls" }, h("span", { class: "agl-set" }, button("First", [icon("first")], () => this.end(-1)), button("Step back", [icon("back")], () => this.step(-1)),
      button("Step", [icon("step"), h("span", {}, "Step")], () => this.step(1), { class: "agl-primary" }), button("Last", [icon("last")], () => this.end(1))), this.range, this.count);
    this.panes = { run: this.running, passes: this.passes, source: this.source };
    el.append(h("div", { class: "agl-root agl-static" }, h("div", { class: "agl", role: "group", "aria-label": `${name}: define-by-run beside captured`, onkeydown: (e) => this.key(e) },
      h("div", { class: "agl-head" }, h("span", { class: "agl-views", role: "group", "aria-label": "View" }, ...this.tabs), this.runs, h("span", { class: "agl-title" }, name)),
      this.verdict, this.running, this.passes, this.source, this.controls)));
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented || event.target.tagName === "SELECT") return;
    const action = { ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => this.end(-1), End: () => this.end(1), PageDown: () => this.page(1), PageUp: () => this.page(-1) }[event.key];
    if (!action || this.get("view") === "source") return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  step(direction) {
    if (this.get("view") === "passes") {
      if (!this.data.stages.length) return;
      const [stage, change] = stepped(this.data.stages, this.get("stage"), this.get("change"), direction);
      this.set({ stage, change });
    } else this.set({ position: clamp(this.get("position") + direction, 0, this.operations.length) });
  }

  end(direction) {
    if (this.get("view") !== "passes") return this.set({ position: direction > 0 ? this.operations.length : 0 });
    const last = this.data.stages.length - 1;
    if (last >= 0) this.set(direction > 0 ? { stage: last, change: this.data.stages[last].changes.length - 1 } : { stage: 0, change: -1 });
  }

  page(direction) {
    if (this.get("view") === "passes") this.set({ stage: clamp(this.get("stage") + direction, 0, Math.max(this.data.stages.length - 1, 0)), change: -1 });
    else {
      const run = clamp(this.get("run") + direction, 0, this.data.runs.length - 1);
      this.set({ run, position: this.data.runs[run].operations.length });
    }
  }

  get operations() { return this.data.runs[this.get("run")].operations; }

  show() {
    const view = this.get("view"), run = this.data.runs[this.get("run")];
    STATIC_VIEWS.forEach(([name], i) => { this.tabs[i].setAttribute("aria-pressed", String(name === view)); this.panes[name].hidden = name !== view; });
    this.runs.hidden = view !== "run" || this.data.runs.length < 2;
    this.runs.value = this.get("run");
    this.verdict.hidden = view !== "run";
    this.controls.hidden = view === "source";
    this.range.hidden = view !== "run";
    const verdict = `${GUARD_SIGNS[run.verdict]} ${run.says}`;
    if (this.verdict.textContent !== verdict) this.verdict.textContent = verdict;
    this.verdict.setAttribute("data-verdict", run.verdict);
    if (view === "run") this.showRun(run);
    else if (view === "passes") this.showPass();
    else this.showSource(run);
  }

  showRun(run) {
    const k = this.get("position"), graph = this.data.graphs[run.graph], now = run.operations[k - 1];
    if (this.drawn.run !== run) {
      this.drawn = { run, dynamic: drawing(run.picture, "The graph as it is built, operation by operation"), captured: graph && drawing(graph.picture, "The captured graph") };
      this.halves[0].place.replaceChildren(this.drawn.dynamic.svg);
      this.halves[1].place.replaceChildren(graph ? this.drawn.captured.svg : h("p", { class: "agl-more" }, "No graph: there is nothing that could run in place of the function."));
      this.list.replaceChildren(...run.operations.map((one) => h("li", {}, h("code", {}, one.text.replace(/^\[\d+\] /, "")), h("small", {}, one.where.replace(/^line (\d+):.*?(\(turn \d+\))?$/, "line $1 $2")), h("small", { class: "agl-result" }, one.value))));
      this.drawn.source = -1;
    }
    this.halves[0].note.textContent = `${k} of ${run.operations.length} operations so far`;
    this.halves[1].note.textContent = graph ? `graph ${run.graph + 1}: ${graph.steps.length} operations, there from the start` : "";
    const state = (i) => (i === k - 1 ? "now" : i < k ? "past" : "future");
    const { dynamic, captured } = this.drawn;
    dynamic.nodes.forEach((node, i) => node.setAttribute("data-state", state(i)));
    dynamic.lines.forEach((line, i) => line.setAttribute("data-state", state(dynamic.edges[i][1])));
    captured?.nodes.forEach((node, i) => node.setAttribute("data-state", k && run.same[k - 1] === i ? "now" : "past"));
    [...this.list.children].forEach((item, i) => { item.setAttribute("data-state", state(i)); item.setAttribute("aria-current", i === k - 1 ? "step" : "false"); });
    this.bring(this.list, this.list.children[k - 1]);
    [dynamic.nodes[k - 1], captured?.nodes[run.same[k - 1]]].forEach((node, i) => this.center(this.halves[i].place, node));
    this.showCode(run, now?.src ?? run.operations[0]?.src, k);
    this.range.max = run.operations.length;
    this.range.value = k;
    this.count.textContent = `${k} / ${run.operations.length}`;
  }

  /** The source with how often each line ran so far: the loop unrolled, the branch not taken without a mark. */
  showCode(run, src, k) {
    const number = src ? src[0] : 0, source = this.data.sources[number];
    if (!source) return;
    if (this.drawn.source !== number) {
      this.drawn.source = number;
      this.rows = new Map(source.lines.map(([n, text]) => [n, h("div", { class: "agl-line" }, h("span", { class: "agl-no" }, n), h("code", {}, text || " "), h("span", { class: "agl-mark" }))]));
      this.code.replaceChildren(...this.rows.values());
    }
    const times = timesRun(run.operations, number, k), all = timesRun(run.operations, number);
    for (const [n, row] of this.rows) {
      row.toggleAttribute("data-lit", false);
      const many = times.get(n) ?? 0, mark = all.has(n) ? (all.get(n) > 1 ? `${many} of ${all.get(n)} turns` : many ? "ran" : "") : "";
      row.lastChild.textContent = mark;
      row.lastChild.hidden = !mark;
    }
    const lit = k && src ? this.rows.get(src[1]) : undefined;
    lit?.setAttribute("data-lit", "now");
    this.bring(this.code, lit);
  }

  /** Scroll a list, and nothing around it. */
  bring(list, item) {
    if (!item) return;
    const top = item.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  }

  center(place, node) {
    if (!node) return;
    const a = place.getBoundingClientRect(), b = node.getBoundingClientRect();
    if (b.top < a.top || b.bottom > a.bottom) place.scrollTop += b.top - a.top - a.height / 2;
    if (b.left < a.left || b.right > a.right) place.scrollLeft += b.left - a.left - a.width / 2;
  }

  showPass() {
    const { stages } = this.data, i = clamp(this.get("stage"), 0, Math.max(stages.length - 1, 0)), stage = stages[i];
    if (!stage) {
      this.about.textContent = "There are no passes: nothing was captured.";
      this.count.textContent = "";
      return;
    }
    const at = clamp(this.get("change"), -1, stage.changes.length - 1), change = stage.changes[at];
    this.stages.forEach((one, j) => one.setAttribute("aria-pressed", String(j === i)));
    this.about.textContent = stage.says;
    const n = stage.changes.length, said = change ? `${at + 1} of ${n}, ${change.word}: ${change.text}` : n ? `${n} change${n > 1 ? "s" : ""}: step through them.` : "Nothing to do in this graph.";
    if (this.said.textContent !== said) this.said.textContent = said;
    ["before", "after"].forEach((side, j) => {
      const rows = stage[side], words = new Map(), { title, list } = this.sides[j];
      for (const one of stage.changes) for (const r of one[side]) if (j === 0 || one === change) words.set(r, one.word);
      title.textContent = `${side}: ${rows.length} ${stage.title === "write" && j ? "lines" : "steps"}`;
      if (list.stage !== stage) {
        list.stage = stage;
        list.replaceChildren(...rows.map((row, r) => h("li", { "data-part": row.part, ...(r && rows[r - 1].part !== row.part ? { "data-first": "" } : {}) }, h("code", {}, row.text), h("span", { class: "agl-word" }), h("small", {}, row.line.replace(/^(.*?, line \d+).*$/, "$1")))));
      }
      [...list.children].forEach((item, r) => {
        const here = change?.[side].includes(r), word = here && j === 1 ? { "computed now": "reads the result", merged: "stands for both", "left out": "here instead", fused: "the one line", saved: "reads or makes it", "written over": "writes over", rewritten: "rewritten" }[change.word] : words.get(r);
        item.children[1].textContent = word ?? "";
        item.children[1].hidden = !word;
        item.setAttribute("data-here", String(Boolean(here)));
        item.setAttribute("data-gone", String(j === 0 && words.has(r) && !["saved", "fused", "rewritten", "written over"].includes(words.get(r))));
      });
      this.bring(list, list.children[change?.[side][0]]);
    });
    this.count.textContent = `pass ${i + 1} of ${stages.length}`;
  }

  showSource(run) {
    const graph = this.data.graphs[Math.max(run.graph, 0)];
    this.source.replaceChildren(...(graph ? [h("p", { class: "agl-over" }, `Forward of graph ${Math.max(run.graph, 0) + 1}`), h("pre", {}, graph.forward), ...(graph.backward ? [h("p", { class: "agl-over" }, "Backward: what its CompiledFunctionBackward runs"), h("pre", {}, graph.backward)] : []),
      h("p", { class: "agl-over" }, "Guards: what must be as it was"), h("ul", {}, ...graph.guards.map((text) => h("li", {}, text)))] : [h("p", {}, run.says)]));
  }

  close() {
    clearTimeout(this.saving);
    for (const name of ["view", "run", "position", "stage", "change"]) this.model.off(`change:${name}`, this.onchange);
  }
}

/** The comparison in `el`; returns what takes it away again. */
export async function showStatic(model, el) {
  let shown = new Static(model, el, await decode(model.get("_static")));
  const replace = async () => { // another run
    const data = await decode(model.get("_static"));
    shown.close();
    el.replaceChildren();
    shown = new Static(model, el, data);
  };
  model.on("change:_static", replace);
  return () => { model.off("change:_static", replace); shown.close(); };
}
