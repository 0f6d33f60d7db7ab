"""The mark of a hook is in the picture exactly while the hook is: every way to register one, registered and removed.

A program runs line by line; after each the engine's own tables say where hooks are, and the film what it marks at that step.
"""

import re
import textwrap

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.torchlike.autograd.saved import Packed
from autograd_lab.tracing.narrate import narrate
from autograd_lab.widgets.frames import at, film
from autograd_lab.widgets.svg import svg

HOOKS = """
    def look(*_):
        return None

    def same(x):
        return x

"""
#: Way to register a hook -> lines of a program. A line "---" is one at which nothing else happens.
WAYS = {
    "Tensor.register_hook": """
        y = w * 3
        h = y.register_hook(look)
        i = y.register_hook(look)
        u = w.register_hook(look)
        h.remove()
        h.remove()
        i.remove()
        z = y * 2
        u.remove()
        h = y.register_hook(look)
        z.sum().backward()
    """,
    "Tensor.register_hook, and the tensor is written": """
        y = w * 3
        h = y.register_hook(look)
        y *= 2
        i = y.register_hook(look)
        h.remove()
        y *= 2
        y.sum().backward()
        i.remove()
    """,
    "Tensor.register_hook on one of several results": """
        a, b = w.unbind()
        h = b.register_hook(look)
        i = a.register_hook(look)
        h.remove()
        (a * b).backward()
    """,
    "Tensor.register_hook, as a context": """
        y = w * 3
        h = y.register_hook(look).__enter__()
        z = y * 2
        h.__exit__(None, None, None)
        z.sum().backward()
    """,
    "Tensor.register_hook in a pass": """
        y = w * 3
        h = y.register_hook(lambda g: h.remove())
        i = w.register_hook(lambda g: again.append(w.register_hook(look)) or i.remove())
        y.sum().backward(retain_graph=True)
        again[0].remove()
    """,
    "Tensor.register_post_accumulate_grad_hook": """
        h = w.register_post_accumulate_grad_hook(look)
        y = w * 3
        i = w.register_hook(look)
        h.remove()
        y.sum().backward()
        i.remove()
    """,
    "Node.register_hook": """
        y = w * 3
        h = y.grad_fn.register_hook(look)
        z = (y * 2).sum()
        h.remove()
        i = z.grad_fn.next_functions[0][0].register_hook(look)
        z.backward()
        i.remove()
    """,
    "Node.register_prehook": """
        y = w * 3
        h = y.grad_fn.register_prehook(look)
        i = y.grad_fn.register_hook(look)
        h.remove()
        u = y.register_hook(look)
        i.remove()
        a = torch.autograd.graph.get_gradient_edge(w).node
        h = a.register_prehook(look)
        y.sum().backward()
        h.remove()
    """,
    "Module.register_full_backward_hook": """
        m = torch.nn.Linear(2, 1)
        h = m.register_full_backward_hook(look)
        y = m(w)
        h.remove()
        z = m(w)
        (y + z).backward()
    """,
    "module.register_module_full_backward_hook": """
        m = torch.nn.Linear(2, 1)
        h = torch.nn.modules.module.register_module_full_backward_hook(look)
        y = m(w)
        h.remove()
        y.backward()
    """,
    "module.register_module_full_backward_pre_hook": """
        m = torch.nn.Linear(2, 1)
        h = torch.nn.modules.module.register_module_full_backward_pre_hook(look)
        y = m(w)
        h.remove()
        y.backward()
    """,
    "Module.register_full_backward_pre_hook": """
        m = torch.nn.Linear(2, 1)
        h = m.register_full_backward_pre_hook(look)
        y = m(w)
        h.remove()
        y.backward()
    """,
    "Module.register_backward_hook": """
        m = torch.nn.Sigmoid()
        h = m.register_backward_hook(look)
        y = m(w * 1)
        h.remove()
        y.sum().backward()
    """,
    "graph.register_multi_grad_hook": """
        y = w * 3
        h = torch.autograd.graph.register_multi_grad_hook((w, y), look)
        z = y.sum()
        h.remove()
        h = torch.autograd.graph.register_multi_grad_hook((w, y), look, mode="any")
        z.backward()
        h.remove()
    """,
    "graph.saved_tensors_hooks": """
        with torch.autograd.graph.saved_tensors_hooks(same, same): y = w * w
        z = y.exp()
        z.sum().backward(retain_graph=True)
        z.sum().backward()
        z = w.exp()
    """,
    "graph.save_on_cpu, and a Function": """
        with torch.autograd.graph.save_on_cpu(): y = Square.apply(w)
        y.sum().backward()
    """,
    "SavedTensor.register_hooks": """
        y = w * w
        y.grad_fn._raw_saved_self.register_hooks(same, same)
        z = y.exp()
        h = y.grad_fn.register_hook(look)
        z.sum().backward()
        h.remove()
    """,
    "before the recording": """
        z = old * w
        oldest.remove()
        inside.remove()
        z.sum().backward()
        late.remove()
        before.remove()
    """,
}
#: What registers a hook that sees no gradient of the graph, or switches something.
ELSEWHERE = {
    *(f"Module.register_{what}_hook" for what in ("forward", "forward_pre", "state_dict_post", "state_dict_pre", "load_state_dict_post", "load_state_dict_pre")),
    *(f"Optimizer.register_{what}_hook" for what in ("step_pre", "step_post", "state_dict_post", "state_dict_pre", "load_state_dict_post", "load_state_dict_pre")),
    *(f"module.register_module_{what}_hook" for what in ("forward", "forward_pre", "buffer_registration", "module_registration", "parameter_registration")),
    "module.register_module_backward_hook",  # as Module.register_backward_hook, and it excludes the full ones for the whole process
    "graph.disable_saved_tensors_hooks", "graph.node_creation_hook",
}  # fmt: skip


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


