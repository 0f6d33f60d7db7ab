// A question for a class: the program, its answers, a field for the hands of each, the vote and the second vote as bars.
// When the truth is shown the stepper on that program opens below. Keys do everything; widgets/poll.py is the same in Python.
import { button, focusable, h } from "./dom.js";

const VOTES = ["First vote", "Second vote"];

/** What each answer got of a vote: [{hands, percent}]; percent is null where nobody has voted. No drawing: tested in Node. */
export function shares(hands) {
  const total = hands.reduce((a, b) => a + b, 0);
  return hands.map((n) => ({ hands: n, percent: total ? Math.round((100 * n) / total) : null }));
}

/** The number of hands in what somebody typed: digits only, four at most. */
export const count = (text) => Number(text.replace(/\D/g, "").slice(0, 4));

export class Room {
  /** `open(el)` makes the stepper in an element. */
  constructor(model, el, poll, open) {
    this.model = model;
    this.poll = poll;
    this.open = open;
    this.letters = [..."ABCDEFGH"].slice(0, poll.answers.length);
    this.build();
    el.append(this.root, this.below);
    this.listeners = ["votes", "round", "revealed", "bars"].map((name) => [name, () => this.show()]);
    for (const [name, listener] of this.listeners) model.on(`change:${name}`, listener);
    this.onfull = () => { if (this.full && !document.fullscreenElement) this.leave(); };
    document.addEventListener("fullscreenchange", this.onfull);
    this.show();
  }

  // ---- the page ---------------------------------------------------------------------------------------------

  build() {
    const { poll } = this;
    this.turns = VOTES.map((name, i) => button(name, [name], () => this.vote(i + 1), { class: "agl-room-turn", title: `${name} (V)` }));
    this.present = button("Present", ["Present"], () => this.toggle(), { title: "Full screen with large type (P)", "aria-pressed": "false" });
    this.rows = poll.answers.map((answer, i) => this.row(answer, i));
    this.next = {
      bars: button("Show bars", ["Show bars"], () => this.set("bars", !this.model.get("bars")), { title: "Bars before the truth is known (G)", "aria-pressed": "false" }),
      again: button("Vote again", ["Vote again"], () => this.vote(2), { title: "After talking it over (V)" }),
      truth: button("Show the truth", ["Show the truth"], () => this.reveal(), { class: "agl-primary", title: "The truth, and the stepper (T)" }),
      through: button("Step through it", ["Step through it"], () => this.through(), { class: "agl-primary", title: "The stepper on this program (S)" }),
    };
    this.said = h("div", { class: "agl-room-said", role: "status" });
    this.refuted = h("div", { class: "agl-room-refuted", hidden: "" });
    const wide = Math.max(...poll.code.map((line) => line.length));
    const code = h("pre", focusable({ class: "agl-room-code", style: `--wide: ${Math.max(wide, 30)}`, tabindex: "0", "aria-label": "Program" }), poll.code.join("\n"));
    this.keys = h("div", { class: "agl-room-keys" }, "Keys: ", h("kbd", {}, this.letters.join(" ")), " an answer, ", h("kbd", {}, "\u2191 \u2193"), " hands, ", h("kbd", {}, "Enter"), " on, ",
      h("kbd", {}, "G"), " bars, ", h("kbd", {}, "V"), " vote again, ", h("kbd", {}, "T"), " truth, ", h("kbd", {}, "P"), " full screen");
    this.frame = h("div", { class: "agl agl-room", role: "group", "aria-label": `Question ${poll.id}`, onkeydown: (e) => this.key(e) },
      h("div", { class: "agl-head" }, h("b", { class: "agl-room-id" }, poll.id), h("span", { class: "agl-room-turns", role: "group", "aria-label": "Vote" }, ...this.turns), h("span", { class: "agl-title" }), h("span", { class: "agl-tools" }, this.present)),
      h("div", { class: "agl-room-body" },
        h("div", { class: "agl-room-question" }, h("p", { class: "agl-room-ask" }, poll.ask), code, this.refuted),
        h("ol", { class: "agl-room-answers", "aria-label": "Answers" }, ...this.rows.map((row) => row.root))),
      h("div", { class: "agl-room-foot" }, this.said, this.next.bars, this.next.again, this.next.truth, this.next.through), this.keys);
    this.root = h("div", { class: "agl-root" }, this.frame);
    this.below = h("div", { class: "agl-room-below" });
  }

