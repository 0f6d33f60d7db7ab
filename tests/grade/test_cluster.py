"""Grading on a cluster: a real scheduler and three worker processes, one killed half-way; and what may travel."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from classroom import BOOK, course, hand_in, released, run_here, solved

from autograd_lab.grade import cluster, merge, run
from autograd_lab.grade.engine import Engine, ProtocolError
from autograd_lab.grade.model import CannotGradeError
from autograd_lab.grade.reading import read

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
RIGHT = {"a1": "answer = [12, 4, 12, 160]", "a4": "def backward(root):\n    root.grad = 1.0\n    return None"}


def jobs(count):
    """Submissions that differ from each other; some that loop, raise or are empty."""
    made = []
    for i in range(count):
        data = solved(a1=f"answer = [12, 4, 12, {i}]", a3=f"parts = list('BDA{'CEF'[i % 3]}')")
        if i % 5 == 1:
            data = solved(a2="raise ValueError('no')", a4=f"def backward(root):\n    root.grad = {i}.0")
        if i % 5 == 2:
            data = solved(a1="import os\nos._exit(3)", a3="parts = list('BDAECF')")
        made.append(merge.merge(released(), read(json.dumps(data).encode()), student=f"student {i}"))
    return made


def plain(of):
    told = asdict(of)
    told.pop("seconds")
    return told


# --- what travels ---------------------------------------------------------------------------------


def test_no_expected_value_and_no_bank_leaves_this_machine():
    told = json.loads(cluster.ClusterEngine("tcp://nowhere:1", course().items)._specification)
    for stem, items in told["items"].items():
        for item, whole in zip(items, course().items[stem], strict=True):
            assert (item["expected"], item["accept"], item["wrong"]) == (None, [], [])
            assert [(p["expected"], p["says"]) for p in item["probes"]] == [([], "")] * len(whole.probes)
            assert [p["cases"] for p in item["probes"]] == [p.cases for p in whole.probes]


def test_the_engine_there_asks_the_same_as_here():
    for items in course().items.values():
        for item in items:
            there = cluster._item(json.loads(json.dumps(asdict(cluster.without_answers(item)))))
            assert [(p.name, p.source, p.cases, p.names()) for p in there.probes] == [
                (p.name, p.source, p.cases, p.names()) for p in item.probes
            ]
            assert (there.id, there.stub, there.kind) == (item.id, item.stub, item.kind)


def test_a_run_comes_back_as_it_was():
    items = {item.id: item for item in course().items[BOOK]}
    for job in (
        job for i, job in enumerate(jobs(5)) if i != 2
    ):  # that one ends its process: for a sandbox only
        was = run_here(job)
        assert cluster.read_run(json.dumps(asdict(was)), job, items) == was


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(state="perfect"),
        lambda d: d.update(cells=d["cells"][1:]),
        lambda d: d["cells"][0].update(state="fine"),
        lambda d: d["answers"]["04.4"].update(outputs={"no such case": 1}),
        lambda d: d["answers"].update({"99.9": d["answers"]["04.1"]}),
        lambda d: d["answers"].update({"04.1": d["answers"]["04.4"]}),
        lambda d: d["answers"]["04.1"].update(value=[[]] * 100_000),
        lambda d: d.update(printed=None),
        lambda d: d.update(answers=[]),
        lambda d: d.pop("careful"),
    ],
)
def test_what_no_engine_says_is_not_taken(change):
    items = {item.id: item for item in course().items[BOOK]}
    job = jobs(1)[0]
    told = asdict(run_here(job))
    change(told)
    with pytest.raises(ProtocolError):
        cluster.read_run(json.dumps(told), job, items)


@pytest.mark.parametrize("text", ["", "[", "null", "[]", "[" * 100_000])
def test_what_is_no_run_is_not_taken(text):
    with pytest.raises(ProtocolError):
        cluster.read_run(text, jobs(1)[0], {})


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CannotGradeError, match=r"autograd_lab\[cluster\]"):
        cluster.connect("tcp://127.0.0.1:1")


def test_an_address_where_nobody_answers(monkeypatch):
    pytest.importorskip("distributed", reason="the cluster needs Dask's `distributed`")
    monkeypatch.setattr(cluster, "WAIT", 0.5)
    with pytest.raises(CannotGradeError, match="There is no cluster at tcp://127.0.0.1:9"):
        cluster.connect("tcp://127.0.0.1:9")


# --- a real one -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """(the scheduler's address, its worker processes)."""
    pytest.importorskip("distributed", reason="the cluster needs Dask's `distributed`")
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    place = [
        "--scheduler-file",
        str(file),
        "--no-dashboard",
    ]
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)}
    common = {"cwd": folder, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        *place,
    ]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1",
              "--local-directory", str(folder), *place]  # fmt: skip
    processes = [subprocess.Popen(scheduler, **common)]
    patient = pytest.MonkeyPatch()
    patient.setattr(
        cluster, "WAIT", 300.0
    )  # three of them load their libraries at once, perhaps on one slow processor
    try:
        end, address = time.monotonic() + 300, ""
        while not address and time.monotonic() < end:
            time.sleep(0.1)
            with suppress(OSError, ValueError):  # not there yet, or not all of it
                address = json.loads(file.read_text())["address"]
        processes += [subprocess.Popen(worker, **common) for _ in range(3)]
        with cluster.connect(address) as client:
            client.wait_for_workers(3, timeout=300)
        yield address, processes[1:]
    finally:
        patient.undo()
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_the_same_results_with_a_worker_killed_half_way(dask):
    address, workers = dask
    work = jobs(18)
    with Engine(course().items, workers=2, require_sandbox=False) as engine:
        want = {job.student: plain(one) for job, one in engine.run(work)}
        layers = engine.layers
    got, killed = {}, False
    with cluster.ClusterEngine(address, course().items, require_sandbox=False) as engine:
        assert engine.workers == 3
        assert set(engine.layers) <= set(layers)
        for job, one in engine.run(work):
            assert job.student not in got, "nothing is counted twice"
            got[job.student] = plain(one)
            if len(got) == 6:
                workers[0].kill()
                workers[0].wait()
                killed = True
    assert killed
    assert got == want


