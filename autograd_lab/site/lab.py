"""The lab at lab/: JupyterLite, with the whole course, in a Python that runs in the visitor's browser.

JupyterLite is what is installed here (the extra `site`); its own command puts it together, without a network. We add the students' copies,
our packages to Pyodide's list (pyodide.py), and an extension (assets/lab/) that keeps, downloads and uploads a student's work.
lab/index.html is a page of ours, before anything large is loaded.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from autograd_lab._version import __version__
from autograd_lab.course.contents import TITLES, exercise_file, stem
from autograd_lab.course.resources import deliver
from autograd_lab.course.student import PRIVATE

from .options import Options
from .pages import ASSETS, CannotBuildError, Site
from .pyodide import PLACE, Pyodide

HOME = "lab/index.html"
APP = "lab/lab/index.html"
EXTENSION = "autograd-lab"
NEEDED = ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server")
"""What puts the lab together; JupyterLite lists the notebooks with jupyter_server."""
SHOWN = ("anywidget", "jupyterlab_widgets", "jupyterlite_pyodide_kernel")
"""The installed packages whose JupyterLab extensions the lab has: of the same version as their Python half."""
KERNEL = "@jupyterlite/pyodide-kernel-extension"

PYODIDES = ("micropip", "packaging", "ssl", "sqlite3", "jedi", "ipython", "matplotlib")
"""What a kernel and the course need of Pyodide's own packages."""
OURS = {
    "comm": (),
    "typing_extensions": (),
    "psygnal": (),
    "networkx": (),
    "ipywidgets": ("comm", "traitlets", "ipython"),
    "anywidget": ("ipywidgets", "psygnal", "typing_extensions"),
}
"""What the course needs and Pyodide may not have: of this environment, and what each of them needs."""
EARLY = (
    "micropip", "piplite", "ssl", "sqlite3", "ipykernel", "comm", "pyodide_kernel", "jedi", "ipython", "autograd-lab-course", "autograd-lab-in-browser",
)  # fmt: skip
"""What a kernel loads as it starts, all at the same time: it would ask for most of them one after the other."""

IN_BROWSER = "autograd_lab_in_browser"
_BEGIN = f"""import {IN_BROWSER}

{IN_BROWSER}.begin(get_ipython())
del {IN_BROWSER}
"""
"""What IPython runs as it starts."""

