// Predicting and being the engine: stops before an event, hides its outcome, asks, judges, and keeps the answer beside
// what then happens. The questions come with the film (tracing/questions.py); no kernel is asked.
import { AnswerError, asked, judge, settles, standing, tally, unanswered } from "./answers.js";
import { at, clamp } from "./core.js";
import { attr, button, focusable, h } from "./dom.js";
import { decode } from "./wire.js";

const MODES = [["watch", "Watch"], ["predict", "Predict"], ["engine", "Be the engine"]];
const MARKS = { right: "\u2713", wrong: "\u2717", ready: "\u2248", shown: "\u2013" };
const VERDICTS = { right: "Right", wrong: "Wrong", ready: "Also ready", shown: "Not answered" };
const MASK = "Is a node ready now? That is for you to say.";
const FIRST = "Answer, or Show me"; // before anything goes on
const PACE = 240; // ms for each event that the engine does by itself

/** What is to be typed: a list where one is asked for. That the answer is None must not show, so then it is as long as what is wrong. */
export function wanted({ type, kind, answer, wrong }) {
  if (type === "shape") return "a shape, like 2x3";
  const list = answer === null ? wrong.map(([, value]) => value).find(Array.isArray) : answer, none = kind === "grad" ? ", or None" : "";
  if (!Array.isArray(list)) return `a number${none}`;
  let next = 1;
  const sample = (item) => (Array.isArray(item) ? `[${item.map(sample).join(", ")}]` : String(next++));
  return `${list.flat(Infinity).length > 1 ? "numbers" : "a number"} like ${sample(list)}${none}`;
}

export class Quiz {
  /** `stage` tells the film, the step `k`, and moves with `go`. */
  constructor(stage) {
    this.stage = stage;
    this.model = stage.model;
    this.film = stage.film;
    this.questions = null;
    this.reviewing = null; // the record whose outcome is being read
    this.later = null; // the step that was asked for before the questions were here
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.build();
    this.listeners = [["_quiz", () => this.load()],
      ...["mode", "_asks", "_run", "predictions", "engine_log"].map((name) => [name, () => this.changed()])];
    for (const [name, listener] of this.listeners) this.model.on(`change:${name}`, listener);
    this.ready = this.load();
  }

  get mode() { return this.model.get("mode") ?? "watch"; }
  get run() { return this.model.get("_run") ?? 0; }
  get seen() { return this.model.get("_seen") ?? 0; }
  get logName() { return this.mode === "engine" ? "engine_log" : "predictions"; }
  get log() { return this.model.get(this.logName) ?? []; }

  async load() {
    const text = this.model.get("_quiz");
    if (text) ({ questions: this.questions, standing: this.standing } = await decode(text));
    else this.questions = null; // those of another run
    if (this.entering) this.enter(this.mode);
    this.changed();
    if (this.questions && this.later !== null) this.stage.go(this.later);
  }

  /** The questions that are still open, in order. */
  open() {
    if (!this.questions) return [];
    const numbers = asked(this.questions, this.mode, this.model.get("_asks") ?? []);
    return unanswered(this.questions, numbers, this.log, this.run, this.seen).map((i) => ({ ...this.questions[i], id: i }));
  }

  // ---- what may be seen -------------------------------------------------------------------------------------

  /** How far a move may go: not over an open question. */
  limit(k) {
    if (this.mode === "watch" || k <= this.stage.k) return k;
    if (!this.questions) return this.stage.k;
    const next = this.open()[0];
    return next && k >= next.k ? Math.max(next.k - 1, this.stage.k) : k;
  }

  /** A step has been seen, and cannot be predicted any more. */
  saw(k) {
    if (this.mode !== "watch") this.set("_seen", Math.max(this.seen, k));
  }

  /** A move came to a question: the next thing to do is to answer. */
  arrive() {
    const active = this.root.getRootNode().activeElement;
    if (this.asking && !this.stage.presenter.on && active !== this.stage.range && this.stage.frame.contains(active)) this.focus();
  }

  /** A move to step k ended at an open question: in front of a class the next press shows the answer. */
  insist(k) {
    if (!this.questions) this.later = k;
    if (this.stage.presenter.on && this.asking && !this.focused) return this.showMe();
    if (this.reviewing) return this.proceed();
    if (this.asking) {
      this.tell(`${FIRST}.`);
      this.say(`${FIRST}. ${this.asking.ask}`);
    }
    this.focus();
  }

