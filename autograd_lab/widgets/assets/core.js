// The stepper's arithmetic: everything that needs no browser. Tested in node (tests/widgets/test_core.py).

/** The state of a flat timeline [step, state, ...] at step k: the last entry not after k, undefined before the first. */
export function at(timeline, k, width = 2) {
  const i = upTo(timeline, k, width);
  return i ? timeline[(i - 1) * width + 1] : undefined;
}

/** How many entries of a sorted list are not above k, if each has so many places and its first counts. */
export function upTo(list, k, width = 1) {
  let low = 0, high = list.length / width;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle * width] <= k) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Put something into the list that a map has under a key. */
export function into(map, key, one) {
  const list = map.get(key);
  if (list) list.push(one);
  else map.set(key, [one]);
}

/** The first entries of a list at step k, and how many it has; `timelines`: how many, then each of the first. */
export function first([count, ...timelines], k) {
  const total = at(count, k) ?? 0;
  return [timelines.slice(0, total).map((timeline) => at(timeline, k)), total];
}

/** The narration of step k: a template and its parts, all numbers into `strings`. */
export function say(film, k) {
  const [template, ...parts] = film.say[k].map((i) => film.strings[i]);
  return template.replace(/\{(\d)\}/g, (_, i) => parts[i]);
}

/** Phase at step k: {name, pass, from, to}, steps `from`..`to` belonging to it. */
export function phase(film, k) {
  const p = film.phase;
  let i = 0;
  while (i + 3 < p.length && p[i + 3] <= k) i += 3;
  return { name: p[i + 1], pass: p[i + 2], from: p[i], to: i + 3 < p.length ? p[i + 3] - 1 : film.steps };
}

/** The nearest of `stops` after (direction 1) or before (-1) step k; the ends count as stops. */
export function stop(film, k, direction, stops = film.stops) {
  return direction > 0 ? stops[upTo(stops, k)] ?? film.steps : stops[upTo(stops, k - 1) - 1] ?? 0;
}

/** The next step of the same kind as step k, going round; k itself if there is no other. */
export function sameKind(film, k) {
  const n = film.steps;
  for (let d = 1; d <= n; d++) {
    const j = ((k + d - 1) % n) + 1;
    if (film.kind[j] === film.kind[k]) return j;
  }
  return k;
}

export const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

/** SVG path through flat points; each piece leaves and arrives vertically, the last one `short` of its end. */
export function path(p, short = 0) {
  const last = p.length - 2, up = p[last + 1] < p[last - 1];
  let d = `M${p[0]} ${p[1]}`;
  for (let i = 2; i <= last; i += 2) {
    const x = p[i], y = p[i + 1] + (i === last ? (up ? short : -short) : 0), m = (p[i - 1] + y) / 2;
    d += `C${p[i - 2]} ${m} ${x} ${m} ${x} ${y}`;
  }
  return d;
}

// A piece from a to b is at a + (b - a) f(t): with these f for x and for y. Both only grow, so each has an inverse.
const across = (t) => t * t * (3 - 2 * t), along = (t) => t * (t * (t - 1.5) + 1.5);
const acrossAt = (v) => 0.5 + Math.sin(Math.asin(2 * v - 1) / 3), alongAt = (v) => 0.5 + Math.sinh(Math.asinh(4 * v - 2) / 3);

/** Where such a path's piece from a to b enters and leaves a rectangle, as two parameters; undefined if it does not meet it. */
function inside(ax, ay, bx, by, [x0, y0, x1, y1]) {
  let from = 0, to = 1;
  for (const [inverse, a, b, low, high] of [[acrossAt, ax, bx, x0, x1], [alongAt, ay, by, y0, y1]]) {
    const [enter, leave] = a <= b ? [low, high] : [high, low], sign = a <= b ? 1 : -1;
    if (sign * (b - enter) < 0 || sign * (a - leave) > 0) return undefined;
    if (sign * (a - enter) < 0) from = Math.max(from, inverse((enter - a) / (b - a)));
    if (sign * (b - leave) > 0) to = Math.min(to, inverse((leave - a) / (b - a)));
  }
  return from < to ? [from, to] : undefined;
}

/** Whether such a path comes through a rectangle. */
export function meets(p, box) {
  for (let i = 2; i < p.length; i += 2) if (inside(p[i - 2], p[i - 1], p[i], p[i + 1], box)) return true;
  return false;
}

/** The part of such a path that meets a rectangle: a browser takes seconds to dash a line of 100,000 pixels, most of them out of sight. */
export function visiblePath(p, box, short = 0) {
  const last = p.length - 2, up = p[last + 1] < p[last - 1];
  let d = "";
  for (let i = 2; i <= last; i += 2) {
    const ax = p[i - 2], ay = p[i - 1], bx = p[i], by = p[i + 1] + (i === last ? (up ? short : -short) : 0);
    const found = inside(ax, ay, bx, by, box);
    if (found) d += part(ax, ay, bx - ax, by - ay, ...found);
  }
  return d;
}

/** The stretch of a piece between two of its parameters. */
function part(ax, ay, w, h, from, to) {
  const point = (t, ahead) => `${(ax + w * (across(t) + 2 * ahead * t * (1 - t))).toFixed(1)} ${(ay + h * (along(t) + ahead * (t * (t - 1) + 0.5))).toFixed(1)}`; // a third of the slope is the way to a handle
  return `M${point(from, 0)}C${point(from, to - from)} ${point(to, from - to)} ${point(to, 0)}`;
}

/** An arrow head at the end of such a path. */
export function head(p, size = 5) {
  const x = p[p.length - 2], y = p[p.length - 1], s = y < p[p.length - 3] ? 1 : -1;
  return `M${x} ${y}l${-size * 0.8} ${s * size * 1.7}h${size * 1.6}z`;
}