  row(answer, i) {
    const letter = this.letters[i], change = (by) => this.put(i, this.votes()[i] + by);
    const input = h("input", focusable({ type: "text", inputmode: "numeric", autocomplete: "off", class: "agl-room-hands",
      oninput: () => this.put(i, count(input.value)), onfocus: () => input.select() }));
    const less = button(`One hand less for ${letter}`, ["\u2212"], () => change(-1)), more = button(`One hand more for ${letter}`, ["+"], () => change(1));
    const bars = VOTES.map((name, r) => {
      const bar = h("span", { class: `agl-room-bar agl-room-bar-${r + 1}` }), text = h("span", { class: "agl-room-number" });
      return { bar, text, root: h("div", { class: "agl-room-track" }, h("span", { class: "agl-room-vote" }, r ? "2nd" : "1st"), h("span", { class: "agl-room-rail" }, bar), text) };
    });
    const mark = h("span", { class: "agl-room-mark" }), why = h("p", { class: "agl-room-why", hidden: "" }, answer.why);
    const root = h("li", { class: "agl-room-answer" }, h("b", { class: "agl-room-letter", "aria-hidden": "true" }, letter),
      h("div", { class: "agl-room-what" }, h("code", {}, answer.text), mark, why), h("span", { class: "agl-room-entry" }, less, input, more),
      h("div", { class: "agl-room-bars" }, ...bars.map((one) => one.root)));
    return { root, input, less, more, bars, mark, why };
  }

  // ---- what can be done -------------------------------------------------------------------------------------

