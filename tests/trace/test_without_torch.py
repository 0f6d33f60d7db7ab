"""PyTorch is optional: asking for it without having it says what to do."""

import sys

import pytest

from autograd_lab import lab


def test_without_torch_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("torch_adapter", "torch_builder", "torch_pass"):
        monkeypatch.delitem(sys.modules, f"autograd_lab.tracing.{name}", raising=False)
    with pytest.raises(
        ImportError, match=r"Install it \(pip install torch\), or record .* with lab.record\(\)"
    ):
        lab.record_torch()