  /** The narration, where the true one would tell too much. */
  words(k) {
    const kinds = this.film.kinds, kind = (j) => kinds[this.film.kind[j]];
    if (!this.hidesQueue || kind(k) !== "push") return undefined;
    let j = k + 1;
    while (j <= this.film.steps && kind(j) !== "pop") j++;
    return this.hidden.has(j) ? MASK : undefined;
  }

  /** The node that the question which is open now names. */
  get about() {
    const q = this.opened?.[0];
    return q && q.k === this.stage.k + 1 && q.type !== "node" ? q.node : undefined;
  }

  /** Whether what node n will send is asked for and not answered yet. */
  hidesRule(n) { return this.opened?.some((q) => q.node === n && q.kind !== "next-node" && q.k > this.stage.k) ?? false; }

  /** Called by the stage before it draws a step. */
  look() {
    this.opened = this.open();
    this.hidden = new Set(this.opened.filter((q) => q.type === "node").map((q) => q.k));
    this.hidesQueue = this.hidden.size > 0;
    this.stage.graph.census.mask(this.hidesQueue);
    attr(this.stage.frame, "data-hide", this.hidesQueue ? "queue" : "");
    attr(this.stage.frame, "data-quiz", this.mode);
  }

  // ---- the page ---------------------------------------------------------------------------------------------

  build() {
    this.select = h("select", focusable({ "aria-label": "Mode", title: "Watch, predict what comes next, or be the engine", class: "agl-modes",
      onchange: () => this.enter(this.select.value) }), ...MODES.map(([value, text]) => h("option", { value }, text)));
    this.question = h("label", { class: "agl-q" });
    this.input = h("input", focusable({ type: "text", class: "agl-answer", autocomplete: "off", spellcheck: "false", autocapitalize: "off", inputmode: "text" }));
    this.choices = h("span", { class: "agl-choices", role: "group" });
    this.commit = button("Commit", ["Commit"], () => this.submit(), { class: "agl-primary" });
    this.skip = button("Show me", ["Show me"], () => this.showMe(), { title: "Give up and see the answer: it counts as not answered" });
    this.next = button("Next question", ["Next question"], () => this.proceed(), { class: "agl-primary" });
    this.note = h("div", { class: "agl-note" });
    this.score = h("div", { class: "agl-score" });
    this.live = h("div", { class: "agl-live", "aria-live": "polite" });
    this.row = h("div", { class: "agl-ask-row" }, this.input, this.choices, this.commit, this.skip, this.next);
    this.root = h("div", { class: "agl-ask", role: "group", "aria-label": "Question", onkeydown: (e) => this.key(e) },
      this.question, this.score, this.row, this.note, this.live);
    this.input.addEventListener("input", () => { if (!this.reviewing) this.tell(""); });
  }

  /** Clicks on the graph choose a node while one is asked for. */
  watch(svg) {
    let down = null;
    svg.addEventListener("pointerdown", (e) => { down = [e.clientX, e.clientY, e.target.closest?.(".agl-unit")?.dataset.thing]; });
    svg.addEventListener("pointerup", (e) => {
      if (this.asking?.type !== "node" || this.reviewing || !down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 5) return;
      const unit = this.film.units[down[2]];
      if (unit && unit.node >= 0 && unit.since <= this.stage.k) this.answer(unit.node);
    });
  }

  key(event) {
    const { key, target } = event, text = target === this.input;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (key === "Enter" && (text || (this.reviewing && target.tagName !== "SELECT"))) {
      event.preventDefault();
      if (text && !this.reviewing && this.asking) this.submit();
      else this.proceed();
    } else if (this.reviewing && (key === "ArrowRight" || (key === " " && target.tagName !== "BUTTON"))) {
      event.preventDefault(); // the next thing: a step, or at a question that question
      if (key === "ArrowRight" && this.limit(this.stage.k + 1) > this.stage.k && this.stage.k < this.film.steps) this.stage.move(1);
      else this.proceed();
    } else if (text && !["Escape", "PageUp", "PageDown"].includes(key)) { /* typing */ }
    else if (/^[1-9]$/.test(key) && !text && !this.choices.hidden) {
      event.preventDefault(); // or the digit would be typed into the field of the next question
      this.choices.children[key - 1]?.click();
    } else if (/^Arrow/.test(key) && this.choices.contains(target)) {
      const all = [...this.choices.children], i = all.indexOf(target) + (/Right|Down/.test(key) ? 1 : -1);
      all[(i + all.length) % all.length].focus();
      event.preventDefault();
    } else return;
    event.stopPropagation();
  }

