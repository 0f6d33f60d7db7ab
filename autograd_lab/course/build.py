"""`autograd-lab build`: executed notebooks from their text sources, the same bytes every time.

    notebooks/NN_name.py         written by people: prose and code in jupytext's py:percent form
    notebooks/NN_name.ipynb      written here: executed, outputs stored, reproducible

    solutions/NN_name.py         written by people: exercises, answers, checks, wrong answers (see author.py)
    solutions/NN_name.ipynb      written here: executed
    exercises/NN_name.ipynb      written here: the answers replaced by gaps
    autograd_lab/course/items/04.json, solutions/keys/04.json   written here: the checks, without and with what is hidden

    read_source -> execute -> settle (ids, outputs, metadata) -> one canonical text

`autograd-lab build` writes the notebooks and runs the lint over them. `autograd-lab build --check` writes
nothing: it executes everything again and shows, cell by cell, what would change.

Two runs give the same bytes because everything that could differ is removed or derived from the source: cell
ids come from positions, versions of kernel and language and timings are dropped, pieces of one stream are
joined, and a widget leaves its text and its picture, not the id of its model. What cells print is the
authors' responsibility.
"""

import argparse
import asyncio
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd_lab.course import author, items, lint
from autograd_lab.course.student import INSTRUCTOR

if TYPE_CHECKING:
    from jupyter_client.manager import KernelManager

# The folders whose sources are executed.
EXECUTED = ("notebooks", "solutions")
CELL_TIMEOUT = 120
WIDGET = "application/vnd.jupyter.widget-view+json"

NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def main(argv: list[str] | None = None) -> int:
    """Build, or with --check compare; 0 if all is well."""
    parser = argparse.ArgumentParser(
        prog="autograd-lab build", description="Execute the notebooks' text sources and store the notebooks."
    )
    parser.add_argument(
        "names", nargs="*", help="sources, such as notebooks/04_backward_node_by_node.py or 04; default: all"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a build would differ")
    parser.add_argument("--root", type=Path, help="folder that holds notebooks/ (default: here or above)")
    options = parser.parse_args(argv)

    try:
        root = find_root(options.root)
        sources = find_sources(root, options.names)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    failed = 0
    for source in sources:
        failed += not (check_one if options.check else build_one)(source, root)
    if not options.names:
        for stray in find_strays(root):
            missing = stray.with_suffix(".py").name
            print(f"{stray.relative_to(root)}: its source {missing} is missing; add that or delete this")
            failed += 1
    done = "checked" if options.check else "built"
    print(
        f"{len(sources)} notebooks {done}"
        if not failed
        else f"{failed} of {len(sources)} notebooks have problems"
    )
    return 1 if failed else 0


def build_one(source: Path, root: Path) -> bool:
    """Write the files of a source; True if they also pass the lint."""
    return _each_file(source, root, write_file)


def check_one(source: Path, root: Path) -> bool:
    """Compare the stored files with a new build; True if they agree and pass the lint."""
    return _each_file(source, root, compare_file)


def _each_file(source: Path, root: Path, treat: Callable[[Path, str, Path], bool]) -> bool:
    """Make the files of a source one by one: the checks first, because the executed notebook uses them."""
    fine = True
    target = source.with_suffix(".ipynb")
    if source.parent.name == "solutions":
        try:
            sheet = author.read(source)
        except ValueError as error:
            print(f"{source.relative_to(root)}: {error}")
            return False
        number = source.stem.split("_")[0]
        key = root / "solutions/keys" / f"{number}.json"
        if key.exists():
            author.remember(sheet, items.from_json(key.read_text(encoding="utf-8")))
        for owed in author.problems(sheet):
            print(f"{source.relative_to(root)}: {owed}")
            fine = False
        fine &= treat(
            root / "autograd_lab/course/items" / f"{number}.json", items.to_json(number, sheet.public()), root
        )
        fine &= treat(key, items.to_json(number, sheet.items), root)
        gaps = graded_notebook(sheet, gaps=True)
        fine &= treat(root / "exercises" / target.name, dump(gaps), root)
        for wide in lint.fits_its_cell(lint.code_cells(gaps)):
            print(f"exercises/{target.name}: {wide}")
            fine = False
    executed = attempt(source, root)
    return executed is not None and fine and treat(target, executed, root) and report_lint(target, root)


def write_file(target: Path, text: str, root: Path) -> bool:
    """Write a file and say whether it changed.

    A notebook is not rewritten if only the bytes of its PNG pictures would change: a plot of measured times is never the
    same twice, and fonts differ between machines. To redraw the pictures, delete the notebook before building it.
    """
    stored = target.read_text(encoding="utf-8") if target.exists() else None
    changed = stored is None or (
        bool(difference(stored, text)) if target.suffix == ".ipynb" else stored != text
    )
    if changed:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    print(f"{target.relative_to(root)}: {'written' if changed else 'unchanged'}")
    return True


def compare_file(target: Path, text: str, root: Path) -> bool:
    """Print what a fresh build would change in a stored file; True if nothing."""
    name = target.relative_to(root)
    if not target.exists():
        print(f"{name}: missing; run `autograd-lab build`")
        return False
    stored = target.read_text(encoding="utf-8")
    if target.suffix == ".json":
        lines = list(difflib.unified_diff(stored.splitlines(), text.splitlines(), lineterm="", n=1))
    else:
        lines = difference(stored, text)
    if lines:
        print(f"{name}: a fresh build differs (- stored, + fresh); look at it, then run `autograd-lab build`")
        print("\n".join("    " + line for line in lines[:60]))
    return not lines


def attempt(source: Path, root: Path) -> str | None:
    """The built text, or None after saying which cell failed."""
    try:
        return build_text(source, root)
    except DidNotRunError as error:
        print(f"{source.relative_to(root)}: {error}")
        return None


def report_lint(target: Path, root: Path) -> bool:
    """Print what the lint finds in a file; True if nothing."""
    found = lint.lint_file(target)
    for problem in found:
        print(f"{target.relative_to(root)}: {problem}")
    return not found


# --- finding files --------------------------------------------------------------------------------


def find_root(given: Path | None) -> Path:
    """The folder that contains notebooks/ with sources: the given one, or the nearest at or above this one."""
    candidates = [given.resolve()] if given else [Path.cwd(), *Path.cwd().parents]
    for folder in candidates:
        if any((folder / "notebooks").glob("*.py")):
            return folder
    where = str(given) if given else f"{Path.cwd()} or above it"
    raise FileNotFoundError(
        f"no notebooks/*.py in {where}: notebooks are built, and slides and the web site made of them, in a checkout of the project"
    )


def find_sources(root: Path, names: list[str]) -> list[Path]:
    """All sources, or those named (by path, or by the beginning of the file name: `04`)."""
    every = [source for folder in EXECUTED for source in sorted((root / folder).glob("*.py"))]
    if not names:
        return every
    found = {
        n: [s for s in every if s == Path(n).resolve() or s.name.startswith(Path(n).name)] for n in names
    }
    if missing := [name for name in names if not found[name]]:
        there = ", ".join(dict.fromkeys(s.name[:2] for s in every))
        raise FileNotFoundError(f"no source for {', '.join(missing)}; there are {there}")
    return list(dict.fromkeys(source for sources in found.values() for source in sources))


def find_strays(root: Path) -> list[Path]:
    """Notebooks without a source."""
    stored = [book for folder in EXECUTED for book in sorted((root / folder).glob("*.ipynb"))]
    return [book for book in stored if not book.with_suffix(".py").exists()]


# --- source -> notebook ---------------------------------------------------------------------------


def build_text(source: Path, root: Path) -> str:
    """Execute one source and return the file to store."""
    graded = source.parent.name == "solutions"
    notebook = graded_notebook(author.read(source), gaps=False) if graded else read_source(source)
    execute(notebook, source.parent, root)
    settle(notebook)
    return dump(notebook)


def read_source(source: Path) -> dict[str, Any]:
    """The notebook of a py:percent file, not executed: cells, ids, metadata."""
    import jupytext
    import nbformat

    notebook = jupytext.read(source, fmt="py:percent")
    slug = source.stem.split("_")[0]
    cells = []
    counted = {
        "": 0,
        "-t": 0,
    }  # the instructor's cells apart, so that the students' keep their ids when a note is added
    for cell in notebook.cells:
        tags = {"tags": sorted(cell.metadata["tags"])} if cell.metadata.get("tags") else {}
        make = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        kind = "-t" if INSTRUCTOR in tags.get("tags", ()) else ""
        counted[kind] += 1
        cells.append(make(cell.source, id=f"{slug}{kind}-{counted[kind]:02d}", metadata=tags))
    return _notebook(cells, notebook.metadata.get("autograd_lab"))


def _notebook(cells: list[dict[str, Any]], block: dict[str, Any] | None) -> dict[str, Any]:
    import nbformat

    metadata: dict[str, Any] = dict(NOTEBOOK_METADATA)
    if block is not None:
        metadata["autograd_lab"] = block
    fresh = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    fresh.nbformat_minor = 5  # the first minor version with cell ids, not the newest that nbformat knows
    return fresh


def graded_notebook(sheet: author.Sheet, gaps: bool) -> dict[str, Any]:
    """The notebook of a solutions source: the answers in it, or gaps. Its cells carry nbgrader's metadata.

    An answer's cell and its check are found by id in every submission: `04-2-answer`, `04-2-check`.
    """
    import nbformat

    worth = {item.id: item.points for item in sheet.items}
    slug = sheet.name.split("_")[0]
    cells = []
    answers: dict[str, int] = {}
    for number, cell in enumerate(sheet.cells, start=1):
        role, item_id = cell["role"], cell["item"]
        metadata: dict[str, Any] = {"tags": sorted(cell["tags"])} if cell["tags"] else {}
        cell_id = f"{slug}-{number:02d}"
        if role:
            cell_id = f"{item_id.replace('.', '-')}-{role}"
            if role == "answer":
                answers[item_id] = answers.get(item_id, 0) + 1
                cell_id += f"-{answers[item_id]}" if answers[item_id] > 1 else ""
            metadata["nbgrader"] = {
                "grade": role == "check", "grade_id": cell_id, "locked": role == "check", "schema_version": 3,
                "solution": role == "answer", "task": False,
            }  # fmt: skip
            if role == "check":
                metadata["nbgrader"]["points"] = worth[item_id]
        text = cell["source"]
        if role == "answer":
            text = author.stub(text) if gaps else author.solution(text)
        make = nbformat.v4.new_code_cell if cell["type"] == "code" else nbformat.v4.new_markdown_cell
        cells.append(make(text, id=cell_id, metadata=metadata))
    return _notebook(cells, sheet.metadata)


class DidNotRunError(Exception):
    """A cell raised an exception, took too long, or ended its kernel; the message shows it."""


def execute(notebook: dict[str, Any], folder: Path, root: Path) -> None:
    """Run all cells in order, in a kernel of this very Python that imports this very checkout.

    Raises DidNotRunError at the first cell that does not run.
    """
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    manager, environment = kernel_manager(AsyncKernelManager, root)
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    # The client would leave a manager passed to it running, with its kernel and some twenty open files.
    try:
        asyncio.run(client.async_execute(env=environment, cleanup_kc=True))
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
        raise DidNotRunError(f"a cell did not run\n{plain}") from error


def kernel_manager(kind: type["KernelManager"], root: Path) -> tuple[Any, dict[str, str]]:
    """A manager of kernels that run this very Python, and the environment in which they import this very checkout."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    from autograd_lab.course.kernel import manager_of_files

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "-f",
                "{connection_file}",
                "--log-level=ERROR",
            ]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    search = [str(root), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in search if p),
        "AUTOGRAD_LAB_PROGRESS": "off",
        # a notebook shows its plots regardless of the caller's choice: pytest's backend has no pictures
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    return manager_of_files(kind, kernel_spec_manager=ThisPython()), environment


def settle(notebook: dict[str, Any]) -> None:
    """Keep in an executed notebook only what is the same in two runs on two machines."""
    notebook["metadata"].update(NOTEBOOK_METADATA)  # the client has noted this Python's version
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        cell["metadata"].pop("execution", None)
        outputs: list[dict[str, Any]] = []
        streams: dict[str, dict[str, Any]] = {}
        for output in cell["outputs"]:
            kind = output["output_type"]
            if kind == "stream" and output["name"] in streams:
                streams[output["name"]]["text"] += output["text"]
                continue
            if kind == "stream":
                streams[output["name"]] = output
            elif kind == "error":  # frames contain paths of this machine; a reader needs the last line
                output["traceback"] = [f"{output['ename']}: {output['evalue']}"]
            else:
                output["data"].pop(WIDGET, None)  # a random id, useless without its kernel
            outputs.append(output)
        cell["outputs"] = outputs


def dump(notebook: dict[str, Any]) -> str:
    """The one text of a notebook: validated, sorted keys, one space of indentation."""
    import nbformat

    nbformat.validate(notebook)
    return str(nbformat.writes(notebook, indent=1, sort_keys=True, ensure_ascii=False)) + "\n"


# --- what changed ---------------------------------------------------------------------------------


def difference(stored: str, fresh: str) -> list[str]:
    """Lines that tell a reader what a new build would change; empty if nothing.

    The bytes of PNG pictures are not compared, because fonts differ between machines; their presence is.
    """
    if stored == fresh:
        return []
    try:
        old = json.loads(stored)
        before, after = list(describe(old)), list(describe(json.loads(fresh)))
    except (ValueError, KeyError, TypeError) as error:
        return [f"the stored file is not a notebook this version can read: {type(error).__name__}: {error}"]
    if before != after:
        return list(located(before, after))
    if without_png(old) == without_png(json.loads(fresh)):
        same_form = dump_plain(old) == stored
        return [] if same_form else ["the content agrees, but the file is not in the form the builder writes"]
    return ["only metadata that no reader sees differs (ids, counts, format version)"]


def located(before: list[str], after: list[str]) -> Iterator[str]:
    """A unified diff whose hunks are headed by the cell they are in, not by line numbers."""
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3):
        start = group[0][1] + 1
        heads = [line for line in before[:start] if line.startswith("=== cell")]
        yield f"@@ {heads[-1].strip('= ') if heads else 'the top'}"
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                yield from (" " + line for line in before[i1:i2])
            else:
                yield from ("-" + line for line in before[i1:i2])
                yield from ("+" + line for line in after[j1:j2])


def describe(notebook: dict[str, Any]) -> Iterator[str]:
    """A notebook as lines of text, each cell under its number and id."""
    for key, value in sorted(notebook["metadata"].items()):
        yield f"metadata {key}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}"
    for number, cell in enumerate(notebook["cells"], start=1):
        tags = cell["metadata"].get("tags", [])
        count = f", run {cell.get('execution_count')}" if cell["cell_type"] == "code" else ""
        yield f"=== cell {number} ({cell.get('id')}, {cell['cell_type']}{count}) {' '.join(tags)}".rstrip()
        yield from joined(cell["source"]).splitlines()
        for output in cell.get("outputs", []):
            yield f"--- cell {number}, output: {output.get('name', output['output_type'])}"
            if output["output_type"] == "stream":
                yield from joined(output["text"]).splitlines()
            elif output["output_type"] == "error":
                yield f"{output['ename']}: {output['evalue']}"
            else:
                for mime, data in sorted(output["data"].items()):
                    yield f"[{mime}]"
                    if mime != "image/png":
                        text = joined(data) if isinstance(data, str | list) else json.dumps(data)
                        yield from text.splitlines()


def joined(text: str | list[str]) -> str:
    """Text as a notebook stores it: one string, or a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def without_png(notebook: dict[str, Any]) -> str:
    """The canonical text of a notebook with the bytes of its PNG pictures blanked."""
    copy = json.loads(json.dumps(notebook))
    for cell in copy["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = "..."
    return dump_plain(copy)


def dump_plain(notebook: dict[str, Any]) -> str:
    """`dump` for plain data already in the stored form."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
