"""Predicting and being the engine: what the stepper asks, and what was answered.

In the modes "predict" and "engine" the stepper stops before an event whose outcome can be predicted, hides it, and
asks (tracing/questions.py). Answers are judged in the browser; each click or key has a method here that leaves the same
records, so that a notebook runs without clicks.

What has been shown can no longer be predicted: moving forward from Python does not ask, and leaves the skipped questions
unanswered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import traitlets

from autograd_lab.tracing import State, Trace, state
from autograd_lab.tracing.answers import AnswerError, Number, judge, read
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.questions import ALWAYS, ASKED, ENGINE, KINDS, STANDING, questions, standing
from autograd_lab.tracing.trace import Record

from .program import CARRIED
from .wire import encode


class Outcome(dict[str, Any]):
    """One answer and its verdict: a record of `predictions` or `engine_log` whose repr is a sentence."""

    def __repr__(self) -> str:
        given, answer, note = self["given"], self["answer"], self["note"]
        if self["verdict"] == "right":
            return f"Right: {answer}."
        if self["verdict"] == "shown":
            return f"Not answered. It is {answer}."
        if self["verdict"] == "ready":
            return str(note)
        told = f"It is {answer}." if self["mode"] == "predict" else "Try again."
        return f"Not {given}. {note} {told}".replace("  ", " ")


class Played(list[tuple[str | None, Any]]):
    """A run as the engine: a pair (node, gradient) for each choice. `lab.check` accepts it as an answer."""

    clicked = False
    """Whether some of it happened in the browser, so that the notebook's cells do not say it."""
    slip = ""
    """The stepper's reply to the first wrong try."""

    @property
    def engine_answer(self) -> Played:
        """Itself."""
        return self


class Score(dict[str, int]):
    """The number of questions answered right at the first try, and the results of the others."""

    def __repr__(self) -> str:
        parts = [f"{self['right']} of {self['of']} right"]
        parts += [f"{self[key]} {word}" for key, word in _SCORE_WORDS.items() if self[key]]
        return ", ".join(parts)


_SCORE_WORDS = {
    "ready": "ready but not the engine's choice",
    "wrong": "wrong",
    "shown": "shown",
    "open": "open",
}