def test_every_way_to_register_a_hook_is_in_the_table():
    x = torch.ones(2, requires_grad=True)
    node = (x * x).grad_fn
    holders = {
        "Tensor": type(x), "Node": type(node), "Module": torch.nn.Module, "Optimizer": torch.optim.Optimizer,
        "module": torch.nn.modules.module, "graph": torch.autograd.graph, "SavedTensor": type(node._raw_saved_self),
    }  # fmt: skip
    found = {f"{holder}.{name}" for holder, of in holders.items() for name in dir(of) if "hook" in name and not name.startswith("_") and name not in ("hooks", "unpack_hook", "warn_partial_hook", "add_hook")}  # fmt: skip
    assert found - {way.partition(",")[0].partition(" ")[0] for way in WAYS} == ELSEWHERE


def tables(tensors, nodes):
    """Where the engine has hooks now: ("node", node) and ("result", node or leaf, number)."""
    found = set()
    for t in tensors:
        meta = t._meta
        if t.is_leaf and meta is not None and (meta.hooks or meta.post_accumulate_hooks):
            found.add(("result", id(t), 0))
    for node in nodes:
        saved = getattr(node, "_kept", None) or node.saved or ()
        packed = any(isinstance(x, Packed) or getattr(x, "packed", None) for x in saved)
        if packed or (node.hooks and (node.hooks.pre or node.hooks.post)):
            found.add(("node", id(node)))
        found |= {("result", id(node), nr) for nr, table in (node.hooks.tensor if node.hooks else ()) if table}  # fmt: skip
    return found


def reached(tensors):
    """All nodes behind some tensors."""
    found, stack = {}, [t.grad_fn for t in tensors]
    for t in tensors:
        if t.is_leaf and t.requires_grad:
            stack.append(torch.autograd.graph.get_gradient_edge(t).node)
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in found:
            found[id(node)] = node
            stack += [fn for fn, _ in node.next_functions]
    return found


def run(lines):
    """The film of a program, after each line its step and what the engine's tables said, and where to look for each place."""
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    hidden = w.exp()
    old = (hidden * 2).cos()
    space = {"torch": torch, "w": w, "old": old, "Square": Square, "again": [], "look": lambda *_: None, "same": lambda x: x}  # fmt: skip
    if any("oldest" in line for line in lines):
        space["oldest"] = w.register_hook(space["look"])
        space["before"] = old.register_hook(space["look"])
        space["inside"] = old.grad_fn.next_functions[0][0].register_prehook(space["look"])
        space["late"] = hidden.grad_fn.register_hook(space["look"])
    told, nodes, everything = [], {}, {}
    with lab.record() as trace:
        for line in lines:
            exec(line, space)
            everything |= {id(x): x for x in space.values() if isinstance(x, torch.Tensor)}
            nodes |= reached(everything.values())
            told.append(tables(everything.values(), nodes.values()))
            (
                torch.ones(1).erf(),
                torch.ones(1).erf(),
            )  # what follows the second one is not seen at the step of the first
    numbers, places = {}, {}  # of nodes; where in the film each place of a hook is
    stack = [(t.grad_fn, trace.tensors[trace.number_of(t)]["node"]) for t in everything.values() if t.grad_fn is not None and trace.knows(t)]  # fmt: skip
    while stack:
        node, n = stack.pop()
        if id(node) in numbers:
            continue
        numbers[id(node)] = n
        stack += [(fn, edge[0]) for (fn, _), edge in zip(node.next_functions, trace.nodes[n]["edges"], strict=True) if fn is not None]  # fmt: skip
    doc = film(trace)
    for number, n in numbers.items():
        places["node", number] = doc["nodes"][n]["hooks"]
        unit = doc["units"][doc["nodes"][n]["unit"]]
        if doc["nodes"][n]["kind"] != "accumulate":
            places |= {("result", number, nr): timeline for nr, timeline in enumerate(unit["hooks"])}
    for t in (
        everything.values()
    ):  # leaves, and results from before the recording, whose boxes are not at their nodes
        units = [
            u for u in doc["units"] if trace.knows(t) and trace.number_of(t) in [box[0] for box in u["boxes"]]
        ]
        if units:
            places.setdefault(
                ("result", id(t if t.is_leaf else t.grad_fn), t.output_nr), units[0]["hooks"][0]
            )
    ends = [k for k, e in enumerate(trace.events, 1) if e["k"] == "const" and e["op"] == "erf"][::2]
    return doc, list(zip(ends, told, strict=True)), places, (nodes, everything)


