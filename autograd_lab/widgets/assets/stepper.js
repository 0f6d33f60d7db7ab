// The stepper: draws one film (widgets/frames.py) and walks through it. No framework, no build step; it asks its
// host for nothing but the anywidget model (get, set, on, off, save_changes), so the same file runs in exports.
import { alike, at, clamp, phase, sameKind, say, stop } from "./core.js";
import { Room } from "./classroom.js";
import { showCompare } from "./compare.js";
import { Cost } from "./cost.js";
import { Curves } from "./curves.js";
import { attr, button, focusable, h, icon, write } from "./dom.js";
import { Editor } from "./edit.js";
import { hideStill } from "./host.js";
import { Graph } from "./graph.js";
import { Level } from "./levels.js";
import { Panels } from "./panels.js";
import { Quiz } from "./predict.js";
import { Presenter } from "./presenter.js";
import { Slider } from "./slider.js";
import { showStatic } from "./static.js";
import { Table } from "./table.js";
import { changed, decode } from "./wire.js";

const LEAST_SEEN = 60; // of the picture, in pixels: with less in view it does not matter what that is
const SPEEDS = [["0.5", "0.5\u00d7"], ["1", "1\u00d7"], ["2", "2\u00d7"], ["4", "4\u00d7"], ["10", "10\u00d7"]];

