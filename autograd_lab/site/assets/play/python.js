// Python in a worker, inside of a frame that has no origin (frame.html): programs that come with a link reach nothing of this site's.
// The files are fetched here, with progress, and handed in; the frame itself may fetch nothing.

const DRAWING = 60; // seconds for what comes after the program: its film and the answers
const MOST_MEMORY = 1e9; // bytes of the worker's heap, above which a fresh one takes its place

export class Python {
  /** `kit` says which files (pyodide.py), `limits` {seconds, events}; `hear(what, detail)` is called with all that happens. */
  constructor(kit, limits, hear) {
    this.kit = kit;
    this.limits = limits;
    this.hear = hear;
    this.state = "absent";
    this.runs = 0;
  }

  /** Begin to load, if that has not happened. */
  async load() {
    if (this.state !== "absent") return;
    this.become("loading", { loaded: 0, size: this.size });
    try {
      const files = await this.fetchAll();
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.title = "Python";
      frame.hidden = true;
      const loaded = new Promise((resolve, reject) => { frame.onload = resolve; frame.onerror = reject; });
      frame.src = this.kit.frame;
      document.body.append(frame);
      await loaded;
      const { port1, port2 } = new MessageChannel();
      this.port = port1;
      port1.onmessage = ({ data }) => this.heard(data);
      this.become("starting");
      frame.contentWindow.postMessage({ files, lock: this.kit.lock, packages: this.kit.packages }, "*", [port2]);
    } catch (error) {
      this.become("absent");
      this.wanted = null;
      this.hear("failed", `Python could not be loaded (${error.message}). Is the network there? Press Run to try again.`);
    }
  }

  get size() { return Object.values(this.kit.files).reduce((sum, file) => sum + (file.size || 0), 0); }

  async fetchAll() {
    let loaded = 0, told = 0;
    const one = async ([name, { url, integrity }]) => {
      const answer = await fetch(url, integrity ? { integrity } : {});
      if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
      const parts = [], reader = answer.body.getReader();
      for (let got = await reader.read(); !got.done; got = await reader.read()) {
        parts.push(got.value);
        loaded += got.value.length;
        if (performance.now() - told > 150) { told = performance.now(); this.hear("loading", { loaded, size: this.size }); }
      }
      return [name, new Blob(parts, { type: TYPES[name.split(".").at(-1)] ?? "" })];
    };
    return Object.fromEntries(await Promise.all(Object.entries(this.kit.files).map(one)));
  }

  /** Run a program as soon as Python is there. */
  run(program) {
    if (this.busy && this.state !== "sliding") return;
    this.wanted = program;
    if (this.state === "sliding") return; // after what a slider has asked
    if (this.state === "absent") this.load();
    else if (this.state === "ready") this.begin();
    else this.hear("waiting");
  }

  begin() {
    const source = this.wanted;
    this.wanted = null;
    this.runs += 1;
    this.become("running");
    this.port.postMessage({ do: "run", source, n: this.runs, ...this.limits });
    this.wait(this.limits.seconds, "time");
  }

  /** Run the program that is shown with other numbers (widgets/literals.py); whether it can be done now. */
  slide(source, asked) {
    if (this.state !== "ready") return false;
    this.runs += 1;
    this.state = "sliding";
    this.port.postMessage({ do: "slide", source, asked: JSON.stringify(asked), n: this.runs, ...this.limits });
    this.wait(this.limits.seconds, "time");
    this.slow = setTimeout(() => this.hear("sliding"), 500);
    return true;
  }

  get busy() { return this.state === "sliding" || this.state === "running" || this.state === "drawing"; }

  wait(seconds, reason) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.stop(reason), seconds * 1000);
  }

  /** End the program that runs, or one that waits: "stop", "time" (it took too long) or "drawing" (what comes after it did). */
  stop(reason = "stop") {
    if (this.wanted !== null && !this.busy) {
      this.wanted = null;
      this.hear("stopped", reason);
    } else if (this.busy) {
      this.renew();
      this.hear("stopped", reason);
    }
  }

  /** A fresh worker in the place of this one. */
  renew() {
    clearTimeout(this.timer);
    clearTimeout(this.slow);
    this.runs += 1;
    this.become("starting");
    this.port.postMessage({ do: "renew" });
  }

  become(state, detail) {
    this.state = state;
    this.hear(state, detail);
  }

  heard(data) {
    if (data === null || typeof data !== "object") return; // a program can send what it likes
    if (data.kind === "ready" && this.state === "starting") {
      this.become("ready");
      if (typeof this.wanted === "string") this.begin();
    } else if (data.kind === "broken") {
      clearTimeout(this.timer);
      this.become("broken");
      this.hear("failed", `Python did not start: ${String(data.message).slice(0, 500)}. Load the page again; if it stays so, this browser may be too old for it.`);
    } else if (data.n !== this.runs || !this.busy) {
      return;
    } else if (data.kind === "printed") {
      this.hear("printed", String(data.text));
    } else if (data.kind === "drawing" && this.state === "running") {
      this.become("drawing");
      this.wait(DRAWING, "drawing");
    } else if (data.kind === "slid") {
      for (const timer of [this.timer, this.slow]) clearTimeout(timer);
      this.state = "ready";
      this.hear("slid", read(data.result, { error: "The answer cannot be read." }));
      if (data.dead || data.heap > MOST_MEMORY) this.renew();
      else if (typeof this.wanted === "string") this.begin();
    } else if (data.kind === "done") {
      clearTimeout(this.timer);
      const heavy = data.heap > MOST_MEMORY;
      const result = read(data.result, { traits: null, why: [], error: { type: "Error", message: "the answer cannot be read", line: 0, text: "" }, events: 0, cut: "" });
      const dead = Boolean(data.dead);
      if (dead || heavy) this.renew();
      else this.become("ready");
      this.hear("done", { ...result, heavy, dead });
    }
  }
}

/** An answer from Python; `otherwise` if it is none, since a program can send what it likes. */
function read(text, otherwise) {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

const TYPES = { wasm: "application/wasm", js: "text/javascript", json: "application/json" };
