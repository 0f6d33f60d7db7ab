// The card of lab.practice (widgets/practice_card.py): one question after the other, with the parts of assets/guess.js.
import { hideStill } from "./host.js";

/** The level after an answer, and how many right ones in a row were given at it: as `following` in course/practice/session.py. */
export const following = (level, run, right) => (right ? (run + 1 === 2 && level < 5 ? [level + 1, 0] : [level, run + 1]) : [Math.max(level - 1, 1), 0]);

/** What a page can read of what was packed for it. */
export async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** Questions for a page without a kernel, [[those of level 1], ...]: each once, at the level that the answers lead to or the nearest one. */
export function fromPack(levels) {
  let level = 1, run = 0, n = 0, right = 0, streak = 0, rounds = 0, left = levels.map((ones) => [...ones]);
  const take = () => {
    if (!left.flat().length) [left, rounds] = [levels.map((ones) => [...ones]), rounds + 1];
    const near = [...left.keys()].filter((i) => left[i].length).sort((a, b) => Math.abs(a + 1 - level) - Math.abs(b + 1 - level) || a - b)[0];
    return { ...left[near].shift(), level, n, right, streak, again: rounds > 0 };
  };
  return {
    first: take(),
    after: async (good) => {
      [level, run] = following(level, run, good);
      [n, right, streak] = [n + 1, right + good, good ? streak + 1 : 0];
      return take();
    },
  };
}

/** Show the questions of `source` in `root`: source.first, and source.after(was it right), which promises the next one. */
export function practice(root, source, { name, note }) {
  const { make, wait } = window.aglGuess;
  const shown = (question) => {
    const { code, graph, alt, early, ask, parts, chips, level, n, right, streak } = question;
    const head = make("p", { className: "agl-practice-head" }, make("b", {}, `Practice ${name}`), make("span", {}, `Level ${level} of 5 `));
    const dots = make("span", {}, "\u25cf".repeat(level) + "\u25cb".repeat(5 - level));
    dots.setAttribute("aria-hidden", "true");
    head.lastChild.append(dots);
    if (n) head.append(make("span", {}, `${right} of ${n} right${streak > 1 ? `, ${streak} in a row` : ""}`));
    const picture = graph && make("img", { alt, src: `data:image/svg+xml,${encodeURIComponent(graph)}` });
    const places = parts.map(({ label, offered, said }) => {
      const place = make("div", { className: "agl-guess-part" }, make("b", { innerHTML: label }));
      place.dataset.v = "open";
      if (offered) place.append(...said.map(([answer]) => make("code", {}, answer)));
      return place;
    });
    const told = make("p", { className: "agl-guess-how" }), verdicts = [];
    told.setAttribute("role", "status");
    const show = make("button", { type: "button" }, "Show me"), next = make("button", { type: "button", hidden: true }, "Next question");
    for (const one of [show, next]) one.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys, such as "d d"
    let coming;
    const done = () => {
      places.forEach(({ dataset }, i) => { if (dataset.v !== "open") verdicts[i] ??= dataset.v === "right"; }); // the first answer counts
      if (coming || places.some(({ dataset }) => dataset.v === "open")) return;
      if (picture) body.prepend(picture);
      show.hidden = true;
      next.hidden = false;
      next.focus({ preventScroll: true });
      coming = source.after(verdicts.every(Boolean));
    };
    const reveal = places.map((place, i) => wait(place, parts[i], done));
    show.onclick = () => reveal.forEach((open, i) => { if (places[i].dataset.v === "open") open(); });
    next.onclick = async () => {
      const late = setTimeout(() => (told.textContent = "The next question comes when Python is free."), 400);
      const then = await coming;
      clearTimeout(late);
      shown(then).focus({ preventScroll: true });
      root.scrollIntoView({ block: "nearest" });
    };
    if (chips.length) order(places[0], chips, make);
    if (question.again && n) told.textContent = "You have seen all questions of this page, so they begin again.";
    const turn = make("p", { className: "agl-guess-answers agl-practice-turn" }, show, next);
    const body = make("div", { className: "agl-practice-body" }, make("pre", {}, make("code", {}, code)), make("p", { className: "agl-practice-ask", innerHTML: ask }), ...places, turn, told);
    if (picture && early) body.prepend(picture);
    root.replaceChildren(head, body, make("p", { className: "agl-guess-how", innerHTML: note }));
    return root.querySelector(".agl-guess-part :is(input, button)");
  };
  root.className = "agl-guess agl-practice";
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `Practice ${name}`);
  shown(source.first);
}

/** Buttons that write names into the field of a part, one after the other; the last one gives the answer. */
function order(place, chips, make) {
  const field = place.querySelector("input");
  const buttons = chips.map((name) => {
    const button = make("button", { type: "button" }, name);
    button.dataset.lmSuppressShortcuts = "true";
    button.onclick = () => {
      if (button.getAttribute("aria-pressed") === "true") return;
      field.value = field.value.trim() ? `${field.value}, ${name}` : name;
      button.setAttribute("aria-pressed", "true");
      if (buttons.every((one) => one.getAttribute("aria-pressed") === "true")) field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    };
    button.setAttribute("aria-pressed", "false");
    return button;
  });
  // what is typed is what counts: a name that is no longer in the field can be clicked again
  field.oninput = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(field.value.split(/[\s,]+/).includes(chips[i]))));
  const row = make("span", { className: "agl-guess-answers" }, ...buttons);
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "the names, to click in order");
  field.parentElement.before(row);
}

/** The card of a widget, whose model has the questions: Python makes the next one when it hears of an answer. */
export function practiceOf(model, el) {
  const read = () => JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(model.get("question")), (c) => c.charCodeAt(0))));
  const root = document.createElement("div");
  el.append(root);
  const after = (right) => new Promise((done) => {
    const arrived = () => {
      model.off("change:question", arrived);
      done(read());
    };
    model.on("change:question", arrived);
    model.send({ n: read().n, right });
  });
  practice(root, { first: read(), after }, { name: model.get("name"), note: model.get("note") });
  return hideStill(el, model);
}
