"""Pyodide in the site: our wheels, the list of packages, and what is said if it makes no sense. No Pyodide is needed here."""

import hashlib
import importlib.util
import json
import marshal
import re
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from autograd_lab.site import build, pyodide
from autograd_lab.site.pages import CannotBuildError, Site

ROOT = Path(__file__).parents[2]
NUMPY = {
    "name": "numpy",
    "file_name": "numpy-2.0.2.whl",
    "depends": ["blas"],
    "sha256": "11",
    "imports": ["numpy"],
}
BLAS = {"name": "blas", "file_name": "blas.zip", "depends": [], "sha256": "22", "imports": []}
SCIPY = {"name": "scipy", "file_name": "scipy.whl", "depends": [], "sha256": "33", "imports": ["scipy"]}


@pytest.fixture(autouse=True, scope="module")
def without_node():
    """Nothing is compiled: what lies in the folder is no Pyodide that could. Nor is anything packed tightly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyodide.shutil, "which", lambda name: None)
        patch.setattr(pyodide, "TIGHT", 1)
        yield


@pytest.fixture
def folder(tmp_path):
    """What looks like a whole Pyodide."""
    there = tmp_path / "whole"
    there.mkdir()
    lock = {"info": {"python": "3.99.7"}, "packages": {"numpy": NUMPY, "blas": BLAS, "scipy": SCIPY}}
    (there / "pyodide-lock.json").write_text(json.dumps(lock))
    for name in (*pyodide.CORE, "numpy-2.0.2.whl", "blas.zip", "scipy.whl"):
        (there / name).write_text(name)
    return there


def made(python):
    """A site with all wheels, and the list of packages."""
    site = Site()
    python.engine(site)
    python.course(site, ROOT)
    for name in ("networkx", "ipywidgets", "anywidget"):
        python.installed(site, name)
    python.finish(site)
    return site, json.loads(site.files[pyodide.LOCK])["packages"]


def test_what_is_needed_is_copied(folder):
    python = pyodide.of(str(folder), None)
    site, packages = made(python)
    assert packages.keys() == {
        "autograd-lab",
        "autograd-lab-course",
        "numpy",
        "blas",
        "networkx",
        "ipywidgets",
        "anywidget",
    }
    copied = {*pyodide.CORE, "numpy-2.0.2.whl", "blas.zip", "pyodide-lock.json"}
    ours = {entry["file_name"] for name, entry in packages.items() if name not in ("numpy", "blas")}
    assert site.files.keys() == {f"pyodide/{name}" for name in copied | ours}
    for name in packages.keys() - {"numpy", "blas"}:
        entry = packages[name]
        assert entry["sha256"] == hashlib.sha256(site.files["pyodide/" + entry["file_name"]]).hexdigest(), (
            name
        )
    assert packages["autograd-lab-course"]["imports"] == ["autograd_lab"]
    assert "autograd-lab" in packages["autograd-lab-course"]["depends"]
    assert python.base("play/index.html") == "../pyodide/"
    assert made(pyodide.of(str(folder), None))[0].files == site.files
    assert python.compiled == "Node.js is not installed, and this is not Python 3.99"


def test_the_wheels_are_wheels(folder, tmp_path):
    """Pip installs both into one package, which runs; none has another's files, nor anything that is not for students."""
    site, packages = made(pyodide.of(str(folder), None))
    wheels = []
    for name in ("autograd-lab", "autograd-lab-course"):
        path = tmp_path / packages[name]["file_name"]
        path.write_bytes(site.files["pyodide/" + path.name])
        wheels.append(str(path))
    inside = [set(zipfile.ZipFile(path).namelist()) for path in wheels]
    assert inside[0] & inside[1] == set()
    for name in inside[0] | inside[1]:
        assert not name.startswith(("autograd_lab/grade/", "autograd_lab/site/")), name
        assert not (name.startswith("autograd_lab/course/items/") and name.endswith(".json")), name
    assert "autograd_lab/_course/notebooks/04_backward_node_by_node.ipynb" in inside[1]
    target = str(tmp_path / "installed")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--target",
        target,
    ]
    subprocess.run([*pip, *wheels], check=True, capture_output=True, timeout=120)
    program = "import autograd_lab as t, autograd_lab.lab, autograd_lab.widgets.stepper; print(t.__file__, t.tensor(3.0) * 2)"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {target!r}); {program}"], capture_output=True, text=True)  # fmt: skip
    assert done.stdout == f"{target}/autograd_lab/__init__.py tensor(6.)\n", done.stderr