@pytest.mark.slow
def test_the_command_writes_the_same_files(dask, tmp_path):
    address, _ = dask
    top = tmp_path / "handed in"
    for i, name in enumerate(["ada", "bob", "Zo\u00eb O'Brien"]):
        hand_in(top, name, solved(a1=f"answer = [12, 4, 12, {160 + i}]", a4=RIGHT["a4"]))
    (top / "cleo").mkdir()
    words = [str(top), "--notebooks", "04", "--quiet", "--no-require-sandbox", "--workers", "1"]
    assert run.main([*words, "--out", str(tmp_path / "here")]) == 0
    assert run.main([*words, "--out", str(tmp_path / "there"), "--cluster", address]) == 0
    here, there = (files(tmp_path / name) for name in ("here", "there"))
    assert here == there
    assert {"grades.csv", "grades.json", "report.html", "feedback/ada.html"} <= set(here)


def files(folder: Path) -> dict[str, bytes]:
    """What was written, but for times and the database."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".csv", ".html", ".json"):
            found[name] = path.read_bytes()
            if path.name == "grades.json":
                document = json.loads(found[name])
                document.pop("timing")
                found[name] = json.dumps(document).encode()
    return found


@pytest.mark.slow
def test_workers_with_other_code_are_refused(dask, monkeypatch):
    address, _ = dask
    monkeypatch.setattr(cluster, "code_digest", lambda: "another")
    with pytest.raises(CannotGradeError, match="has another autograd_lab than this machine"):
        cluster.ClusterEngine(address, course().items, require_sandbox=False).__enter__()
