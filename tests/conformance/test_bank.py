"""Every case of the two banks must do in autograd_lab what it did in PyTorch."""

import importlib
import time

import pytest
import runner

MODULE = "autograd_lab"

# Cases known not to be matched, with the reason.  Strict: one that starts to
# pass fails the run until its entry is taken out.
KNOWN = {
    "dtype/repr_dtypes": "NumPy has no bfloat16, so there is none here; the case asks for it among the other types",
    "grad_fn_names/conversions_that_do_nothing": "the same: the case calls .bfloat16()",
}


def all_cases():
    """One parameter per case, marked if it is a known mismatch."""
    params = []
    for bank, path in runner.BANKS.items():
        for case in runner.read_bank(path):
            reason = KNOWN.get(case["id"])
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            params.append(pytest.param(bank, case, id=f"{bank}:{case['id']}", marks=marks))
    return params


@pytest.fixture(scope="module")
def lab():
    """The module under test, with its late imports done."""
    module = importlib.import_module(MODULE)
    runner.warm_up(module)
    yield module
    runner.reset_switches(module)
    module.set_warn_always(False)


@pytest.mark.parametrize(("bank", "case"), all_cases())
def test_case_does_what_pytorch_does(bank, case, lab):
    """The record of a case equals PyTorch's, up to the runner's tolerances."""
    lines = runner.compare(case["golden"], runner.run_case(case, lab, MODULE))
    if lines:
        pytest.fail("\n".join([case["title"], *lines, "", case["code"]]), pytrace=False)


def test_known_mismatches_exist():
    """KNOWN names only cases that are in a bank."""
    ids = {case["id"] for path in runner.BANKS.values() for case in runner.read_bank(path)}
    assert set(KNOWN) - ids == set()


def test_own_bank_is_recorded_from_its_sources():
    """The own bank holds exactly the cases in cases/*.py, with the same code."""
    recorded = [dict(case) for case in runner.read_bank(runner.BANKS["own"])]
    for case in recorded:
        del case["golden"]
    assert recorded == runner.load_sources()


def test_banks_do_not_share_ids():
    """A case of the own bank is a new angle, not a public case again."""
    public, own = ({case["id"] for case in runner.read_bank(path)} for path in runner.BANKS.values())
    assert public & own == set()


def test_the_comparison_notices_a_change():
    """Each kind of difference the banks rely on is seen by `compare`."""
    tensor = {"t": [1.0], "dtype": "float32", "shape": [1], "requires_grad": True,
              "is_leaf": True, "grad_fn": None}  # fmt: skip
    want = {"out": {"x": tensor, "e": {"exc": "RuntimeError", "msg": "no"}, "n": 1}, "warnings": []}
    assert runner.compare(want, want) == []
    changes = [
        {"x": {**tensor, "t": [1.001]}},
        {"x": {**tensor, "dtype": "float64"}},
        {"x": {**tensor, "is_leaf": False}},
        {"x": {**tensor, "grad_fn": "MulBackward0"}},
        {"e": {"exc": "ValueError", "msg": "no"}},
        {"e": {"exc": "RuntimeError", "msg": "yes"}},
        {"n": 1.0},
        {"n": True},
        {"extra": 0},
    ]
    for change in changes:
        got = {"out": {**want["out"], **change}, "warnings": []}
        assert len(runner.compare(want, got)) == 1, change
    assert runner.compare(want, {**want, "warnings": [["UserWarning", "hm"]]})
    assert runner.compare(want, {**want, "raised": {"exc": "E", "msg": ""}})
    assert runner.compare({**want, "raised": {"exc": "E", "msg": ""}}, want)


def test_a_case_is_ended_for_the_time_it_computes_and_not_for_the_time_that_passes():
    """A process that is paused for a while must not make the case that runs then another one."""

    def compute():
        while True:
            pass

    with runner.time_limit(0.02):
        time.sleep(0.1)
    with pytest.raises(runner.OutOfTime), runner.time_limit(0.02):
        compute()