def test_the_same_python_makes_the_bytecode(folder, monkeypatch):
    """The files are loaded as they are, wherever they were compiled."""
    some = {path: content for path, content in pyodide._sources(()).items() if "/core/" in path}
    monkeypatch.setattr(pyodide, "_sources", lambda left_out: some)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    lock = json.loads((folder / "pyodide-lock.json").read_text()) | {"info": {"python": f"{version}.0"}}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    wheels = []
    for _ in range(2):
        python, site = pyodide.of(str(folder), None), Site()
        python.engine(site)
        (path,) = (path for path in site.files if "autograd_lab-" in path)
        wheels.append(site.files[path])
    assert wheels[0] == wheels[1]
    files = zipfile.ZipFile(BytesIO(wheels[0]))
    made = importlib.util.cache_from_source("autograd_lab/core/engine.py")
    content = files.read(made)
    assert content[:8] == importlib.util.MAGIC_NUMBER + b"\1\0\0\0"  # by hash, and not checked
    assert (
        marshal.loads(content[16:]).co_filename
        == f"/lib/python{version}/site-packages/autograd_lab/core/engine.py"
    )
    assert python.compiled == ""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_elsewhere_all_addresses_are_whole(folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        python = pyodide.of(url, "https://example.org/lab")
        site, packages = made(python)
        server.shutdown()
    assert {"scipy", "numpy", "autograd-lab"} <= packages.keys()
    assert packages["numpy"]["file_name"] == f"{url}/numpy-2.0.2.whl"
    mine = packages["autograd-lab"]["file_name"]
    assert mine.startswith("https://example.org/lab/pyodide/autograd_lab-")
    assert mine.removeprefix("https://example.org/lab/") in site.files
    assert not any(name.endswith(".wasm") for name in site.files)
    assert python.base("play/index.html") == f"{url}/"
    bundle = python.bundle(site, "play/index.html", "autograd_lab")
    assert {name for name in bundle["lock"]["packages"]} == {"autograd-lab", "numpy", "blas"}
    urls = {file["url"] for file in bundle["files"].values()}
    assert urls == {
        f"{url}/{name}"
        for name in (*pyodide.CORE, "numpy-2.0.2.whl", "blas.zip")
        if not name.endswith(".mjs")
    } | {"../" + mine.removeprefix("https://example.org/lab/")}
    assert bundle["files"]["blas.zip"]["integrity"] == "sha256-Ig=="


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--site", "https://example.org"], "name it with --pyodide URL"),
        (["--pyodide", "FOLDER", "--site", "https://example.org"], "leave --site out"),
        (["--pyodide", "https://example.org"], "add --site https"),
        (["--pyodide", "https://example.org", "--site", "lab"], "add --site https"),
        (["--pyodide", "nowhere"], "there is no Pyodide in nowhere"),
        (["--pyodide", "http://127.0.0.1:9/", "--site", "https://example.org"], "cannot be read: .*refused"),
    ],
)
def test_options_that_make_no_sense(options, says, folder, tmp_path, capsys):
    argv = [
        str(tmp_path / "site"),
        "--root",
        str(ROOT),
        *(str(folder) if one == "FOLDER" else one for one in options),
    ]
    assert build.main(argv) == 2
    assert re.search(says, capsys.readouterr().err)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "pyodide-lock.json").write_text("{}"), "is damaged"),
        (lambda folder: (folder / "pyodide-lock.json").write_text("[1"), "is damaged"),
        (lambda folder: (folder / "pyodide.asm.wasm").unlink(), "has no pyodide.asm.wasm"),
        (lambda folder: (folder / "blas.zip").unlink(), "has no blas.zip"),
        (lambda folder: (folder / "pyodide-lock.json").write_text('{"info": {"python": "3.12"}, "packages": {}}'), "has no package numpy"),
    ],
)  # fmt: skip
def test_a_damaged_pyodide_is_refused(damage, says, folder):
    damage(folder)
    with pytest.raises(CannotBuildError, match=says):
        made(pyodide.of(str(folder), None))


def test_a_package_that_is_missing_is_named(folder):
    python, site = pyodide.of(str(folder), None), Site()
    with pytest.raises(CannotBuildError, match="needs the package no-such-thing"):
        python.installed(site, "no-such-thing")
    python.wheel(site, "one", "1.0", {"one.py": b""}, ["two"])
    with pytest.raises(CannotBuildError, match="needs two, which no part"):
        python.finish(site)


def test_a_wheel_is_the_same_for_the_same_files():
    files = {"b/x.py": b"1", "a.py": b"2"}
    one = pyodide.wheel("some-thing", "1.0", files)
    assert one == pyodide.wheel("some-thing", "1.0", dict(reversed(files.items())))
    record = zipfile.ZipFile(BytesIO(one)).read("some_thing-1.0.dist-info/RECORD").decode()
    assert record.splitlines()[0].startswith("a.py,sha256=")
