"""Hooks: their order, what they see, what they may return, and when they stop. Expectations from PyTorch 2.13.0."""

import gc
import weakref

import pytest

import autograd_lab as torch


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def numbers(gs):
    return [None if g is None else g.tolist() for g in gs]


def test_the_order_of_everything():
    """Tensor hooks, retain_grad, pre-hooks, the node, post-hooks; a leaf: tensor hooks, pre, accumulation, post-accumulate, post."""
    log = []
    x = leaf(1.0, 2.0)
    h = x * 3
    h.register_hook(lambda g: (log.append(("first", g.tolist())), g * 2)[1])
    h.retain_grad()
    h.register_hook(lambda g: (log.append(("second", g.tolist())), g + 1)[1])
    h.grad_fn.register_prehook(lambda go: (log.append(("pre", numbers(go))), (go[0] * 10,))[1])
    h.grad_fn.register_hook(
        lambda gi, go: (log.append(("post", numbers(gi), numbers(go))), (gi[0] + 0.5, None))[1]
    )
    x.register_hook(lambda g: log.append(("leaf", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p is x, p.grad.tolist())))
    accumulator = h.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda go: log.append(("leaf pre", numbers(go), x.grad)))
    accumulator.register_hook(lambda gi, go: log.append(("leaf post", gi, numbers(go))))
    h.sum().backward()
    assert log == [
        ("first", [1.0, 1.0]),
        ("second", [2.0, 2.0]),
        ("pre", [[3.0, 3.0]]),
        ("post", [[90.0, 90.0], None], [[30.0, 30.0]]),
        ("leaf", [90.5, 90.5]),
        ("leaf pre", [[90.5, 90.5]], None),
        ("accumulated", True, [90.5, 90.5]),
        ("leaf post", (), [[90.5, 90.5]]),
    ]
    assert h.grad.tolist() == [3.0, 3.0]


def test_leaves_ready_together_are_served_in_order_of_arrival():
    """Not in the order in which their accumulators were made."""
    log = []
    a, b = leaf(1.0), leaf(2.0)
    b.register_hook(lambda g: log.append("b"))
    a.register_hook(lambda g: log.append("a"))
    (a * b).backward()
    assert log == ["a", "b"]


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: (g,), TypeError, "expected Variable, but hook returned 'tuple'"),
        (lambda g: g.sum(), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (lambda g: g.double(), RuntimeError, "hook '<lambda>' has changed the type of value"),
    ],
)
def test_what_a_tensor_hook_may_return(result, error, text):
    x = leaf(1.0, 2.0)
    h = x * 2
    h.register_hook(lambda g: result(g))
    with pytest.raises(error, match=text):
        h.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda gs: gs[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda gs: [gs[0], None], TypeError, "expected tuple, but hook returned 'list'"),
        (
            lambda gs: (gs[0],),
            RuntimeError,
            r"returned an incorrect number of values \(got 1, but expected 2\)",
        ),
        (lambda gs: (3, None), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda gs: (gs[0].sum(), None), RuntimeError, "has changed the size of value"),
        (lambda gs: (gs[0], gs[0]), RuntimeError, "can't replace a None gradient with a non-None value"),
    ],
)
def test_what_a_node_hook_may_return(result, error, text):
    h = leaf(1.0, 2.0) * 2
    h.grad_fn.register_hook(lambda gi, go: result(gi))
    with pytest.raises(error, match=text):
        h.sum().backward()


def test_a_node_hook_can_stop_a_gradient():
    x = leaf(1.0)
    h = x * 2
    h.grad_fn.register_prehook(lambda go: (None,))
    h.backward()
    assert x.grad is None


def test_post_accumulate_hooks_return_nothing():
    x = leaf(1.0)
    handle = x.register_post_accumulate_grad_hook(lambda p: p)
    (x * 2).backward()  # the parameter itself passes, as in PyTorch
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError, match="Tensor post accumulate grad hooks should return None."):
        (x * 2).backward()


def test_where_hooks_cannot_go():
    for register in (torch.ones(1).register_hook, torch.ones(1).register_post_accumulate_grad_hook):
        with pytest.raises(
            RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
        ):
            register(print)
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(1).retain_grad()


def test_removal():
    log = []
    h = leaf(1.0) * 1
    first = h.register_hook(lambda g: log.append("first"))
    second = h.register_hook(lambda g: log.append("second"))
    first.remove()
    first.remove()
    with h.register_hook(lambda g: log.append("third")):
        h.backward(torch.ones(1), retain_graph=True)
    h.backward(torch.ones(1))
    assert log == ["second", "third", "second"]
    assert second.id > first.id


