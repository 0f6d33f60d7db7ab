// The end of the module assets/reading.js; before it stand assets/guess.js of the widgets, which opens the cards of questions, and practice.js.
// When a question is answered, what was sealed for its answer opens.
import { openAll } from "./stepper.js";

const answered = new Set();

function open(card) {
  if (answered.has(card.dataset.ask) || card.querySelector(".agl-guess-part[data-v='open']")) return;
  answered.add(card.dataset.ask);
  for (const place of document.querySelectorAll(".book-sealed[data-sealed]")) {
    if (!place.dataset.asks.split(" ").every((ask) => answered.has(ask))) continue;
    place.innerHTML = new TextDecoder().decode(Uint8Array.from(atob(place.dataset.sealed), (c) => c.charCodeAt(0)));
    place.removeAttribute("data-sealed");
    openAll(place);
  }
}

for (const place of document.querySelectorAll(".book-practice")) {
  const { pack, name, note } = place.dataset;
  unpacked(pack).then((levels) => {
    const root = document.createElement("div");
    place.replaceChildren(root);
    practice(root, fromPack(levels), { name, note });
  });
}

for (const card of document.querySelectorAll(".book-card")) {
  open(card);
  new MutationObserver(() => open(card)).observe(card, { subtree: true, attributeFilter: ["data-v"] });
}
