"""Every wrong claim met in the wild is put right by a cell that runs; every misconception has one home and is asked again."""

import json
import re
from pathlib import Path

import pytest

from autograd_lab.course.claims import CLAIMS
from autograd_lab.course.items import shipped
from autograd_lab.course.misconceptions import MISCONCEPTIONS

ROOT = Path(__file__).resolve().parents[2]
BOOKS = {
    path.name[:2]: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
}
METADATA = {number: book["metadata"]["autograd_lab"] for number, book in BOOKS.items()}


def code_cells(number):
    """The code of a notebook that has run, cell by cell."""
    for cell in BOOKS[number]["cells"]:
        if cell["cell_type"] == "code" and cell["execution_count"] is not None:
            source = cell["source"]
            yield source if isinstance(source, str) else "".join(source)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_put_right_by_a_line_that_runs(name):
    claim = CLAIMS[name]
    (cell,) = (code for code in code_cells(claim.home) if claim.shows in code)
    assert re.search(r"^\s*(assert |with lab\.expect\(|(answered = |if )?lab\.reveal\()", cell, re.MULTILINE)


def test_what_the_node_of_a_product_keeps_is_counted():
    """Of C12 the cell shows the program; the number of saved tensors is asserted in the one that reads the trace."""
    assert any(re.search(r"assert saved == \[.*1\]$", code, re.MULTILINE) for code in code_cells("06"))


@pytest.mark.parametrize("key", MISCONCEPTIONS)
def test_a_misconception_is_refuted_in_its_home_and_nowhere_else(key):
    homes = [number for number, block in METADATA.items() if key in block["refutes"]]
    assert homes == [MISCONCEPTIONS[key].home]


@pytest.mark.parametrize("key", MISCONCEPTIONS)
def test_a_misconception_is_asked_again_later(key):
    home = MISCONCEPTIONS[key].home
    later = [number for number, block in METADATA.items() if key in block["retests"]]
    assert all(number > home for number in later), f"a retest of {key} comes before its home, {home}"
    items = [item.id for item in shipped().values() if any(wrong.id == key for wrong in item.wrong)]
    assert later or [item for item in items if item[:2] > home], (
        f"{key} is never asked again after notebook {home}"
    )


def test_no_claim_is_listed_twice():
    assert (
        len({claim.claims for claim in CLAIMS.values()})
        == len({claim.shows for claim in CLAIMS.values()})
        == len(CLAIMS)
    )
