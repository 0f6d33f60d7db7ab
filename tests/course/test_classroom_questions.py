"""lab.classroom: questions whose truth is computed, votes, the lock, and what is seen without widgets."""

import json
import subprocess
import sys
import warnings

import pytest

from autograd_lab import lab
from autograd_lab.course import classroom
from autograd_lab.course.ballots import BALLOTS, Ballot
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.tracing import narrate

# --- the questions --------------------------------------------------------------------------------


def test_every_misconception_has_its_question():
    assert set(BALLOTS) == set(MISCONCEPTIONS)


@pytest.mark.parametrize("key", BALLOTS)
def test_a_question_separates_the_misconception_from_the_truth(key):
    poll, trace = classroom.ask(key)
    ballot = BALLOTS[key]
    assert 3 <= len(ballot.answers) <= 4
    assert poll["truth"] != poll["trap"]
    assert poll["answers"][poll["trap"]]["text"] == ballot.trap
    assert all(ballot.answers.values())
    assert len(trace) > 0
    lines = ballot.program.splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 60, "a line must be readable from the back row"
    shown = {line for source in trace.sources for line in source["lines"].values()}
    assert shown <= set(lines)
    assert len(shown) >= 2


@pytest.mark.parametrize("key", BALLOTS)
def test_real_pytorch_gives_the_same_truth(key, monkeypatch):
    torch = pytest.importorskip("torch", reason="compares with real PyTorch")
    *lines, last = BALLOTS[key].program.splitlines()
    space = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join([*lines, f"asked = {last}"]), space)
            gave = classroom.show(space["asked"])
        except RuntimeError:
            gave = "an error"
    assert gave == classroom.run(key, BALLOTS[key].program)[0]


def test_the_letter_of_the_truth_gives_nothing_away():
    truths = [classroom.ask(key)[0]["truth"] for key in BALLOTS]
    assert max(truths.count(n) for n in range(4)) <= len(BALLOTS) / 2
    assert len(set(truths)) == 4
    traps = [classroom.ask(key)[0]["trap"] for key in BALLOTS]
    assert len(set(traps)) > 1


def test_the_truth_is_what_the_program_gives(monkeypatch):
    """Another program under the same answers has another truth; one that fits none of them is refused."""
    for value, truth in (("2.0", "96"), ("1.0", "12")):
        answers = {"48": "a", "96": "b", "12": "c"}
        program = BALLOTS["M06"].program.replace("2.0", value)
        monkeypatch.setitem(BALLOTS, "M06", Ballot("?", program, answers, "48", "!"))
        poll, _ = classroom.ask("M06")
        assert poll["answers"][poll["truth"]]["text"] == truth
    monkeypatch.setitem(BALLOTS, "M06", Ballot("?", "torch.tensor(1.0)\n", {"2": "", "3": ""}, "2", ""))
    with pytest.raises(ValueError, match="gives '1', which is none of its answers: 2, 3"):
        classroom.ask("M06")


def test_a_mistake_in_a_program_is_not_taken_for_an_error_of_the_engine():
    with pytest.raises(NameError):
        classroom.run("M00", "y = x_that_is_not_there\ny\n")


def test_an_unknown_question_is_refused_with_the_list():
    with pytest.raises(KeyError, match=r"no question 'M99': they are called M01, M02"):
        lab.classroom("M99")
    assert lab.classroom("m06 ").poll["id"] == "M06"


def test_without_a_name_all_are_listed():
    text, html = repr(lab.classroom()), lab.classroom()._repr_html_()
    for key, (believes, home) in MISCONCEPTIONS.items():
        assert f"  {home}        {key}   {believes}" in text
        assert f"<td>{key}</td>" in html


# --- the vote -------------------------------------------------------------------------------------


@pytest.fixture
def room():
    return lab.classroom("M06")