@pytest.mark.parametrize("way", WAYS)
def test_the_mark_is_there_exactly_while_the_hook_is(way):
    lines = [line for line in textwrap.dedent(WAYS[way]).splitlines() if line]
    doc, told, places, _alive = run(lines)
    seen = set()
    for line, (k, truth) in zip(lines, told, strict=True):
        marked = {place for place, timeline in places.items() if at(timeline, k)}
        assert marked == truth & places.keys(), (line, k)
        drawn = svg(doc, k).count('r="7"')
        shown = sum(
            bool(at(tl, k)) for u in doc["units"] if u["boxes"] and u["since"] <= k for tl in u["hooks"]
        )
        shown += sum(
            bool(at(n["hooks"], k)) and at(n["tl"], k) is not None and n["unit"] >= 0 for n in doc["nodes"]
        )
        assert drawn == shown, (line, k)
        seen |= marked
    assert seen  # there was one at all
    for _, truth in told:
        assert truth <= places.keys()


#: Program -> what its hooks are told to be on, in the order in which they run. `old` is `(hidden * 2).cos()`, from before.
TOLD = {
    "y = w * 3; y.register_hook(double); w.register_hook(double); y.sum().backward()": ["y", "w"],
    "a, b = w.unbind(); b.register_hook(double); a.register_hook(double); (a * b).backward()": ["b", "a"],
    "y = w * 3; y.register_hook(double); y.mul_(2); y.register_hook(double); y.sum().backward()": [
        "y (as MulBackward0 #2 made it)", "y (as MulBackward0 #1 made it)",
    ],
    "y = w * 3; y[0].register_hook(double); v = y[1]; v.register_hook(double); (v + y[0]).backward()": ["v"],
    "s = w * 3; s.exp().register_hook(double); t = s.exp(); t.register_hook(double); t.sum().backward()": ["t"],
    "t = (w * 3).exp(); t.register_hook(double); t.grad_fn.next_functions[0][0].register_prehook(double_all); t.sum().backward()": [
        "t", "MulBackward0",
    ],
    "torch.autograd.graph.register_multi_grad_hook((y := w * 3, z := w * 2), look); (y * z).sum().backward()": ["z", "y"],
    "w.register_post_accumulate_grad_hook(clear); (w * 3).sum().backward()": ["w"],
    "old.register_hook(double); s = old.sum(); s.backward()": ["old"],
    "hidden.register_hook(double); s = old.sum(); s.backward()": ["hidden"],
    "s = nameless.sum(); s.backward()": ["the result of ExpBackward0"],
    "p, q = halves; q.register_hook(double); s = p + q; s.backward()": ["q"],
}  # fmt: skip


@pytest.mark.parametrize("program", TOLD)
def test_a_hook_is_told_as_one_on_what_it_was_registered_on(program):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    hidden, inner = w.exp(), w.exp()
    inner.register_hook(lambda g: g * 2)
    space = {
        "torch": torch, "w": w, "hidden": hidden, "old": (hidden * 2).cos(), "halves": w.unbind(), "nameless": inner.sin(),
        "look": lambda *_: None, "double": lambda g: g * 2, "double_all": lambda gs: (gs[0] * 2,),
        "clear": lambda p: setattr(p, "grad", torch.zeros(2)),
    }  # fmt: skip
    with lab.record() as trace:
        exec(program, space)
        trace.find_names(space)
    steps = [k for k, e in enumerate(trace.events, 1) if e["k"] == "hook"]
    assert len(steps) == len(TOLD[program])
    text, film_ = lab.step(trace).to_text(), film(trace)
    for k, on, (at_step, n, _, before, after, t) in zip(steps, TOLD[program], film_["details"]["hooks"], strict=True):  # fmt: skip
        sentence = narrate(trace, k)
        assert re.match(
            rf"A (pre-hook|post-accumulate hook|hook) on {re.escape(on)} (changes|looks)", sentence
        )
        assert sentence in text
        label = film_["tensors"][t]["label"] if t >= 0 else film_["nodes"][n]["label"]
        assert (at_step, label) == (k, on.partition(" (")[0].removeprefix("the result of "))
        if before != after and "post-acc" not in sentence:
            assert f"on {on} changed the gradient" in str(trace.why(w))
            break  # the first one that changed something is the answer
