"""Sentences that nobody would say: a list as a subject, "1 of 2 messages are", an attribute of a description, numbers that stand for "to the end"."""

import re
import sys

import pytest
from each import each
from library_calls import CALLS, recorded

import autograd_lab
from autograd_lab import lab
from autograd_lab.tracing.narrate import Narrator

ODD = {
    "a list travels": r"^\[.*\] travel|values.* travel",
    "1 are": r"\b1 of \d+ messages are",
    "more is": r"\b([2-9]|\d\d+) of \d+ messages is",
    "an attribute of a description": r"(result of \w+( #\d+)?|tensor|without a name|module)\.(grad|data|item|tolist|numpy)\b",
    "no end": rf"{sys.maxsize}|step=1\b|\bstart=0\b",
    "small at the beginning": r"^(a|an|the|its) ",
    "nothing before a dot": r"(^|\s)\.grad is plain|^\.",
    "the name of a kernel": r"\bto_?copy\b",
    "two full stops": r"(?<!\.)\.\.(?!\.)",
}
MORE = """
w[1:] * w[:2]
w[::2].mean()
(w * 1).tolist()
(w * 1).data.zero_()
(w * 1).retain_grad()
(w * 2)[0, 0].item()
torch.ones(3, requires_grad=True).sum().backward()
torch.ones(3, requires_grad=True).register_post_accumulate_grad_hook(print)
[v := torch.ones(3, requires_grad=True), v.register_post_accumulate_grad_hook(lambda t: None), v.sum().backward(), v := 0]
[v := torch.ones(3, requires_grad=True), v.sum().backward(), v.grad.zero_(), v := 0]
[v := w * 1, v.retain_grad(), v.sum().backward(), v := 0]
[v := w * 1, v.register_hook(lambda g: g * 2), v.sum().backward(), v := 0]
[v := torch.ones(3, requires_grad=True), setattr(v, 'grad', torch.ones(3)), setattr(v, 'data', torch.ones(3)), v := 0]
(w + w * w + w.sin()).sum()
""".strip().splitlines()


def check(call, torch, record):
    trace, _ = recorded(
        torch,
        record,
        f"X = {call}\nX = X[0] if isinstance(X, tuple) else X\nX.sum().backward(create_graph=True)\n",
    )
    say = Narrator(trace).sentence
    for k in range(len(trace) + 1):
        text = say(k)
        if k and trace.events[k - 1]["k"] == "error":
            continue  # PyTorch's words
        found = [kind for kind, pattern in ODD.items() if re.search(pattern, text)]
        assert not found, f"{found}: {text}"


def test_no_sentence_is_odd():
    each(CALLS + MORE, check, autograd_lab, lab.record)


HOOKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x):
        return torch.relu(self.lin(x))

net = Net()
{}.register_full_backward_hook(lambda module, gi, go: None)
net(x.requires_grad_()).sum().backward()
"""


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
@pytest.mark.parametrize(
    ("module", "called"), [("net.lin", "the module lin (Linear)"), ("net", "the module Net")]
)
def test_a_hook_of_a_module_is_told_with_the_module(module, called, library):
    torch = pytest.importorskip(library, exc_type=ImportError)
    trace, _ = recorded(
        torch, lab.record if torch is autograd_lab else lab.record_torch, HOOKED.format(module)
    )
    told = map(Narrator(trace).sentence, range(1, len(trace) + 1))
    texts = [text for text in told if "BackwardHookFunction" in text]
    assert [t for t in texts if t.startswith(called[0].upper() + called[1:] + " passes on what it is given")]
    assert [t for t in texts if f", {called} looks at the gradient" in t]
    assert "module with hooks" not in " ".join(texts)
