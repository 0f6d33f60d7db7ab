"""`lab.practice`: every kind of question, its mistakes, the levels, and the form without widgets."""

import random
import re
import subprocess
import sys
import warnings
from functools import cache

import pytest
from each import each

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import bank
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.course.practice import NOTEBOOKS, pack, proof, question, session
from autograd_lab.course.practice.engines import Graph
from autograd_lab.course.practice.question import LEVELS, Mistake, Part, Program, Question, draw, leaf
from autograd_lab.course.spoken import stiff
from autograd_lab.widgets.guess import marked

SEEDS = range(30)
KINDS = [(number, kind) for number in NOTEBOOKS for kind in session.kinds(number)]


def drawn(number, kind, seeds=SEEDS):
    return [draw(kind, f"{number} {seed} test", LEVELS[seed % len(LEVELS)]) for seed in seeds]


questions = cache(drawn)


def named(case):
    return f"{case[0]} {case[1].__name__}"


def test_every_known_mistake_is_named_and_every_right_answer_accepted():
    def check(case):
        for one in questions(*case):
            right, mistakes, found = proof.judged(one)
            assert right, one.program.code
            assert found == mistakes > 0, one.program.code
        different = {(one.program.code, one.ask) for one in questions(*case)}
        assert len(different) >= 0.75 * len(SEEDS), "the same few questions, over and over"

    each(KINDS, check)
    assert len(NOTEBOOKS) >= 10
    assert all(len(session.kinds(number)) >= 3 for number in NOTEBOOKS)


WIDE = [("03", "function"), ("06", "second"), ("12", "second"), ("12", "holds"), ("12", "penalty")]
"""Kinds that had about a hundred questions each."""


@pytest.mark.slow  # up to 2,000 programs of each kind run
@pytest.mark.parametrize("case", [case for case in KINDS if (case[0], case[1].__name__) in WIDE], ids=named)
def test_there_are_a_thousand_questions_of_a_kind(case):
    seen = set()
    for seed in range(2000):
        (one,) = drawn(*case, seeds=[seed])
        seen.add((one.program.code, one.ask))
        if len(seen) == 1000:
            return
    pytest.fail(f"only {len(seen)} in 2000")


def test_what_is_said_is_spoken_and_about_what_the_notebook_knows():
    """A misconception has its home in this notebook or before, or is asked for here by `lab.check`; code is marked as code."""
    from autograd_lab.course.items import shipped

    asked = {(id[:2], wrong.id) for id, item in shipped().items() for wrong in item.wrong}

    def check(case):
        number = case[0]
        for one in questions(*case):
            texts = [one.ask, *(part.why for part in one.parts)]
            for part in one.parts:
                for mistake in part.mistakes:
                    texts.append(mistake.says)
                    if id := mistake.id:
                        assert MISCONCEPTIONS[id].home <= number or (number, id) in asked, (id, mistake.says)
            for text in texts:
                assert text[0].isupper() or text[0] in "`-0123456789" or text.startswith(("h ", "k ", "x.data", "detach")), text  # fmt: skip
                assert text.endswith((".", "?")), text
                assert list(stiff(text)) == [], text
                assert text.count("`") % 2 == 0, text
                assert "<i>" not in marked(text), text
                assert not re.search(r"\{|\}", text), text

    each(KINDS, check)


SPOKEN_OF = {
    r"\bproducts?\b": r"(?<!\*)\*(?!\*)|@",
    r"\bsquare[ds]?\b": r"\*\* ?2|(\b\w+) \* \1\b",
    r"\bsign of\b|\bafter the minus\b": r" - |/",
    r"\bdetach\b": "detach",
    r"item\(\)": r"item\(\)",
    r"\bclone\b": "clone",
    r"\.data\b": r"\.data\b",
    "no_grad": "no_grad",
    "retain_graph": "retain_graph",
    "create_graph": "create_graph",
    r"\bbracket\b": r"= .*\(",
    r"\bmean\b": "mean",
    r"\bpicked twice\b": r"\b(\d)\b.*\b\1\b",
}
"""What a sentence speaks of, and what its program has then."""
CONTRASTS = (
    "A mean divides by its count", "A product scales it", "The swap is for products", "unlike `.data`", "Zero would mean", "is not the square of the first",
    "That is the gradient with `create_graph=True`",
)  # fmt: skip
"""Sentences that say how it would be elsewhere."""