def test_hooks_changed_by_a_hook_count_from_the_next_pass():
    log = []
    h = leaf(1.0) * 1

    def hook(g):
        log.append("old")
        h.register_hook(lambda g: log.append("new"))

    h.register_hook(hook)
    h.backward(torch.ones(1), retain_graph=True)
    assert log == ["old"]
    h.backward(torch.ones(1), retain_graph=True)
    assert log == ["old", "old", "new"]


def test_hooks_stay_with_the_value_they_were_put_on():
    log = []
    h = leaf(1.0) * 2
    h.register_hook(lambda g: log.append(("old", g.tolist())))
    h.mul_(3)
    h.register_hook(lambda g: log.append(("new", g.tolist())))
    h.backward()
    assert log == [("new", [1.0]), ("old", [3.0])]


def test_retain_grad_moves_to_the_newest_value():
    h = leaf(1.0) * 2
    h.retain_grad()
    h.mul_(3)
    h.backward()
    assert (h.grad.tolist(), h.retains_grad) == ([1.0], True)
    v = h.detach().requires_grad_() * 1
    part = v[:]
    part.retain_grad()
    v.add_(1)
    (v * 5 + part).backward()
    assert part.grad.tolist() == [1.0]


def test_hooks_see_none_where_nothing_arrives():
    log = []
    a, b, _ = (leaf(1.0, 2.0, 3.0) * 1).unbind()
    b.register_hook(lambda g: log.append(g))
    a.backward()
    assert log == [None]


def test_a_leaf_hook_sees_the_whole_gradient_once():
    log = []
    x = leaf(1.0)
    x.register_hook(lambda g: log.append(g.tolist()))
    (x * 2 + x * 3).backward()
    assert log == [[5.0]]


def test_autograd_grad_captures_after_the_hooks_unless_the_node_runs():
    x = leaf(1.0, 2.0)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    assert torch.autograd.grad((h * 2).sum(), h, retain_graph=True)[0].tolist() == [20.0, 20.0]
    both = torch.autograd.grad((h * 2).sum(), [h, x])
    assert [g.tolist() for g in both] == [[2.0, 2.0], [60.0, 60.0]]


def test_autograd_grad_does_not_accumulate():
    log = []
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda p: log.append(p))
    torch.autograd.grad(x * 2, x)
    assert log == []


def test_a_backward_inside_a_hook():
    log = []
    h = leaf(1.0) * 2

    def hook(g):
        with torch.enable_grad():
            q = torch.ones(1, requires_grad=True)
            (q * g).backward()
        log.append(q.grad.tolist())

    h.register_hook(hook)
    h.backward()
    assert log == [[1.0]]


def test_an_exception_in_a_hook_reaches_the_caller_unchanged():
    x = leaf(1.0)
    h = x * 2
    h.grad_fn.register_hook(lambda gi, go: {}["gone"])
    with pytest.raises(KeyError, match="gone"):
        h.backward()
    assert x.grad is None
    assert torch.is_grad_enabled()


def test_hooks_under_create_graph_are_recorded():
    x = leaf(3.0)
    y = x**2
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.tolist() == [18.0]
    assert torch.autograd.grad(g, x)[0].tolist() == [12.0]


def test_metadata_is_a_dict_of_the_users():
    fn = (leaf(1.0) * 2).grad_fn
    fn.metadata["note"] = 1
    assert fn.metadata == {"note": 1}
    assert fn.next_functions[0][0].metadata == {}


def test_hooks_do_not_keep_a_graph_alive():
    gc.disable()
    try:
        h = leaf(1.0) * 2
        handle = h.register_hook(lambda g: g)
        node = weakref.ref(h.grad_fn)
        del h
        assert node() is None
        handle.remove()
    finally:
        gc.enable()


def test_leaf_hooks_outlive_graphs():
    log = []
    x = leaf(1.0)
    x.register_hook(lambda g: log.append(g.tolist()))
    for k in (1, 2):
        (x * k).backward()
    assert log == [[1.0], [2.0]]


def test_what_retain_grad_asked_for_stays_with_the_history_that_detach_cuts_off():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    s = x * 2
    s.retain_grad()
    y = s * 3
    s.detach_()
    y.sum().backward()
    assert (s.grad.tolist(), x.grad.tolist()) == ([3.0, 3.0], [6.0, 6.0])
    assert (s.requires_grad, s.retains_grad) == (False, True)
