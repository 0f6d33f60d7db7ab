// The rule book: the filter of its index, and formulas wider than the page.

const field = document.querySelector("#filter");
if (field) {
  const count = document.querySelector("#count");
  const items = [...document.querySelectorAll(".list li")].map((item) => [item, item.textContent.toLowerCase()]);
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [item, text] of items) {
      item.hidden = !words.every((word) => text.includes(word));
      shown += !item.hidden;
    }
    for (const group of document.querySelectorAll(".list")) group.hidden = !group.querySelector("li:not([hidden])");
    count.textContent = words.length ? `${shown || "No"} ${shown === 1 ? "rule" : "rules"} with “${field.value.trim()}”` : `${shown} rules`;
    history.replaceState(null, "", words.length ? `#filter=${encodeURIComponent(field.value)}` : location.pathname + location.search);
  };
  field.addEventListener("input", apply);
  const asked = location.hash.match(/^#filter=(.*)/);
  if (asked) {
    field.value = decodeURIComponent(asked[1]);
    apply();
  }
}

// What scrolls can be scrolled with the keyboard, too.
const reach = () => {
  for (const box of document.querySelectorAll(".formula, pre")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
reach();