  focus() {
    const target = !this.next.hidden ? this.next : this.input.hidden ? this.choices.firstChild ?? this.stage.graph.svg : this.input;
    target.focus({ preventScroll: true });
    if (target === this.input && !this.reviewing) this.input.select();
  }

  get focused() { return this.root.contains(this.root.getRootNode().activeElement); }

  /** Something was answered or set elsewhere: another view, Python, or this one. */
  changed() {
    if (this.quiet) return;
    this.select.value = this.mode;
    this.stage.refresh();
  }

  /** Called by the stage for every step it shows. */
  show() {
    const k = this.stage.k, on = this.mode !== "watch";
    this.root.toggleAttribute("hidden", !on);
    if (!on) return this.hold(null);
    const next = this.opened[0], asking = next && next.k === k + 1 && !this.playing ? next : null;
    const near = this.log.filter((r) => r.run === this.run && settles(r) && (r.step === k || r.step === k + 1));
    if (this.reviewing && !near.some((r) => r.id === this.reviewing.id)) this.reviewing = null;
    const record = !this.questions ? null : this.reviewing ?? (asking || this.playing ? null : near.at(-1));
    const had = this.focused, key = `${this.run} ${this.mode} ${record ? `r${record.id}` : asking ? `q${asking.id}` : `k${next?.k}`} ${Boolean(this.questions)} ${Boolean(this.playing)}`;
    this.asking = asking;
    this.hold(asking && !record);
    this.writeScore();
    if (key === this.shown) return;
    this.shown = key;
    if (record) this.showRecord(record, next);
    else if (asking) this.showQuestion(asking, near.at(-1));
    else this.showNothing(next);
    if (had) this.focus(); // if only on the graph: where nothing has the focus, Space scrolls the notebook
  }

  /** Whether Step and Last say that they wait. */
  hold(asking) {
    for (const [name, label, word] of [["step", "Step", "Step"], ["last", "Last", ""]]) {
      const button = this.stage.buttons[name], title = asking ? FIRST : label, said = asking ? FIRST : word;
      if (button.title === title) continue;
      button.title = title;
      button.setAttribute("aria-label", asking ? `${label}: ${FIRST}` : label); // it begins with what one looks for, and has what is seen
      button.replaceChildren(button.firstChild, ...(said ? [h("span", {}, said)] : []));
    }
    this.stage.frame.toggleAttribute("data-held", Boolean(asking));
  }

  showQuestion(q, last) {
    this.question.textContent = q.ask;
    this.fields(q.type, q.options);
    this.input.value = "";
    this.input.readOnly = false;
    this.input.placeholder = wanted(q);
    this.buttons({ commit: q.type === "number" || q.type === "shape", skip: true });
    this.tell(last ? this.outcome(last) : "", last?.verdict, last, last && last.id !== q.id);
    this.say(`${last ? this.outcome(last) : ""} ${q.ask}`);
  }

  showRecord(record, next) {
    this.question.textContent = record.question;
    const q = this.questions[record.id];
    this.fields(q.type, q.options, record);
    this.input.value = record.given ?? "";
    this.input.readOnly = true;
    this.input.placeholder = "";
    this.buttons({ next: true });
    this.label(next ? (this.reviewing && this.mode === "engine" ? "Go on" : "Next question") : "To the end");
    this.tell(this.outcome(record), record.verdict, record);
    this.say(this.outcome(record));
  }

