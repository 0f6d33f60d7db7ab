"""Where a program spends its time (torch.autograd.profiler): `profile`, `record_function` and their tables.

    with torch.autograd.profiler.profile() as prof:
        loss = model(x).sum()
        loss.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))

The events have PyTorch's names: `aten::mul` for an operation, `MulBackward0` for the rule of its node, inside `autograd::engine::evaluate_function:
MulBackward0`, which is all that the engine does for it. Below an operation PyTorch lists kernels of its own, such as `aten::empty`; here NumPy does
that in one call, and there is nothing below. An operation's time begins with its first computation.
"""

import contextlib
import itertools
import re
from time import perf_counter

from .modes import THREAD, WATCHERS
from .node import count_down
from .variable import Variable
from .watch import Both, Watch

NAMES = {
    "grid_sampler2d": "grid_sampler_2d",
    "grid_sampler2d_backward": "grid_sampler_2d_backward",
    "grid_sampler3d": "grid_sampler_3d",
    "grid_sampler3d_backward": "grid_sampler_3d_backward",
    "linalg_det": "_linalg_det",
    "log_softmax": "_log_softmax",
    "nll_loss": "nll_loss_forward",
    "reshape_alias": "_reshape_alias",
    "softmax": "_softmax",
    "to_copy": "_to_copy",
    "unsafe_view": "_unsafe_view",
}
"""What PyTorch calls an operation, where our rule has another name."""
PRIVATE = re.compile(r"upsample_\w+_aa(_backward)?$|upsample_nearest_exact|adaptive_avg_pool[23]d_backward")
"""Other operations whose names begin with an underscore in PyTorch."""
OPERANDS = {"log_sigmoid_forward": 1}
"""So many of its inputs a call has, where the rest is computed inside; a rule of which that is so in general tells by `extras`."""

_OPEN = []  # the watchers of the profiles that are running


class FunctionEvent:
    """One call: `name`, `input_shapes`, `sequence_nr`, `cpu_parent`, `cpu_children`, and its times in microseconds.

    `sequence_nr` is that of its node; without one, a number of its own if the graph is recorded, and -1 under `no_grad`.
    """

    count = 1
    is_async = False
    made_a_node = False

    def __init__(self, id, name, parent, shapes=(), sequence_nr=-1):
        self.id, self.name, self.key, self.cpu_parent = id, name, name, parent
        self.input_shapes, self.sequence_nr = [list(shape) for shape in shapes], sequence_nr
        self.cpu_children = []
        self.start = self.end = 0.0
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def cpu_time_total(self):
        """Microseconds from its begin to its end."""
        return (self.end - self.start) * 1e6

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self):
        """The same without the events inside it."""
        return max(0.0, self.cpu_time_total - sum(one.cpu_time_total for one in self.cpu_children))

    def __repr__(self):
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={_time(self.cpu_time_total)} input_shapes={self.input_shapes}>"


