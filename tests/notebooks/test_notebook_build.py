"""`autograd-lab build`: the same bytes twice, and a check that fails on any difference and says where."""

import json
import shutil
from pathlib import Path

import pytest

from autograd_lab.course import build, lint

SOURCE = """# ---
# jupyter:
#   autograd_lab:
#     id: "07"
#     minutes: 30
#     needs: []
#     goals: [see it built]
#     refutes: [M06]
#     retests: []
#     points: 0
# ---

# %% [markdown]
# # 07 · A title
#
# {words}

# %%
import sys
from IPython.display import display
class Picture:
    def __repr__(self): return "Picture(96)"
    def _repr_mimebundle_(self, **kwargs):
        return {{
            "text/plain": repr(self),
            "image/svg+xml": "<svg><text>96</text></svg>",
            "application/vnd.jupyter.widget-view+json": {{"model_id": str(id(self))}},
        }}
for part in ("one", "two"):
    print(part); sys.stdout.flush()
Picture()

# %% tags=["raises-exception"]
1 / 0
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project with one notebook, built once."""
    root = tmp_path_factory.mktemp("project")
    (root / "notebooks").mkdir()
    (root / "notebooks" / "07_tiny.py").write_text(SOURCE.format(words="word " * 650), encoding="utf-8")
    assert build.main(["--root", str(root)]) == 0
    return root


@pytest.fixture
def project(built, tmp_path):
    """A copy of it, to break."""
    shutil.copytree(built, tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def stored(project):
    return project / "notebooks" / "07_tiny.ipynb"


@pytest.fixture
def fresh(monkeypatch, built):
    """Let builds in the copy take no time: the kernel's answer is that of the first build."""
    text = (built / "notebooks" / "07_tiny.ipynb").read_text(encoding="utf-8")
    monkeypatch.setattr(build, "build_text", lambda source, root: text)


def test_what_is_stored_is_executed_and_settled(built):
    book = json.loads((built / "notebooks" / "07_tiny.ipynb").read_text(encoding="utf-8"))
    title, code, error = book["cells"]
    assert [cell["id"] for cell in book["cells"]] == ["07-01", "07-02", "07-03"]
    assert title["cell_type"] == "markdown"
    assert (code["execution_count"], error["execution_count"]) == (1, 2)
    joined_stream, picture = code["outputs"]
    assert "".join(joined_stream["text"]) == "one\ntwo\n"
    assert set(picture["data"]) == {"text/plain", "image/svg+xml"}
    assert error["outputs"][0]["traceback"] == ["ZeroDivisionError: division by zero"]
    assert error["metadata"] == {"tags": ["raises-exception"]}
    assert set(book["metadata"]) == {"autograd_lab", "kernelspec", "language_info"}
    assert "version" not in book["metadata"]["language_info"]
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)


def test_two_builds_give_the_same_bytes(built, capsys):
    before = (built / "notebooks" / "07_tiny.ipynb").read_bytes()
    assert build.main(["--root", str(built), "07"]) == 0
    assert (built / "notebooks" / "07_tiny.ipynb").read_bytes() == before
    assert "unchanged" in capsys.readouterr().out


def test_check_accepts_what_build_wrote(project, fresh, stored):
    before = stored.read_bytes()
    assert build.main(["--root", str(project), "--check"]) == 0
    assert stored.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("two\\n", "three\\n", ["-three", "+two", "07-02"]),
        (
            "<text>96</text>",
            "<text>48</text>",
            ["-<svg><text>48</text></svg>", "+<svg><text>96</text></svg>"],
        ),
        ("Picture(96)", "Picture(48)", ["-Picture(48)", "+Picture(96)"]),
        ("A title", "Another title", ["-# 07 · Another title", "+# 07 · A title"]),
        ("07-02", "07-99", ["-=== cell 2 (07-99", "+=== cell 2 (07-02"]),
        ('"minutes": 30', '"minutes": 31', ["metadata autograd_lab"]),
        ('"raises-exception"', '"slow"', ["slow", "raises-exception"]),
        ("\n}\n", "\n}\n\n", ["not in the form the builder writes"]),
    ],
)
def test_check_fails_on_any_difference_and_shows_it(project, fresh, stored, capsys, old, new, shown):
    text = stored.read_text(encoding="utf-8")
    assert old in text
    stored.write_text(text.replace(old, new), encoding="utf-8")
    before = stored.read_bytes()
    assert build.main(["--root", str(project), "--check"]) == 1
    said = capsys.readouterr().out
    assert "notebooks/07_tiny.ipynb: a fresh build differs" in said
    for words in shown:
        assert words in said
    assert stored.read_bytes() == before, "--check must not write"


