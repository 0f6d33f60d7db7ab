"""Exports the captured forward as an ONNX model, for operations that ONNX has.

    compiled.to_onnx("f.onnx")      after the first call; needs the package `onnx` (pip install "autograd_lab[onnx]")

Arguments become inputs with the same names; tensors that the function closes over (parameters, globals) become initializers, exact to the
bit. One step becomes one ONNX operator, or a few if ONNX has no single one. Nothing is guessed: a step without a counterpart is an error
that names it and its line. The backward is not exported; ONNX models are for inference.

Operators and their attributes are those of opset 20 (https://onnx.ai/onnx/operators/).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .entry import Captured
from .export import GraphExportError, arguments_of, refuse_effects
from .graph import Step, Value
from .module import OptimizedModule, code_of

OPSET = 20
IR_VERSION = 9  # the format of the file: the first that goes with opset 20

SAME = {
    "MulBackward0": "Mul", "DivBackward0": "Div", "NegBackward0": "Neg", "ExpBackward0": "Exp", "LogBackward0": "Log", "TanhBackward0": "Tanh",
    "SigmoidBackward0": "Sigmoid", "ReluBackward0": "Relu", "SqrtBackward0": "Sqrt", "AbsBackward0": "Abs", "SinBackward0": "Sin",
    "CosBackward0": "Cos", "TanBackward0": "Tan", "SinhBackward0": "Sinh", "CoshBackward0": "Cosh", "AsinBackward0": "Asin", "AcosBackward0": "Acos",
    "AtanBackward0": "Atan", "AsinhBackward0": "Asinh", "AcoshBackward0": "Acosh", "AtanhBackward0": "Atanh", "ErfBackward0": "Erf",
    "ReciprocalBackward0": "Reciprocal", "FloorBackward0": "Floor", "CeilBackward0": "Ceil", "SgnBackward0": "Sign", "SignBackward0": "Sign",
    "RoundBackward0": "Round", "MmBackward0": "MatMul", "BmmBackward0": "MatMul", "MvBackward0": "MatMul", "DotBackward0": "MatMul",
    "MaximumBackward0": "Max", "MinimumBackward0": "Min", "CloneBackward0": "Identity", "AliasBackward0": "Identity",
    "PreluKernelBackward0": "PRelu",
}  # fmt: skip
"""Rules that correspond to one ONNX operator with the same operands and no attributes."""

COMPARISONS = {"gt": "Greater", "lt": "Less", "ge": "GreaterOrEqual", "le": "LessOrEqual", "eq": "Equal"}
REDUCED = {
    "SumBackward1": "ReduceSum",
    "MeanBackward1": "ReduceMean",
    "AmaxBackward0": "ReduceMax",
    "AminBackward0": "ReduceMin",
}
WHOLE = {
    "SumBackward0": "ReduceSum",
    "MeanBackward0": "ReduceMean",
    "MaxBackward1": "ReduceMax",
    "MinBackward1": "ReduceMin",
}


def save_onnx(compiled: Captured | OptimizedModule, path: Any) -> None:
    """Write the forward of the newest graph as an ONNX file. Raises like `model`, and OSError if writing fails."""
    Path(path).write_bytes(model(compiled).SerializeToString())


def model(compiled: Captured | OptimizedModule) -> Any:
    """The forward of the newest graph as an onnx.ModelProto, validated by onnx's checker.

    Raises RuntimeError if there is no graph yet, ImportError without the package onnx, GraphExportError for an operation that
    ONNX does not have.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            'writing ONNX needs the package onnx: pip install onnx (or "autograd_lab[onnx]")'
        ) from None
    compiled = code_of(compiled)
    entry = compiled.entry
    refuse_effects(entry, "written as ONNX")
    book = _Book(onnx)
    arguments, inputs = arguments_of(compiled), entry.joint.inputs[: entry.n_inputs]
    taken: set[str] = set()
    given = []
    for one, value, (_, tensor) in zip(arguments, inputs, entry.world.tensors, strict=True):
        name = one.name
        while name in taken:
            name += "_"
        taken.add(name)
        book.names[value] = name
        if one.given:
            given.append(onnx.helper.make_tensor_value_info(name, book.type(value.dtype), value.shape))
        else:
            book.initializers.append(onnx.numpy_helper.from_array(np.asarray(tensor._data), name))
    forward, outputs = [], entry.joint.outputs[: entry.n_outputs]
    read = set(outputs)
    for step in reversed(entry.joint.steps):
        if any(v in read for v in step.outs):
            forward.append(step)
            read.update(step.values())
    for step in reversed(forward):
        if step.how != "views" and any(v in read for v in step.outs[1:]):
            raise book.missing(step, " when its second result is used")
        book.step(step)
    results = []
    for i, value in enumerate(outputs):
        assert value is not None  # only gradients can be None
        name = f"output_{i}" if len(outputs) > 1 else "output"
        while name in taken:
            name += "_"
        book.add("Identity", [book.name(value)], name)
        results.append(onnx.helper.make_tensor_value_info(name, book.type(value.dtype), value.shape))
    graph = onnx.helper.make_graph(book.nodes, str(compiled.__name__), given, results, book.initializers)
    made = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], producer_name="autograd_lab"
    )
    made.ir_version = IR_VERSION
    onnx.checker.check_model(made, full_check=True)
    return made