NOTED = {
    "kernelspec": {"display_name": "Python (Pyodide)", "language": "python", "name": "python"},
    "language_info": {
        "codemirror_mode": {"name": "python", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.8",
    },
}
"""What this kernel notes in a notebook when it starts: a notebook that was only opened is then not marked unsaved."""


def add(site: Site, options: Options) -> None:
    """Put the lab into the site; without Pyodide or JupyterLite its page says what is missing."""
    if why := missing(options.pyodide):
        print(f"The lab is left out. {why}")
        site.page(
            HOME,
            "The lab",
            f"<h1>The lab</h1>\n<p>{escape(why)}</p>",
            description="The whole course, in a browser.",
        )
        return
    assert options.pyodide is not None
    _packages(site, options.pyodide, options.root)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = _copies(options.root, folder / "files")
        _settings(folder, options.pyodide)
        _extension(folder / "own")
        _put_together(folder)
        for path in sorted((folder / "out").rglob("*")):
            place = path.relative_to(folder / "out").as_posix()
            if path.is_file() and place not in ("index.html", "lab/index.html"):
                site.add(
                    f"lab/{place}", _sorted(path) if place.startswith("api/contents/") else path.read_bytes()
                )
        site.add(APP, _named((folder / "out/lab/index.html").read_text(encoding="utf-8")))
    site.add("lab/delivered.json", json.dumps(listed) + "\n")
    for asset in ("page.js", "page.css"):
        site.add(f"lab/{asset}", (ASSETS / "lab" / asset).read_bytes())
    site.page(
        HOME, "The lab", _page(), description="The whole course, in a browser: nothing to install.",
        styles=["lab/page.css"], scripts=["lab/page.js"],
    )  # fmt: skip


def missing(pyodide: Pyodide | None) -> str:
    """A sentence if the lab cannot be put together; "" if it can."""
    if pyodide is None:
        return "This copy of the site has no Python. To add one, build it with autograd-lab site --pyodide."
    if lacking := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        return (
            f"This copy of the site has no lab: {', '.join(lacking)} was not installed where it was built. "
            'To add it, run pip install "autograd_lab[site]", and build the site again.'
        )
    return ""


# ----------------------------------------------------------------------
# Python packages
# ----------------------------------------------------------------------


def _packages(site: Site, pyodide: Pyodide, root: Path) -> None:
    """Put all that a kernel loads into the site and into Pyodide's list."""
    pyodide.engine(site)
    pyodide.course(site, root)
    for name, needs in OURS.items():
        pyodide.installed(site, name, needs)
    pyodide.add(site, *PYODIDES)
    for wheel in _kernel_wheels():
        name, version = wheel.name.split("-")[:2]
        if name in ("piplite", "pyodide_kernel", "ipykernel"):
            with zipfile.ZipFile(wheel) as archive:
                files = {
                    path: archive.read(path)
                    for path in archive.namelist()
                    if not path.endswith(("/RECORD", "/WHEEL", "/"))
                }
            pyodide.wheel(site, name, version, files)
    pyodide.wheel(site, IN_BROWSER, __version__, {f"{IN_BROWSER}/__init__.py": Path(__file__).with_name("in_browser.py").read_bytes(), f"{IN_BROWSER}/profile_default/startup/begin.py": _BEGIN.encode()})  # fmt: skip
    # A plot of the course is drawn by matplotlib, which is large: it is loaded for the import of the plots, not for that of the engine.
    pyodide.wheel(site, "autograd-lab-plots", __version__, {}, ["matplotlib"], ["autograd_lab.course"])


def _kernel_wheels() -> Iterator[Path]:
    for path in importlib.metadata.files("jupyterlite_pyodide_kernel") or ():
        if path.suffix == ".whl":
            yield Path(str(path.locate()))


# ----------------------------------------------------------------------
# JupyterLite
# ----------------------------------------------------------------------


def _copies(root: Path, folder: Path) -> list[str]:
    """Write the students' copies into `folder`; returns their paths in it."""
    folder.mkdir()
    report = deliver(root, folder)
    (folder / PRIVATE / "delivered.json").unlink()
    (folder / PRIVATE).rmdir()
    for path in folder.rglob("*.ipynb"):
        content = json.loads(path.read_text(encoding="utf-8"))
        content["metadata"] |= NOTED
        path.write_text(
            json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
        )
    return sorted(path.as_posix() for path in report.new)


def _settings(folder: Path, pyodide: Pyodide) -> None:
    """Write JupyterLite's settings."""
    base = pyodide.base(HOME)
    python = "python{}.{}".format(*pyodide.python)
    options = {
        "packages": list(EARLY),
        "env": {
            "HOME": "/home/pyodide",
            "AUTOGRAD_LAB_PROGRESS": f"/drive/{PRIVATE}/progress.json",
            "IPYTHONDIR": f"/lib/{python}/site-packages/{IN_BROWSER}",
        },
    }
    if pyodide.folder is None:
        options["lockFileURL"] = pyodide.site + f"{PLACE}pyodide-lock.json"
    kernel = {
        "pyodideUrl": f"./{base}pyodide.js" if pyodide.folder is not None else f"{base}pyodide.js",
        "disablePyPIFallback": True,
        "loadPyodideOptions": options,
    }
    config = {
        "appName": "autograd_lab",
        "litePluginSettings": {f"{KERNEL}:kernel": kernel},
    }
    _write(folder / "jupyter-lite.json", {"jupyter-lite-schema-version": 0, "jupyter-config-data": config})
    _write(
        folder / "overrides.json",
        {
            "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 5},
            "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},
            "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
            "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": False},
        },
    )


def _extension(folder: Path) -> None:
    """Write our own extension, as one that was built."""
    (folder / "static").mkdir(parents=True)
    for name in ("extension.js", "extension.css", "work.js"):
        (folder / "static" / name).write_bytes((ASSETS / "lab" / name).read_bytes())
    load = {"load": "static/extension.js", "extension": "./extension"}
    _write(folder / "package.json", {"name": EXTENSION, "version": __version__, "license": "BSD-3-Clause", "jupyterlab": {"extension": True, "_build": load}})  # fmt: skip


