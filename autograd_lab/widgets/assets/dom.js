// Elements of the page and pictures of values: what every part of the stepper draws with.
import { escape, math, number, rows } from "./core.js";

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

/** Every element that can have the focus says so to Jupyter: else "d d" would delete the cell under it. */
export const focusable = (props) => ({ ...props, "data-lm-suppress-shortcuts": "true" });

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

/** A small picture of an array inside the drawing. */
export function thumb(item, x, y, size) {
  const grid = rows(item.data).slice(0, 6).map((row) => row.slice(0, 6));
  const w = size / Math.max(...grid.map((r) => r.length), 1), hgt = size / grid.length, cell = Math.min(w, hgt, 9), top = most(grid);
  const x0 = x + (size - cell * grid[0].length) / 2, y0 = y + (size - cell * grid.length) / 2;
  return grid.map((row, j) => row.map((v, i) =>
    `<rect x="${(x0 + i * cell).toFixed(1)}" y="${(y0 + j * cell).toFixed(1)}" width="${cell.toFixed(1)}" height="${cell.toFixed(1)}" style="fill:${shade(v, top)}"/>`).join("")).join("");
}

export const shape = (dims) => (dims.length > 1 ? dims.join("\u00d7") : `[${dims.join(", ")}]`);

/** A value in a few characters. */
export function brief(film, v) {
  const item = film.values[v];
  return v < 0 ? "None" : typeof item === "string" ? item : shape(item.shape);
}

/** The same, with a short vector's numbers. */
export function short(film, v) {
  const item = film.values[v];
  return item?.shape?.length === 1 && item.shape[0] <= 3 ? item.text : brief(film, v);
}

/** A value with a label, as a number, a table of numbers or a heat map. */
export function card(film, label, v, extra = "") {
  const item = film.values[v];
  let body;
  if (v < 0) body = `<b class="agl-none">None</b>`;
  else if (typeof item === "string") body = `<b>${item}</b>`;
  else {
    const grid = rows(item.data).slice(0, 8).map((r) => r.slice(0, 8)), top = most(grid), cols = grid[0]?.length ?? 0;
    if (grid.length <= 3 && cols <= 4) {
      body = `<table class="agl-grid">${grid.map((r) => `<tr>${r.map((x) => `<td style="--c:${shade(x, top)}">${number(x)}</td>`).join("")}</tr>`).join("")}</table>`;
    } else {
      const cell = Math.floor(Math.min(11, 42 / grid.length, 88 / cols));
      body = `<svg class="agl-heat" role="img" aria-label="${escape(item.text)}" width="${cols * cell}" height="${grid.length * cell}">${grid.map((r, j) => r.map((x, i) =>
        `<rect x="${i * cell}" y="${j * cell}" width="${cell - 0.6}" height="${cell - 0.6}" style="fill:${shade(x, top)}"><title>${number(x)}</title></rect>`).join("")).join("")}</svg>`;
    }
    body += `<small>${shape(item.shape)}</small>`;
  }
  return `<span class="agl-card ${extra}"><span class="agl-card-label">${label}</span>${body}</span>`;
}

/** What goes to one operand: the rule, then the numbers; `v` is null before the rule has run, -1 for nothing. */
export function term(film, to, rule, v, numbers = "") {
  const label = `to <i>${to}</i>`;
  if (v === -1) return `<span class="agl-term agl-off"><span>${label}</span>not needed</span>`;
  if (v === null || typeof film.values[v] === "string") {
    const value = v === null ? "" : math(brief(film, v)), sum = numbers && numbers !== value && numbers !== rule ? ` = ${numbers}` : "";
    return `<span class="agl-term ${v === null ? "agl-later" : "agl-out"}"><span>${label}</span><em>${rule}${sum}${v === null ? "" : ` = <b>${value}</b>`}</em></span>`;
  }
  return card(film, `${label}: <em>${rule}</em>`, v, "agl-out");
}
