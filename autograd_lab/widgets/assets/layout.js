// Where things go: widgets/layout.py in JavaScript, line by line, so that a group can be opened without asking Python.
// The same operations in the same order give the same numbers; tests/widgets/test_layout.py compares them.

// Neighbours lie flat in their lists, [item, offset, item, offset, ...]: a large graph would otherwise make a million pairs.

const MANY = 3000; // more items than this are ordered and placed in fewer sweeps
const ABREAST = 6; // so many groups fit side by side

/** Place items so that edges [upper, lower, leaves, enters, cargo] lead down; layout.py says how and what is what. */
export function layered(sizes, edges, top = 0, bottom = 0, firm = new Set(), gap = 26, rowGap = 60, lane = 34) {
  const n = sizes.length;
  if (!n) return { anchors: [], bends: new Map(), rows: [], width: 0, height: 0, between: () => [] };
  let pairs = [...edges].sort(byNumbers).filter((edge, i, all) => !i || byNumbers(all[i - 1], edge));
  let above = lists(n);
  for (const [u, v] of pairs) if (u !== v && above[v][above[v].length - 1] !== u) above[v].push(u);
  const order = topological(above), turn = new Array(n);
  order.forEach((item, i) => { turn[item] = i; });
  pairs = pairs.filter(([u, v]) => turn[u] < turn[v]);
  above = above.map((us, v) => us.filter((u) => turn[u] < turn[v]));
  const below = lists(n);
  above.forEach((us, v) => us.forEach((u) => below[u].push(v)));
  const rank = ranks(order, above, below, top, bottom, firm);
  const glued = new Map();
  for (let u = top; u < n - bottom; u++) {
    const v = below[u][0];
    if (!above[u].length && below[u].length === 1 && !firm.has(u) && v >= top && v < n - bottom) glued.set(u, v);
  }

  // Invisible items, so that every edge leads from one row to the next.
  const reach = sizes.map(([left, right]) => [left, right]), rowOf = [...rank], up = lists(n), down = lists(n), lanes = new Map();
  for (const [u, v, leaves, enters, cargo] of pairs) {
    const key = laneOf(u, cargo);
    if (!lanes.has(key)) lanes.set(key, []);
    const chain = lanes.get(key);
    for (let r = rank[u] + 1 + chain.length; r < rank[v]; r++) {
      const dummy = reach.length, last = chain.length ? chain[chain.length - 1] : u, off = chain.length ? 0 : leaves;
      reach.push([lane / 2, lane / 2]);
      rowOf.push(r);
      up.push([last, off]);
      down.push([]);
      down[last].push(dummy, -off);
      chain.push(dummy);
    }
    const passed = rank[v] - rank[u] - 1, last = passed ? chain[passed - 1] : u, off = passed ? 0 : leaves;
    down[last].push(v, enters - off);
    up[v].push(last, off - enters);
  }

  const rows = lists(rank.reduce((a, b) => Math.max(a, b), 0) + 1);
  for (let i = 0; i < reach.length; i++) if (!glued.has(i)) rows[rowOf[i]].push(i);
  const full = rows.map((row) => row.filter((i) => firm.has(i)).length === ABREAST);
  rows.forEach((row, r) => {
    if (!full[r] && !full[r - 1]) return;
    const things = row.filter((i) => i < n), half = things.length >> 1;
    rows[r] = [...things.slice(0, half), ...row.filter((i) => i >= n), ...things.slice(half)];
  });
  arrange(rows, up, down, glued, top ? 1 : 0, reach.length < MANY ? 8 : 4);
  glue(rows, up, down, glued, rank);
  const xs = put(rows, up, down, reach, gap, n, glued, reach.length < MANY ? 8 : 5);

  const heights = rows.map((row) => row.reduce((h, i) => (i < n ? Math.max(h, sizes[i][2]) : h), 0));
  const gaps = rowGaps(rows, down, xs, rowGap, top > 0, bottom > 0), ys = [];
  let y = 0;
  heights.forEach((h, r) => { ys.push(y + h / 2); y += h + gaps[r]; });
  let left = Infinity, right = -Infinity;
  for (let i = 0; i < xs.length; i++) { left = Math.min(left, xs[i] - reach[i][0]); right = Math.max(right, xs[i] + reach[i][1]); }
  const anchors = [];
  for (let i = 0; i < n; i++) anchors.push([xs[i] - left, ys[rank[i]]]);
  const bends = new Map([...lanes].filter(([, chain]) => chain.length).map(([key, chain]) => [key, chain.map((d) => [xs[d] - left, ys[rowOf[d]]])]));
  const between = (u, v, cargo) => (rank[v] - rank[u] > 1 ? bends.get(laneOf(u, cargo))?.slice(0, rank[v] - rank[u] - 1) ?? NONE : NONE);
  return { anchors, bends, rows: rank, width: right - left, height: y - gaps[gaps.length - 1], between };
}