class FunctionEventAvg:
    """Several events of one name: `key`, `count`, and the sums of their times in microseconds."""

    def __init__(self, key, events, shapes=""):
        self.key, self.count, self.input_shapes = key, len(events), shapes
        self.cpu_parent = events[0].cpu_parent if events else None
        self.cpu_time_total = sum(one.cpu_time_total for one in events)
        self.self_cpu_time_total = sum(one.self_cpu_time_total for one in events)

    @property
    def cpu_time(self):
        """Microseconds of one call on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} cpu_time={_time(self.cpu_time)} "
            f"input_shapes={self.input_shapes}>"
        )


class EventList(list):
    """Events, or averages of them, with their table."""

    @property
    def self_cpu_time_total(self):
        """The time of all of them, in microseconds."""
        return sum(one.self_cpu_time_total for one in self)

    def key_averages(self, group_by_input_shape=False):
        """One average for each name, or for each name and input shapes, in the order of their first calls."""
        groups = {}
        for one in self:
            groups.setdefault((one.key, str(one.input_shapes) if group_by_input_shape else ""), []).append(
                one
            )
        found = [FunctionEventAvg(key, events, shapes) for (key, shapes), events in groups.items()]
        return EventList(found)

    def total_average(self):
        """The average of all events."""
        found = FunctionEventAvg("Total", self)
        found.count = sum(one.count for one in self)
        return found

    def table(
        self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
        top_level_events_only=False,
    ):  # fmt: skip
        """The events as a table of text.

        sort_by    "count", or a time: "cpu_time", "cpu_time_total" or "self_cpu_time_total"; the largest comes first
        row_limit  so many rows at most; -1 for all

        Raises AttributeError for another name to sort by.
        """
        events = list(self)
        if not events:
            return ""
        if sort_by is not None:
            if sort_by not in _SORTED_BY:
                raise AttributeError(
                    f"'FunctionEventAvg' object has no attribute '{sort_by}': table() sorts by {', '.join(_SORTED_BY)}"
                )
            events.sort(key=lambda one: -getattr(one, sort_by))
        names = min(max(len(one.key) for one in self) + 4, max_name_column_width)
        columns = [("Name", names), *((title, 12) for title in _TITLES)]
        with_shapes = any(len(one.input_shapes) for one in self)
        if with_shapes:
            longest = max(len(str(one.input_shapes)) for one in self) + 4
            columns.append(("Input Shapes", min(longest, max_shapes_column_width)))
        rule = "".join("-" * width + "  " for _, width in columns)

        def line(cells):
            return "".join(f"{cell:>{width}}  " for cell, (_, width) in zip(cells, columns, strict=True))

        total = self.self_cpu_time_total
        lines = []
        if header is not None:
            lines += ["=" * len(rule), header]
        if top_level_events_only:
            lines += ["=" * len(rule), "This report only display top-level ops statistics"]
        lines += [rule, line([title for title, _ in columns]), rule]
        shown = [one for one in events if not top_level_events_only or one.cpu_parent is None]
        for one in shown if row_limit < 0 else shown[:row_limit]:
            room = max_name_column_width - 3
            key = one.key if len(one.key) < room else one.key[:room] + "..."
            cells = [
                key, _share(one.self_cpu_time_total, total), _time(one.self_cpu_time_total), _share(one.cpu_time_total, total),
                _time(one.cpu_time_total), _time(one.cpu_time), str(one.count),
            ]  # fmt: skip
            if with_shapes:
                cells.append(str(one.input_shapes)[:max_shapes_column_width])
            lines.append(line(cells))
        return "\n".join([*lines, rule, f"Self CPU time total: {_time(total)}", ""])

    def __str__(self):
        return self.table()


_SORTED_BY = "count", "cpu_time", "cpu_time_total", "self_cpu_time_total"
_TITLES = "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"


def _time(us):
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _share(part, whole):
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def _snake_case(name):
    joined = re.sub(r"(?<=\d)(D|Col|Im)", lambda word: word[0].lower(), name)  # 2D is 2d, Im2Col is im2col
    return re.sub(r"(?<!^)(?=[A-Z])", "_", joined).lower()


def _called(rule, args=()):
    """PyTorch's name of the operation of a rule; of a rule that differentiates another one it is that of its backward."""
    if isinstance(rule, str):
        op = rule
    elif args and hasattr(rule, "which"):  # one rule for all that have no derivative
        op = rule.which(args)
    else:
        op = rule.op or _snake_case(re.sub(r"Backward\d*(?=_|$)", "", rule.__name__))
    return NAMES.get(op, f"_{op}" if PRIVATE.match(op) else op)


def _given(rule, inputs):
    """The tensors that a call has, without lists of them and what is computed inside."""
    if "tensors" in getattr(rule, "inputs", ()):
        return ()
    if getattr(rule, "saves_rest", False):  # a tensor and its list of indices
        return inputs[:1]
    extras = getattr(rule, "extras", 0)
    return inputs[: OPERANDS.get(getattr(rule, "op", None), len(inputs) - extras)]


class _Watcher(Watch):
    """Makes the events of one profile, in the thread with this state."""

    def __init__(self, state, with_shapes):
        self.state, self.run, self.with_shapes = state, state.run, with_shapes
        self.events, self.open, self.began = EventList(), [], None
        self.numbers = itertools.count(1)

    def timed(self, fn, *args):
        """Calls a function of NumPy: an operation begins with the first."""
        if self.began is None:
            self.began = perf_counter()
        return self.run(fn, *args)

    def begin(self, name, shapes=(), sequence_nr=-1):
        """An event begins, inside the one that is open."""
        parent = self.open[-1] if self.open else None
        event = FunctionEvent(
            next(self.numbers), name, parent, shapes if self.with_shapes else (), sequence_nr
        )
        self.events.append(event)
        self.open.append(event)
        event.start = perf_counter()
        self.began = None
        return event

    def end(self, event=None):
        """An event ends, and what is still open in it; the innermost if none is given."""
        now = perf_counter()
        while self.open:
            one = self.open.pop()
            one.end = now
            if event is None or one is event:
                break
        self.began = None

    def _operation(self, name, inputs, node, library="aten::"):
        began = self.began
        if node is not None:
            number = node._sequence_nr()
        else:
            number = -count_down() if self.state.grad else -1
        event = self.begin(
            library + name,
            [t._data.shape for t in inputs if isinstance(t, Variable)],
            number,
        )
        event.made_a_node = node is not None
        event.start = event.start if began is None else began
        self.end(event)

    def operation(self, rule, inputs, outputs, node, args):
        if node is not None and node.kind == "function":
            self._operation(type(node).__name__.removesuffix("Backward"), inputs, node, library="")
            return
        self._operation(_called(rule, args), _given(rule, inputs), node)

    def written(self, rule, inputs, target, node, name, args=()):
        if name.endswith("_"):  # others are no operations: a step of an optimizer, "data ="
            self._operation(name, _given(rule, inputs), node)

    def detached(self, source, out, how):
        if how == "detach":
            self._operation("detach", (source,), None)

    def popped(self, run, node, g):
        self._leave(run)
        name = node.name()
        outer = self.begin(
            f"autograd::engine::evaluate_function: {name}",
            (),
            node._sequence_nr() if node.kind != "accumulate" else -1,
        )
        outer.of = run

    def applying(self, run, node, slots):
        shapes = [() if x is None else (x._data if isinstance(x, Variable) else x).shape for x in slots]
        self.begin(node.name(), shapes, self.open[-1].sequence_nr)

    def applied(self, run, node, slots, grads):
        self.end(next(event for event in reversed(self.open) if event.name == node.name()))

    def pass_done(self, run):
        self._leave(run)

    def failed(self, run, error):
        self._leave(run)

    def _leave(self, run):
        """The node at work in a pass is done."""
        found = next(
            (event for event in reversed(self.open) if getattr(event, "of", None) is run and run is not None),
            None,
        )
        if found is not None:
            self.end(found)


