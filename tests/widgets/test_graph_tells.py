"""What the drawn graph says of a pass: in the film, which the stepper draws, and in the still picture."""

import re
from math import prod

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.frames import brief, film, has_strip
from autograd_lab.widgets.svg import palette, svg

SHAPES = [(), (1,), (2,), (4,), (5,), (12,), (100,), (1, 1), (2, 2), (1, 4), (3, 4), (2, 3, 4), (0,), (9, 9)]


def texts(picture):
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def said(shape, number):
    """What stands for a tensor of this shape that is full of this number."""
    count = prod(shape)
    if not 0 < count <= 4:
        return f"{count} numbers" if len(shape) == 1 else "\u00d7".join(map(str, shape))
    text = number
    for size in reversed(shape):
        text = f"[{', '.join([text] * size)}]"
    return text


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_stand_in_the_picture_and_no_shape_stands_for_them(shape):
    """In boxes, in .grad and on edges, of a recorded pass; and in the picture that draw() makes."""
    w = torch.full(shape, 7.5, requires_grad=True)
    with lab.record() as trace:
        y = w * 2
        y.retain_grad()
        y.backward(torch.full(shape, 3.0))
    picture = svg(film(trace))
    shown = texts(picture)
    assert shown.count(said(shape, "7.5")) >= (1 if 0 < prod(shape) <= 4 else 3)
    assert said(shape, "15") in shown
    assert f".grad {said(shape, '6')}" in shown
    assert f".grad {said(shape, '3')}" in shown
    assert said(shape, "6") in shown  # on the edge
    assert (f'fill="{palette()["pos"]}"' in picture) == (prod(shape) > 4)  # the strips
    drawn = lab.draw(w * 2, params={"w": w}).svg
    assert said(shape, "7.5") in texts(drawn)
    assert said(shape, "15") in texts(drawn)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1 / 3, -2 / 3], "[-0.3333, 0.6667]"),
        ([1 / 3, -2 / 3, 1e-7, 1234.56], "[-0.333, 0.667, -1e-7, -1230]"),
        ([float("nan"), float("inf")], "[nan, -inf]"),
        ([2.0], "[-2]"),
    ],
)
def test_few_numbers_are_written_out(numbers, text):
    w = torch.tensor(numbers, requires_grad=True)
    with lab.record() as trace:
        y = -w
        assert y.requires_grad
    values = [item for item in film(trace)["values"] if brief(item) == text]
    assert len(values) == 1
    assert not has_strip(values[0])


def test_a_large_array_has_its_strip_in_a_drawing():
    """draw() looks at the numbers of large arrays and of those with nan."""
    w = torch.linspace(-1, 1, 100, requires_grad=True)
    v = torch.tensor([1.0, float("nan"), 2.0, 3.0, 4.0], requires_grad=True)
    drawn = lab.draw((w.sum() + v.sum()) * 1, params={"w": w, "v": v}).svg
    assert len(set(re.findall(r'z" fill="(#\w+)"', drawn))) > 4
    assert f'fill="{palette()["bad"]}"' in drawn