def test_check_fails_on_a_damaged_file(project, fresh, stored, capsys):
    stored.write_text("{", encoding="utf-8")
    assert build.main(["--root", str(project), "--check"]) == 1
    assert "not a notebook this version can read" in capsys.readouterr().out


def test_check_fails_on_a_missing_notebook(project, fresh, stored, capsys):
    stored.unlink()
    assert build.main(["--root", str(project), "--check"]) == 1
    assert "missing; run `autograd-lab build`" in capsys.readouterr().out


def test_check_fails_on_a_notebook_without_a_source(project, fresh, stored, capsys):
    shutil.copy(stored, stored.with_name("08_stray.ipynb"))
    assert build.main(["--root", str(project), "--check"]) == 1
    assert "its source 08_stray.py is missing" in capsys.readouterr().out


def test_png_bytes_may_differ_but_a_picture_must_stay(built):
    book = json.loads((built / "notebooks" / "07_tiny.ipynb").read_text(encoding="utf-8"))

    def with_png(data):
        copy = json.loads(json.dumps(book))
        if data:
            copy["cells"][1]["outputs"][1]["data"]["image/png"] = data
        return build.dump_plain(copy)

    assert build.difference(with_png("iVBOR1"), with_png("iVBOR2")) == []
    assert any("[image/png]" in line for line in build.difference(with_png(None), with_png("iVBOR2")))


def test_a_notebook_of_which_only_a_picture_would_change_is_left_alone(built, capsys):
    target = built / "notebooks" / "07_tiny.ipynb"
    book = json.loads(target.read_text(encoding="utf-8"))
    texts = []
    for data in ("iVBOR1", "iVBOR2"):
        book["cells"][1]["outputs"][1]["data"]["image/png"] = data
        texts.append(build.dump_plain(book))
    target.write_text(texts[0], encoding="utf-8")
    assert build.write_file(target, texts[1], built)
    assert target.read_text(encoding="utf-8") == texts[0]
    book["cells"][0]["source"] = "# Another title"
    assert build.write_file(target, build.dump_plain(book), built)
    assert target.read_text(encoding="utf-8") == build.dump_plain(book)
    assert capsys.readouterr().out.splitlines() == [
        f"notebooks/07_tiny.ipynb: {word}" for word in ("unchanged", "written")
    ]


def test_lint_problems_fail_the_build(project, fresh, monkeypatch, capsys):
    monkeypatch.setattr(lint, "MAX_CELLS", 2)
    assert build.main(["--root", str(project)]) == 1
    assert "07_tiny.ipynb: 3 cells, 2 at most" in capsys.readouterr().out


def test_a_cell_that_fails_is_named_and_nothing_is_written(tmp_path, capsys):
    source = tmp_path / "notebooks" / "01_broken.py"
    source.parent.mkdir()
    source.write_text("# %%\n1 / 0\n", encoding="utf-8")
    assert build.main(["--root", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "notebooks/01_broken.py: a cell did not run" in said
    assert "ZeroDivisionError" in said
    assert not source.with_suffix(".ipynb").exists()


def test_a_folder_without_notebooks_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert build.main(["--root", str(tmp_path)]) == 2
    assert "no notebooks/*.py" in capsys.readouterr().err


def test_an_unknown_name_is_refused(project, capsys):
    assert build.main(["--root", str(project), "99"]) == 2
    assert "no source for 99; there are 07" in capsys.readouterr().err


def test_the_root_is_found_from_inside(project, monkeypatch):
    monkeypatch.chdir(project / "notebooks")
    assert build.find_root(None) == Path(project)