class Stage {
  /** `slider` goes from stage to stage; `before` is a closed stage, whose place in the page this one takes. */
  constructor(model, el, film, slider = null, before = null) {
    this.model = model;
    this.film = film;
    this.slider = slider;
    if (slider) slider.stage = this;
    this.k = clamp(model.get("position"), 0, this.film.steps);
    this.wanted = model.get("position") > this.k ? model.get("position") : null; // a step that is still on its way
    this.onscroll = () => { this.scrolled ??= requestAnimationFrame(() => { this.scrolled = null; this.uncover(); }); };
    this.level = new Level(this);
    this.cost = new Cost(this);
    this.graph = new Graph(this);
    this.editor = new Editor(this);
    this.panels = new Panels(this);
    this.table = new Table(this);
    this.quiz = new Quiz(this);
    this.presenter = new Presenter(this);
    this.curves = film.curves ? new Curves(this) : null;
    this.build(before);
    this.relevel();
    this.quiz.watch(this.graph.svg);
    if (!this.root.isConnected) el.append(this.root);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.graph.root);
    this.docked = new ResizeObserver(() => this.uncover()); // a question opens or closes
    this.docked.observe(this.quiz.root);
    document.addEventListener("scroll", this.onscroll, { capture: true, passive: true });
    this.moved = new IntersectionObserver(this.onscroll, { threshold: [0.2, 0.4, 0.6, 0.8, 1] }); // by what grew above it
    this.moved.observe(this.graph.svg);
    this.sent = this.k;
    this.onposition = () => { // not for the echo of what this view sent, which may come when it has gone on
      const k = model.get("position");
      if (k !== this.sent && k !== this.k) { clearTimeout(this.saving); this.unsaved = false; this.sent = k; this.show(k, false); }
    };
    model.on("change:position", this.onposition);
    this.resize();
  }

  // ---- the page ---------------------------------------------------------------------------------------------

  build(before) {
    this.narration = h("div", { class: "agl-say", role: "status", "aria-live": "polite" });
    this.phases = ["forward", "backward"].map((name) => h("span", { class: `agl-phase agl-phase-${name}` }, name));
    this.mode = h("span", { class: "agl-mode" });
    this.title = h("span", { class: "agl-title" }, this.film.title);
    this.head = h("div", { class: "agl-head" }, h("span", { class: "agl-phases", "aria-label": "Phase" }, ...this.phases), this.mode, this.title, this.level.select, this.quiz.select, this.tabs(), this.graph.lens, this.editor.undo, this.presenter.buttons);
    if (this.curves) this.graph.root.append(this.curves.root);
    this.root = before?.root ?? h("div", { class: "agl-root" }, h("div", { class: "agl", role: "group", "aria-label": "Autograd stepper" }, this.slider?.root ?? ""));
    this.frame = this.root.firstChild;
    this.frame.onkeydown = (e) => this.key(e);
    this.frame.setAttribute("aria-busy", String(Boolean(this.film.coming)));
    this.frame.removeAttribute("data-cost");
    this.place([this.head, h("div", { class: "agl-body" }, this.graph.root, this.table.root, this.panels.root, this.cost.root), this.editor.message],
      [this.narration, h("div", { class: "agl-dock" }, this.quiz.root, this.controls()), this.panels.zoom.root, this.presenter.veil, this.presenter.sheet]);
  }

  /** Put the parts around the slider, which never leaves the page: it would fall from the hand that drags it. */
  place(above, below) {
    const fixed = this.slider?.root;
    for (const child of [...this.frame.childNodes]) if (child !== fixed) child.remove();
    this.frame.prepend(...above);
    this.frame.append(...below);
  }

  /** Another film of the same graph: its numbers take the place of those on screen, and everything stays where it is. */
  take(film) {
    const { focus } = this.editor;
    this.editor.shut?.();
    this.graph.take(film); // which keeps the film's object: all parts have it
    for (const part of [this.panels, this.table]) part.renew();
    if (this.curves) {
      const old = this.curves.root;
      this.curves = new Curves(this);
      this.curves.root.hidden = old.hidden;
      old.replaceWith(this.curves.root);
    }
    this.refresh();
    this.editor.buttons.get(focus)?.focus({ preventScroll: true });
  }

  // ---- views beside the graph: the table, reasons on boxes ---------------------------------------------------

  tabs() {
    this.views = Object.fromEntries(["Graph", "Table", "Cost"].map((name) => [name, h("button", focusable({ type: "button", role: "tab", class: "agl-tab", onclick: () => this.view(name) }), name)]));
    this.view("Graph");
    return h("span", { class: "agl-tabs", role: "tablist", "aria-label": "View" }, ...Object.values(this.views));
  }

  view(name) {
    const table = name === "Table", cost = name === "Cost";
    this.viewed = name;
    for (const [key, tab] of Object.entries(this.views)) tab.setAttribute("aria-selected", String(key === name));
    this.frame?.toggleAttribute("data-cost", cost); // bars at the nodes
    this.cost.root.hidden = !cost;
    this.panels.root.hidden = cost;
    this.table.root.hidden = !table;
    this.graph.root.hidden = this.graph.lens.hidden = table;
    if (this.narration.isConnected) this.resize();
  }

  /** Show as much as the level says. In the simple one a step is a node. */
  relevel() {
    const { name } = this.level, simple = name === "simple", { panels } = this;
    this.level.select.value = name;
    this.frame.setAttribute("data-level", name);
    this.views.Cost.hidden = !this.level.has("saved");
    if (simple || (this.views.Cost.hidden && this.cost.active)) this.view("Graph");
    this.by.value = simple ? "node" : this.model.get("by") ?? "event";
    panels.relevel(simple);
    if (this.curves) this.curves.root.hidden = !this.loops && !this.level.has("all"); // two passes are no training yet
    if (this.root.isConnected) this.resize();
  }

  /** What was chosen in the graph: a unit ({ unit }), an edge ({ edge }), or null. */
  pick(what) { this.panels.pick(what); }

  controls() {
    const film = this.film;
    this.playing = null;
    this.buttons = {
      first: button("First", [icon("first")], () => this.go(0)),
      back: button("Step back", [icon("back")], () => this.move(-1)),
      step: button("Step", [icon("step"), h("span", {}, "Step")], () => this.move(1), { class: "agl-primary" }),
      play: button("Play", [icon("play"), h("span", {}, "Play")], () => this.toggle()),
      last: button("Last", [icon("last")], () => this.go(film.coming ? Infinity : film.steps)),
      up: button("Previous node", [icon("up"), h("span", {}, "node")], () => this.go(stop(film, this.k, -1))),
      down: button("Next node", [icon("down"), h("span", {}, "node")], () => this.go(stop(film, this.k, 1))),
      kind: button("Next event of this kind", [icon("kind")], () => this.go(sameKind(film, this.k))),
      before: button("Previous iteration", [icon("up")], () => this.go(stop(film, this.k, -1, film.turns)), { title: "Previous iteration (Shift + Page Up)" }),
      after: button("Next iteration", [icon("down"), h("span", {}, "iteration")], () => this.go(stop(film, this.k, 1, film.turns)), { title: "Next iteration (Shift + Page Down)" }),
    };
    const parts = [];
    for (let k = 0; k <= film.steps;) {
      const p = phase(film, k), of = (x) => `${((100 * x) / Math.max(film.steps, 1)).toFixed(2)}%`;
      parts.push(`var(--agl-${p.name === "forward" ? "blue" : "verm"}) ${of(p.from)} ${of(p.to)}`);
      k = p.to + 1;
    }
    this.range = h("input", focusable({ type: "range", min: 0, max: Math.max(film.steps, film.coming ?? 0), value: this.k, "aria-label": "Position", class: "agl-range",
      style: `--agl-track: linear-gradient(90deg, ${parts.join(", ")})`, oninput: () => this.go(Number(this.range.value)) }));
    this.count = h("span", { class: "agl-count" });
    this.by = h("select", focusable({ "aria-label": "Step by", title: "What one step is", onchange: () => { this.model.set("by", this.by.value); this.save(); } }),
      h("option", { value: "event" }, "by event"), h("option", { value: "node" }, "by node"), ...(this.loops ? [h("option", { value: "iteration" }, "by iteration")] : []));
    this.by.value = this.model.get("by") ?? "event";
    this.speed = h("select", focusable({ "aria-label": "Speed", title: "Speed of Play", onchange: () => { if (this.playing) { this.toggle(); this.toggle(); } } }),
      ...SPEEDS.map(([value, text]) => h("option", { value }, text)));
    this.speed.value = "1";
    const b = this.buttons;
    return h("div", { class: "agl-controls" },
      h("span", { class: "agl-set" }, b.first, b.back, b.step, b.play, b.last),
      h("span", { class: "agl-set" }, b.up, b.down, b.kind),
      ...(this.loops ? [h("span", { class: "agl-set agl-loop" }, b.before, b.after)] : []),
      this.range, this.count, this.by, this.speed);
  }

  // ---- moving -----------------------------------------------------------------------------------------------

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (this.presenter.key(event)) { event.preventDefault(); event.stopPropagation(); return; }
    const on = event.target.tagName, stops = event.shiftKey && this.loops ? this.film.turns : this.film.stops, keys = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), Home: () => this.go(0), End: () => this.go(this.film.steps),
      PageDown: () => this.go(stop(this.film, this.k, 1, stops)), PageUp: () => this.go(stop(this.film, this.k, -1, stops)),
      " ": on === "BUTTON" || on === "SELECT" ? null : () => this.toggle(),
      Escape: () => (this.panels.picked.what ? this.pick(null) : this.root.closest(".jp-Notebook")?.focus()),
    };
    const action = on === "SELECT" && event.key.startsWith("Arrow") ? null : keys[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  /** Whether the program is a loop whose iterations can be stepped by. */
  get loops() { return this.film.turns?.length > 1; }

  move(direction) {
    const stops = { node: this.film.stops, iteration: this.film.turns }[this.by.value];
    this.go(stops ? stop(this.film, this.k, direction, stops) : this.k + direction);
  }

  go(k) {
    this.wanted = this.film.coming && k > this.film.steps ? k : null;
    const wanted = clamp(k, 0, this.film.steps);
    this.quiz.later = null;
    k = this.quiz.limit(wanted); // not over an open question
    if (k < wanted && this.playing) this.toggle();
    if (k !== this.k) {
      this.quiz.saw(k);
      this.show(k);
      this.save();
      this.quiz.arrive();
    } else if (k < wanted) {
      this.range.value = k; // it has been dragged over the question
      this.quiz.insist(wanted);
    }
  }

  /** Tell the kernel where we are, soon; while the rest is coming only then: the page may not know yet which thread of the kernel is free, and what waits for a busy one holds back all that is sent later. */
  save() {
    clearTimeout(this.saving);
    this.unsaved = true;
    if (this.film.coming) return;
    this.saving = setTimeout(() => {
      this.unsaved = false;
      this.sent = this.k;
      this.model.set("position", this.k);
      this.model.save_changes();
    }, 60);
  }

  toggle() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.k === this.film.steps) this.go(0);
      this.playing = setInterval(() => {
        this.move(1);
        if (this.k === this.film.steps) this.toggle();
      }, 1000 / Number(this.speed.value));
    }
    const label = this.playing ? "Pause" : "Play";
    this.buttons.play.replaceChildren(icon(label.toLowerCase()), h("span", {}, label));
    this.buttons.play.setAttribute("aria-label", label);
    this.buttons.play.title = label;
  }

  /** Tell the graph what lies over it: the controls stay at the window's edge, with the question. */
  uncover(now = true) {
    const { top, bottom, height } = this.graph.svg.getBoundingClientRect(), page = this.root.closest(".jp-WindowedPanel-outer")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    let head = Math.max(0, page.top - top), foot = Math.max(0, bottom - page.bottom);
    for (const part of [this.quiz.root, this.range.parentElement]) {
      const box = part.getBoundingClientRect();
      if (box.height && box.top > top) foot = Math.max(foot, bottom - box.top);
      else if (box.height) head = Math.max(head, box.bottom - top);
    }
    if (height) this.graph.cover(height - head - foot < LEAST_SEEN ? [0, 0] : [head / height, foot / height], now);
  }

  resize() {
    this.graph.resize();
    this.uncover(false);
    this.panels.resize();
    if (this.table.active) this.table.resize();
    this.show(this.k, false);
  }

  // ---- showing ----------------------------------------------------------------------------------------------

  /** Show step k. `travel`: whether the camera may glide and gradients ride. */
  show(k, travel = true) {
    const forward = k === this.k + 1;
    if (k !== this.k) this.panels.picked.what = null; // the step says what to look at
    this.k = clamp(k, 0, this.film.steps);
    this.kind = this.film.kinds[this.film.kind[this.k]];
    this.quiz.look();
    this.graph.show(travel, forward);
    this.text();
    this.quiz.show();
    this.onscroll();
  }

  /** The same step once more: what may be seen, or its numbers, have changed. */
  refresh() {
    if (this.frame) this.show(this.k, false);
  }

  text() {
    const film = this.film, k = this.k, p = phase(film, k);
    const words = this.quiz.words(k) ?? say(film, k);
    write(this.narration, words);
    write(this.count, `${k} / ${!film.coming ? film.steps : film.coming > 0 ? film.coming : "\u2026"}`);
    this.range.value = k;
    attr(this.range, "aria-valuetext", `step ${k} of ${film.steps}, ${p.name}`);
    this.phases.forEach((el, i) => attr(el, "data-on", p.name === ["forward", "backward"][i] ? "1" : "0"));
    write(this.phases[1], p.pass > 1 ? `backward ${p.pass}` : "backward");
    attr(this.frame, "data-phase", p.name);
    this.frame.toggleAttribute("data-stopped", this.kind === "error");
    write(this.mode, film.coming && (k === film.steps || this.wanted !== null) ? "the steps after this one are on their way" : at(film.gradMode, k) === 0 ? "no_grad: recording is off" : "");
    const end = k === film.steps && !film.coming;
    for (const [name, off] of [["first", k === 0], ["back", k === 0], ["up", k === 0], ["step", end], ["last", end], ["down", end], ["before", k === 0], ["after", end]]) {
      attr(this.buttons[name], "aria-disabled", String(off));
    }
    this.panels.show(p);
    this.table.show();
    this.cost.show();
    this.curves?.show(k);
  }

  /** Take up what `close` of the stage before told: where the focus was, and whether it filled the screen. */
  resume({ focus, viewed, curtain, presenting, opened, groups, wanted, playing, unsaved }) {
    if (unsaved) this.save();
    if (groups === this.film.groups.length) this.graph.reopen(opened, this.graph.focused());
    if (wanted !== null) this.go(Math.min(wanted, this.film.steps));
    if (playing) this.toggle();
    if (viewed !== this.viewed) this.view(viewed);
    this.presenter.curtain(curtain);
    if (presenting) this.presenter.enter();
    if (!focus) return;
    const edit = this.editor.buttons.get(focus), pane = this.panels.leafpane;
    (edit ?? this.graph.svg).focus({ preventScroll: true });
    if (edit) pane.scrollTop = edit.closest("tr").offsetTop - pane.clientHeight / 2; // the table alone: the page stays where it is
  }

  close() {
    const focus = this.editor.focus, presenting = this.presenter.on, playing = this.playing !== null;
    clearInterval(this.playing);
    clearTimeout(this.saving);
    this.graph.close();
    for (const part of [this.quiz, this.presenter, this.editor, this.level, this.cost]) part.close();
    this.observer.disconnect();
    this.docked.disconnect();
    this.moved.disconnect();
    document.removeEventListener("scroll", this.onscroll, { capture: true });
    cancelAnimationFrame(this.scrolled);
    this.model.off("change:position", this.onposition);
    return { root: this.root, focus, viewed: this.viewed, curtain: !this.presenter.veil.hidden, presenting, opened: this.graph.opened, groups: this.film.groups.length, wanted: this.wanted, playing: playing && this.film.coming, unsaved: this.unsaved && this.film.coming };
  }
}

