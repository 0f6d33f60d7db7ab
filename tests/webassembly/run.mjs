// Runs inside.py in Pyodide: `node run.mjs PYODIDE CHECKOUT OUT PACKAGE...`, all of them folders or files of this machine.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, checkout, out, ...packages] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const py = await loadPyodide({ indexURL: pyodide, env: { HOME: "/home/pyodide", MPLBACKEND: "agg" } });
await py.loadPackage(["numpy", "matplotlib", "ipython"], { messageCallback() {} });

function mount(root, place) {
    py.FS.mkdirTree(place);
    py.FS.mount(py.FS.filesystems.NODEFS, { root }, place);
}
mount(checkout, "/checkout");
mount(out, "/out");
for (const item of packages) {
    const place = `/site/${path.basename(item)}`;
    if (fs.statSync(item).isDirectory()) mount(item, place);
    else py.FS.writeFile(place, fs.readFileSync(item));
}
py.runPython(`
import sys
sys.pycache_prefix = "/pycache"  # in memory: the package is imported more than once
sys.path[:0] = ["/site", "/checkout/tests/webassembly", "/checkout"]
import inside
inside.main()
`);