class _Book:
    """Collects nodes and initializers; one method or line for each kind of step."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[Value, str] = {}

    def type(self, dtype: np.dtype) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def name(self, value: Value) -> str:
        """The name of a value in the model; a constant is added at its first use."""
        known = self.names.get(value)
        if known is None:
            known = (
                self.constant(np.asarray(value.array, value.dtype))
                if value.constant
                else f"t{len(self.names)}_{len(self.nodes)}"
            )
            self.names[value] = known
        return known

    def constant(self, array: Any) -> str:
        name = f"c{len(self.initializers)}"
        while name in self.names.values():
            name += "_"
        self.initializers.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array)), name)
        )
        return name

    def integers(self, numbers: Any) -> str:
        return self.constant(np.array(numbers, np.int64))

    def add(self, op: str, inputs: list[str], out: str | None = None, **attributes: Any) -> str:
        """Add one operator; returns the name of its (first) result."""
        out = out or f"n{len(self.nodes)}_{len(self.initializers)}"
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [out], **attributes))
        return out

    def step(self, step: Step) -> None:
        """Add the operators of one step."""
        out = step.outs[0]
        if step.how == "views":
            for value, (kind, what) in zip(step.outs, step.args, strict=True):
                self.view(step, kind, what, value)
            return
        if step.how == "view":
            kind, what = step.args
            self.view(step, kind, what, out)
            return
        names = ["" if v is None else self.name(v) for v in step.inputs]
        for i, to in enumerate(step.casts or self.meeting(step)):
            if to is not None:
                names[i] = self.add("Cast", [names[i]], to=self.type(np.dtype(to)))
        if step.how == "cast" or step.rule == "ToCopyBackward0":
            names = names[:1]
            self.add("Cast", names, self.name(out), to=self.type(out.dtype))
        elif step.how == "named":
            self.named(step, names)
        elif step.how == "call" and step.rule in SAME:
            self.add(SAME[step.rule], names, self.name(out))
        elif step.how == "call" and step.rule in WRITERS:
            WRITERS[step.rule](self, step, names, self.name(out))
        elif step.how == "call" and step.rule in WHOLE:
            self.add(WHOLE[step.rule], names[:1], self.name(out), keepdims=0)
        elif step.how == "call" and step.rule in REDUCED:
            dims, keep = (*step.args, None, False)[:2]
            self.reduce(step, names[0], dims, keep)
        else:
            raise self.missing(step)

    def meeting(self, step: Step) -> list[Any]:
        """The number types to which the operands of a pointwise step are cast: ONNX casts nothing implicitly."""
        if not (
            step.rule in SAME
            or step.rule in ("AddBackward0", "SubBackward0", "WhereBackward0", *COMPARISONS, "ne")
        ):
            return []
        kind = step.outs[0].dtype
        if step.how == "named":
            tensors = [v.dtype for v in step.values() if not (v.constant and not v.shape)]
            kind = np.result_type(*(tensors or [v.dtype for v in step.values()]))
        return [
            None
            if v is None or v.dtype == kind or (step.rule == "WhereBackward0" and v is step.inputs[2])
            else kind
            for v in step.inputs
        ]

    def missing(self, step: Step, why: str = "") -> GraphExportError:
        place = f" ({step.line})" if step.line else ""
        return GraphExportError(f"{step.op}{place} has no counterpart in ONNX{why}: it cannot be exported")

    def named(self, step: Step, names: list[str]) -> None:
        if step.rule == "ne" and not step.args:
            self.add("Not", [self.add("Equal", names)], self.name(step.outs[0]))
        elif step.rule in COMPARISONS and not step.args:
            self.add(COMPARISONS[step.rule], names, self.name(step.outs[0]))
        else:
            raise self.missing(step)

    def reduce(self, step: Step, x: str, dims: Any, keep: bool) -> None:
        dims = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
        axes = [] if not dims else [self.integers(dims)]
        self.add(REDUCED[step.rule], [x, *axes], self.name(step.outs[0]), keepdims=int(bool(keep)))

    def view(self, step: Step, kind: str, what: Any, out: Value) -> None:
        """Add a view: the same numbers, rearranged."""
        value = step.inputs[0]
        assert value is not None
        x, made = self.name(value), self.name(out)
        if kind == "same":
            self.add("Identity", [x], made)
        elif kind == "reshape":
            self.add("Reshape", [x, self.integers(what)], made, allowzero=1)
        elif kind == "transpose":
            self.add("Transpose", [x], made, perm=list(what))
        elif kind == "broadcast":
            self.add("Expand", [x, self.integers(what)], made)
        elif kind == "slice":
            axes = range(len(what))
            starts = [i if isinstance(i, int) else i.start or 0 for i in what]
            stops = [
                i + 1 if isinstance(i, int) else value.shape[d] if i.stop is None else i.stop
                for d, i in enumerate(what)
            ]
            strides = [1 if isinstance(i, int) else i.step or 1 for i in what]
            cut = self.add("Slice", [x, *(self.integers(list(n)) for n in (starts, stops, axes, strides))])
            self.add("Reshape", [cut, self.integers(out.shape)], made, allowzero=1)
        elif kind == "take":
            flat = self.add("Reshape", [x, self.integers([-1])])
            self.add("Gather", [flat, self.constant(np.asarray(what, np.int64))], made)
        else:
            raise self.missing(step)


Write = Callable[[_Book, Step, list[str], str], Any]


def _scaled(op: str) -> Write:
    """Addition and subtraction, whose second operand may have a factor (alpha)."""

    def write(book: _Book, step: Step, names: list[str], out: str) -> None:
        a, b = names
        if step.args and step.args[0] != 1:
            b = book.add("Mul", [b, book.constant(np.asarray(step.args[0], step.outs[0].dtype))])
        book.add(op, [a, b], out)

    return write


def _pow(book: _Book, step: Step, names: list[str], out: str) -> None:
    if len(names) == 1:
        names = [names[0], book.constant(np.asarray(step.args[0], step.outs[0].dtype))]
    book.add("Pow", names, out)


def _addmm(book: _Book, step: Step, names: list[str], out: str) -> None:
    c, a, b = names
    beta, alpha = (*step.args[:2], 1, 1)[:2] if step.args else (1, 1)
    book.add("Gemm", [a, b, c], out, alpha=float(alpha), beta=float(beta))


def _softmax(op: str) -> Write:
    def write(book: _Book, step: Step, names: list[str], out: str) -> None:
        book.add(op, names[:1], out, axis=int(step.args[0]))

    return write


def _conv(book: _Book, step: Step, names: list[str], out: str) -> None:
    stride, padding, dilation, groups, transposed, extra = step.args[:6]
    if transposed:
        book.add(
            "ConvTranspose", [n for n in names if n], out, strides=list(stride), pads=[*padding, *padding], dilations=list(dilation),
            group=int(groups), output_padding=list(extra),
        )  # fmt: skip
        return
    book.add(
        "Conv",
        [n for n in names if n],
        out,
        strides=list(stride),
        pads=[*padding, *padding],
        dilations=list(dilation),
        group=int(groups),
    )


def _max_pool(book: _Book, step: Step, names: list[str], out: str) -> None:
    kernel, stride, padding, dilation, ceil = step.args[:5]
    book.add(
        "MaxPool", names[:1], out, kernel_shape=list(kernel), strides=list(stride), pads=[*padding, *padding], dilations=list(dilation),
        ceil_mode=int(ceil),
    )  # fmt: skip


def _average_pool(book: _Book, step: Step, names: list[str], out: str) -> None:
    kernel, stride, padding, ceil, include, divisor = step.args[:6]
    if divisor is not None:
        raise book.missing(step, " with a divisor of its own")
    book.add(
        "AveragePool", names[:1], out, kernel_shape=list(kernel), strides=list(stride), pads=[*padding, *padding], ceil_mode=int(ceil),
        count_include_pad=int(include),
    )  # fmt: skip


def _batch_norm(book: _Book, step: Step, names: list[str], out: str) -> None:
    training, eps = step.args[:2]
    if training or "" in names[3:5]:
        raise book.missing(step, " while it trains (call eval() on the model first)")
    x, weight, bias, mean, var = names[:5]
    n = step.inputs[0].shape[1]  # type: ignore[union-attr]
    kind = step.outs[0].dtype
    book.add(
        "BatchNormalization", [x, weight or book.constant(np.ones(n, kind)), bias or book.constant(np.zeros(n, kind)), mean, var], out,
        epsilon=float(eps),
    )  # fmt: skip


def _layer_norm(book: _Book, step: Step, names: list[str], out: str) -> None:
    shape, eps = step.args[:2]
    x, weight, bias = names[:3]
    scale = weight or book.constant(np.ones(shape, step.outs[0].dtype))
    book.add(
        "LayerNormalization", [x, scale, *([bias] if bias else [])], out, axis=-len(shape), epsilon=float(eps)
    )


def _clip(book: _Book, step: Step, names: list[str], out: str) -> None:
    low, high = (*step.args, None, None)[:2]
    kind = step.outs[0].dtype
    limits = ["" if x is None else book.constant(np.asarray(x, kind)) for x in (low, high)]
    book.add("Clip", [names[0], *limits], out)


def _cat(book: _Book, step: Step, names: list[str], out: str) -> None:
    book.add("Concat", names, out, axis=int(step.args[0]))


def _stack(book: _Book, step: Step, names: list[str], out: str) -> None:
    dim = int(step.args[0])
    wide = [book.add("Unsqueeze", [name, book.integers([dim])]) for name in names]
    book.add("Concat", wide, out, axis=dim)


def _embedding(book: _Book, step: Step, names: list[str], out: str) -> None:
    book.add("Gather", names[:2], out, axis=0)


def _elu(book: _Book, step: Step, names: list[str], out: str) -> None:
    alpha, scale, input_scale = (*step.args, 1, 1)[:3]
    if (scale, input_scale) != (1, 1):
        raise book.missing(step, " with a scale")
    book.add("Elu", names, out, alpha=float(alpha))


def _repeat(book: _Book, step: Step, names: list[str], out: str) -> None:
    (times,) = step.args
    value = step.inputs[0]
    assert value is not None
    more = [1] * (len(times) - len(value.shape))
    x = book.add("Reshape", [names[0], book.integers([*more, *value.shape])]) if more else names[0]
    book.add("Tile", [x, book.integers(times)], out)


WRITERS: dict[str, Write] = {
    "AddBackward0": _scaled("Add"),
    "SubBackward0": _scaled("Sub"),
    "PowBackward0": _pow,
    "PowBackward1": _pow,
    "AddmmBackward0": _addmm,
    "SoftmaxBackward0": _softmax("Softmax"),
    "LogSoftmaxBackward0": _softmax("LogSoftmax"),
    "ConvolutionBackward0": _conv,
    "MaxPool2DWithIndicesBackward0": _max_pool,
    "AvgPool2DBackward0": _average_pool,
    "NativeBatchNormBackward0": _batch_norm,
    "NativeLayerNormBackward0": _layer_norm,
    "ClampBackward1": _clip,
    "CatBackward0": _cat,
    "StackBackward0": _stack,
    "EmbeddingBackward0": _embedding,
    "RepeatBackward0": _repeat,
    "WhereBackward0": lambda book, step, names, out: book.add("Where", [names[2], *names[:2]], out),
    "GeluBackward0": lambda book, step, names, out: book.add(
        "Gelu", names, out, approximate=str((*step.args, "none")[0])
    ),
    "EluBackward0": _elu,
    "LeakyReluBackward0": lambda book, step, names, out: book.add(
        "LeakyRelu", names, out, alpha=float(step.args[0])
    ),
    "SiluBackward0": lambda book, step, names, out: book.add(
        "Mul", [names[0], book.add("Sigmoid", names)], out
    ),
    "RsqrtBackward0": lambda book, step, names, out: book.add("Reciprocal", [book.add("Sqrt", names)], out),
    "SquareBackward0": lambda book, step, names, out: book.add("Mul", [names[0], names[0]], out),
}
"""Rules that need attributes or more than one operator in ONNX."""

__all__ = ["OPSET", "model", "save_onnx"]
