// The worker with Python. What Pyodide asks for by its name comes from what the frame was given; nothing else can be had.
const BASE = "https://pyodide.invalid/";

const boot = `
from autograd_lab.torchlike.world.standin import stand_in
torch = stand_in()

from autograd_lab.widgets import afresh, literals, program
import functools, json

def run(source, tell, ended, events, seconds):
    restore()  # a slider may have run something since
    try:
        return program.run(source, tell, most=events, seconds=seconds, ended=ended)
    finally:
        restore()

def shown(ran):
    return json.dumps(ran.shown(), allow_nan=False)

def slide(source, asked, events, seconds):
    limited = functools.partial(program.run, most=events, seconds=seconds)
    return json.dumps(literals.slid(source, json.loads(asked), restore, limited), allow_nan=False)

program.run("import torch; torch.ones(2, requires_grad=True).sum().backward()", print).shown()  # so that what it needs is imported
restore = afresh.Afresh().restore
(run, shown, slide)
`;

let run, shown, slide, heap;

async function begin({ files, lock, packages, scripts, module }) {
  const name = (url) => String(url?.url ?? url).split("/").at(-1);
  self.fetch = async (url) => {
    if (name(url) === "pyodide-lock.json") return new Response(JSON.stringify(lock));
    if (!files[name(url)]) throw new TypeError(`${name(url)} is not here`);
    return new Response(files[name(url)], { headers: { "Content-Type": files[name(url)].type } });
  };
  const load = self.importScripts.bind(self);
  self.importScripts = (url) => load(scripts[name(url)] ?? url);
  WebAssembly.instantiateStreaming = async (_, imports) => ({ module, instance: await WebAssembly.instantiate(module, imports) });
  self.importScripts("pyodide.js");
  const py = await loadPyodide({ indexURL: BASE, lockFileURL: `${BASE}pyodide-lock.json`, env: { HOME: "/home/pyodide" } });
  await py.loadPackage(packages, { messageCallback() {}, errorCallback(text) { throw new Error(text); } });
  [run, shown, slide] = py.runPython(boot).toJs();
  heap = () => py._module.HEAP8.length;
}

/** What an error says, in a line. */
function last(error) {
  if (error instanceof RangeError) return "something is nested too deeply for a browser: calls, lists or brackets";
  return String(error?.message ?? error).trim().split("\n").at(-1);
}

self.onmessage = async ({ data }) => {
  if (data.do === "slide") {
    let result, dead = false;
    try {
      result = slide(data.source, data.asked, data.events, 0.9 * data.seconds);
    } catch (error) {
      dead = true;
      result = JSON.stringify({ error: last(error) });
    }
    self.postMessage({ kind: "slid", n: data.n, result, dead, heap: heap() });
    return;
  }
  if (data.do !== "run") {
    try {
      await begin(data);
      self.postMessage({ kind: "ready" });
    } catch (error) {
      self.postMessage({ kind: "broken", message: String(error?.message ?? error) });
    }
    return;
  }
  const { n, source, events, seconds } = data;
  let result, dead = false;
  try {
    const ran = run(source, (text) => self.postMessage({ kind: "printed", n, text }), () => self.postMessage({ kind: "drawing", n }), events, 0.9 * seconds);
    result = shown(ran);
    ran.destroy();
  } catch (error) { // of the lab, or of Python itself, which may answer nothing more
    dead = true;
    result = JSON.stringify({ traits: null, why: [], events: 0, cut: "", error: { type: "Error", message: last(error), line: 0, text: String(error?.message ?? error) } });
  }
  self.postMessage({ kind: "done", n, result, dead, heap: heap() });
};
