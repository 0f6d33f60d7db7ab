"""Custom Functions: what forward may do, what backward may return, and every complaint. Expectations from PyTorch 2.13.0."""

import gc
import weakref

import pytest

import autograd_lab as torch
from autograd_lab.autograd import Function
from autograd_lab.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


class Exp(Function):
    """Saves its own output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def make(forward, backward=lambda ctx, g: g, name="F"):
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


# -- the node -----------------------------------------------------------------------------------------


def test_the_node_is_the_ctx():
    seen = []

    def forward(ctx, x, k):
        seen.append(ctx)
        ctx.k = k
        return x * k

    F = make(forward, lambda ctx, g: (g * ctx.k, None), "Scale")
    y = F.apply(leaf(1.0), 3.0)
    assert y.grad_fn is seen[0]
    assert y.grad_fn.k == 3.0
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ScaleBackward"
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert repr(y) == "tensor([3.], grad_fn=<ScaleBackward>)"


@pytest.mark.parametrize(
    "name", ["args", "saved", "versions", "kind", "name", "shape", "data", "inputs", "saves"]
)
def test_names_users_like_are_free(name):
    def forward(ctx, x):
        setattr(ctx, name, [1, 2])
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        assert getattr(ctx, name) == [1, 2]
        return g * ctx.saved_tensors[0]

    x = leaf(3.0)
    make(forward, backward).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_names_the_engine_needs_are_refused_loudly():
    def forward(ctx, x):
        ctx.hooks = 1
        return x * 2

    with pytest.raises(AttributeError, match="ctx.hooks is used by the engine"):
        make(forward).apply(leaf(1.0))


def test_only_tensors_get_edges_but_every_argument_gets_a_flag():
    F = make(lambda ctx, x, k, c: x * k + c, lambda ctx, g: (g, None, g))
    fn = F.apply(leaf(1.0), 2, torch.ones(1)).grad_fn
    assert fn.needs_input_grad == (True, False, False)
    assert len(fn.next_functions) == 2
    assert fn.next_functions[1] == (None, 0)


def test_a_constant_result_keeps_no_node():
    assert Square.apply(torch.ones(2)).grad_fn is None
    with torch.no_grad():
        assert not Square.apply(leaf(1.0)).requires_grad


def test_grad_modes_inside():
    seen = []

    def forward(ctx, x):
        seen.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx, g):
        seen.append((torch.is_grad_enabled(), g.requires_grad))
        return g * 2

    F = make(forward, backward)
    x = leaf(1.0)
    F.apply(x).sum().backward()
    torch.autograd.grad(F.apply(x) ** 2, x, create_graph=True)
    assert seen == [False, (False, False), False, (True, True)]


# -- saved tensors ------------------------------------------------------------------------------------


def test_a_saved_input_is_itself_and_a_saved_output_is_not():
    x = leaf(1.0, 2.0)
    assert Square.apply(x).grad_fn.saved_tensors[0] is x
    y = Exp.apply(x)
    (kept,) = y.grad_fn.saved_tensors
    assert kept is not y
    assert kept.grad_fn is y.grad_fn


def test_saved_tensors_are_freed_after_a_pass():
    y = Square.apply(leaf(2.0))
    y.backward()
    for look in (lambda: y.grad_fn.saved_tensors, y.backward):
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            look()


def test_attributes_are_not_freed():
    F = make(lambda ctx, x: (setattr(ctx, "x", x), x * x)[1], lambda ctx, g: 2 * g * ctx.x)
    x = leaf(3.0)
    y = F.apply(x)
    y.backward()
    y.backward()
    assert x.grad.tolist() == [12.0]


def test_a_saved_tensor_written_to_is_noticed():
    h = leaf(1.0, 2.0) * 1
    y = Square.apply(h)
    h.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch.FloatTensor \[2\]\], which is output 0 of Add, is at version 1",
    ):
        y.sum().backward()
    y = Exp.apply(leaf(1.0))
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of Exp, is at version 1; expected version 0"):
        y.backward()


def test_what_can_be_saved():
    F = make(
        lambda ctx, x: (ctx.save_for_backward(x, None), x * 1)[1],
        lambda ctx, g: g * (ctx.saved_tensors[1] is None),
    )
    x = leaf(1.0)
    F.apply(x).backward()
    assert x.grad.tolist() == [1.0]
    with pytest.raises(
        TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"
    ):
        make(lambda ctx, x: (ctx.save_for_backward(x, 3), x * 1)[1]).apply(x)
    with torch.inference_mode():
        i = torch.ones(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        make(lambda ctx, x, i: (ctx.save_for_backward(i), x * 1)[1]).apply(x, i)


def test_saved_tensors_go_through_hooks():
    log = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: log.append("pack") or t, lambda t: log.append("unpack") or t
    ):
        y = Square.apply(leaf(1.0))
    y.backward()
    assert log == ["pack", "unpack"]


# -- second derivatives -------------------------------------------------------------------------------


@pytest.mark.parametrize(("F", "derivatives"), [(Square, [4.0, 2.0]), (Exp, [7.389056, 7.389056, 7.389056])])
def test_higher_derivatives(F, derivatives):
    x = leaf(2.0)
    y = F.apply(x)
    for value in derivatives:
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(value)


def test_once_differentiable_raises_only_when_used():
    class Once(Square):
        backward = staticmethod(once_differentiable(Square.backward))

    x, w = leaf(3.0), leaf(1.0)
    (g,) = torch.autograd.grad(Once.apply(x), x, create_graph=True)
    assert not g.requires_grad
    (g,) = torch.autograd.grad(Once.apply(x) * w, x, create_graph=True)
    assert (g.tolist(), type(g.grad_fn).__name__, g.grad_fn.name()) == (
        [6.0],
        "Error",
        "torch::autograd::Error",
    )
    with pytest.raises(
        RuntimeError,
        match="trying to differentiate twice a function that was marked with @once_differentiable",
    ):
        g.backward()


# -- arguments ----------------------------------------------------------------------------------------


def test_keyword_arguments_are_bound_in_order():
    def forward(ctx, x, a=1.0, b=2.0):
        ctx.got = (a, b)
        return x * a

    F = make(forward, lambda ctx, g: (g, None, None))
    x = leaf(1.0)
    assert F.apply(x, a=3.0).grad_fn.got == (3.0, 2.0)
    assert F.apply(b=5.0, a=4.0, x=x).grad_fn.needs_input_grad == (True, False, False)
    for kwargs, text in [
        ({"b": 1}, r"forward\(\) missing required argument: 'a' \(position 1\)"),
        ({"x": 1}, r"forward\(\) got multiple values for argument 'x'"),
        ({"q": 1}, r"forward\(\) got an unexpected keyword argument 'q'"),
        ({"ctx": 1}, r"forward\(\) got an unexpected keyword argument 'ctx'"),
    ]:
        with pytest.raises(TypeError, match=text):
            F.apply(x, **kwargs)


def test_setup_context_sees_defaults():
    class F(Function):
        @staticmethod
        def forward(x, k=3.0):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = inputs
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.inputs[1], None

    x = leaf(1.0)
    y = F.apply(x)
    y.backward()
    assert y.grad_fn.inputs[1] == 3.0
    assert x.grad.tolist() == [3.0]


def test_the_same_tensor_twice_collects_both():
    x = leaf(1.0)
    make(lambda ctx, a, b: a + b, lambda ctx, g: (g * 10, g * 100)).apply(x, x).backward()
    assert x.grad.tolist() == [110.0]


# -- outputs ------------------------------------------------------------------------------------------


def test_kinds_of_outputs():
    seen = []
    F = make(lambda ctx, x: (x * 2, "text", None, x.long(), x * 3), lambda ctx, *g: (seen.extend(g), g[0])[1])
    a, text, none, i, b = F.apply(leaf(1.5))
    assert (text, none, i.requires_grad, a.output_nr, b.output_nr) == ("text", None, False, 0, 4)
    a.backward()
    assert [None if g is None else (g.tolist(), str(g.dtype)) for g in seen] == [
        ([1.0], "torch.float32"), None, None, ([0], "torch.int64"), ([0.0], "torch.float32"),
    ]  # fmt: skip


def test_materialize_off():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    _, b = make(forward, lambda ctx, g, h: (seen.append((g, h)), h)[1]).apply(leaf(1.0))
    b.backward()
    assert seen[0][0] is None


def test_non_differentiable_outputs():
    def forward(ctx, x):
        y, mask = x * 2, (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        return y, mask

    y, mask = make(forward, lambda ctx, g, h: g * (h.tolist() == [0.0])).apply(leaf(1.0))
    assert (y.requires_grad, mask.requires_grad, mask.grad_fn) == (True, False, None)
    y.backward()


def test_a_list_is_not_a_tuple():
    out = make(lambda ctx, x: [x * 2]).apply(leaf(1.0))
    assert isinstance(out, list)
    assert not out[0].requires_grad
    assert isinstance(make(lambda ctx, x: (x * 2,)).apply(leaf(1.0)), tuple)


def test_the_same_output_twice_is_the_last_one():
    a, b = make(lambda ctx, x: (lambda y: (y, y))(x * 2), lambda ctx, g, h: g + 3 * h).apply(leaf(1.0))
    assert a is b
    assert a.output_nr == 1


# -- inputs returned, views, in-place -----------------------------------------------------------------

CUSTOM_VIEW = "This view was created inside a custom Function"


def test_an_input_returned_is_a_view_with_history():
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    assert y is not x
    assert (y._is_view(), y._base is x, y._version) == (True, True, 0)
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    with pytest.raises(
        RuntimeError, match=f"Output 0 of F is a view and is being modified inplace. {CUSTOM_VIEW}"
    ):
        make(lambda ctx, x: x).apply(x * 1).add_(1)


def test_a_view_of_an_input():
    F = make(lambda ctx, x: x[:1], lambda ctx, g: torch.cat([g, g * 0]))
    h = leaf(1.0, 2.0) * 1
    y = F.apply(h)
    h.add_(1)
    with pytest.raises(
        RuntimeError, match=f"its base or another view of its base has been modified inplace. {CUSTOM_VIEW}"
    ):
        y.grad_fn  # noqa: B018


def test_several_views_may_not_be_written():
    a, _ = make(lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: torch.cat([g, h])).apply(leaf(1.0, 2.0) * 1)
    with pytest.raises(
        RuntimeError, match="This view is the output of a function that returns multiple views"
    ):
        a.add_(1)


def dirty(ctx, x):
    x.mul_(3)
    ctx.mark_dirty(x)
    return x


def test_dirty_input():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = make(dirty, lambda ctx, g: g * 5).apply(h)
    assert y is h
    assert (h._version, type(h.grad_fn).__name__, h.tolist()) == (2, "FBackward", [3.0, 6.0])
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_dirty_view_rewrites_its_base():
    x = leaf(1.0, 2.0)
    h = x * 1
    v = h[:1]
    make(dirty, lambda ctx, g: g * 3).apply(v)
    assert (h.grad_fn.name(), type(v.grad_fn).__name__, h._version) == (
        "torch::autograd::CopySlices",
        "AsStridedBackward0",
        2,
    )
    h.sum().backward()
    assert x.grad.tolist() == [3.0, 1.0]


def test_dirty_constant_joins_the_graph():
    def forward(ctx, buffer, x):
        buffer.add_(x)
        ctx.mark_dirty(buffer)
        return buffer

    buffer, x = torch.zeros(1), leaf(2.0)
    buffer.grad = torch.ones(1)
    make(forward, lambda ctx, g: (g, g * 3)).apply(buffer, x)
    buffer.retain_grad()
    assert buffer.grad is None
    buffer.backward()
    assert x.grad.tolist() == [3.0]


def test_dirty_errors():
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation."
    ):
        make(dirty).apply(leaf(1.0))
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        make(dirty).apply(leaf(1.0)[:])
    with pytest.raises(
        RuntimeError, match="Some elements marked as dirty during the forward method were not returned"
    ):
        make(lambda ctx, x: dirty(ctx, x).clone()).apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        make(lambda ctx, x: (dirty(ctx, x), x.clone())).apply((leaf(1.0) * 1)[:])
    with pytest.warns(UserWarning, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        make(lambda ctx, x: dirty(ctx, x * 2)).apply(leaf(1.0) * 1)


def test_a_returned_input_cannot_be_saved_by_setup_context():
    class F(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

    with pytest.raises(
        RuntimeError, match="An input that has been returned as-is as output is being saved for backward"
    ):
        F.apply(leaf(1.0))


# -- what backward returns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            lambda g: (g, g),
            r"function FBackward returned an incorrect number of gradients \(expected 1, got 2\)",
        ),
        (lambda g: 1.0, r"expected Variable or None \(got float\)"),
        (lambda g: [g], r"expected Variable or None \(got list\)"),
        (
            lambda g: torch.ones(5),
            r"Function FBackward returned an invalid gradient at index 0 - got \[5\] but expected shape compatible with \[2\]",
        ),
    ],
)
def test_wrong_gradients(result, text):
    with pytest.raises(RuntimeError, match=text):
        make(lambda ctx, x: x * 1, lambda ctx, g: result(g)).apply(leaf(1.0, 2.0)).sum().backward()


def test_a_gradient_for_a_number():
    with pytest.raises(
        RuntimeError,
        match="returned a gradient different than None at position 2, but the corresponding forward input was not",
    ):
        make(lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(leaf(1.0), 2).backward()


def test_lenient_gradients():
    """Trailing None is dropped, what broadcasting enlarged is summed, another type is converted, None means no gradient."""
    x = leaf(1.0, 2.0)
    make(lambda ctx, x: x * 1, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    make(lambda ctx, x: x * 1, lambda ctx, g: torch.ones(3, 2, dtype=torch.float64)).apply(x).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype) == ([4.0, 4.0], torch.float32)
    make(lambda ctx, x: x * 1, lambda ctx, g: None).apply(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_an_exception_in_backward_reaches_the_caller():
    x = leaf(1.0)
    with pytest.raises(ZeroDivisionError):
        make(lambda ctx, x: x * 1, lambda ctx, g: 1 / 0).apply(x).backward()
    assert x.grad is None


def test_missing_methods():
    with pytest.raises(
        NotImplementedError, match="You must implement the forward function for custom autograd.Function."
    ):
        type("F", (Function,), {}).apply(leaf(1.0))
    F = type("F", (Function,), {"forward": staticmethod(lambda ctx, x: x * 1)})
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        F.apply(leaf(1.0)).backward()
    F.vjp = staticmethod(lambda ctx, g: g * 2)
    x = leaf(1.0)
    F.apply(x).backward()
    assert x.grad.tolist() == [2.0]
    F.backward = staticmethod(lambda ctx, g: g)
    with pytest.raises(
        RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed."
    ):
        F.apply(x).backward()


def test_instances_are_refused():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = Square()
    with pytest.raises(
        RuntimeError, match="Legacy autograd function with non-static forward method is deprecated."
    ):
        f(leaf(1.0))


def test_a_node_is_not_callable():
    with pytest.raises(TypeError, match="'SquareBackward' object is not callable"):
        Square.apply(leaf(1.0)).grad_fn(torch.ones(1))


# -- memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("F", [Square, Exp])
def test_a_graph_dies_with_its_output(F):
    """No cycle between node, saved output and output: nothing waits for the garbage collector."""
    gc.disable()
    try:
        y = F.apply(leaf(1.0) * 1)
        node, below = weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.next_functions[0][0])
        del y
        assert node() is None
        assert below() is None
    finally:
        gc.enable()


def test_a_function_under_copy_slices_dies_too():
    gc.disable()
    try:
        h = leaf(1.0, 2.0) * 1
        make(dirty, lambda ctx, g: g).apply(h[:1])
        node = weakref.ref(h.grad_fn)
        h.sum().backward()
        del h
        assert node() is None
    finally:
        gc.enable()
