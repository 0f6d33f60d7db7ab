// What all pages share: the switch of the theme, and the search over all pages. The index (assets/search.json) is fetched when the field is first used.
const TOP = new URL("..", import.meta.url);
const tools = document.querySelector(".site-tools");

function make(name, properties, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) key.startsWith("on") ? (node[key] = value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// ---- theme ----------------------------------------------------------------------------------------------------------

const THEME = "autograd-lab-theme", html = document.documentElement;
const theme = make("select", { "aria-label": "Theme" }, ...[["", "As the system"], ["light", "Light"], ["dark", "Dark"]].map(([value, text]) => make("option", { value }, text)));
theme.value = html.dataset.theme ?? "";
theme.onchange = () => {
  if (theme.value) html.dataset.theme = theme.value;
  else delete html.dataset.theme;
  try {
    if (theme.value) localStorage.setItem(THEME, theme.value);
    else localStorage.removeItem(THEME);
  } catch {} // no storage: it holds for this page
};

// ---- search ---------------------------------------------------------------------------------------------------------

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [];

/** The best places for a query: every word of it begins a word there, or as many of them as anywhere; those in a heading count more. */
function search({ pages, places }, query) {
  const wanted = [...new Set(words(query))], found = [];
  for (const [page, anchor, heading, text] of places) {
    const title = pages[page][1], where = [[12, words(title)], [8, words(heading)], [1, words(text)]];
    let score = 0, hits = 0;
    for (const word of wanted) {
      let best = 0;
      for (const [worth, list] of where) for (const one of list) if (one.startsWith(word) || one.replace(/^[_.]+/, "").startsWith(word)) best = Math.max(best, worth + (one === word ? worth / 2 : 0));
      score += best;
      hits += best > 0;
    }
    if (2 * hits > wanted.length) found.push([score - (anchor ? 0.1 : 0), hits, page, anchor, heading, text]);
  }
  const most = Math.max(0, ...found.map(([, hits]) => hits));
  return { all: most === wanted.length, best: found.filter(([, hits]) => hits === most).sort((a, b) => b[0] - a[0]).slice(0, 12) };
}

/** The words around the first that is asked for, which are marked. */
function around(text, query) {
  const wanted = words(query), lower = text.toLowerCase();
  const first = Math.max(0, Math.min(...wanted.map((word) => lower.indexOf(word)).filter((i) => i >= 0), text.length));
  const from = first < 40 || first === text.length ? 0 : lower.indexOf(" ", first - 40) + 1, shown = text.slice(from, from + 130), parts = [];
  let at = 0;
  for (const hit of shown.matchAll(/[\p{L}\p{N}_.]+/gu)) {
    const word = wanted.find((one) => hit[0].toLowerCase().startsWith(one));
    if (!word) continue;
    parts.push(shown.slice(at, hit.index), make("mark", {}, hit[0].slice(0, word.length)));
    at = hit.index + word.length;
  }
  return [from ? "… " : "", ...parts, shown.slice(at), from + 130 < text.length ? " …" : ""];
}

let index = null;
const load = () => (index ??= fetch(new URL("assets/search.json", TOP)).then((answer) => {
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}).catch((error) => { index = null; throw error; }));

const list = make("ul", { id: "site-found", class: "site-found", role: "listbox", "aria-label": "Places found" });
const field = make("input", { type: "search", placeholder: "Search all pages ( / )", "aria-label": "Search all pages", role: "combobox", "aria-expanded": "false", "aria-controls": "site-found", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false" });
const said = make("span", { class: "site-skip", role: "status" });
let chosen = -1, asked = 0;
list.hidden = true;

function close() {
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
  chosen = -1;
}

function choose(k) {
  const rows = [...list.querySelectorAll("[role=option]")];
  if (!rows.length) return;
  chosen = (k + rows.length) % rows.length;
  rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === chosen)));
  rows[chosen].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", rows[chosen].id);
}

async function look() {
  const query = field.value, mine = ++asked;
  if (!words(query).length) return close();
  let rows;
  try {
    const data = await load();
    if (mine !== asked) return;
    const { all, best } = search(data, query);
    rows = best.map(([, , page, anchor, heading, text], i) => {
      const [path, title] = data.pages[page], address = new URL(path + (anchor ? `#${anchor}` : ""), TOP);
      const row = make("li", { role: "option", id: `site-found-${i}`, "aria-selected": "false", onclick: () => { close(); location.assign(address); } },
        make("b", {}, heading || title), make("small", {}, ...(heading ? [title, make("br", {})] : []), ...around(text, query)));
      return row;
    });
    said.textContent = rows.length ? `${rows.length} places` : "nothing found";
    const note = rows.length ? "No place has all of these words: these have the most." : `Nothing has words that begin with ${words(query).join(" and ")}.`;
    if (!rows.length || !all) rows.push(make("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, note));
  } catch (error) {
    rows = [make("li", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, `The index did not come (${error.message}). Load the page again.`)];
  }
  list.replaceChildren(...rows);
  list.hidden = false;
  field.setAttribute("aria-expanded", "true");
  chosen = -1;
}

field.onfocus = () => { load().catch(() => {}); if (field.value) look(); }; // what went wrong is said when something is asked
field.oninput = look;
field.onblur = () => setTimeout(close, 200); // after a click on a place
field.onkeydown = (event) => {
  const { key } = event;
  if (key === "ArrowDown") choose(chosen + 1);
  else if (key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
  else if (key === "Enter") list.querySelectorAll("[role=option]:not([aria-disabled])")[Math.max(chosen, 0)]?.click();
  else if (key === "Escape") { if (list.hidden) field.blur(); else close(); } else return;
  event.preventDefault();
};
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, [contenteditable], .agl")) return;
  event.preventDefault();
  field.focus();
});

tools.append(make("div", { class: "site-search", role: "search" }, field, list, said), theme);