  votes() { return this.model.get("votes")[this.model.get("round") - 1]; }
  get done() { return this.model.get("revealed"); }
  get any() { return this.model.get("votes")[0].some((n) => n > 0); }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
    this.show();
  }

  put(i, hands) {
    if (this.done) return;
    const all = this.model.get("votes").map((row) => [...row]);
    all[this.model.get("round") - 1][i] = Math.min(Math.max(hands, 0), 9999);
    this.set("votes", all);
  }

  vote(round) {
    if (this.done || (round === 2 && !this.any)) return;
    this.set("round", round);
    this.rows[0].input.focus();
  }

  reveal() {
    if (!this.any || this.done) return;
    this.set("revealed", true);
    this.next.through.focus();
  }

  async through() {
    if (!this.stage) return;
    if (this.on) {
      if (this.full && document.fullscreenElement) await document.exitFullscreen();
      this.leave();
      await this.stage.presenter.enter();
    }
    this.below.scrollIntoView({ block: "start" });
    this.stage.graph.svg.focus({ preventScroll: true });
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { key, target } = event, i = this.rows.findIndex((row) => row.input === target), letter = this.letters.indexOf(key.toUpperCase());
    const act = {
      V: () => this.vote(this.model.get("round") === 1 ? 2 : 1), T: () => this.reveal(), S: () => this.through(), P: () => this.toggle(),
      G: () => { if (!this.done) this.set("bars", !this.model.get("bars")); },
      PAGEDOWN: () => (this.done ? this.through() : this.reveal()),
      ESCAPE: () => (this.on ? this.toggle() : this.root.closest(".jp-Notebook")?.focus()),
      ENTER: i < 0 ? null : () => (this.rows[i + 1]?.input ?? (this.model.get("round") === 1 ? this.next.again : this.next.truth)).focus(),
      ARROWUP: i < 0 ? null : () => this.put(i, this.votes()[i] + 1), ARROWDOWN: i < 0 ? null : () => this.put(i, this.votes()[i] - 1),
    }[key.toUpperCase()];
    if (letter >= 0) this.rows[letter].input.focus();
    else if (act) act();
    else {
      if (i >= 0 && key.length === 1 && /\D/.test(key)) event.preventDefault(); // a field takes digits
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- for a room -------------------------------------------------------------------------------------------

  async toggle() {
    const active = () => this.root.getRootNode().activeElement;
    let focused = active();
    if (this.on) {
      if (this.full && document.fullscreenElement) document.exitFullscreen();
      this.leave();
    } else {
      this.on = true;
      this.root.classList.add("agl-filled");
      this.frame.setAttribute("data-present", "1");
      try {
        await this.root.requestFullscreen();
        this.full = true;
        focused = active(); // the room may have gone on typing while the screen changed
      } catch { // not allowed here: fill the window instead
        focused = active();
        this.place = document.createComment("question");
        this.root.replaceWith(this.place);
        document.body.append(this.root);
      }
    }
    this.present.setAttribute("aria-pressed", String(this.on));
    (this.root.contains(focused) ? focused : this.rows[0].input).focus({ preventScroll: true });
  }

  leave() {
    this.on = this.full = false;
    this.place?.replaceWith(this.root);
    this.place = null;
    this.root.classList.remove("agl-filled");
    this.frame.removeAttribute("data-present");
    this.present.setAttribute("aria-pressed", "false");
  }

  // ---- showing ----------------------------------------------------------------------------------------------

  show() {
    const { poll, done } = this, all = this.model.get("votes"), round = this.model.get("round"), bars = done || this.model.get("bars");
    const parts = all.map(shares), voted = all.map((row) => row.some((n) => n > 0));
    this.frame.setAttribute("data-done", done ? "1" : "0");
    this.turns.forEach((turn, i) => {
      turn.setAttribute("aria-pressed", String(round === i + 1));
      turn.setAttribute("aria-disabled", String(done || (i === 1 && !this.any)));
    });
    this.rows.forEach((row, i) => {
      const letter = this.letters[i], hands = String(all[round - 1][i]);
      if (count(row.input.value) !== all[round - 1][i] || (row.input.value && row.input.value !== hands)) row.input.value = hands === "0" ? "" : hands;
      row.input.placeholder = "0";
      row.input.readOnly = done;
      row.input.setAttribute("aria-label", `Hands for ${letter}, ${poll.answers[i].text}: ${VOTES[round - 1].toLowerCase()}`);
      row.less.setAttribute("aria-disabled", String(done || all[round - 1][i] === 0));
      row.more.setAttribute("aria-disabled", String(done));
      row.bars.forEach((one, r) => {
        one.root.hidden = !bars || !voted[r];
        one.bar.hidden = !parts[r][i].hands;
        one.bar.style.width = `${parts[r][i].percent ?? 0}%`;
        one.text.textContent = voted[r] ? `${parts[r][i].hands} \u00b7 ${parts[r][i].percent} %` : "";
      });
      const is = !done ? "" : i === poll.truth ? "truth" : i === poll.trap ? "trap" : "";
      row.root.setAttribute("data-is", is);
      row.mark.textContent = { truth: "\u2713 the truth", trap: `\u2717 what ${poll.id} leads to` }[is] ?? "";
      row.why.hidden = !done || !(is || all.some((one) => one[i])); // nobody needs to know why nobody chose it
    });
    const { again, truth, through } = this.next;
    this.keys.hidden = this.next.bars.hidden = again.hidden = truth.hidden = done;
    through.hidden = !done;
    again.hidden ||= round === 2;
    for (const one of [again, truth]) one.setAttribute("aria-disabled", String(!this.any));
    this.next.bars.setAttribute("aria-pressed", String(bars));
    this.next.bars.textContent = bars ? "Hide bars" : "Show bars";
    this.next.bars.setAttribute("aria-label", this.next.bars.textContent);
    if (done) this.unlock();
    const total = (r) => all[r].reduce((a, b) => a + b, 0);
    const words = done ? `The answer is ${this.letters[poll.truth]}: ${poll.answers[poll.truth].text}.`
      : !this.any ? "The truth and the stepper open when hands have been counted."
      : `${VOTES[round - 1]}: ${total(round - 1)} ${total(round - 1) === 1 ? "hand" : "hands"}.${round === 2 && !bars ? ` In the first there were ${total(0)}.` : ""}`;
    if (this.said.textContent !== words) this.said.textContent = words;
  }

  unlock() {
    if (this.stage) return;
    this.refuted.hidden = false;
    this.refuted.replaceChildren(h("p", {}, h("b", {}, "You may think "), `that ${this.poll.believes}.`), h("p", {}, h("b", {}, "That is not what happens. "), this.poll.refutes));
    this.stage = this.open(this.below);
  }

  close() {
    for (const [name, listener] of this.listeners) this.model.off(`change:${name}`, listener);
    document.removeEventListener("fullscreenchange", this.onfull);
    if (this.place) { this.place.remove(); this.root.remove(); }
    this.stage?.close();
  }
}
