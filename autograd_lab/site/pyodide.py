"""Python for the pages: Pyodide beside them or on a server elsewhere, and our wheels in its list of packages.

    --pyodide FOLDER             its files are copied into the site, as far as a page needs them: all works without a network
    --pyodide URL --site URL     nothing is copied; the list of packages has absolute addresses, since Pyodide looks beside itself
                                 for all others

Wheels are made here, without a network and the same every time: of this package, and of packages that this Python has
(`installed`). They have bytecode if this Python has the version of Pyodide's, or if its folder and Node.js are there: the import then
takes a third of the time.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import json
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from autograd_lab._version import __version__
from autograd_lab.course import packed
from autograd_lab.course.resources import course_files
from autograd_lab.course.student import student_copy

from .pages import ASSETS, CannotBuildError, Site

PLACE = "pyodide/"
"""The folder of the site with Pyodide's files, and with the list of packages in any case."""
LOCK = f"{PLACE}pyodide-lock.json"
CORE = ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
PACKAGE = Path(__file__).parents[1]

_COURSE = ("course/items", "course/predictions", "course/projector", "data", "widgets/assets")
"""What only the second of our two wheels has: the first runs programs and explains them. Both unpack into one package."""
_NOWHERE = ("grade", "bench", "site")
"""What is of no use in a browser."""
TIGHT = 9
"""How hard zip tries."""
_EARLY = (1980, 1, 1, 0, 0, 0)