class profile:  # noqa: N801 - PyTorch's name
    """Profile what runs inside: `with torch.autograd.profiler.profile() as prof: ...`. Of this thread, on the CPU.

    enabled        False makes it do nothing
    record_shapes  whether `input_shapes` of an event has the shapes of its tensors, without those in a list; PyTorch adds an empty one for each
                   other argument

    Raises NotImplementedError for what there is not: other devices, flops, allocations, stacks. What operations save for the backward
    pass is shown by `lab.cost`. A recording of the lab may surround it, and may not begin inside.
    """

    def __init__(
        self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False, with_stack=False,
        with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None, acc_events=False, custom_trace_id_callback=None,
        post_processing_timeout_s=None, activity_filters=None,
    ):  # fmt: skip
        for name, asked, instead in (
            ("use_cuda", use_cuda, "there is only the CPU"), ("use_device", use_device not in (None, "cpu"), "there is only the CPU"),
            ("use_cpu=False", not use_cpu, "there is only the CPU"), ("with_flops", with_flops, "operations are not counted"),
            ("profile_memory", profile_memory, "NumPy's allocations are not seen; lab.cost says what is saved for the backward pass"),
            ("with_stack", with_stack, "lab.record tells the lines of the program"), ("with_modules", with_modules, "lab.record tells the modules"),
        ):  # fmt: skip
            if asked:
                raise NotImplementedError(
                    f"profile() cannot do {name} in autograd_lab: {instead}. What to do: leave it out"
                )
        self.enabled, self.record_shapes = enabled, record_shapes
        self._entered = False
        self._watcher = self._events = None

    def __enter__(self):
        if not self.enabled:
            return None
        if self._entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._entered = True
        state = THREAD.state
        watcher = self._watcher = _Watcher(state, self.record_shapes)
        self._before = state.watch
        state.watch = watcher if self._before is None else Both(self._before, watcher)
        state.run = watcher.timed
        WATCHERS.append(watcher)
        _OPEN.append(watcher)
        state.refresh()
        return self

    def __exit__(self, *error):
        if not self.enabled:
            return
        watcher = self._watcher
        state = watcher.state
        state.watch, state.run = self._before, watcher.run
        WATCHERS.remove(watcher)
        _OPEN.remove(watcher)
        state.refresh()
        while watcher.open:
            watcher.end()
        self._events = watcher.events

    @property
    def function_events(self):
        """All events, in the order in which they began. Raises RuntimeError while the profile runs."""
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def key_averages(self, group_by_input_shape=False):
        """The events by name: see EventList.key_averages."""
        return self.function_events.key_averages(group_by_input_shape)

    def table(self, *args, **kwargs):
        """The table of all events: see EventList.table."""
        return self.function_events.table(*args, **kwargs)

    def total_average(self):
        """The average of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self):
        """The time of all events in microseconds."""
        return self.function_events.self_cpu_time_total

    def __str__(self):
        return str(self._events) if self._events is not None else repr(self)

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)


class record_function(contextlib.ContextDecorator):  # noqa: N801 - PyTorch's name
    """Name a part of a program, as one event of this thread's running profiles: a context manager and a decorator."""

    def __init__(self, name, args=None):
        self.name, self.args, self._begun = name, args, []

    def _recreate_cm(self):
        return type(self)(self.name, self.args)  # each call of a decorated function needs its own

    def __enter__(self):
        state = THREAD.state
        self._begun = [(one, one.begin(self.name)) for one in [*_OPEN] if one.state is state]
        return self

    def __exit__(self, *error):
        for watcher, event in self._begun:
            watcher.end(event)


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]