class Quiz(traitlets.HasTraits):
    """The part of the stepper that asks."""

    trace: Trace
    if TYPE_CHECKING:
        position: int

        def goto(self, k: int) -> Any:
            """Show the picture after `k` events."""

    mode = traitlets.Enum(
        ["watch", "predict", "engine"],
        "watch",
        help="whether it only shows, asks what comes next, or lets you choose",
    ).tag(sync=True)
    predictions = traitlets.List(traitlets.Dict(), help="what was answered in the mode predict").tag(
        sync=True
    )
    engine_log = traitlets.List(traitlets.Dict(), help="what was chosen and sent in the mode engine").tag(
        sync=True
    )
    _quiz = traitlets.Unicode().tag(sync=True)
    _asks = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _seen = traitlets.Int(0).tag(sync=True)
    _run = traitlets.Int(0).tag(sync=True)

    _written = 0  # records of engine_log that came from Python

    # ---- what is asked --------------------------------------------------------------------------------

    def _open_quiz(self, predict: bool | str | Iterable[str], mode: str) -> None:
        """Set the mode from the arguments of `lab.step`."""
        if predict:
            if mode == "engine":
                raise ValueError(
                    'predict= and mode="engine" exclude each other: the engine mode asks its own questions'
                )
            self._asks = _kinds(predict)
            mode = "predict"
        if mode == "watch" and len(self.trace) <= CARRIED:
            self._load_quiz()
        self.mode = mode

    def _load_quiz(self) -> None:
        """Compute the questions, and send them."""
        self._questions = questions(self.trace)
        document = {"standing": STANDING, "questions": self._questions}
        self._quiz = encode(document)

    def _carry_quiz(self) -> None:
        """Include the questions, for pages without a kernel to compute them."""
        self._known()

    def _known(self) -> list[Record]:
        """Every question of the trace."""
        if not self._quiz:
            self._load_quiz()
        return self._questions

    def _new_quiz(self) -> None:
        """Another trace is shown: start a new round with its questions."""
        if self._quiz or (self.mode == "watch" and len(self.trace) <= CARRIED):
            self._load_quiz()
        self._run += 1
        self._seen = self.position

    @traitlets.observe("mode")
    def _enter(self, change: Record) -> None:
        if self.mode == "watch":
            return
        if not self._quiz:
            self._load_quiz()
        self._seen = self.position
        if not any(True for _ in self._open()):  # everything ahead is known: once more from the start
            if self._log:
                self._run += 1
            self._seen = 0
            self.goto(0)

    @traitlets.observe("position")
    def _see(self, change: Record) -> None:
        if self.mode != "watch":
            self._seen = max(self._seen, self.position)

    @property
    def _log(self) -> list[Record]:
        return list(self.engine_log if self.mode == "engine" else self.predictions)

    def _asked(self) -> list[tuple[int, Record]]:
        """The questions of this mode, with their numbers."""
        known = self._known()
        if self.mode == "engine":
            return [(i, q) for i, q in enumerate(known) if q["level"] & ENGINE]
        level = ASKED if self._asks else ALWAYS
        kinds = self._asks or KINDS
        return [(i, q) for i, q in enumerate(known) if q["level"] & level and q["kind"] in kinds]

    def _open(self) -> Iterable[tuple[int, Record]]:
        """The questions that are still to be answered, in order."""
        settled = {r["id"] for r in self._log if r["run"] == self._run and _settles(r)}
        return ((i, q) for i, q in self._asked() if q["k"] > self._seen and i not in settled)

    @property
    def question(self) -> str:
        """The next question, "" if there is none."""
        found = None if self.mode == "watch" else next(iter(self._open()), None)
        return found[1]["ask"] if found else ""

    # ---- answering ------------------------------------------------------------------------------------

    def predict(self, answer: Any) -> Outcome:
        """Answer the next question and show what happens.

        `answer` is a number, a list, a tensor or array, None, a shape, "yes" or "no", or a node's name, or the text that
        would be typed. Raises ValueError if it does not answer this question, RuntimeError if there is no question.
        """
        i, q = self._next("predict")
        outcome = self._judge(i, q, answer)
        self._settle(q, outcome)
        return outcome

    def choose(self, node: str | int) -> Outcome:
        """Be the engine: take `node` (its name as shown, or its number in the trace) from the queue."""
        i, q = self._next("engine")
        if q["type"] != "node":
            raise RuntimeError(f"there is something to send first: {q['ask']} Answer with s.send(...).")
        outcome = self._judge(i, q, node)
        self._settle(q, outcome)
        return outcome

    def send(self, *messages: Any) -> Outcome | list[Outcome]:
        """Be the engine: send the node's messages, in order, or the requested sum or `.grad`."""
        if not messages:
            raise TypeError("send() needs the message: s.send(24), or one for each operand: s.send(24, 48)")
        outcomes = []
        for message in messages:
            i, q = self._next("engine")
            if q["type"] == "node":
                raise RuntimeError("the question asks for no message: take the next node with s.choose(...).")
            outcomes.append(self._judge(i, q, message))
            self._settle(q, outcomes[-1])
            if not _settles(outcomes[-1]):
                break
        return outcomes[0] if len(messages) == 1 else outcomes

    def show_me(self) -> Outcome:
        """Give the next question up and see its answer; it counts as not answered."""
        i, q = self._next(self.mode)
        verdict = {"verdict": "shown", "misconception": "", "note": ""}
        outcome = self._note(i, q, None, verdict)
        self._settle(q, outcome)
        return outcome

    @property
    def score(self) -> Score:
        """The questions of this round that were answered right at the first try, and the others."""
        first: dict[int, str] = {}
        for record in self._log:
            if record["run"] == self._run:
                first.setdefault(record["id"], record["verdict"])
        verdicts = list(first.values())
        counts = {verdict: verdicts.count(verdict) for verdict in ("right", "ready", "wrong", "shown")}
        total = len(self._asked()) if self.mode != "watch" or self._quiz else 0
        return Score(counts | {"open": total - len(first), "of": total})

    @property
    def engine_answer(self) -> Any:
        """What you did as the engine in this round: a pair (node, its incoming gradient) for each choice; `...` until it is finished.

        A node has the name of the tensor that it made, an accumulator that of its leaf. Your first try at each question counts: a
        refused choice precedes the right one, with what had arrived by then (None for nothing), and what was shown
        to you is None.
        """
        asked = [(i, q) for i, q in enumerate(self._known()) if q["level"] & ENGINE]
        first: dict[int, Record] = {}
        done = set()
        for record in self.engine_log:
            if record["run"] == self._run:
                first.setdefault(record["id"], record)
                done |= {record["id"]} if _settles(record) else set()
        if not asked or any(i not in done for i, _ in asked):
            return ...
        given: dict[int, list[Record]] = {}
        for i, q in asked:
            given.setdefault(q["k"], []).append(first[i])
        played = self._replay(given)
        played.clicked = len(self.engine_log) > self._written
        slips = [record for record in first.values() if record["verdict"] == "wrong"]
        played.slip = min(slips, key=lambda record: record["id"])["note"] if slips else ""
        return played

    def _replay(self, given: dict[int, list[Record]]) -> Played:
        """The choices and sums of a round; `given` has the records that belong to a step."""
        names, narrator = self._names(), Narrator(self.trace)
        sent: dict[int, Any] = {}  # what the running node sends, by operand
        held: dict[tuple[int, int], Any] = {}  # what has arrived at a node, by slot
        played = Played()
        for k, event in enumerate(self.trace.events, 1):
            records = iter(given.get(k, []))
            kind, n = event["k"], event.get("n", -1)
            if kind == "backward":
                held.clear()
            elif kind == "seed":
                held[n, event.get("slot", 0)] = self._value(event["v"])
            elif kind == "vjp":
                values = [term.value for term in narrator.terms(event)]
                sent = {i: self._taken(next(records, None), v) for i, v in enumerate(values) if v is not None}
            elif kind == "deliver":
                place = event["to"], event.get("slot", 0)
                alone = event["old"] is None
                held[place] = sent[event["i"]] if alone else self._taken(next(records, None), event["sum"])
            elif kind == "pop":
                choice = next(records, None)
                if choice is not None and choice["verdict"] == "wrong" and choice["given"] in names:
                    m = names.index(choice["given"])
                    played.append((self._called(m), self._lying(held, m)))
                shown = choice is not None and choice["verdict"] == "shown"
                played.append((None if shown else self._called(n), self._lying(held, n)))
        return played

    def _taken(self, record: Record | None, v: int) -> Any:
        """The number in the answer; the trace's where only a shape was asked for, or nothing."""
        if record is None or self._known()[record["id"]]["type"] != "number":
            return self._value(v)
        return None if record["given"] is None else _numbers(read(record["given"]))

    def _value(self, v: int) -> Any:
        """A recorded value as numbers; None where the trace holds only its summary."""
        value = self.trace.values[v]
        return _numbers(value["data"]) if "data" in value else None

    def _called(self, n: int) -> str:
        """A node's name in an answer: that of the tensor it made, or fills."""
        node = self.trace.nodes[n]
        tensors = [node["tensor"]] if node["kind"] == "accumulate" else node["outputs"]
        names = [self.trace.tensors[t]["name"] for t in tensors if t is not None]
        return names[0] if len(names) == 1 and names[0] else self._names()[n]

    @staticmethod
    def _lying(held: dict[tuple[int, int], Any], n: int) -> Any:
        """What has arrived at a node: a gradient, a list of them if it made several tensors, or None."""
        found = [value for (m, _), value in sorted(held.items(), key=lambda item: item[0]) if m == n]
        return found[0] if len(found) == 1 else found or None

    def _next(self, mode: str) -> tuple[int, Record]:
        if self.mode != mode or mode == "watch":
            how = 'lab.step(..., mode="engine")' if mode == "engine" else "lab.step(..., predict=True)"
            raise RuntimeError(
                f"nothing is asked in the mode {self.mode!r}: open the stepper with {how}, or set s.mode"
            )
        found = next(iter(self._open()), None)
        if found is None:
            raise RuntimeError("no question is left: s.predictions and s.engine_log hold the answers")
        self.goto(found[1]["k"] - 1)
        return found

    def _judge(self, i: int, q: Record, answer: Any) -> Outcome:
        if q["type"] == "node":
            n = self._find_node(answer)
            try:
                verdict = judge(q, n)
            except KeyError:
                now: State = state(self.trace, q["k"] - 1)
                node = now.nodes.get(n)
                where = (node.status, node.arrived, node.of) if node else ("made", 0, 0)
                misconception, note = standing(self._names()[n], *where)
                verdict = {"verdict": "wrong", "misconception": misconception, "note": note}
            return self._note(i, q, self._names()[n], verdict)
        text = _text(answer)
        try:
            verdict = judge(q, text)
        except AnswerError as error:
            raise ValueError(f"{text!r} does not answer {q['ask']!r}: {error}") from None
        return self._note(i, q, text, verdict)

    def _note(self, i: int, q: Record, given: str | None, verdict: Record) -> Outcome:
        log = self._log
        attempt = 1 + sum(r["id"] == i and r["run"] == self._run for r in log)
        right = {"right": True, "shown": None}.get(verdict["verdict"], False)
        outcome = Outcome(
            id=i, run=self._run, mode=self.mode, step=q["k"], kind=q["kind"], question=q["ask"], given=given,
            answer=q["shown"], correct=right, attempt=attempt, **verdict,
        )  # fmt: skip
        if self.mode == "engine":
            self._written += 1
            self.engine_log = [*log, dict(outcome)]
        else:
            self.predictions = [*log, dict(outcome)]
        return outcome

    def _settle(self, q: Record, outcome: Outcome) -> None:
        """Show the event when its last question is answered; in engine mode, play to the next one."""
        if not _settles(outcome):
            return
        following = next(iter(self._open()), None)
        if following is not None and following[1]["k"] == q["k"]:
            return
        if self.mode == "engine":
            self.goto(following[1]["k"] - 1 if following else len(self.trace))
        else:
            self.goto(q["k"])

    def _names(self) -> list[str]:
        return Narrator(self.trace).nodes

    def _find_node(self, node: Any) -> int:
        names = self._names()
        if isinstance(node, int) and 0 <= node < len(names):
            return node
        if node in names:
            return names.index(node)
        part = str(node).lower()
        for fits in (
            str.startswith,
            str.__contains__,
        ):  # "Mul" is MulBackward0 before it is in AccumulateGrad
            short = [n for n, name in enumerate(names) if fits(name.lower(), part)]
            if len(short) == 1:
                return short[0]
            if short:
                break
        which = f"{len(short)} nodes of this trace fit" if short else "no node of this trace fits"
        raise ValueError(f"{which} {node!r}: the nodes are {', '.join(names)}")

    # ---- what viewers without widgets may see ---------------------------------------------------------

    @property
    def _shown(self) -> int:
        """The last step that may be seen in a still picture."""
        if self.mode == "watch":
            return len(self.trace)
        k = max(self.position, self._seen)
        following = next(iter(self._open()), None)
        if following is not None and following[1]["type"] == "node":  # where it becomes ready is not revealed
            kinds = [e["k"] for e in self.trace.events[:k]]
            since = k - kinds[::-1].index("pop") if "pop" in kinds else 0
            if "push" in kinds[since:]:
                k = since + kinds[since:].index("push")
        return k


def _settles(record: Record) -> bool:
    """Whether a question is finished: a prediction always, the engine's when it was right, ready or shown."""
    return record["mode"] == "predict" or record["verdict"] != "wrong"


def _numbers(value: Any) -> Any:
    """Numbers as usually written: 12 for 12.0, in the same lists."""
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    if isinstance(value, Number):
        value = value.x
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _kinds(predict: bool | str | Iterable[str]) -> list[str]:
    """The requested kinds of questions: none means the default ones."""
    if predict is True:
        return []
    alone = isinstance(predict, str) or not isinstance(predict, Iterable)
    kinds: list[Any] = [predict] if alone else list(predict)  # type: ignore[arg-type]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(
            f"predict= takes True or kinds out of {', '.join(KINDS)}, not {', '.join(map(repr, unknown))}"
        )
    return kinds


def _text(answer: Any) -> str:
    """An answer from Python as it would be typed."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, tuple):
        return f"({', '.join(map(_text, answer))})" if answer else "()"
    if isinstance(answer, list):
        return f"[{', '.join(map(_text, answer))}]"
    return "None" if answer is None else f"{answer!r}"