/** Two strokes across the first piece of such a path, in its middle. */
export function cut(p) {
  return `M${(p[0] + p[2]) / 2 - 8} ${(p[1] + p[3]) / 2 + 1}l16 -7m-16 12l16 -7`;
}

/** The exponents of a scale as its ends: "0.01", "1e8". */
export const power = (x) => (Math.abs(x) > 2 ? `1e${x}` : number(10 ** x));

/** [x0, y0, x1, y1] around flat points. */
export function bounds(p) {
  let x0 = p[0], y0 = p[1], x1 = x0, y1 = y0;
  for (let i = 2; i < p.length; i += 2) {
    x0 = Math.min(x0, p[i]); x1 = Math.max(x1, p[i]);
    y0 = Math.min(y0, p[i + 1]); y1 = Math.max(y1, p[i + 1]);
  }
  return [x0, y0, x1, y1];
}

/** The indices of the boxes (flat x0, y0, x1, y1) that meet the rectangle. */
export function cull(boxes, [x0, y0, x1, y1]) {
  const found = [];
  for (let i = 0; i < boxes.length; i += 4) {
    if (boxes[i] <= x1 && boxes[i + 2] >= x0 && boxes[i + 1] <= y1 && boxes[i + 3] >= y0) found.push(i >> 2);
  }
  return found;
}

export const FOLLOW = 0.86;   // scale of the moving camera
export const SMALLEST = 0.72; // the least scale at which a whole graph is still readable

/** The scale that shows the whole graph in a pane, never larger than life by much. */
export function fitScale(size, pane, margin = 18) {
  return Math.min((pane[0] - 2 * margin) / size[0], (pane[1] - 2 * margin) / size[1], 1.2);
}

/** Where the camera centres one axis: on what it follows, without looking past the graph's ends. */
export function centre(target, length, view) {
  if (length <= view) return length / 2;
  return clamp(target, view / 2 - 24, length - view / 2 + 24);
}

/** Whether two films are of the same graph, step for step: then only their numbers differ. */
export function alike(a, b) {
  const graph = (film) => JSON.stringify([film.steps, film.kinds, film.kind, film.focus, film.subject, film.phase, film.line, film.leaves, film.sources.map(({ name, lines }) => [name, lines.map(([n]) => n)]), film.turns, film.groups, Boolean(film.curves),
    film.units.map(({ boxes, node, since, until, group, off, why, hooks, heap, seed }) => [boxes.map(([t]) => t), node, since, until, group, off, why, hooks, heap.length, seed.length]),
    film.nodes.map(({ label, unit, saved, dead }) => [label, unit, saved.length, dead.length]), film.tensors.map(({ name, shape, grad, leaf }) => [name, shape, grad, leaf]),
    film.forward, film.backward.map(({ n, i, u, v }) => [n, i, u, v])]);
  return graph(a) === graph(b);
}

/** Whether what unit `a` says has room in the place of unit `b`, which is the same box with other numbers. */
export function fits(a, b) {
  const within = (x, y) => x.every((one, i) => one <= y[i]);
  return within(a.size, b.size) && a.boxes.every((box, i) => within(box.slice(3), b.boxes[i].slice(3))) && ["heap", "seed"].every((name) => !a[name].length || a[name][2] <= b[name][2]);
}

/** Numbers like Python's rules.number: four significant digits, no trailing zeros. */
export function number(x) {
  if (typeof x !== "number") return String(x);
  const size = Math.abs(x);
  if (x === 0) return "0";
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = x.toExponential(3).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  if (Number.isInteger(x)) return String(x);
  return String(size < 1000 ? Number(x.toPrecision(4)) : Number(x.toFixed(1)));
}

/** Rows of numbers for a picture of an array: vectors are one row, more than two dimensions are stacked. */
export function rows(data) {
  if (!Array.isArray(data)) return [[data]];
  if (!data.length || !Array.isArray(data[0])) return [data];
  return Array.isArray(data[0][0]) ? data.flatMap(rows) : data;
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escape = (s) => String(s).replace(/[&<>"]/g, (c) => ESCAPES[c]);

/** All numbers of an array in row-major order. */
export const flat = (data) => (Array.isArray(data) ? data.flat(Infinity) : [data]);

/** What a row of a picture of an array is called: [3] of a matrix, [1, 3] of three dimensions; a vector's one row has no name. */
export function rowNames(dims, count) {
  const lead = dims.slice(0, -1);
  if (!lead.length) return [""];
  return [...Array(count).keys()].map((i) => {
    const index = [];
    for (let d = lead.length - 1; d >= 0; d--) { index.unshift(i % lead[d]); i = Math.floor(i / lead[d]); }
    return `[${index.join(", ")}]`;
  });
}

/** A size in bytes for people: "768 MB". */
export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return `${n < 10 && i ? Number(n.toPrecision(2)) : Math.round(n)} ${units[i]}`;
}

/** A Jacobian's rows of numbers from its entries [row, column, x, ...]. */
export function dense(rowCount, columnCount, entries) {
  const found = Array.from({ length: rowCount }, () => Array(columnCount).fill(0));
  for (let i = 0; i < entries.length; i += 3) found[entries[i]][entries[i + 1]] = entries[i + 2];
  return found;
}

/** J^T g written out for one column: its factors [J_rc, g_r] where J_rc is not 0, and their sum. */
export function product(matrix, column, g) {
  const terms = [];
  let sum = 0;
  matrix.forEach((line, r) => {
    if (line[column] === 0) return;
    terms.push([line[column], g[r]]);
    sum += Number(line[column]) * Number(g[r]);
  });
  return { terms, sum };
}