const NONE = [], laneOf = (u, cargo) => u * 2 ** 26 + cargo + 2 ** 25;
const lists = (n) => Array.from({ length: n }, () => []);

/** Order of lists of numbers: by the first that differ. */
export function byNumbers(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}

function topological(above) {
  const order = [], seen = new Uint8Array(above.length);
  for (let first = 0; first < above.length; first++) {
    const stack = [first];
    while (stack.length) {
      const v = stack[stack.length - 1];
      if (!seen[v]) {
        seen[v] = 1;
        for (let i = above[v].length - 1; i >= 0; i--) if (!seen[above[v][i]]) stack.push(above[v][i]);
      } else {
        stack.pop();
        if (seen[v] === 1) { seen[v] = 2; order.push(v); }
      }
    }
  }
  return order;
}

function ranks(order, above, below, top, bottom, firm) {
  const n = above.length, first = top ? 1 : 0, end = n - bottom, rank = new Array(n).fill(0), across = new Array(n + 1).fill(0);
  for (const v of order) {
    if (v < top || v >= end) continue;
    rank[v] = first;
    for (const u of above[v]) rank[v] = Math.max(rank[v], rank[u] + 1);
    if (firm.has(v)) {
      while (across[rank[v]] === ABREAST) rank[v]++;
      across[rank[v]]++;
    }
  }
  for (let u = top; u < end; u++) {
    let least = Infinity;
    for (const v of below[u]) if (v < end) least = Math.min(least, rank[v]);
    if (!above[u].length && least < Infinity) rank[u] = Math.max(least - 1, first);
  }
  let lowest = Infinity, highest = 0;
  for (let v = top; v < end; v++) { lowest = Math.min(lowest, rank[v]); highest = Math.max(highest, rank[v]); }
  if (end > top) {
    lowest -= first;
    for (let v = top; v < end; v++) rank[v] -= lowest;
    highest -= lowest;
  }
  for (let v = end; v < n; v++) rank[v] = highest + 1;
  return rank;
}

function rowGaps(rows, down, xs, least, top, bottom) {
  return rows.map((row, r) => {
    let runs = 0, count = 0;
    for (const item of row) for (let i = 0, near = down[item]; i < near.length; i += 2) { runs += Math.abs(xs[item] - xs[near[i]] - near[i + 1]); count++; }
    const edge = (top && r === 0) || (bottom && r === rows.length - 2) ? (count > 6 ? 58 : 40) : 0;
    return (edge || least) + (count ? Math.min((runs / count) * 0.08, 1.5 * least) : 0);
  });
}

function arrange(rows, up, down, glued, fixed, sweeps) {
  const place = new Array(up.length).fill(0), keys = new Array(up.length).fill(0);
  for (const row of rows) row.forEach((item, i) => { place[item] = i; });
  let best = rows.map((row) => [...row]), fewest = crossings(rows, down, place);
  for (let sweep = 0; sweep < sweeps && fewest; sweep++) {
    const neighbours = sweep % 2 ? down : up;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      if (fixed && row === rows[0]) continue;
      for (const item of row) {
        let total = 0, count = 0;
        for (let i = 0, near = neighbours[item]; i < near.length; i += 2) if (!glued.has(near[i])) { total += place[near[i]]; count++; }
        keys[item] = count ? total / count : place[item];
      }
      row.sort((a, b) => keys[a] - keys[b] || place[a] - place[b]);
      row.forEach((item, i) => { place[item] = i; });
    }
    const count = crossings(rows, down, place);
    if (count < fewest) { best = rows.map((row) => [...row]); fewest = count; }
  }
  best.forEach((row, r) => { rows[r] = row; });
}

