// For a room: full screen with large type, a curtain over the numbers, and the list of keys.
import { SMALLEST } from "./core.js";
import { button, h } from "./dom.js";

const LARGE = 2.2; // the drawing's magnification: its 12 px text becomes 20 px and more
const WHOLE = 0.84; // the least scale at which that holds for the whole graph; below it the camera follows

const NARROW = [960, 1240]; // so wide, the leaf table stands below the graph: beside it there is room for a program of a dozen lines then

const KEYS = [
  ["\u2192 \u2190", "next, previous event"], ["Page Down, Page Up", "next, previous node (a clicker's buttons)"], ["Shift + Page Down, Page Up", "next, previous iteration of a loop"], ["Space", "play, pause"],
  ["Home, End", "to the beginning, to the end"], ["P or F", "presenter: full screen and large type"],
  ["C, B or .", "curtain over the numbers"], ["1 \u2026 9", "choose an offered answer"], ["Enter", "commit an answer, go on"],
  ["\u2191 \u2193", "in the graph: along an edge, to what a box is made of or used by"], ["[ ]", "in the graph: to the box before, after"], ["e E", "in the graph: to the next, previous edge of the box"],
  ["Enter, + \u2212", "in the graph: open, close a group"], ["/ n N", "in a large graph: find, next, previous match"],
  ["?", "this list"], ["Esc", "close, leave full screen, back to the notebook"],
];

export class Presenter {
  constructor(stage) {
    this.stage = stage;
    this.on = false;
    this.buttons = h("span", { class: "agl-tools" },
      button("Present", ["Present"], () => this.toggle(), { title: "Full screen with large type (P)", "aria-pressed": "false" }),
      button("Keys", ["?"], () => this.help(), { title: "All keys (?)" }));
    this.veil = h("div", { class: "agl-veil", hidden: "", role: "note" }, "The numbers are behind the curtain. ", h("kbd", {}, "C"), " lifts it.");
    this.sheet = this.makeSheet();
    this.onchange = () => { if (this.on && this.full && !document.fullscreenElement) this.leave(); };
    document.addEventListener("fullscreenchange", this.onchange);
  }

  makeSheet() {
    const rows = KEYS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, keys)), h("td", {}, what)));
    this.shut = button("Close", ["Close"], () => this.help(false), { class: "agl-primary" });
    return h("div", { class: "agl-sheet", role: "dialog", "aria-modal": "true", "aria-label": "Keys", hidden: "" },
      h("div", { class: "agl-sheet-in" }, h("table", {}, h("tbody", {}, ...rows)), this.shut));
  }

  /** Keys that are its own; whether it took the event. */
  key({ key }) {
    if (!this.sheet.hidden) {
      if (["Escape", "?", "Enter", " "].includes(key)) this.help(false);
      return key !== "Tab" || (this.shut.focus(), true);
    }
    if (key === "Escape" && this.on) this.leave();
    else if (/^[pf]$/i.test(key)) this.toggle();
    else if (/^[cb.]$/i.test(key)) this.curtain();
    else if (key === "?") this.help();
    else return false;
    return true;
  }

  help(open = this.sheet.hidden) {
    const root = this.sheet.getRootNode();
    if (open) this.before = root.activeElement;
    this.sheet.hidden = !open;
    (open ? this.shut : this.before ?? this.stage.graph.svg).focus();
  }

  curtain(drawn = this.veil.hidden) {
    this.veil.hidden = !drawn;
    this.stage.frame.setAttribute("data-curtain", drawn ? "1" : "0");
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  async enter() {
    const { root, frame, graph } = this.stage, focused = root.getRootNode().activeElement;
    this.on = true;
    frame.setAttribute("data-present", "1");
    root.classList.add("agl-filled");
    graph.magnify = LARGE;
    graph.least = WHOLE;
    try {
      await root.requestFullscreen();
      this.full = true;
    } catch { // not allowed here, as in some frames: fill the window instead
      this.full = false;
      this.place = document.createComment("stepper");
      root.replaceWith(this.place);
      document.body.append(root);
    }
    this.settle(focused);
  }

  leave() {
    const { root, frame, graph } = this.stage, focused = root.getRootNode().activeElement;
    this.on = false;
    if (this.full && document.fullscreenElement) document.exitFullscreen();
    this.place?.replaceWith(root);
    this.place = null;
    frame.removeAttribute("data-present");
    root.classList.remove("agl-filled");
    graph.magnify = 1;
    graph.least = SMALLEST;
    this.curtain(false);
    this.settle(focused);
  }

  /** Draw at the new size, with the focus where it was. */
  settle(focused) {
    const { root, graph, panels } = this.stage;
    this.buttons.firstChild.setAttribute("aria-pressed", String(this.on));
    const wide = root.clientWidth, below = this.on && NARROW[0] < wide && wide < NARROW[1];
    (below ? graph.root : panels.root.lastChild).append(panels.leafpane);
    graph.chosen = false; // whole graph or close-up: to be decided anew
    graph.free = false;
    graph.resize();
    this.stage.resize();
    (root.contains(focused) ? focused : graph.svg).focus({ preventScroll: true });
  }

  close() {
    document.removeEventListener("fullscreenchange", this.onchange);
    if (this.place) { this.place.remove(); this.stage.root.remove(); }
  }
}
