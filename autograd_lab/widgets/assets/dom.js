// Elements of the page and pictures of values: what every part of the stepper draws with.
import { escape, number, rowNames, rows } from "./core.js";
import { formula } from "./formula.js";

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  first: "M3 2.5v11M13 3 6 8l7 5z", back: "M11.5 3 4.5 8l7 5z", step: "M4.5 3l7 5-7 5z",
  play: "M3.5 2.5 13 8l-9.5 5.5z", pause: "M4.5 3v10M11.5 3v10", last: "M13 2.5v11M3 3l7 5-7 5z",
  up: "M4 9.5 8 5.5l4 4", down: "M4 6l4 4 4-4", kind: "M3 5h7a3 3 0 0 1 0 6H6m0 0 2.4-2.4M6 11l2.4 2.4",
};

function element(space, tag, props = {}, ...children) {
  const node = space ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
export const h = (tag, props, ...children) => element(false, tag, props, ...children);
export const s = (tag, props, ...children) => element(true, tag, props, ...children);

/** Write a text or an attribute only where it is another one: a browser lays out anew what was written, even if it reads the same. */
export const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };
export const attr = (node, name, value) => { if (node.getAttribute(name) !== `${value}`) node.setAttribute(name, value); };

/** Every element that can have the focus says so to Jupyter: else "d d" would delete the cell under it. */
export const focusable = (props) => ({ ...props, "data-lm-suppress-shortcuts": "true" });

/** How much larger an element is on screen than it knows: a pointer is measured there. Presenting and slides zoom. */
export const zoomed = (element) => element.getBoundingClientRect().width / element.offsetWidth || 1;

