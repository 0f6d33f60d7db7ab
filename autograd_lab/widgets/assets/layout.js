// Where things go: widgets/layout.py in JavaScript, line by line, so that a group can be opened without asking Python.
// The same operations in the same order give the same numbers; tests/widgets/test_layout.py compares them.

// Neighbours lie flat in their lists, [item, offset, item, offset, ...]: a large graph would otherwise make a million pairs.

const MANY = 3000; // more items than this are ordered and placed in fewer sweeps
const ABREAST = 6; // at most so many groups are side by side
const ROOM = 1300; // and so wide are about as many leaves

/** Place items so that edges [upper, lower, leaves, enters, cargo] lead down; layout.py says how and what is what. */
export function layered(sizes, edges, top = 0, bottom = 0, firm = new Set(), gap = 26, rowGap = 60, lane = 34) {
  const n = sizes.length;
  if (!n) return { anchors: [], bends: new Map(), rows: [], width: 0, height: 0, between: () => [], joined: new Map() };
  let pairs = [...edges].sort(byNumbers).filter((edge, i, all) => !i || byNumbers(all[i - 1], edge));
  let above = lists(n);
  for (const [u, v] of pairs) if (u !== v && above[v][above[v].length - 1] !== u) above[v].push(u);
  const order = topological(above), turn = new Array(n);
  order.forEach((item, i) => { turn[item] = i; });
  pairs = pairs.filter(([u, v]) => turn[u] < turn[v]);
  above = above.map((us, v) => us.filter((u) => turn[u] < turn[v]));
  const below = lists(n);
  above.forEach((us, v) => us.forEach((u) => below[u].push(v)));
  const branches = new Branches(above, below, top, n - bottom, firm), columns = branches.column;
  const rank = ranks(order, branches, sizes.map(([left, right]) => left + right + gap));
  const glued = new Map();
  for (let u = top; u < n - bottom; u++) {
    const v = below[u][0];
    if (!above[u].length && below[u].length === 1 && !firm.has(u) && !columns.has(u) && v >= top && v < n - bottom) glued.set(u, v);
  }

  // Invisible items, so that every edge leads from one row to the next.
  const reach = sizes.map(([left, right]) => [left, right]), rowOf = [...rank], up = lists(n), down = lists(n), lanes = new Map();
  const joined = new Map(), keys = columns.size ? sizes.map((_, i) => branches.key(i)) : [];
  for (const [u, v, leaves, enters, cargo] of pairs) {
    const passed = rank[v] - rank[u] - 1;
    let aside = 0;
    if (columns.has(u)) {
      joined.set(u, laneOf(-1 - v, columns.get(u) >> 1));
      const [left, right] = sizes[u];
      aside = columns.get(u) % 2 ? left + gap + lane / 2 : -right - gap - lane / 2;
    }
    const key = joined.get(u) ?? laneOf(u, cargo);
    if (!lanes.has(key)) lanes.set(key, []);
    const chain = lanes.get(key);
    if (joined.has(u) && chain.length && passed) {
      const first = chain[chain.length - passed];
      up[first].push(u, -aside);
      down[u].push(first, aside);
      continue;
    }
    for (let r = rank[u] + 1 + (joined.has(u) ? 0 : chain.length); r < rank[v]; r++) {
      const dummy = reach.length, last = chain.length ? chain[chain.length - 1] : u, off = chain.length ? 0 : aside ? -aside : leaves;
      reach.push([lane / 2, lane / 2]);
      rowOf.push(r);
      up.push([last, off]);
      down.push([]);
      down[last].push(dummy, -off);
      chain.push(dummy);
      if (columns.size) keys.push(branches.lane(u, dummy));
    }
    const last = passed ? chain[passed - 1] : u, off = passed ? 0 : leaves;
    down[last].push(v, enters - off);
    up[v].push(last, off - enters);
  }

  const rows = lists(rank.reduce((a, b) => Math.max(a, b), 0) + 1);
  for (let i = 0; i < reach.length; i++) if (!glued.has(i)) rows[rowOf[i]].push(i);
  if (columns.size) for (const row of rows) row.sort((a, b) => byNumbers(keys[a], keys[b]));
  const full = rows.map((row) => row.filter((i) => firm.has(i)).length === branches.abreast);
  rows.forEach((row, r) => {
    if (!full[r] && !full[r - 1]) return;
    const things = row.filter((i) => i < n), half = things.length >> 1;
    rows[r] = [...things.slice(0, half), ...row.filter((i) => i >= n), ...things.slice(half)];
  });
  arrange(rows, up, down, glued, keys, top ? 1 : 0, reach.length < MANY ? 8 : 4);
  glue(rows, up, down, glued, keys, rank);
  const xs = put(rows, up, down, reach, gap, n, glued, branches.slight, reach.length < MANY ? 8 : 5);

  const heights = rows.map((row) => row.reduce((h, i) => (i < n ? Math.max(h, sizes[i][2]) : h), 0));
  const gaps = rowGaps(rows, down, xs, rowGap, top > 0, bottom > 0), ys = [];
  let y = 0;
  heights.forEach((h, r) => { ys.push(y + h / 2); y += h + gaps[r]; });
  let left = Infinity, right = -Infinity;
  for (let i = 0; i < xs.length; i++) { left = Math.min(left, xs[i] - reach[i][0]); right = Math.max(right, xs[i] + reach[i][1]); }
  const anchors = [];
  for (let i = 0; i < n; i++) anchors.push([xs[i] - left, ys[rank[i]]]);
  const bends = new Map([...lanes].filter(([, chain]) => chain.length).map(([key, chain]) => [key, chain.map((d) => [xs[d] - left, ys[rowOf[d]]])]));
  const between = (u, v, cargo) => {
    const passed = Math.max(rank[v] - rank[u] - 1, 0), points = bends.get(joined.get(u) ?? laneOf(u, cargo)) ?? NONE;
    return joined.has(u) ? points.slice(points.length - passed) : points.slice(0, passed);
  };
  return { anchors, bends, rows: rank, width: right - left, height: y - gaps[gaps.length - 1], between, joined };
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

function ranks(order, branches, widths) {
  const { top, end, nobody: n, firm } = branches, across = new Array(n + 1).fill(0), groups = [...across];
  let rank = rising(order, branches);
  for (let v = top; v < end; v++) if (firm.has(v)) groups[rank[v]]++;
  const most = groups.reduce((a, b) => Math.max(a, b), 0);
  branches.abreast = beside(most);
  if (most > branches.abreast) rank = rising(order, branches);
  for (let v = top; v < end; v++) across[rank[v]]++;
  if (across.some((count) => count > ABREAST)) {
    branches.find(order, rank, widths);
    rank = rising(order, branches);
  }
  aboveGroups(branches, rank);
  let lowest = Infinity, highest = 0;
  for (let v = top; v < end; v++) { lowest = Math.min(lowest, rank[v]); highest = Math.max(highest, rank[v]); }
  if (end > top) {
    lowest -= branches.first;
    for (let v = top; v < end; v++) rank[v] -= lowest;
    highest -= lowest;
  }
  for (let v = end; v < n; v++) rank[v] = highest + 1;
  return rank;
}

function rising(order, branches) {
  const { above, below, top, end, firm, first } = branches, rank = new Array(above.length).fill(0), across = new Array(above.length + 1).fill(0);
  for (const v of order) {
    if (v < top || v >= end) continue;
    rank[v] = first;
    for (const u of above[v]) rank[v] = Math.max(rank[v], rank[u] + 1);
    rank[v] = branches.rank(v, rank);
    if (firm.has(v)) {
      while (across[rank[v]] === branches.abreast) rank[v]++;
      across[rank[v]]++;
    }
    branches.ranked(v, rank);
  }
  branches.move(order, rank);
  for (let u = top; u < end; u++) {
    if (above[u].length || branches.column.has(u)) continue;
    let least = Infinity;
    for (const v of below[u]) if (v < end) least = Math.min(least, rank[v]);
    if (least < Infinity) rank[u] = Math.max(least - 1, first);
  }
  return rank;
}

const beside = (count) => Math.min(Math.max(Math.ceil(Math.sqrt(count)), ABREAST >> 1), ABREAST);

function aboveGroups({ above, below, top, end, firm, column, abreast }, rank) {
  const found = new Map();
  if (abreast === ABREAST) return;
  for (let u = top; u < end; u++) {
    if (above[u].length || below[u].length < 2 || column.has(u) || !below[u].every((v) => firm.has(v))) continue;
    if (!found.has(rank[u])) found.set(rank[u], []);
    found.get(rank[u]).push(u);
  }
  for (const us of found.values()) {
    const rows = Math.ceil(us.length / Math.max(abreast, beside(us.length))), each = Math.ceil(us.length / rows);
    us.forEach((u, i) => { rank[u] -= rows - 1 - Math.floor(i / each); });
  }
}

/** Where the branches of a graph move. */
class Branches {
  constructor(above, below, top, end, firm) {
    Object.assign(this, { above, below, top, end, firm, first: top ? 1 : 0, nobody: above.length, abreast: above.length + 1, bands: new Map(), column: new Map(), slight: new Set(), paths: [] });
    this.exits = new Array(this.nobody + 1).fill(this.nobody);
    this.tall = new Array(this.nobody).fill(1);
  }

  inner(u) { return u >= this.top && u < this.end; }

  find(order, rank, widths) {
    const { above, below, nobody, exits, firm } = this, depth = new Array(nobody + 1).fill(0), reach = [...depth], wide = [...depth];
    for (let i = order.length - 1; i >= 0; i--) {
      const u = order[i];
      let meet = below[u].length ? below[u][0] : nobody;
      for (let v of below[u]) {
        while (v !== meet) {
          if (depth[v] >= depth[meet]) v = exits[v];
          else meet = exits[meet];
        }
      }
      exits[u] = meet;
      depth[u] = depth[meet] + 1;
    }
    const ends = [];
    for (let u = this.top; u < this.end; u++) if (!below[u].length) ends.push(u);
    for (const v of [...order.filter((v) => this.inner(v)), nobody]) {
      const found = [], alone = v === nobody ? 0 : 1;
      reach[v] = nobody + 1;
      for (const u of alone ? above[v] : ends) {
        if (!this.inner(u) || (firm.has(u) && (above[u].length || below[u].length === 1))) reach[v] = -1;
        else if (!firm.has(u) && below[u].length === alone && reach[u] >= depth[u]) found.push(u);
        else if (above[u].length) reach[v] = Math.min(reach[v], depth[exits[u]], reach[u]);
      }
      wide[v] = alone ? widths[v] : 0;
      let total = 0, least = 0, tallest = 0;
      for (const u of found) { total += wide[u]; least += widths[u]; tallest = Math.max(tallest, rank[u] - this.first + 1); }
      if (found.length > ABREAST && total > ROOM && tallest <= ABREAST) {
        const most = Math.max(2, Math.min(ABREAST, Math.floor(ROOM * found.length / total)));
        const each = Math.ceil(found.length / Math.ceil(found.length / most)), bands = [];
        found.sort((a, b) => a - b);
        for (let i = 0; i < found.length; i += each) bands.push(found.slice(i, i + each));
        this.bands.set(v, bands);
        for (const band of bands) band.forEach((u, c) => this.column.set(u, c));
        wide[v] = Math.max(wide[v], ROOM);
      } else if (found.length && alone) {
        this.bands.set(v, [found]);
        for (const u of found) if (rank[u] < rank[v] - 2) this.slight.add(u);
        wide[v] = Math.max(wide[v], least, ...found.map((u) => wide[u]));
      }
    }
    this.paths = new Array(nobody + 1).fill(NONE);
    for (let i = order.length - 1; i >= 0; i--) {
      const u = order[i];
      this.paths[u] = this.paths[exits[u]];
      if (this.column.has(u)) this.paths[u] = [...this.paths[u], this.bands.get(exits[u])[0][0] - nobody, this.column.get(u), 0];
    }
  }

  rank(v, rank) {
    const bands = this.bands.get(v) ?? NONE;
    let found = rank[v], under = 0;
    for (let b = bands.length - 1; b >= 0; b--) {
      for (const u of bands[b]) found = Math.max(found, rank[u] + 1 + under);
      under += Math.max(...bands[b].map((u) => this.tall[u]));
    }
    return found;
  }

  ranked(v, rank) {
    let highest = rank[v];
    for (const u of this.above[v]) {
      if (this.inner(u) && (this.above[u].length || this.exits[u] === v)) highest = Math.min(highest, rank[u] - this.tall[u] + 1);
    }
    this.tall[v] = rank[v] - highest + 1;
  }

  move(order, rank) {
    const shift = new Array(this.nobody + 1).fill(0);
    for (const [v, bands] of this.bands) {
      const last = v === this.nobody;
      let row = last ? this.first : rank[v];
      for (const band of last ? bands : [...bands].reverse()) {
        const tall = Math.max(...band.map((u) => this.tall[u]));
        if (last) row = Math.max(row + tall - 1, ...band.map((u) => rank[u]));
        for (const u of band) shift[u] = row - (last ? 0 : 1) - rank[u];
        row += last ? 1 : -tall;
      }
    }
    for (let i = order.length - 1; i >= 0; i--) {
      const u = order[i];
      if (!this.inner(u)) continue;
      shift[u] += shift[this.exits[u]];
      rank[u] += shift[u];
    }
  }

  key(u) { return [...this.paths[u], u, 0, 0]; }

  lane(u, dummy) {
    if (!this.column.has(u)) return [...this.paths[u], u, 0, 0, dummy, 0, 0];
    const path = this.paths[u], end = path.length - 3;
    return [...path.slice(0, end), path[end], path[end + 1] & ~1, 1, dummy, 0, 0];
  }
}

function rowGaps(rows, down, xs, least, top, bottom) {
  return rows.map((row, r) => {
    let runs = 0, count = 0;
    for (const item of row) for (let i = 0, near = down[item]; i < near.length; i += 2) { runs += Math.abs(xs[item] - xs[near[i]] - near[i + 1]); count++; }
    const edge = (top && r === 0) || (bottom && r === rows.length - 2) ? (count > 6 ? 58 : 40) : 0;
    return (edge || least) + (count ? Math.min((runs / count) * 0.08, 1.5 * least) : 0);
  });
}

function arrange(rows, up, down, glued, columns, fixed, sweeps) {
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
      if (columns.length) {
        const held = row.flatMap((item, i) => (columns[item][0] < 0 ? i : []));
        held.map((i) => row[i]).sort((a, b) => byNumbers(columns[a], columns[b])).forEach((item, i) => { row[held[i]] = item; });
      }
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

function glue(rows, up, down, glued, columns, rank) {
  const place = new Map(), spot = new Map(), guests = new Map();
  for (const row of rows) row.forEach((item, i) => { place.set(item, (i + 1) / (row.length + 1)); spot.set(item, i); });
  for (const [u, v] of glued) {
    const row = rows[rank[u]], operands = up[v].filter((_, i) => i % 2 === 0), hosts = operands.filter((x) => !glued.has(x));
    let key;
    if (hosts.length && !(columns.length && columns[v][0] < 0)) {
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

function put(rows, up, down, reach, gap, real, glued, slight, sweeps) {
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
          const weight = (near[i] >= real) === (item >= real) && !slight.has(near[i]) ? 1 : 0.02;
          total += (xs[near[i]] + near[i + 1]) * weight;
          load += weight;
        }
        wanted.push(near.length ? total / load : 0);
        weights.push(glued.has(item) || slight.has(item) || !here[item].length ? 0.002 : item >= real ? 4 : 1);
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