def test_sentences_speak_of_what_is_in_the_program():
    """Names in code are those of the program or the question, and what is called by a word is there: a sign, a product, a saved value."""

    def check(case):
        for one in questions(*case):
            asked = "\n".join([one.program.code, one.ask, *(part.label for part in one.parts)])
            nodes = one.program.trace.nodes
            names = {
                *re.findall(r"[^\W\d]\w*", asked),
                *(node["name"] for node in nodes),
                "None",
                "error",
                "backward",
            }
            saves = any(node["saved"] for node in nodes)
            for say in [text for part in one.parts for text in (part.why, *(m.says for m in part.mistakes))]:
                if any(elsewhere in say for elsewhere in CONTRASTS):
                    continue
                told = {
                    name for code in re.findall("`([^`]*)`", say) for name in re.findall(r"[^\W\d]\w*", code)
                }
                assert told <= names, (say, one.program.code)
                for word, there in SPOKEN_OF.items():
                    assert not re.search(word, say) or re.search(there, asked), (say, one.program.code)
                if re.search("has kept the saved|keeps what the node of `h`", say):
                    h = [
                        node
                        for node in nodes
                        if one.program.trace.tensors[(node["outputs"] or [0])[0]]["name"] == "h"
                    ]
                    assert any(node["saved"] for node in h) if h else saves, (say, one.program.code)

    each(KINDS, check)


def test_a_wrong_order_is_said_to_run_too_early_only_if_it_does():
    """An order that only breaks ties in another way is no order of an engine that does not wait."""
    (kind,) = [kind for number, kind in KINDS if number == "04" and kind.__name__ == "order"]
    for one in drawn("04", kind, range(200)):
        graph = Graph(one.program.trace, "loss")
        for mistake in one.parts[0].mistakes:
            at = {name: i for i, name in enumerate(mistake.value)}
            early = [
                (graph.names[n], graph.names[to])
                for n in graph.order
                for to, _ in graph.edges[n]
                if at[graph.names[n]] > at[graph.names[to]]
            ]
            assert early, (mistake, one.program.code)


REASONS = {
    "True": [
        "`a` requires a gradient, so the product is recorded.",
        "`a` requires a gradient. One operand is enough.",
        "Nothing made it but you.",
        "It was computed, but nothing was recorded: `k` does not require a gradient.",
        "`detach` gives a tensor that is cut off from its history.",
        "It asks for a gradient after it was computed, and that was not recorded.",
        "`w` requires a gradient, and recording is on.",
        "One operand that requires a gradient is enough.",
        "Its gradient is zero everywhere, but it is recorded.",
    ],
    "False": [
        "`k` does not require a gradient, so nothing is recorded.",
        "It is made while recording is off.",
        "`e` has no history, and does not require a gradient.",
        "The product ran before `k2` required a gradient.",
        "It was computed from `w`, and that was recorded.",
        "It was computed, and that was recorded. `retain_grad` changes nothing of this.",
        "What it was computed from requires a gradient: it has a history.",
        "`detach` gives a constant.",
        "A number that went through Python has lost its history.",
        "`c` requires no gradient.",
    ],
    "None": [
        "`k` does not require a gradient, so nothing is computed for it.",
        "`h` is not a leaf, and nobody asked it to keep its gradient.",
        "The loss does not use `c`: there is no path to it, so there is no gradient.",
        "Every way to `x` is cut.",
        "`detach` cuts the way back to `p`.",
        "`q` is frozen: it requires no gradient.",
        "`p` is frozen: it requires no gradient.",
        "`state` was made while recording was off. No way leads to `p`.",
        "Nothing was recorded when `y` was made, so backward has nowhere to start.",
        "The product still sends to `q`. But `q` requires no gradient when the message comes, so it takes nothing.",
        "`torch.autograd.grad` returns the gradient, and leaves `.grad` as it is. Nothing was ever put there.",
    ],
    "error": [
        "The node of the product saves its factors. The first call frees the saved values, and the second needs them.",
        "The nodes of the products save their factors. The first call frees the saved values, and the second needs them.",
        "The node of the power saves `a`. The first call frees the saved values, and the second needs them.",
        "The node of the square saves what is squared. The first call frees the saved values, and the second needs them.",
        "The node of `h` saves its operands, and the first call has freed them. The second call stops there.",
        "The node of the product has saved `y`, and the write changes it. Backward notices, and refuses.",
        "The node of the square has saved `y`, and the write changes it. Backward notices, and refuses.",
        "`detach()` shares the memory and the counter. Backward notices the write, and refuses.",
        "`retain_graph` keeps saved values. The slope was not recorded, so the penalty has no history, and backward has nowhere to start.",
    ],
}
"""{an answer that is no number: the sentences that explain it}: each was read with it."""


