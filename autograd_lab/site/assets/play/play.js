// The playground: a program in an editor, Python in a worker, and the stepper of what it recorded. Program and step stand in the address.
import { DamagedLink, digest, fromFragment, MOST, toFragment } from "./address.js";
import { Editor } from "./editor.js";
import { Python } from "./python.js";

const at = (id) => document.getElementById(`play-${id}`);
const kit = JSON.parse(at("kit").textContent);
const asked = new URLSearchParams(location.search);
const EMBEDDED = asked.has("embed");
const MOST_FILE = 200_000; // bytes of a program that is opened from a file
const limits = { seconds: inside(asked.get("limit"), 0.5, 10), events: inside(asked.get("events"), 10, 20_000) };
const NO_PYTHON = "This copy of the site was made without Python: programs of the gallery can be stepped through, others cannot run.";
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);

/** A limit that the address may lower (for tests), and not raise. */
function inside(text, least, most) {
  return Number.isFinite(parseFloat(text)) ? Math.min(Math.max(parseFloat(text), least), most) : most;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** What is to be said about an error that has to do with this place (play.py); nothing if it speaks for itself. */
function here(error) {
  const found = kit.sentences.find(([pattern]) => new RegExp(pattern).test(error));
  return found ? [make("p", {}, found[1])] : [];
}

class Play {
  constructor() {
    this.step = 0;
    this.ran = null; // the program whose stepper is shown
    this.linked = null; // the program that the address named: its step counts when it is run
    this.editor = new Editor(at("editor"), () => this.edited());
    this.python = kit.python ? new Python(kit.python, limits, (what, detail) => this.heard(what, detail)) : null;
    at("run").onclick = () => this.run();
    at("stop").onclick = () => this.python.stop();
    at("link").onclick = () => this.copy("link");
    at("iframe").onclick = () => this.copy("iframe");
    at("save").onclick = at("long").querySelector("button").onclick = () => this.save();
    at("out").onclick = async () => { at("out").href = `index.html${location.hash}`; };
    at("open").onclick = () => at("file").click();
    at("file").onchange = () => { this.openFile(at("file").files[0]); at("file").value = ""; };
    at("edit").onclick = () => this.showEditor(!document.documentElement.classList.contains("play-editing"));
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      event.preventDefault();
      this.run();
    });
    addEventListener("hashchange", () => this.follow());
    for (const kind of ["dragover", "drop"]) {
      at("editor").addEventListener(kind, (event) => {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        if (kind === "drop") this.openFile(event.dataTransfer.files[0]);
      });
    }
    at("run").setAttribute("aria-disabled", String(!this.python));
  }

  // ---- the address ------------------------------------------------------------------------------------------

  /** Show what the address says: at the beginning, and when somebody enters another one. */
  async follow() {
    if (location.hash === this.written) return;
    try {
      const found = await fromFragment(location.hash);
      await this.open(found?.program ?? kit.sample, found?.step ?? 0);
    } catch (error) {
      if (!(error instanceof DamagedLink)) throw error;
      await this.open("", 0);
      this.say(error.message, true);
    }
  }

  /** Put a program into the editor, and its stepper below if the site has its trace. It does not run. */
  async open(program, step) {
    program = program.replace(/\r\n?/g, "\n"); // as the field itself has it
    this.python?.stop();
    this.editor.value = program;
    this.clear();
    this.step = step;
    this.linked = program;
    this.say(this.python ? "" : NO_PYTHON);
    const trace = kit.traces[await digest(program)];
    if (trace) {
      const answer = await fetch(trace);
      if (answer.ok && this.editor.value === program) {
        const { traits, why } = await answer.json();
        await this.show(program, traits, why ?? []);
      }
    }
    if (EMBEDDED) this.showEditor(!trace);
  }

  edited() {
    this.stale();
    this.written = null;
    this.address();
  }

  /** Bring the address up to date, soon. */
  address() {
    clearTimeout(this.addressing);
    this.addressing = setTimeout(() => this.writeAddress(), 400);
  }

  async writeAddress() {
    clearTimeout(this.addressing);
    const fragment = await toFragment(this.editor.value, this.ran === this.editor.value || this.linked === this.editor.value ? this.step : 0);
    const fits = fragment.length <= MOST;
    this.written = fits ? fragment : "";
    at("long").hidden = fits;
    at("long").firstElementChild.textContent = fits ? "" : `A link to this program would have ${fragment.length.toLocaleString("en")} characters, and many programs cut links after ${MOST.toLocaleString("en")}. Pass it on as a file: `;
    try {
      history.replaceState(null, "", fits ? fragment : location.pathname + location.search);
    } catch (error) {
      if (error.name !== "SecurityError") throw error; // in a frame without an origin, or more often than the browser allows
    }
    return fits ? `${location.href.split("#")[0]}${fragment}` : null;
  }

  async copy(what) {
    const link = await this.writeAddress();
    if (!link) return at("long").querySelector("button").focus();
    const plain = link.replace(/\?[^#]*/, "");
    const text = what === "link" ? plain : `<iframe src="${plain.replace("#", "?embed#")}" title="A program, step by step" width="100%" height="620" loading="lazy" allow="clipboard-write" style="border: 0"></iframe>`;
    const field = at("copied");
    try {
      await navigator.clipboard.writeText(text);
      this.say(what === "link" ? "The link is copied: it opens this program at this step." : "The frame is copied: put it into a page, and it opens this program at this step.");
      field.hidden = true;
    } catch (error) { // no permission, or no safe address
      field.hidden = false;
      field.value = text;
      field.select();
      this.say(`The browser did not allow to copy (${error.name}). Here it is, selected:`);
    }
    return undefined;
  }

  // ---- files ------------------------------------------------------------------------------------------------

  save() {
    const link = make("a", { href: URL.createObjectURL(new Blob([this.editor.value], { type: "text/x-python" })), download: "program.py" });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async openFile(file) {
    if (!file) return;
    if (file.size > MOST_FILE) return this.say(`${file.name} has ${megabytes(file.size)} MB: that is no program for this place.`, true);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      await this.open(text, 0);
      this.address();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.say(`${file.name} is not a text in UTF-8, so it cannot be opened here.`, true);
    }
    return undefined;
  }

  // ---- running ----------------------------------------------------------------------------------------------

  run() {
    if (!this.python) return this.say(NO_PYTHON, true);
    if (this.python.busy && this.python.state !== "sliding") return undefined;
    this.clear();
    this.running = this.editor.value;
    this.python.run(this.running);
    return undefined;
  }

  heard(what, detail) {
    const { python } = this;
    if (what === "slid") { this.slid(detail); if (at("stop").hidden) return; }
    at("stop").hidden = !(python.busy || typeof python.wanted === "string");
    at("run").setAttribute("aria-disabled", String(python.busy));
    if (what === "sliding") this.say("The program is running with another number.");
    else if (what === "slid") this.say("Python is ready.");
    const then = typeof python.wanted === "string" ? " Your program runs as soon as it is there." : "";
    if (what === "loading") this.say(`Python is loading: ${megabytes(detail.loaded)}${detail.size ? ` of ${megabytes(detail.size)}` : ""} MB.${then}`);
    else if (what === "starting" || what === "waiting") this.say(`Python is starting.${then}`);
    else if (what === "ready") this.say("Python is ready.");
    else if (what === "running") this.say("The program is running.");
    else if (what === "drawing") this.say("The program has run. Its steps are being drawn.");
    else if (what === "printed") this.print(detail);
    else if (what === "stopped") this.stopped(detail);
    else if (what === "failed") this.say(detail, true);
    else if (what === "done") this.done(detail);
  }

  stopped(reason) {
    this.halted = {
      stop: "Stopped. Python starts afresh.",
      time: `Stopped after ${limits.seconds} seconds: does a loop never end? Python starts afresh.`,
      drawing: "The program has run, but drawing its steps took too long: let it do less. Python starts afresh.",
    }[reason];
    this.say(this.halted, reason !== "stop");
    if (this.sliding) this.slid({ error: this.halted });
  }

  // ---- sliders: the program runs with another number; the editor and the address keep it as it is written ----

  /** Run again for what the stepper asks, as a kernel would (widgets/rerun.py). */
  slide(model) {
    const { n, name, text, reset, ...more } = model.get("_edit");
    this.sliding = { n, model, values: reset ? {} : { ...this.values, [name]: text } };
    if (!this.python.slide(this.ran, { values: this.sliding.values, name, more: false, ...more })) this.slid({ error: "Python is not ready yet: try again when it is." });
  }

  slid(found) {
    const { n, model, values } = this.sliding ?? {}, { error, film, inputs, nudge } = found && typeof found === "object" ? found : { error: "The answer cannot be read." };
    this.sliding = null;
    if (!model || model !== this.stepper?.model) return; // another stepper is there by now
    if (!error && typeof film === "string" && Array.isArray(inputs)) {
      this.values = values;
      model.set({ _inputs: inputs, _film: film });
    }
    model.set("_edit_answer", { n, error: String(error ?? ""), nudge });
  }

  async done({ traits, why, error, events, cut, heavy, dead }) {
    const program = this.running;
    if (error) this.fail(error);
    const words = [];
    if (cut === "events") words.push(`Recording ended after ${events.toLocaleString("en")} steps, and the program with it. What was recorded until then is shown.`);
    if (cut === "time") words.push(`Recording ended after ${Number((0.9 * limits.seconds).toFixed(1))} seconds, and the program with it. The ${events.toLocaleString("en")} steps until then are shown.`);
    if (heavy) words.push("The program used more than 1 GB of memory, so Python starts afresh.");
    else if (dead) words.push("Python broke down with the program, so it starts afresh.");
    if (traits && typeof traits === "object") {
      if (program !== this.linked || !this.step) this.step = Number(traits.position) || 0;
      await this.show(program, traits, Array.isArray(why) ? why : [], Boolean(error));
    } else if (!error) words.push("The program has run, and there is nothing to step through: no operation on a tensor ran.");
    this.say(words.join(" ") || (error ? "The program stopped with an error." : "The program has run."), Boolean(error || cut));
    this.address();
  }

  print(text) {
    at("output").hidden = false;
    at("printed").append(text);
  }

  fail({ type, message, line, text }) {
    const where = Number.isInteger(line) && line > 0;
    this.editor.mark(where ? line : 0);
    this.editor.draw();
    at("error").hidden = false;
    at("error").replaceChildren(
      make("p", {}, make("strong", {}, `${type}`), where ? " in " : "", where ? this.lineButton(line) : "", message ? `: ${message}` : ""),
      ...here(`${type}: ${message}`),
      ...(text ? [make("details", {}, make("summary", {}, "Traceback"), make("pre", { tabindex: "0" }, String(text)))] : []),
    );
  }

  lineButton(line) {
    return make("button", { type: "button", class: "play-line", onclick: () => { this.showEditor(true); this.editor.go(line); } }, `line ${line}`);
  }

  // ---- showing ----------------------------------------------------------------------------------------------

  /** Remove what the last run showed. */
  clear() {
    this.closing = this.stepper;
    this.stepper = this.ran = this.halted = this.running = null;
    this.closing?.close();
    at("stepper").replaceChildren();
    at("printed").replaceChildren();
    for (const id of ["error", "why", "output", "copied", "stale"]) at(id).hidden = true;
    this.editor.mark(0);
    this.editor.draw();
  }

  stale() {
    at("stale").hidden = this.ran === null || this.ran === this.editor.value;
    for (const button of document.querySelectorAll(".play-change")) button.disabled = this.ran !== this.editor.value;
  }

  async show(program, traits, why, failed = false) {
    const { open } = await import("../assets/stepper.js");
    if (this.stepper) return;
    const known = Object.fromEntries(Object.entries(traits).filter(([name]) => TRAITS.has(name)));
    if (typeof known._film !== "string") return;
    this.ran = program;
    this.values = {};
    const live = this.python?.state === "ready" && program === this.running; // else it has not run here yet
    this.stepper = await open({ ...known, position: this.step, _kernel: live, _resting: this.python && !live ? "Press Run: then the slider moves the program." : "" }, at("stepper"));
    const { model } = this.stepper;
    model.on("change:_edit", () => this.slide(model));
    this.step = model.get("position");
    model.on("change:position", () => {
      this.step = model.get("position");
      this.address();
      this.reachable();
    });
    this.reachable();
    this.explain(why, failed);
    this.stale();
  }

  /** A sentence that is too long for its place can be scrolled by keyboard. */
  reachable() {
    const say = at("stepper").querySelector(".agl-say");
    if (say.scrollHeight > say.clientHeight) say.tabIndex = 0;
    else say.removeAttribute("tabindex");
  }

  explain(why, failed) {
    at("why").hidden = !why.length;
    if (!why.length) return;
    const choices = why.map((one, i) => make("button", { type: "button", "aria-pressed": "false", onclick: () => choose(i) }, make("code", {}, String(one.name)), make("span", {}, ` ${one.says}`)));
    const choose = (i) => {
      choices.forEach((choice, j) => choice.setAttribute("aria-pressed", String(i === j)));
      at("answer").replaceChildren(...this.answer(why[i]));
    };
    at("names").replaceChildren(...choices);
    const surprising = why.findIndex((one) => one.cause !== "as-computed");
    choose(failed ? 0 : Math.max(surprising, 0));
  }

  answer({ question, sentences, lines, fix, edits, step }) {
    const parts = [make("h3", {}, question), make("p", {}, sentences.join(" "))];
    if (lines.length) {
      parts.push(make("ul", {}, ...lines.map((line) => make("li", {}, line.source === kit.file ? this.lineButton(line.number) : `${line.source}, line ${line.number}`, " ", make("code", {}, line.text), line.what ? `: ${line.what}` : ""))));
    }
    if (fix) parts.push(make("p", {}, make("strong", {}, "What to do: "), fix));
    const buttons = [];
    if (Number.isInteger(step)) buttons.push(make("button", { type: "button", onclick: () => this.goto(step) }, "Show the step"));
    if (edits.length && edits.every((edit) => edit.source === kit.file)) {
      const preview = edits.map(({ number, text }) => `line ${number}: ${text || "remove it"}`).join("\n");
      buttons.push(make("button", { type: "button", class: "play-change", title: preview, onclick: () => this.change(edits) }, "Make this change"));
    }
    if (buttons.length) parts.push(make("p", { class: "play-buttons" }, ...buttons));
    return parts;
  }

  goto(step) {
    this.stepper?.model.set("position", step);
    at("stepper").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  change(edits) {
    if (this.editor.value !== this.ran) return;
    this.showEditor(true);
    for (const { number, text } of [...edits].sort((a, b) => b.number - a.number)) this.editor.replace(number, text);
    this.say("The program is changed. Press Run to see what it does now; Ctrl+Z takes the change back.");
  }

  showEditor(on) {
    document.documentElement.classList.toggle("play-editing", on);
    at("edit").setAttribute("aria-expanded", String(on));
    if (on) this.editor.draw();
  }

  say(text, loud = false) {
    const state = at("state");
    if (this.halted && !loud) text = text === "Python is ready." ? `${this.halted.split(" Python starts")[0]} Python is ready.` : this.halted;
    state.toggleAttribute("data-loud", loud || Boolean(this.halted));
    if (state.textContent !== text) state.textContent = text;
  }
}

// What a stepper on a trace has; a program could send more than that.
const TRAITS = new Set(["_asks", "_edit", "_edit_answer", "_film", "_inputs", "_kernel", "_quiz", "_run", "_seen", "_still", "by", "engine_log", "level", "mode", "predictions"]);

document.documentElement.classList.toggle("play-embed", EMBEDDED);
const play = new Play();
await play.follow();
document.documentElement.dataset.play = "open";

// Python is 21 MB: it comes while the visitor reads, but not where data are counted, and in a frame when somebody comes near it.
const soon = () => (globalThis.requestIdleCallback ?? ((call) => setTimeout(call, 500)))(() => play.python?.load(), { timeout: 3000 });
if (EMBEDDED || navigator.connection?.saveData || asked.get("preload") === "off") {
  for (const kind of ["pointerenter", "focusin"]) at("editor").addEventListener(kind, soon, { once: true });
} else if (document.visibilityState === "visible") soon();
else document.addEventListener("visibilitychange", soon, { once: true });
