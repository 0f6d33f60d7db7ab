"""Whatever ran, and whatever is asked about it, why() has an answer, and the same one from the trace as plain data."""

import warnings

import numpy as np
import pytest
import random_programs as programs
from hypothesis import HealthCheck, given, settings

import autograd_lab
from autograd_lab import lab
from autograd_lab.tracing import Trace

pytestmark = pytest.mark.slow  # every tensor of a hundred random programs is asked about


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(programs.program(12))
def test_every_tensor_of_a_random_program_has_an_answer(program):
    """Views, hooks, modes, in-place writes, errors: nothing of that stops why()."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with lab.record() as trace:
            programs.run(autograd_lab, program)
    plain = Trace.from_json(trace.to_json())
    for t in range(len(trace.tensors)):
        answer = trace.why(t)
        assert answer.sentences, answer
        assert repr(plain.why(t)) == repr(answer)
        assert answer.question in answer._repr_html_().replace("&#x27;", "'")