export const icon = (name) => s("svg", { viewBox: "0 0 16 16", class: "agl-icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

export function button(label, children, action, props = {}) {
  return h("button", focusable({ type: "button", "aria-label": label, title: label, onclick: action, ...props }), ...children);
}

/** A number's colour: orange above zero, blue below, paler the nearer. */
export function shade(x, most) {
  if (typeof x !== "number") return "var(--agl-bad)";
  const part = most ? Math.round((Math.abs(x) / most) * 100) : 0;
  return `color-mix(in oklab, var(--agl-${x < 0 ? "neg" : "pos"}) ${part}%, var(--agl-zero))`;
}
export const most = (grid) => Math.max(...grid.flat().map((x) => (typeof x === "number" ? Math.abs(x) : 0)), 0);

/** Numbers as squares of their colours, from a corner on, each so wide and tall: one path for a colour, which a browser draws far sooner than a square each. */
function squares(grid, x0, y0, wide, tall, gap = 0) {
  const top = most(grid), paths = new Map();
  grid.forEach((row, j) => row.forEach((x, i) => {
    const color = shade(x, top), corner = [x0 + i * wide, y0 + j * tall].map((v) => v.toFixed(1));
    paths.set(color, `${paths.get(color) ?? ""}M${corner.join(" ")}h${(wide - gap).toFixed(1)}v${(tall - gap).toFixed(1)}h${(gap - wide).toFixed(1)}z`);
  }));
  return [...paths].map(([color, path]) => `<path d="${path}" style="fill:${color}"/>`).join("");
}

/** A small picture of an array inside the drawing, in so much room. */
export function strip(item, x, y, w, hgt) {
  const all = rows(item.data), grid = all.slice(0, 6).map((row) => row.slice(0, all.length > 1 ? 6 : 12)), wide = grid[0].length;
  const cw = Math.min(w / Math.max(wide, 1), 9), ch = Math.min(hgt / grid.length, 9);
  return squares(grid, x + (w - cw * wide) / 2, y + (hgt - ch * grid.length) / 2, cw, ch);
}

export const shape = (dims) => (dims.length > 1 ? dims.join("\u00d7") : dims[0] === 1 ? "1 number" : `${dims[0]} numbers`);

/** A value in a few characters: up to four numbers, of more how many (frames.in_brief). */
export function brief(film, v) {
  const item = film.values[v];
  return v < 0 ? "None" : item.short ?? item;
}

/** Whether a value has a heat strip beside its text: its numbers do not stand there. */
export const hasStrip = (item) => item?.short !== undefined && item.short[0] !== "[" && !item.shape.includes(0);

/** The colour scale of a heat map: from -most over 0 to most. */
export function scale(top) {
  return `<span class="agl-scale" aria-hidden="true"><i></i>\u00b1${number(top)}</span>`;
}

/** Rows of numbers as a heat map; `label` is what a screen reader says of it. */
export function heat(grid, cell, label) {
  const cols = grid[0]?.length ?? 0;
  return `<svg class="agl-heat" role="img" aria-label="${escape(label)}" width="${cols * cell}" height="${grid.length * cell}" data-cell="${cell}" data-rows="${grid.map((r) => r.map(number).join()).join(";")}"><title></title>${squares(grid, 0, 0, cell, cell, cell > 5 ? 0.6 : 0)}</svg>`;
}

/** The number of a heat map that the pointer is on, as its hover. */
export function tellNumber(e) {
  const map = e.target.closest?.(".agl-heat");
  if (!map) return;
  const box = map.getBoundingClientRect(), { cell, rows } = map.dataset, lines = rows.split(";");
  const [i, j] = [(e.clientX - box.left) / box.width * map.width.baseVal.value, (e.clientY - box.top) / box.height * map.height.baseVal.value].map((v) => Math.floor(v / cell));
  const text = lines[j]?.split(",")[i];
  if (text) map.firstChild.textContent = `[${j}, ${i}]: ${text}`;
}

/** A value with a label, as a number, a table of numbers or a heat map; arrays open a larger view. */
export function card(film, label, v, extra = "") {
  const item = film.values[v];
  if (v < 0 || typeof item === "string") {
    return `<span class="agl-card ${extra}"><span class="agl-card-label">${label}</span>${v < 0 ? '<b class="agl-none">None</b>' : `<b>${item}</b>`}</span>`;
  }
  const grid = rows(item.data).slice(0, 8).map((r) => r.slice(0, 8)), cols = grid[0]?.length ?? 0;
  const whole = item.shape.reduce((a, b) => a * b, 1) === grid.length * cols;
  let body;
  const room = grid.length <= 3 && [...Array(cols).keys()].reduce((sum, i) => sum + 1 + Math.max(...grid.map((r) => number(r[i]).length)), 0);
  if (whole && room && room <= 22) {
    body = `<table class="agl-grid" role="presentation">${grid.map((r) => `<tr>${r.map((x) => `<td style="--c:${shade(x, most(grid))}">${number(x)}</td>`).join("")}</tr>`).join("")}</table><small>${shape(item.shape)}</small>`;
  } else {
    const cell = Math.max(4, Math.floor(Math.min(11, 42 / grid.length, 88 / Math.max(cols, 1))));
    body = `${heat(grid, cell, item.text)}<small>${shape(item.shape)}${most(grid) ? scale(most(grid)) : ""}</small>`;
  }
  const name = label.replace(/<[^>]*>/g, "").replace(/:.*/, "");
  return `<button type="button" class="agl-card agl-open ${extra}" data-lm-suppress-shortcuts="true" data-value="${v}" data-name="${escape(name)}" title="Larger view"
    aria-label="${escape(`${name || "value"}: ${item.text}. Larger view`)}"><span class="agl-card-label">${label}</span>${body}</button>`;
}

/** A table of numbers with their colours. `corner`, `columns` and `names` head the rows and columns; `foot` is a last row apart. */
export function numbers(grid, { label, columns, names, corner = "", foot, footName = "" }) {
  const top = most(foot ? [...grid, foot] : grid);
  const line = (name, r, extra = "") => `<tr${extra}><th scope="row">${name}</th>${r.map((x) => `<td style="--c:${shade(x, top)}">${number(x)}</td>`).join("")}</tr>`;
  return `<table class="agl-numbers" aria-label="${escape(label)}"><thead><tr><td>${corner}</td>${columns.map((c) => `<th scope="col">${c}</th>`).join("")}</tr></thead>
    <tbody>${grid.map((r, i) => line(names[i], r)).join("")}</tbody>${foot ? `<tfoot>${line(footName, foot)}</tfoot>` : ""}</table>${scale(top)}`;
}

/** All that the trace holds of an array: its numbers, or a corner of them and what is known of the whole. */
export function everything(item, name) {
  const grid = rows(item.data), all = item.shape.reduce((a, b) => a * b, 1), cols = grid[0]?.length ?? 0, part = all > grid.length * cols;
  const facts = [item.shape.length > 1 ? `shape ${shape(item.shape)}, ${all} elements` : shape(item.shape)];
  for (const key of ["min", "max", "mean"]) if (item[key] != null) facts.push(`${key} ${number(item[key])}`);
  if (item.nan) facts.push(`${item.nan} nan`);
  if (item.inf) facts.push(`${item.inf} inf`);
  const note = part ? `<p>The trace keeps a corner of large arrays: here ${grid.length} row${grid.length > 1 ? "s" : ""} of ${cols}.</p>` : "";
  const names = part && item.shape.length > 1 ? grid.map((_, i) => `[${i}]`) : rowNames(item.shape, grid.length);
  return `<p>${facts.join(" \u00b7 ")}</p>${note}${numbers(grid, { label: name, columns: [...Array(cols).keys()].map((i) => `[${i}]`), names })}`;
}

/** A small picture of an array and its shape, on one line; a number as it is. */
export function mini(film, v) {
  const item = film.values[v];
  if (v < 0 || typeof item === "string") return brief(film, v);
  return (item.mini ??= `${heat(rows(item.data).slice(0, 4).map((r) => r.slice(0, 10)), 5, item.text)} ${item.short}`);
}

/** What goes to one operand: the rule, then the numbers; `v` is null before the rule has run, -1 for nothing. */
export function term(film, to, rule, v, numbersText, names) {
  const label = `to <i>${escape(to)}</i>`;
  if (v === -1) return `<span class="agl-term agl-off"><span>${label}</span>not needed</span>`;
  if (v === null || typeof film.values[v] === "string") {
    const value = v === null ? "" : brief(film, v), sum = numbersText && numbersText !== value && numbersText !== rule ? ` = ${formula(numbersText)}` : "";
    return `<span class="agl-term ${v === null ? "agl-later" : "agl-out"}"><span>${label}</span><em>${formula(rule, names)}${sum}${v === null ? "" : `${rule ? " = " : ""}<b>${value}</b>`}</em></span>`;
  }
  return card(film, `${label}: <em>${formula(rule, names)}</em>`, v, "agl-out");
}
