// Compiles the Python files of a folder with Pyodide's Python: `node bytecode.mjs PYODIDE FOLDER` writes __pycache__ beside them.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, root] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const py = await loadPyodide({ indexURL: pyodide, env: { PYTHONHASHSEED: "0" } });
py.FS.mkdirTree("/sources");
py.FS.mount(py.FS.filesystems.NODEFS, { root }, "/sources");
py.runPython(`
import py_compile, sysconfig
from pathlib import Path

for path in sorted(Path("/sources").rglob("*.py")):
    place = f"{sysconfig.get_path('purelib')}/{path.relative_to('/sources')}"
    py_compile.compile(str(path), dfile=place, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`);