def test_two_votes_are_kept_apart(room):
    room.tally(A=12, B=3).tally(A=12, C=4)
    assert room.votes == [[12, 0, 4, 0], [0, 0, 0, 0]]
    room.vote_again().tally(C=15, a=1)
    assert room.votes == [[12, 0, 4, 0], [1, 0, 15, 0]]
    assert repr(room) == "Classroom(M06: first vote 12, 0, 4, 0; second vote 1, 0, 15, 0; locked)"
    assert "first vote  ███████████████ 12 (75 %)" in room.to_text()
    assert "second vote ███████████████████ 15 (94 %)" in room.to_text()


@pytest.mark.parametrize(
    ("hands", "said"),
    [
        ({"E": 1}, "there is no answer E: they are called A, B, C, D"),
        ({"AB": 1}, "there is no answer AB"),
        ({"A": -1}, "A=-1 is not a number of hands"),
        ({"A": 1.5}, "A=1.5 is not a number of hands"),
        ({"B": True}, "B=True is not a number of hands"),
        ({"A": 10_000}, "from 0 to 9999"),
    ],
)
def test_what_is_no_tally_is_refused(room, hands, said):
    with pytest.raises(ValueError, match=said):
        room.tally(**hands)
    assert room.votes == [[0] * 4] * 2


def test_the_truth_is_under_lock_until_hands_are_counted(room):
    for act in (room.reveal, room.vote_again):
        with pytest.raises(ValueError, match=r"count hands before you .*: c.tally\(A=12, B=5\)"):
            act()
    room.tally(B=2).reveal()
    assert room.revealed
    for act in (room.tally, room.vote_again):
        with pytest.raises(ValueError, match="the truth has been shown"):
            act()


def test_nothing_tells_the_truth_before_it_is_revealed(room):
    poll = room.poll
    secrets = ["the truth\n", "= the truth", poll["refutes"], poll["believes"], narrate(room.trace, 1)]
    secrets += [answer["why"] for answer in poll["answers"]]
    room.tally(A=1)
    traits = json.dumps(
        {name: getattr(room, name) for name in room.traits(sync=True) if not name.startswith("_")},
        default=str,
    )
    for form in (
        room.to_text(),
        room.to_html(),
        repr(room),
        room.summary(),
        room.heading,
        room._poll,
        traits,
    ):
        for secret in secrets:
            assert secret not in form
    room.reveal()
    for form in (room.to_text(), room.to_html()):
        assert "C  96  = the truth" in form or "<code>96</code>  = the truth" in form
        assert poll["believes"] in form
        assert narrate(room.trace, 1) in form.replace("&#x27;", "'")


def test_the_stepper_below_is_the_programs_own(room):
    assert room.trace.events[-1]["k"] == "done"
    assert room.next_node().position > 0
    assert "MulBackward0" in room.narration


def test_its_text_and_html_are_the_same_every_time():
    def forms():
        room = lab.classroom("M21").tally(A=3, B=1).reveal()
        return room.to_text(), room.to_html(), repr(room)

    assert forms() == forms()


def test_the_browser_cannot_send_what_is_no_vote(room):
    import traitlets

    for votes in ([[1, 2], [3, 4]], [[1, 0, 0, 0]], [[0, 0, 0, -1], [0] * 4], [["1", 0, 0, 0], [0] * 4]):
        with pytest.raises(traitlets.TraitError):
            room.votes = votes


def test_where_no_widgets_are_installed_it_is_text():
    script = """
import sys
for name in ("anywidget", "ipywidgets"):
    sys.modules[name] = None
from autograd_lab import lab
c = lab.classroom("M06").tally(A=2, C=1)
print(type(c).__name__, "96" in c._repr_html_(), "the truth" in repr(c))
c.vote_again().tally(C=3).reveal()
print("C  96  = the truth" in repr(c), "AccumulateGrad" in repr(c), "data:image/svg" in c._repr_html_())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["TextPoll True False", "True True True", ""]


def test_the_recording_of_the_class_stays_the_last_one():
    with lab.record() as mine:
        pass
    lab.classroom("M06")
    from autograd_lab.tracing.recorder import last_recording

    assert last_recording() is mine