  showNothing(next) {
    if (!this.questions) {
      this.question.textContent = "The questions are on their way from the kernel.";
      this.buttons({});
    } else if (this.playing) {
      this.fields("none");
      this.buttons({});
      return;
    } else if (next) {
      this.question.textContent = `The next question comes before step ${next.k}.`;
      this.buttons({ next: true });
      this.label(next.k - 1 > this.stage.k ? "Go to the question" : "Next question");
    } else {
      const done = tally(this.log, this.run, 0);
      this.question.textContent = done.right + done.ready + done.wrong + done.shown ? "Every question is answered." : "Nothing is left to ask from here on.";
      this.buttons({ next: true });
      this.label("Once more");
    }
    this.fields("none");
    this.tell("");
    this.say(this.question.textContent);
  }

  /** The field or the buttons to answer with. */
  fields(type, options, record) {
    const text = type === "number" || type === "shape";
    this.input.hidden = !text;
    this.choices.hidden = text || type === "none";
    this.choices.replaceChildren(...(this.choices.hidden ? [] : options.map((option, i) => {
      const [value, name] = type === "node" ? [option[0], this.film.nodes[option[0]].label] : [option, option];
      const right = record && (type === "node" ? option[1] === "right" : record.answer.startsWith(option));
      const own = record?.given === name || (type === "choice" && record?.given && option.startsWith(record.given.toLowerCase()));
      const mark = right ? MARKS.right : own ? MARKS[record.verdict] : "";
      return button(name + (right ? ", right" : own ? ", your answer" : ""), [h("small", {}, String(i + 1)), `${name} ${mark}`.trim()], () => (record ? this.proceed() : this.answer(value)),
        { class: "agl-choice", "data-own": own ? record.verdict : "", "data-right": right ? "1" : "0", title: name });
    })));
    this.choices.setAttribute("aria-label", this.question.textContent);
    this.input.setAttribute("aria-label", this.question.textContent);
  }

  buttons(which) {
    for (const name of ["commit", "skip", "next"]) this[name].hidden = !which[name];
  }

  label(text) {
    this.next.textContent = text;
    this.next.setAttribute("aria-label", text);
    this.next.title = text;
  }

  /** One sentence on what an answer was worth. */
  outcome({ verdict, given, answer, note, mode }) {
    if (verdict === "right") return `Right: ${answer}.`;
    if (verdict === "shown") return `Not answered. It is ${answer}.`;
    if (verdict === "ready") return note;
    const told = mode === "predict" ? `It is ${answer}.` : note ? "Try again." : "Think of the rule and try again.";
    return `Not ${given}. ${note} ${told}`.replace("  ", " ");
  }

  /** Below the field: what became of an answer. The student's own answer stays beside the right one; `before`: to another question. */
  tell(text, verdict = "", record = null, before = false) {
    const parts = before ? [h("span", { class: "agl-given" }, `Before: ${record.question}`)] : [];
    if (verdict) parts.push(h("b", { class: "agl-verdict", "data-v": verdict }, MARKS[verdict], " ", VERDICTS[verdict]));
    if (record && verdict !== "ready" && record.given !== null) parts.push(h("span", { class: "agl-given" }, "you: ", h("b", {}, record.given)));
    if (record && (record.mode === "predict" || verdict !== "wrong")) parts.push(h("span", { class: "agl-given agl-truth" }, verdict === "ready" ? "the engine: " : "it is: ", h("b", {}, record.answer)));
    const why = record ? record.note || (verdict === "wrong" ? (record.mode === "predict" ? "" : "Think of the rule and try again.") : "") : text;
    if (why) parts.push(h("span", { class: "agl-why" }, why));
    this.note.replaceChildren(...parts);
    this.root.setAttribute("data-v", verdict);
  }

  say(text) {
    text = text.trim();
    if (this.live.textContent !== text) this.live.textContent = text;
  }

  writeScore() {
    const of = this.questions ? asked(this.questions, this.mode, this.model.get("_asks") ?? []).length : 0, t = tally(this.log, this.run, of);
    const words = [`${t.right} of ${t.of} right`];
    for (const [name, word] of [["ready", "also ready"], ["wrong", "wrong"], ["shown", "shown"]]) if (t[name]) words.push(`${t[name]} ${word}`);
    const text = of ? words.join(", ") : "";
    if (this.score.textContent !== text) this.score.textContent = text;
  }

  /** Set without being told of it. */
  set(name, value) {
    this.quiet = true;
    this.model.set(name, value);
    this.quiet = false;
  }

  // ---- answering --------------------------------------------------------------------------------------------