@dataclass
class Pyodide:
    """Pyodide for one site: what `add`, `wheel` and `course` ask for is written by `finish`."""

    lock: dict[str, Any]
    """Its own pyodide-lock.json."""
    folder: Path | None
    """Where its files are, or None if they stay at `url`."""
    url: str = ""
    """Where its files stay, with a slash at the end."""
    site: str = ""
    """The address of the site, with a slash at the end, if Pyodide stays elsewhere."""
    compiled: str = ""
    """Why our wheels have no bytecode, if so."""
    _ours: dict[str, dict[str, Any]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    @property
    def python(self) -> tuple[int, int]:
        """The version of its Python, such as (3, 12)."""
        major, minor = self.lock["info"]["python"].split(".")[:2]
        return int(major), int(minor)

    def base(self, at: str) -> str:
        """The address of its files, with a slash at the end, as seen from a page of the site."""
        return self.url or Site.link(at, PLACE) + "/"

    def add(self, site: Site, *names: str) -> None:
        """Put packages of Pyodide's own, and what they need, into the site. Raises CannotBuildError if it has none of that name."""
        for name in names:
            key = _key(name)
            if key in self._used or key in self._ours:
                continue
            if key not in self.lock["packages"]:
                raise CannotBuildError(
                    f"Pyodide at {self.folder or self.url} has no package {name}, which a page needs: name a whole Pyodide, not its core alone"
                )
            entry = self.lock["packages"][key]
            self._used.add(key)
            if self.folder is not None:
                site.add(PLACE + entry["file_name"], self._read(entry["file_name"]))
            self.add(site, *entry["depends"])

    def wheel(
        self,
        site: Site,
        name: str,
        version: str,
        files: Mapping[str, bytes],
        needs: Iterable[str] = (),
        imports: Iterable[str] = (),
    ) -> str:
        """Put a package of Python files into the site; returns the wheel's path there.

        `files` are those that it installs, {path: content}; `needs` the packages that are loaded with it, which must be there when
        the site is finished; `imports` the modules by which a notebook's kernel finds it (default: its name).
        """  # fmt: skip
        data = wheel(name, version, files)
        digest = hashlib.sha256(data).hexdigest()
        # The hash is in the name, as a build number: a browser that kept an older one asks for this one.
        path = f"{PLACE}{name.replace('-', '_')}-{version}-0{digest[:8]}-py3-none-any.whl"
        site.add(path, data)
        self._ours[_key(name)] = {
            "name": _key(name), "version": version, "file_name": path.removeprefix(PLACE), "install_dir": "site", "sha256": digest,
            "package_type": "package", "imports": list(imports) or [name.replace("-", "_")], "depends": [_key(one) for one in needs],
            "unvendored_tests": False,
        }  # fmt: skip
        return path

    def engine(self, site: Site) -> None:
        """Put the wheel into the site that runs programs and explains them, and NumPy."""
        self._our_wheel(site, "autograd_lab", _sources((*_NOWHERE, *_COURSE)), ("numpy",))
        self.add(site, "numpy")

    def course(self, site: Site, root: Path) -> None:
        """Put all of the package, with the students' copies of `root`'s notebooks and exercises, into the site.

        A kernel loads both wheels for `import autograd_lab`. What the second needs besides NumPy is left to the caller to put in.
        """
        self.engine(site)
        engine, whole = _sources((*_NOWHERE, *_COURSE)), _sources(_NOWHERE)
        rest = {path: content for path, content in whole.items() if path not in engine}
        needs = ("autograd_lab", "networkx", "ipywidgets", "anywidget")
        self._our_wheel(site, "autograd_lab_course", rest | _notebooks(root), needs)
        self._ours["autograd-lab"]["imports"] = []
        self._ours["autograd-lab-course"]["imports"] = ["autograd_lab"]

    def _our_wheel(self, site: Site, name: str, files: dict[str, bytes], needs: Iterable[str]) -> None:
        if _key(name) not in self._ours:
            self.wheel(site, name, __version__, files | self._bytecode(files), needs)

    def bundle(self, site: Site, at: str, *names: str) -> dict[str, Any]:
        """What a page needs that loads Pyodide's files by itself, with these packages and what they need.

        {"files": {name: {"url" as seen from the page `at`, "size" in bytes and "integrity" if known}}, "lock": the list of these
        packages, "packages": their names}. Raises KeyError for a package that is not in the site.
        """
        files: dict[str, Any] = {
            name: self._file(site, at, name) for name in CORE if not name.endswith(".mjs")
        }
        packages: dict[str, Any] = {}
        waiting = [*map(_key, names)]
        while waiting:
            key = waiting.pop()
            if key in packages:
                continue
            entry = self._ours.get(key) or self.lock["packages"][key]
            name = entry["file_name"].rpartition("/")[2]
            integrity = "sha256-" + base64.b64encode(bytes.fromhex(entry["sha256"])).decode()
            files[name] = self._file(site, at, entry["file_name"]) | {"integrity": integrity}
            packages[key] = entry | {"file_name": name}
            waiting += map(_key, entry["depends"])
        return {
            "files": files,
            "lock": self.lock | {"packages": packages},
            "packages": [_key(name) for name in names],
        }

    def _file(self, site: Site, at: str, name: str) -> dict[str, Any]:
        """Where one of Pyodide's files, or of our own, is, and its size if that is known."""
        if (path := PLACE + name) in site.files:
            return {"url": Site.link(at, path), "size": len(site.files[path])}
        if self.folder is None:
            return {"url": name if urlsplit(name).scheme else self.url + name}
        return {"url": Site.link(at, path), "size": len(self._read(name))}

    def installed(self, site: Site, name: str, needs: Iterable[str] = ()) -> None:
        """Put a package that this Python has into the site, as far as it is Python: compiled parts and tests are left out.

        Raises CannotBuildError if it is not installed.
        """
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise CannotBuildError(f"the site needs the package {name}, and it is not installed: pip install {name}") from None  # fmt: skip
        files = {}
        for file in found.files or ():
            if {"..", "__pycache__", "tests"} & set(file.parts) or file.suffix in (
                ".so",
                ".pyd",
                ".dylib",
                ".pyc",
            ):
                continue
            if file.parts[0].endswith(".dist-info") and file.name not in ("METADATA", "entry_points.txt"):
                continue
            files[file.as_posix()] = Path(str(found.locate_file(file))).read_bytes()
        tops = {path.partition("/")[0].removesuffix(".py") for path in files}
        self.wheel(
            site, found.metadata["Name"], found.version, files, needs, sorted(top for top in tops if top.isidentifier())
        )  # fmt: skip

    def finish(self, site: Site) -> None:
        """Write Pyodide's files and the list of packages. Raises CannotBuildError if one that is needed is missing."""
        packages = self._ours | {
            name: self.lock["packages"][name] for name in self._used if name not in self._ours
        }
        for name, entry in packages.items():
            for other in entry["depends"]:
                if _key(other) not in packages:
                    raise CannotBuildError(
                        f"the package {name} needs {other}, which no part of the site has added"
                    )
        if self.folder is not None:
            for name in CORE:
                site.add(PLACE + name, self._read(name))
        else:  # all packages of Pyodide's can be had
            packages = self.lock["packages"] | self._ours
        lock = self.lock | {"packages": {name: self._placed(packages[name]) for name in sorted(packages)}}
        site.add(LOCK, json.dumps(lock, indent=1, sort_keys=True) + "\n")

    def _placed(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry of the list with an address that is right wherever Pyodide is."""
        if self.folder is not None or urlsplit(entry["file_name"]).scheme:
            return entry
        ours = entry["name"] in self._ours
        return entry | {"file_name": (self.site + PLACE if ours else self.url) + entry["file_name"]}

    def _read(self, name: str) -> bytes:
        assert self.folder is not None
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            raise CannotBuildError(f"{self.folder} has no {name}, so it is no whole Pyodide") from None

    def _bytecode(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """{path: bytecode} of the Python files, made by this Python if it is of the same version, or by Pyodide's; nothing if neither can."""
        native, node = self.python == sys.version_info[:2], shutil.which("node")
        if not native and (self.folder is None or node is None):
            missing = "Pyodide is elsewhere" if self.folder is None else "Node.js is not installed"
            self.compiled = f"{missing}, and this is not Python {'.'.join(map(str, self.python))}"
            return {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, content in files.items():
                if path.endswith(".py"):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(content)
                    if native:
                        self._compile(folder / path, path)
            if not native:
                self._compile_with_node(str(node), folder)
            return {
                path.relative_to(folder).as_posix(): path.read_bytes()
                for path in sorted(folder.rglob("*.pyc"))
            }

    def _compile(self, file: Path, path: str) -> None:
        major, minor = self.python
        py_compile.compile(
            str(file), dfile=f"/lib/python{major}.{minor}/site-packages/{path}", doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip

    def _compile_with_node(self, node: str, folder: Path) -> None:
        assert self.folder is not None
        command = [node, str(ASSETS / "bytecode.mjs"), str(self.folder.resolve()), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "Error" in line), "")
            raise CannotBuildError(
                f"Pyodide in {self.folder} could not compile our files under Node.js: {reason[:300]}"
            )


def of(pyodide: str | None, site: str | None) -> Pyodide | None:
    """What the options --pyodide and --site ask for. Raises CannotBuildError if that makes no sense, or is not there."""
    if pyodide is None:
        if site is not None:
            raise CannotBuildError("--site is for a Pyodide that is elsewhere: name it with --pyodide URL")
        return None
    if urlsplit(pyodide).scheme not in ("http", "https"):
        folder = Path(pyodide)
        if site is not None:
            raise CannotBuildError(
                "with a Pyodide in a folder the site works at any address: leave --site out"
            )
        if not (folder / "pyodide-lock.json").is_file():
            raise CannotBuildError(
                f"there is no Pyodide in {folder}: it needs the folder that holds pyodide.mjs, pyodide-lock.json and the packages, "
                "from https://github.com/pyodide/pyodide/releases"
            )
        return Pyodide(_lock((folder / "pyodide-lock.json").read_bytes(), str(folder)), folder)
    if site is None or urlsplit(site).scheme not in ("http", "https"):
        raise CannotBuildError(
            "with --pyodide URL, Pyodide must be told where our own files are: add --site https://..."
        )
    url, site = pyodide.rstrip("/") + "/", site.rstrip("/") + "/"
    try:
        with urllib.request.urlopen(url + "pyodide-lock.json", timeout=60) as answer:
            return Pyodide(_lock(answer.read(), url), None, url, site)
    except (urllib.error.URLError, TimeoutError) as problem:
        raise CannotBuildError(
            f"the list of Pyodide's packages, {url}pyodide-lock.json, cannot be read: {problem}"
        ) from None


def _lock(text: bytes, where: str) -> dict[str, Any]:
    try:
        lock: dict[str, Any] = json.loads(text)
        lock["info"]["python"], lock["packages"]
    except (ValueError, KeyError, TypeError):
        raise CannotBuildError(
            f"pyodide-lock.json of {where} is damaged, or no list of Pyodide's packages"
        ) from None
    return lock


def wheel(name: str, version: str, files: Mapping[str, bytes]) -> bytes:
    """A wheel of Python files that is the same for the same files. METADATA is made up if it is not among them."""
    info = f"{name.replace('-', '_')}-{version}.dist-info/"
    whole = {path: content for path, content in files.items() if not path.endswith(".dist-info/METADATA")}
    about = next((files[path] for path in files if path.endswith(".dist-info/METADATA")), None)
    whole[info + "METADATA"] = about or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    whole[info + "WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: autograd-lab site\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{path},sha256={_hash(content)},{len(content)}" for path, content in sorted(whole.items())]
    whole[info + "RECORD"] = "\n".join([*record, f"{info}RECORD,,", ""]).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=TIGHT) as archive:
        for path, content in sorted(whole.items()):
            entry = zipfile.ZipInfo(path, _EARLY)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _sources(left_out: Iterable[str]) -> dict[str, bytes]:
    """{path in a wheel: content} of the package's files, as they are installed, without some folders; files with answers are packed."""
    found = {}
    for path in sorted(PACKAGE.rglob("*")):
        inside = path.relative_to(PACKAGE).as_posix()
        if not path.is_file() or "__pycache__" in inside or inside.startswith("_course/"):
            continue
        if any(inside.startswith(f"{folder}/") for folder in left_out):
            continue
        content = path.read_bytes()
        for folder, suffix in packed.FOLDERS.items():
            if inside.startswith(f"course/{folder}/") and inside.endswith(suffix):
                inside, content = inside + packed.SUFFIX, packed.pack(content.decode()).encode()
        found[f"autograd_lab/{inside}"] = content
    return found


def _notebooks(root: Path) -> dict[str, bytes]:
    """The students' copies of notebooks and exercises, as an installed package has them."""
    found = {}
    for path in course_files(root):
        content = (root / path).read_bytes()
        if path.parts[0] == "notebooks" and path.suffix == ".ipynb":
            content = student_copy(content.decode()).encode()
        found[f"autograd_lab/_course/{path.as_posix()}"] = content
    return found


def _key(name: str) -> str:
    """A package's name in the list."""
    return re.sub(r"[-_.]+", "-", name).lower()