const FILM = ["_film", "_change"]; // what the kernel sends of it

/** The film of a model: one that came whole, and how the one that is shown differs from it. */
class Whole {
  constructor(model) { this.model = model; }

  get now() { return FILM.map((name) => this.model.get(name)).join(); }

  /** Null if it is the one that was asked for last, or has become another meanwhile. */
  async film() {
    const { now } = this, [text, change] = FILM.map((name) => this.model.get(name));
    if (this.was === now) return null;
    if (this.text !== text) {
      const base = await decode(text);
      if (this.now !== now) return null;
      Object.assign(this, { base, text });
    }
    this.was = now;
    return change ? changed(this.base, JSON.parse(change)) : { ...this.base }; // a stage writes into its film
  }
}

export default {
  async render({ model, el }) {
    const showStill = hideStill(el, model);
    if (model.get("_pairs")) {
      const close = await showCompare(model, el, (own, half, film) => new Stage(own, half, film));
      return () => { close(); showStill(); };
    }
    if (model.get("_static")) {
      const close = await showStatic(model, el);
      return () => { close(); showStill(); };
    }
    const whole = new Whole(model);
    let film;
    while (!film) film = await whole.film();
    if (model.get("_poll")) {
      const room = new Room(model, el, await decode(model.get("_poll")), (place) => new Stage(model, place, film));
      return () => { room.close(); showStill(); };
    }
    const slider = new Slider(model);
    let stage = new Stage(model, el, film, slider);
    slider.put = (film) => { // an input was changed, or the rest of the film came: another film, at the same place
      const old = stage.film, { coming, steps } = old;
      if (!coming && stage.quiz.mode === "watch" && alike(old, film)) { stage.take(film); return; }
      if (coming) model.set("position", stage.k);
      const before = stage.close();
      stage = new Stage(model, el, film, slider, before);
      if (!coming) slider.turned(steps, film.steps);
      stage.resume(before);
    };
    let due; // the picture of the next frame: the newest film, after the kernel was asked for the one that follows
    const replace = () => {
      due ??= requestAnimationFrame(async () => {
        due = null;
        const film = await whole.film();
        if (film) slider.put(film); // else it is shown, or a newer one comes
        slider.show();
      });
    };
    slider.coming = () => whole.now !== whole.was;
    for (const name of FILM) model.on(`change:${name}`, replace);
    return () => {
      cancelAnimationFrame(due);
      for (const name of FILM) model.off(`change:${name}`, replace);
      slider.close();
      stage.close();
      showStill();
    };
  },
};