function crossings(rows, down, place) {
  let total = 0;
  for (let r = 0; r + 1 < rows.length; r++) {
    const tree = new Int32Array(rows[r + 1].length + 1);
    let seen = 0;
    for (const item of rows[r]) {
      const ends = [];
      for (let i = 0, near = down[item]; i < near.length; i += 2) ends.push(place[near[i]]);
      if (ends.length > 1) ends.sort((a, b) => a - b);
      for (const end of ends) {
        let smaller = 0;
        for (let i = end + 1; i; i &= i - 1) smaller += tree[i];
        total += seen - smaller;
      }
      for (const end of ends) {
        seen++;
        for (let i = end + 1; i < tree.length; i += i & -i) tree[i]++;
      }
    }
  }
  return total;
}

function glue(rows, up, down, glued, rank) {
  const place = new Map(), spot = new Map(), guests = new Map();
  for (const row of rows) row.forEach((item, i) => { place.set(item, (i + 1) / (row.length + 1)); spot.set(item, i); });
  for (const [u, v] of glued) {
    const row = rows[rank[u]], operands = up[v].filter((_, i) => i % 2 === 0), hosts = operands.filter((x) => !glued.has(x));
    let key;
    if (hosts.length) {
      const spots = hosts.map((x) => spot.get(x)), first = Math.min(...spots), host = hosts[spots.indexOf(first)];
      let total = 0;
      for (let i = 0; i < down[host].length; i += 2) total += place.get(down[host][i]);
      const others = down[host].length / 2, mean = total / others;
      const left = others > 1 && place.get(v) !== mean ? place.get(v) < mean : operands.indexOf(u) < operands.indexOf(host);
      key = left ? first - 0.4 : Math.max(...spots) + 0.4;
    } else key = place.get(v) * (row.length + 1) - 1;
    if (!guests.has(rank[u])) guests.set(rank[u], []);
    guests.get(rank[u]).push([key, v, u]);
  }
  for (const [r, news] of guests) {
    const items = rows[r].map((item) => [spot.get(item), 0, -1, item]);
    news.sort(byNumbers).forEach(([key, v, u], i) => items.push([key, place.get(v), i, u]));
    rows[r] = items.sort(byNumbers).map(([, , , item]) => item);
  }
}

function put(rows, up, down, reach, gap, real, glued, sweeps) {
  const xs = new Array(reach.length).fill(0);
  for (const row of rows) {
    let x = 0;
    for (const item of row) { xs[item] = x + reach[item][0]; x += reach[item][0] + reach[item][1] + gap; }
    for (const item of row) xs[item] -= (x - gap) / 2;
  }
  const pulls = up.map((near) => (near.some((x, i) => i % 2 === 0 && glued.has(x)) ? near.filter((_, i) => !glued.has(near[i - (i % 2)])) : near));
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const [here, there] = sweep % 2 ? [down, pulls] : [pulls, down];
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const wanted = [], weights = [];
      for (const item of row) {
        const near = here[item].length ? here[item] : there[item];
        let total = 0, load = 0;
        for (let i = 0; i < near.length; i += 2) { // lanes are to be straight, and to push nobody aside
          const weight = (near[i] >= real) === (item >= real) ? 1 : 0.02;
          total += (xs[near[i]] + near[i + 1]) * weight;
          load += weight;
        }
        wanted.push(near.length ? total / load : 0);
        weights.push(glued.has(item) || !here[item].length ? 0.002 : item >= real ? 4 : 1);
      }
      settle(row, wanted, weights, reach, gap, xs);
    }
  }
  return xs;
}

function settle(row, wanted, weights, reach, gap, xs) {
  const offsets = [], sums = [], loads = [], counts = [];
  let x = 0;
  row.forEach((item, i) => {
    if (i) x += reach[row[i - 1]][1] + gap + reach[item][0];
    offsets.push(x);
  });
  weights.forEach((weight, i) => {
    let total = (wanted[i] - offsets[i]) * weight, load = weight, count = 1;
    while (sums.length && sums[sums.length - 1] / loads[loads.length - 1] >= total / load) {
      total += sums.pop();
      load += loads.pop();
      count += counts.pop();
    }
    sums.push(total); loads.push(load); counts.push(count);
  });
  let i = 0;
  sums.forEach((total, pool) => {
    for (let c = 0; c < counts[pool]; c++, i++) xs[row[i]] = total / loads[pool] + offsets[i];
  });
}