  submit() {
    if (this.asking && !this.reviewing && !this.input.hidden) this.answer(this.input.value);
    else this.proceed();
  }

  answer(given) {
    const q = this.asking;
    if (!q || this.reviewing) return;
    let verdict;
    try {
      verdict = judge(q, given) ?? this.elsewhere(given);
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      this.tell(error.message);
      this.say(error.message);
      return this.focus();
    }
    this.keep(q, q.type === "node" ? this.film.nodes[given].label : given.trim(), verdict);
  }

  /** A node that is not among the candidates: what is said of it depends on where it stands. */
  elsewhere(n) {
    const node = this.film.nodes[n], state = at(node.tl, this.stage.k);
    return standing(this.standing, node.label, state === undefined ? ["made", 0, 0] : this.film.states[state]);
  }

  showMe() {
    if (this.asking && !this.reviewing) this.keep(this.asking, null, { verdict: "shown", misconception: "", note: "" });
  }

  keep(q, given, verdict) {
    const log = this.log, attempt = 1 + log.filter((r) => r.id === q.id && r.run === this.run).length;
    const correct = verdict.verdict === "right" ? true : verdict.verdict === "shown" ? null : false;
    const record = { id: q.id, run: this.run, mode: this.mode, step: q.k, kind: q.kind, question: q.ask, given, answer: q.shown, correct, attempt, ...verdict };
    this.set(this.logName, [...log, record]);
    if (!settles(record)) { // the engine's: once more
      this.model.save_changes();
      this.tell(this.outcome(record), record.verdict, record);
      this.say(this.outcome(record));
      this.writeScore();
      return this.focus();
    }
    const more = this.open().some((other) => other.k === q.k), engine = this.mode === "engine";
    this.reviewing = engine ? (record.verdict === "right" ? null : record) : record;
    const had = this.focused;
    if (!more) this.stage.go(q.k);
    this.model.save_changes();
    this.changed();
    if (had || this.stage.presenter.on) this.focus();
    if (engine && !this.reviewing && !more) this.play();
  }

  /** On from an outcome: to the next question. */
  proceed() {
    if (this.playing) return;
    const was = this.reviewing;
    this.reviewing = null;
    this.shown = null;
    const next = this.open()[0];
    if (!next && this.next.textContent === "Once more") return this.again();
    if (was && this.mode === "engine" && was.step === this.stage.k) return this.play();
    this.stage.go(next ? next.k - 1 : this.film.steps);
    this.changed();
    this.focus();
  }

  /** The engine does by itself what is not asked, up to the next question. */
  play() {
    const next = this.open()[0], end = next ? next.k - 1 : this.film.steps;
    if (this.still.matches || end - this.stage.k > 12) {
      this.stage.go(end);
      this.changed();
      return this.focus();
    }
    const had = this.focused;
    this.playing = setInterval(() => {
      if (this.stage.k < end) this.stage.go(this.stage.k + 1);
      if (this.stage.k < end) return;
      this.halt();
      this.changed();
      if (had || this.focused) this.focus();
    }, PACE);
    this.changed();
  }

  halt() {
    clearInterval(this.playing);
    this.playing = null;
  }

  /** A round from the start. */
  again() {
    this.set("_run", this.run + 1);
    this.set("_seen", 0);
    this.stage.go(0);
    this.model.save_changes();
    this.changed();
    this.focus();
  }

  /** Change the mode. What is on screen now cannot be predicted; at the end it begins anew. */
  enter(mode) {
    this.halt();
    this.reviewing = null;
    this.set("mode", mode);
    this.set("_seen", this.stage.k);
    this.entering = mode !== "watch" && !this.questions;
    if (mode !== "watch" && this.questions && !this.open().length) {
      if (this.log.some((r) => r.run === this.run)) this.set("_run", this.run + 1);
      this.set("_seen", 0);
      this.stage.go(0);
    }
    this.model.save_changes();
    if (this.entering) {
      clearTimeout(this.patience);
      this.patience = setTimeout(() => {
        if (this.entering) this.question.textContent = "No questions came: this needs a running kernel, or an export made with predict=True.";
      }, 4000);
    }
    this.changed();
  }

  close() {
    this.halt();
    clearTimeout(this.patience);
    for (const [name, listener] of this.listeners) this.model.off(`change:${name}`, listener);
  }
}