def test_a_reason_is_that_of_its_answer():
    """What an answer is follows from the program, and the sentence was written before: it may explain another answer."""

    def check(case):
        for one in questions(*case):
            for part in one.parts:
                known = [answer for answer, reasons in REASONS.items() if part.why in reasons]
                assert known == ([str(part.truth)] if str(part.truth) in REASONS else []), (
                    part.why,
                    part.truth,
                )

    each(KINDS, check)


def test_two_answers_are_never_the_same():
    """A kind that cannot do better ends with an error that names it, after a bounded number of tries."""
    tries = []

    def stubborn(rng, level):
        tries.append(level)
        program = Program(leaf("x", 2), "y = x * 3", "y.backward()")
        return Question("?", program, [Part("x.grad", program["x.grad"], "", [Mistake(3.0, "the same")])])

    with pytest.raises(RuntimeError, match=r"stubborn, seed 's', level 2: none of 200 .* two answers to x.grad are 3"):  # fmt: skip
        draw(stubborn, "s", 2)
    assert len(tries) == question.MOST_TRIES


def test_numbers_are_for_paper():
    def big(rng, level):
        return Question("?", Program("y = 1"), [Part("y", 501, "", [Mistake(1, "no")])])

    with pytest.raises(RuntimeError, match="501 is hard to compute on paper"):
        draw(big, "s", 1)


def test_sums_and_numbers_are_written_as_people_do():
    """No sign after a sign, no number of ten digits, and none in powers of ten."""

    def check(case):
        for one in questions(*case):
            said = [
                one.program.code,
                one.ask,
                *(part.why for part in one.parts),
                *(m.says for part in one.parts for m in part.mistakes),
            ]
            for text in said:
                found = re.search(r"[-+] -\d|--\d|\d\.\d{4}|\de[-+]?\d", text)
                assert not found, text

    each(KINDS, check)


def test_the_engines_of_the_mistakes_are_those_of_notebook_04():
    """On its graph they leave 0, 48 and 144, where the right one leaves 96."""
    program = Program(leaf("a", 2), "b = a * a", "c = b * 3", "loss = b * c", "loss.backward()")
    graph = Graph(program.trace, "loss")
    a = graph.node("a")
    found = [engine()[a] for engine in (graph.waits, graph.resend, graph.visit_once, graph.children_first)]
    assert found == [96, 144, 48, 0]
    assert [graph.keeps(which)[a] for which in ("first", "last")] == [24, 24]  # of two equal ones, twice
    assert graph.adds()[a] == 2 * (2 + 12 + (3 + 4))
    assert program["a.grad"] == graph.received("a") == 96
    assert graph.ran() == ["loss", "c", "b", "a"]
    assert [graph.senders(name) for name in ("b", "c", "a")] == [2, 1, 2]
    assert graph.meeting() == ["b"]
    assert sorted(map(len, graph.paths("a"))) == [2, 2, 3, 3]
    assert graph.told("b", "a") == "`b` gets 12 + 12 = 24. `a` gets 48 + 48 = 96."


