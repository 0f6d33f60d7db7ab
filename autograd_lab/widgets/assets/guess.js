// The card of lab.reveal while it waits for an answer (widgets/guess.py): a click or Enter opens what belongs to that answer.
// A plain script in the output itself: it works without a widget and without a kernel. One card carries it for all on the page:
// it opens those that are there, and each later one calls window.aglGuess.
{
  const make = (name, props, ...children) => {
    const node = Object.assign(document.createElement(name), props);
    node.append(...children);
    return node;
  };
  // A number, a word, or a list of these, however it is written: (3, 1), [3, 1], "None", .5
  const read = (text) => {
    text = text.trim().toLowerCase().replace(/["'`]/g, "").replace(/\(/g, "[").replace(/\)/g, "]").replace(/,\s*]/g, "]");
    const fraction = /^(-?[\d.]+)\s*\/\s*([\d.]+)$/.exec(text);
    if (fraction) return fraction[1] / fraction[2];
    if (text && !isNaN(text)) return Number(text);
    const inside = /^\[(.*)\]$/.exec(text)?.[1];
    if (inside === undefined) return text;
    return (inside.match(/\s*\[[^\]]*\]|[^,]+/g) ?? []).map(read);
  };
  const same = (a, b) => {
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => same(x, b[i]));
    if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= (a && b ? 1e-4 * Math.max(Math.abs(a), Math.abs(b)) : 1e-9);
    return a === b;
  };
  const judge = ({ said, truth, within, why }, given) => {
    const is = read(truth), one = Array.isArray(is) && is.length === 1 && same(given, is[0]);
    const right = one || same(given, is) || (typeof given === "number" && typeof is === "number" && Math.abs(given - is) <= within);
    const known = said.find(([answer]) => same(read(answer), right ? is : given));
    return [right, known?.[1] ?? why];
  };
  const wait = (place, part, told) => {
    const verdict = make("div", { className: "agl-guess-verdict" }), label = place.querySelector("b");
    verdict.setAttribute("role", "status");
    const offered = [...place.querySelectorAll("code")].filter((code) => code.parentElement === place).map((code) => code.textContent);
    const answer = (text) => {
      const list = Array.isArray(read(part.truth)) && /^[^([].*,/.test(text.trim());
      const given = read(list ? `[${text}]` : text); // 6, 6 where [6, 6] is asked for
      if (given === "" || given === "...") return;
      const [right, why] = judge(part, given), mark = make("b", { className: "agl-guess-mark" }, right ? "\u2713" : "\u2717");
      const line = make("p", {}, mark, " You said ", make("b", {}, text.trim()), right ? ", and it is " : ". It is ", make("b", {}, part.truth), ".");
      place.dataset.v = right ? "right" : "wrong";
      verdict.replaceChildren(line, make("p", { innerHTML: why }));
      for (const one of buttons) {
        const its = read(one.dataset.answer), truth = same(its, read(part.truth)), own = same(its, given);
        one.dataset.v = truth ? "right" : own ? "wrong" : "";
        one.querySelector("i").textContent = truth ? " \u2713" : own ? " \u2717" : "";
        one.setAttribute("aria-pressed", String(own));
      }
      told();
    };
    const like = /^\[\d|^\[-/.test(part.truth) ? "numbers like [1, 2]" : part.truth[0] === "[" ? 'names like ["a", "b"]' : part.truth[0] === "(" ? "a shape like (2, 3)" : "your answer";
    const field = make("input", { type: "text", placeholder: `${like}, then Enter`, autocomplete: "off", spellcheck: false });
    const buttons = offered.map((text) => {
      const button = make("button", { type: "button", onclick: () => answer(text) }, make("span", {}, text), make("i", {}));
      button.dataset.answer = text;
      return button;
    });
    const controls = make("span", { className: "agl-guess-answers" }, ...(offered.length ? buttons : [field]));
    if (offered.length) controls.setAttribute("role", "group");
    (offered.length ? controls : field).setAttribute("aria-label", label.textContent);
    for (const one of [field, ...buttons]) one.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys, such as "d d"
    controls.onkeydown = (event) => {
      const { key, target } = event, at = buttons.indexOf(target), by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
      if (event.altKey || event.ctrlKey || event.metaKey || (event.shiftKey && key === "Enter")) return;
      event.stopPropagation();
      if (target === field && key === "Enter") answer(field.value);
      else if (at >= 0 && by) buttons[(at + by + buttons.length) % buttons.length].focus();
      else return;
      event.preventDefault();
    };
    place.replaceChildren(label, controls, verdict);
    return () => { // show what is right
      place.dataset.v = "shown";
      verdict.replaceChildren(make("p", {}, "It is ", make("b", {}, part.truth), "."), make("p", { innerHTML: part.why }));
      told();
    };
  };
  const open = (card) => {
    const { parts, after } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(card.dataset.sealed), (c) => c.charCodeAt(0))));
    card.removeAttribute("data-sealed");
    const places = [...card.querySelectorAll(".agl-guess-part")], how = card.querySelector(".agl-guess-how"), more = /What comes/.test(how.textContent);
    how.textContent = how.textContent.replace("No prediction yet. Put your answer", "Answer here, or put your answer");
    const told = () => {
      if (places.some((place) => place.dataset.v === "open")) return;
      card.querySelector(".agl-guess-after").innerHTML = after;
      how.textContent = more ? "Now put it in place of the dots and run again: then you see what comes after it." : "";
    };
    places.forEach((place, i) => wait(place, parts[i], told));
  };
  window.aglGuess = Object.assign(() => document.querySelectorAll(".agl-guess[data-sealed]").forEach(open), { make, wait });
  window.aglGuess();
  // In the head it stays when the card that carries it is scrolled away or replaced.
  const style = document.querySelector(".agl-guess-style");
  if (style && !document.head.querySelector(".agl-guess-style")) document.head.append(style.cloneNode(true));
}
