// What was chosen in the graph, in full: a node, an edge or a tensor, as it is at the step on screen.
import { at, escape } from "./core.js";
import { card, term } from "./dom.js";

export class Picked {
  constructor(panels) {
    this.panels = panels;
    this.film = panels.film;
    this.what = null;
  }

  /** The lines of the backward graph by sender and by receiver, found when they are first asked for. */
  get lines() {
    if (!this.found) {
      this.found = { from: new Map(), to: new Map() };
      this.film.backward.forEach((line, i) => {
        for (const [map, n] of [[this.found.from, line.n], [this.found.to, this.film.units[line.u].node]]) {
          if (!map.has(n)) map.set(n, []);
          map.get(n).push(i);
        }
      });
    }
    return this.found;
  }

  html(phase) {
    const { unit, edge } = this.what;
    const close = '<button type="button" class="agl-drop" data-lm-suppress-shortcuts="true" aria-label="Close: back to the running node" title="Back to the running node (Esc)">\u00d7</button>';
    return `<div class="agl-picked">${close}${edge === undefined ? this.unit(this.film.units[unit], phase) : this.edge(edge)}</div>`;
  }

  unit({ node: n, boxes, since }, phase) {
    const { panels, film } = this, node = film.nodes[n];
    if (since > panels.stage.k) return this.later(node && boxes.length ? node.label : film.tensors[boxes[0]?.[0]]?.label ?? node.label);
    if (!node) return panels.tensorText(boxes[0][0]) + this.made(boxes[0][0]);
    let html = panels.nodeText(n, phase);
    if (node.kind === "accumulate") html += boxes.length ? panels.readersText(boxes[0][0]) + panels.versionsText(boxes[0][0]) : "";
    else html += this.line(node.src);
    return html + this.waits(n, phase);
  }

  /** What has not been made says nothing: its numbers may be what is asked. */
  later(label) { return `${this.panels.head(label, "")}<p>Not made yet at this step.</p>`; }

  /** Where a tensor without a node was made. */
  made(t) {
    const row = this.film.details.rows.find((one) => one[1] === t);
    return row ? this.line(row.slice(5)) : "";
  }

  line(src) {
    const text = src ? this.panels.lineText(...src) : "";
    return text ? `<p>Made at ${text}</p>` : "";
  }

  status(i) {
    const state = at(this.film.backward[i].tl, this.panels.stage.k);
    return state === undefined ? ["ghost", -1] : this.film.states[state];
  }

  /** Which messages a node still waits for, and who waits for its own. */
  waits(n, phase) {
    const { film, panels } = this;
    if (phase.name !== "backward" || panels.stage.quiz.hidesQueue) return "";
    const ask = (list, name) => (list ?? []).filter((i) => this.status(i)[0] === "made").map((i) => [i, name(film.backward[i])]);
    const chip = ([i, label]) => `<button type="button" class="agl-chip agl-to" data-lm-suppress-shortcuts="true" data-edge="${i}" title="Show this edge">${escape(label)}</button>`;
    const state = at(film.nodes[n].tl, panels.stage.k), status = state === undefined ? "" : film.states[state][0];
    if (!["waiting", "ready", "active"].includes(status)) return "";
    const awaited = ask(this.lines.to.get(n), (line) => film.nodes[line.n].label);
    const waiting = ask(this.lines.from.get(n), (line) => film.nodes[film.units[line.u].node]?.label ?? "");
    return (awaited.length ? `<div class="agl-waiting"><h4>Waits for</h4>${awaited.map(chip).join("")}</div>` : "")
      + (waiting.length ? `<div class="agl-waiting"><h4>Waiting for it</h4>${waiting.map(chip).join("")}</div>` : "");
  }

  /** One edge: what it carries by which rule, and what lies where it ends. */
  edge(i) {
    const { panels, film } = this, { n, i: operand, u } = film.backward[i], node = film.nodes[n], target = film.nodes[film.units[u].node], k = panels.stage.k;
    const [is, v] = this.status(i), [to, rule] = node.rule[operand] ?? ["", ""], hidden = panels.stage.quiz.hidesRule(n);
    const index = at(node.panel, k), out = index === undefined ? undefined : film.states[index].out?.find(([operand_]) => operand_ === operand);
    if (is === "ghost") return this.later(`${node.label} \u2192 ${target?.label ?? "?"}`);
    let html = panels.head(`${node.label} \u2192 ${target?.label ?? "?"}`, to ? `the way back to <i>${escape(to)}</i>` : "");
    if (is === "pruned") html += "<p>Nothing is sent here: no gradient is wanted behind it.</p>";
    else if (hidden) html += "<p>What goes along here is for you to say.</p>";
    else if (is === "sent") html += `<div class="agl-flow">${out ? term(film, film.strings[out[1]], film.strings[out[2]], v, film.strings[out[3]], panels.names) : card(film, "sent", v, "agl-out")}</div>`;
    else html += `<p>Backward, <b>${escape(node.label)}</b> will send here${rule ? `: ${panels.math(rule)}` : " the gradient for this operand"}.</p>`;
    if (!hidden && is !== "pruned") html += panels.wordsText(rule);
    const state = target && at(target.tl, k), [status, arrived, of] = state === undefined ? [] : film.states[state];
    if (status === "waiting" && of > 1 && !panels.stage.quiz.hidesQueue) html += `<p><b>${escape(target.label)}</b> has ${arrived} of ${of} messages. What arrives is added up.</p>`;
    return html + this.line(node.src);
  }
}