def test_the_right_engine_of_the_mistakes_is_the_engine():
    """The wrong ones differ from it in one thing each, so it must itself agree with what autograd_lab computes."""

    def check(case):
        for one in questions(*case):
            graph = Graph(one.program.trace, "loss")
            assert graph.waits()[graph.node("a")] == one.program["a.grad"], one.program.code

    each([case for case in KINDS if case[0] == "04"], check)


def test_the_right_answers_are_pytorchs(monkeypatch):
    """Each program runs in real PyTorch, and what is asked of it is asked there: the same question comes out."""
    real = pytest.importorskip("torch", reason="runs the programs in real PyTorch", exc_type=ImportError)
    ours = {named(case): drawn(*case, seeds=LEVELS) for case in KINDS}
    run = Program.__init__
    ran = []

    def in_pytorch(self, *lines):
        run(self, *lines)
        _ = self.trace  # while the text is what was recorded
        self.space = {"torch": real, "__name__": "practice"}
        error = ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a cycle that create_graph makes
                exec(compile(self.code, "<practice>", "exec"), self.space)
        except RuntimeError as raised:
            error = str(raised)
        assert bool(error) == bool(self.error), (self.code, error, self.error)
        ran.append(self)

    monkeypatch.setattr(Program, "__init__", in_pytorch)

    def check(case):
        for own, theirs in zip(ours[named(case)], drawn(*case, seeds=LEVELS), strict=True):
            assert own.program.code == theirs.program.code
            assert own.tries == theirs.tries
            for one, other in zip(own.parts, theirs.parts, strict=True):
                assert one.truth == other.truth, own.program.code
                assert [m.value for m in one.mistakes] == [m.value for m in other.mistakes], own.program.code

    each(KINDS, check)
    assert len(ran) > 300


def test_the_level_follows_the_answers():
    assert session.following(1, 0, True) == (1, 1)
    assert session.following(1, 1, True) == (2, 0)
    assert session.following(3, 1, False) == (2, 0)
    assert session.following(1, 0, False) == (1, 0)
    assert session.following(5, 1, True) == (5, 2)
    levels = []
    p = lab.practice("00", seed=3)
    for right in (True, True, True, True, False, True, False):
        p.note(right)
        levels.append((p.level, p.streak))
    assert levels == [(1, 1), (2, 2), (2, 3), (3, 4), (2, 0), (2, 1), (1, 0)]


def texts(seed, answers):
    p = lab.practice("05", seed=seed)
    found = [repr(p)]
    for right in answers:
        p.note(right)
        found.append(repr(p))
    return found


def test_the_same_seed_and_answers_give_the_same_questions():
    answers = [True, True, False, True, True, True]
    assert texts(7, answers) == texts(7, answers)
    assert texts(7, answers) != texts(8, answers)
    assert texts(7, answers)[:3] == texts(7, [True, True, True, True, False])[:3]
    assert len(set(texts(7, [True] * 40))) == 41
    assert len({lab.practice("05").seed for _ in range(6)}) > 1


def test_a_question_comes_once_as_long_as_there_are_others():
    """Also at the first levels, where a kind has a dozen questions, and in the pack of a page."""

    def check(number):
        p = lab.practice(number, seed=5)
        asked = []
        for _ in range(24):
            asked.append((p.question.program.code, p.question.ask))
            p.note(len(asked) % 2 == 0)  # it stays at level 1
        assert len(set(asked)) == len(asked)
        on_page = [(one.program.code, one.ask) for level in pack.packed(p) for one in level]
        assert len(set(on_page)) == len(on_page) == 6 * len(LEVELS)

    each(NOTEBOOKS, check)


def test_every_kind_has_its_turn():
    p = lab.practice("04", seed=7)
    seen = []
    for _ in range(4):
        seen.append(p.question.kind)
        p.note(True)
    assert sorted(seen) == sorted(kind.__name__ for kind in session.kinds("04"))


