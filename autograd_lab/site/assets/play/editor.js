// The editor: a text field, and behind it the same text in colors, with numbers. It keeps the browser's own undo, search and spelling of keys.

const TOKEN = new RegExp([
  /(?<comment>#.*)/, /(?<string>[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
  /(?<decorator>@[\w.]+)/, /(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?j?))/,
  /(?<keyword>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b)/,
  /(?<name>[\p{L}_][\p{L}\p{N}_]*)/u,
].map((one) => one.source).join("|"), "gu");

/** The tokens of a Python program: [kind, text] one after the other; kind is "" for the rest. */
export function tokens(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (match.index > at) found.push(["", text.slice(at, match.index)]);
    found.push([kind === "name" ? "" : kind, match[0]]);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(["", text.slice(at)]);
  return found;
}

export class Editor {
  /** `root` holds the field (textarea); `changed` is called after each change. */
  constructor(root, changed) {
    this.field = root.querySelector("textarea");
    this.colors = document.createElement("pre");
    this.numbers = document.createElement("pre");
    this.numbers.className = "play-numbers";
    this.colors.className = "play-colors";
    for (const one of [this.numbers, this.colors]) one.setAttribute("aria-hidden", "true");
    root.prepend(this.numbers, this.colors);
    this.changed = changed;
    this.field.addEventListener("input", () => { this.mark(0); this.draw(); changed(); });
    this.field.addEventListener("scroll", () => this.scroll());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("blur", () => { this.leaving = false; });
    this.draw();
  }

  get value() { return this.field.value; }

  set value(text) {
    this.field.value = text;
    this.mark(0);
    this.draw();
  }

  /** Put another text in the place of a line, so that Ctrl+Z brings the old one back; an empty one removes the line. */
  replace(line, text) {
    const [from, to] = this.place(line);
    this.field.focus();
    this.field.setSelectionRange(from, text ? to : Math.min(to + 1, this.value.length)); // all at once would take the browser seconds
    this.insert(text);
  }

  /** Where a line begins and ends. */
  place(line) {
    const lines = this.value.split("\n"), from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return [from, from + (lines[line - 1]?.length ?? 0)];
  }

  insert(text) {
    // deprecated, and still the only way that keeps the history of changes
    if (!document.execCommand(text ? "insertText" : "delete", false, text)) {
      this.field.setRangeText(text, this.field.selectionStart, this.field.selectionEnd, "end");
      this.field.dispatchEvent(new Event("input"));
    }
  }

  /** Mark a line as the one that failed; 0 is none. */
  mark(line) {
    this.marked = line;
    this.field.toggleAttribute("aria-invalid", false);
    if (line) this.field.setAttribute("aria-invalid", "true");
  }

  /** Put the cursor at the beginning of a line, and show it. */
  go(line) {
    this.field.focus();
    this.field.setSelectionRange(...this.place(line));
    this.field.scrollTop = Math.max((line - 4) * parseFloat(getComputedStyle(this.field).lineHeight), 0);
  }

  draw() {
    const lines = [[]];
    for (const [kind, text] of tokens(this.value)) {
      text.split("\n").forEach((part, i) => {
        if (i) lines.push([]);
        if (!part) return;
        const span = document.createElement("span");
        if (kind) span.className = `play-${kind}`;
        span.textContent = part;
        lines.at(-1).push(span);
      });
    }
    const line = (number, content) => {
      const div = document.createElement("div");
      div.classList.toggle("play-failed", number === this.marked);
      div.append(...content);
      return div;
    };
    this.colors.replaceChildren(...lines.map((spans, i) => line(i + 1, spans.length ? spans : ["\n"])));
    this.numbers.replaceChildren(...lines.map((_, i) => line(i + 1, [String(i + 1)])));
    this.field.style.setProperty("--lines", lines.length);
    this.scroll();
  }

  scroll() {
    this.colors.scrollTop = this.numbers.scrollTop = this.field.scrollTop;
    this.colors.scrollLeft = this.field.scrollLeft;
  }

  key(event) {
    if (event.key === "Escape") { this.leaving = true; return; } // then Tab moves on, as elsewhere
    if (event.key === "Tab" && !this.leaving && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      this.indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      const before = this.value.slice(0, this.field.selectionStart), line = before.slice(before.lastIndexOf("\n") + 1);
      event.preventDefault();
      this.insert(`\n${line.match(/^[ \t]*/)[0]}${/:\s*(#.*)?$/.test(line) ? "    " : ""}`);
    }
    if (event.key !== "Tab" && event.key !== "Shift") this.leaving = false;
  }

  indent(back) {
    const { selectionStart: from, selectionEnd: to } = this.field, text = this.value, first = text.lastIndexOf("\n", from - 1) + 1;
    if (!back && from === to) return this.insert(" ".repeat(4 - ((from - first) % 4)));
    const last = to > from && text[to - 1] === "\n" ? to - 1 : to;
    const end = text.indexOf("\n", last) < 0 ? text.length : text.indexOf("\n", last);
    const changed = text.slice(first, end).split("\n").map((line) => (back ? line.replace(/^(\t| {1,4})/, "") : line && `    ${line}`)).join("\n");
    if (changed === text.slice(first, end)) return undefined;
    this.field.setSelectionRange(first, end);
    this.insert(changed);
    if (from === to) this.field.setSelectionRange(Math.max(from + changed.length - (end - first), first), Math.max(from + changed.length - (end - first), first));
    else this.field.setSelectionRange(first, first + changed.length);
    return undefined;
  }
}