def _put_together(folder: Path) -> None:
    """Run JupyterLite's own command."""
    extensions = [str(folder / "own")]
    for package in SHOWN:
        extensions += _extensions_of(package)
    _write(
        folder / "jupyter_lite_config.json",
        {
            "LiteBuildConfig": {
                "apps": ["lab"], "contents": [str(folder / "files")], "output_dir": str(folder / "out"), "cache_dir": str(folder / "cache"),
                "federated_extensions": extensions, "ignore_sys_prefix": ["federated_extensions"],
                "no_sourcemaps": True, "no_unused_shared_packages": True, "source_date_epoch": 315532800,
            }
        },
    )  # fmt: skip
    command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(folder)]
    own = {
        name: str(folder / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **own, "JUPYTER_NO_CONFIG": "1"}
    )  # fmt: skip
    if done.returncode:
        raise CannotBuildError(
            f"JupyterLite could not be put together; it said: {(done.stderr or done.stdout).strip()[-1000:]}"
        )


def _sorted(listing: Path) -> bytes:
    """A list of files, by name: JupyterLite leaves them in the order of this machine's disk."""
    content = json.loads(listing.read_text(encoding="utf-8"))
    content["content"].sort(key=lambda file: file["name"])
    return json.dumps(content, indent=1, sort_keys=True).encode()


def _extensions_of(package: str) -> list[str]:
    """The folders of the JupyterLab extensions that an installed package brings."""
    found = [
        str(Path(str(path.locate())).resolve().parent)
        for path in importlib.metadata.files(package) or ()
        if path.name == "package.json" and "labextensions" in path.parts
    ]
    if not found:
        raise CannotBuildError(
            f"{package} is installed without its extension of JupyterLab: pip install --force-reinstall {package}"
        )
    return found


def _named(page: str) -> str:
    """JupyterLite's page with the name of the lab, where that is found."""
    return page.replace("<title>JupyterLite</title>", "<title>The lab · autograd_lab</title>").replace(
        "Loading JupyterLite...", "Opening the lab …"
    )


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


# ----------------------------------------------------------------------
# the page before it
# ----------------------------------------------------------------------


def _page() -> str:
    """The body of lab/index.html. JupyterLite reads its settings from this page as well: it looks in it for the script below."""
    rows = []
    for number, title in TITLES.items():
        book = f'<a href="lab/index.html?path=notebooks/{stem(number)}.ipynb">{number} · {escape(title)}</a>'
        exercise = f' <a class="lab-exercise" href="lab/index.html?path={exercise_file(number)}" aria-label="exercises {number}">exercises</a>'
        rows.append(f"<li>{book}{exercise}</li>")
    return f"""<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{{}}</script>
<h1>The lab</h1>
<p class="lab-lead">All notebooks and exercises, in this browser. There is nothing to install, and no account.</p>
<p><a class="lab-open" href="lab/index.html">Open the lab</a></p>
<h2>Good to know</h2>
<ul class="lab-known">
<li>Python runs in this browser, on your machine. It starts in about 15 seconds, the first time after a download of about 40 MB.
Each notebook that runs takes about 600 MB of memory: to close one, choose "Close and Shut Down Notebook" in the menu File.</li>
<li>Your work is kept in this browser, on this machine, and nowhere else: in a private window it is gone when you close it.
<b>Download my work</b>, at the top of the lab, gives you all of it as one archive. <b>Upload work</b> brings it back, here or in another
browser, and asks before it replaces anything. <code>autograd-lab grade</code> reads the archive as it is.</li>
<li>What needs more than a browser does not work here: commands of the system (<code>!pip</code>), threads and processes, the grader,
and PyTorch itself. <code>import autograd_lab as torch</code> is all you need.</li>
<li>It was tried in Chromium. Use a window of a laptop or a desktop: on a phone JupyterLab is cramped.</li>
</ul>
<h2>Notebooks</h2>
<ol class="lab-books">
{chr(10).join(rows)}
</ol>"""
