"""Several threads that record at once: what is worked out from sources, and operators that tell."""

import ast
import sys
import threading
from types import SimpleNamespace

from autograd_lab.tracing import sources
from tests import fresh


def lines_are(monkeypatch, getlines):
    """Let these be the lines of all files, without changing what others find."""
    monkeypatch.setattr(sources, "linecache", SimpleNamespace(getlines=getlines))


def test_threads_that_read_many_files_get_an_answer_each(monkeypatch):
    """Each file that comes makes place for itself: two threads could take out the same one, and one of them got KeyError."""
    lines_are(monkeypatch, lambda file: [f"x = {file}\n"])
    monkeypatch.setattr(sources, "_MOST", 3)
    monkeypatch.setattr(sources, "_tree", "".join)
    known = sources.from_source(str)
    begin, wrong = threading.Barrier(8), []

    def work(i):
        begin.wait()
        for n in range(2000):
            try:
                if known(f"{i}{n}") != f"x = {i}{n}\n":
                    wrong.append(n)
            except Exception as error:
                wrong.append(repr(error))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_the_newest_files_stay_known(monkeypatch):
    read = []
    lines_are(monkeypatch, lambda file: [f"{file} = 1\n"])
    monkeypatch.setattr(sources, "_MOST", 3)
    known = sources.from_source(lambda tree: read.append(tree.body[0].targets[0].id))
    for file in "abcabcdabcd":
        known(file)
    assert "".join(read) == "abcdabcd"
    for file in "bcd":
        known(file)
    assert len(read) == 8


def test_a_source_is_read_again_if_python_mixed_two_up(monkeypatch):
    """Python 3.11 may end `ast.parse` with a SystemError when two threads parse."""
    tries = []

    def mixed_up(text):
        tries.append(text)
        if len(tries) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=63, after=43)")
        return ast.parse(text)

    monkeypatch.setattr(sources, "ast", SimpleNamespace(parse=mixed_up, Module=ast.Module))
    assert len(sources._tree(["x = 1\n", "y = 2\n"]).body) == 2
    assert len(tries) == 3


def test_no_thread_takes_operators_for_ready_before_all_of_them_tell():
    """Who records sees by `__add__` whether another thread has done it."""
    code = """
from autograd_lab.tracing import refused

telling, early = refused._telling, []


def watched(name, own):
    if vars(torch.Tensor)["__add__"] is refused._TELLING.get("__add__"):
        early.append(name)
    return telling(name, own)


refused._telling = watched
refused.listen()
print(json.dumps([early, len(refused._TELLING) > 20]))
"""
    assert fresh.printed(code) == [[], True]