def test_it_works_as_text():
    p = lab.practice("04", seed=7)
    shown = repr(p)
    assert shown.startswith(
        "Practice 04 \u00b7 Backward, node by node. Question 1, level 1 of 5.\n\n    a = torch.tensor("
    )
    assert 'p = lab.practice("04", seed=7); p.show_me() tells' in shown
    with pytest.raises(ValueError, match="answer first, or call show_me"):
        p.step()
    assert "no answer yet" in repr(p.answer(...))
    assert p.n == 0
    right = [part.truth for part in p.question.parts]
    verdict = p.answer(right[0] if len(right) == 1 else right)
    assert verdict
    assert verdict.misconceptions == ()
    assert repr(verdict).startswith("\u2713")
    assert "1 of 1 right" in repr(verdict)
    assert type(p.step()).__name__ == "Stepper"
    while p.question.kind != "values":
        p.note(False)
    part, mistake = p.question.parts[0], p.question.parts[0].mistakes[0]
    verdict = p.answer(mistake.value)
    assert not verdict
    assert repr(verdict).startswith(f"\u2717 You said {mistake.value}. It is {part.truth}. {mistake.says}")
    assert verdict.misconceptions == (mistake.id,)
    parts = len(p.question.parts)
    with pytest.raises(ValueError, match=f"asks for {parts}, .* you gave {parts + 1}"):
        p.answer(*[0] * (parts + 1))
    before = p.level
    assert "Level" in repr(p.show_me())
    assert (p.level, p.streak) == (max(before - 1, 1), 0)


def test_what_it_is_given_may_be_wrong():
    with pytest.raises(ValueError, match=r"no questions for '13'. What to do: .* 00, 01, .* 12"):
        lab.practice("13")
    with pytest.raises(TypeError, match='in quotes, such as "04", not int 4'):
        lab.practice(4)
    for seed in ("7", True, 7.0):
        with pytest.raises(TypeError, match="seed is a whole number"):
            lab.practice("04", seed=seed)


def test_a_students_own_state_is_left_alone():
    with lab.record() as mine:
        w = torch.tensor(1.0, requires_grad=True)
    before = random.getstate(), torch.get_rng_state().tolist()
    with torch.no_grad():
        p = lab.practice("05", seed=3)
        while p.question.kind != "who":
            p.note(True)
        assert p.question.parts[0].truth is not None  # recorded, whatever the mode outside
        assert not torch.is_grad_enabled()
    from autograd_lab.tracing.recorder import last_recording

    assert last_recording() is mine
    assert (random.getstate(), torch.get_rng_state().tolist()) == before
    assert w.grad is None


def test_it_is_loaded_when_somebody_practices():
    code = (
        "import sys; from autograd_lab import lab; name = 'autograd_lab.course.practice'; assert name not in sys.modules;"
        "lab.practice('04', seed=1); assert name in sys.modules; assert 'anywidget' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_without_widgets_it_is_text():
    code = (
        "import sys; sys.modules |= dict.fromkeys(['anywidget', 'ipywidgets']); from autograd_lab import lab;"
        "p = lab.practice('04', seed=1); assert p._display_() is p; assert '<pre>a = ' in p._repr_mimebundle_()['text/html']"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_the_bank_tries_it(capsys):
    assert bank.main(["--practice", "--seeds", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(KINDS) + 2
    assert printed[-1].split()[:3] == ["all", str(len(KINDS)), str(2 * len(KINDS))]
    wrong = proof.Row("04", "values", questions=2, accepted=2, mistakes=6, named=5, tries=2)
    assert not wrong.holds


def test_a_pack_has_some_of_every_level():
    levels = pack.packed(lab.practice("06", seed=2))
    assert [len(level) for level in levels] == [pack.EACH] * len(LEVELS)
    assert {one.kind for level in levels for one in level} == {kind.__name__ for kind in session.kinds("06")}
    asked = [(one.program.code, one.ask) for level in levels for one in level]
    assert len(set(asked)) > 0.8 * len(asked)
