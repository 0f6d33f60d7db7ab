"""Record from PyTorch what the tests compare with, and write it into recordings/.

    python -m tests.record              # everything
    python -m tests.record nn optim     # what test_nn.py and test_optim.py compare with

Besides the names of test files there are `conformance` (the own bank of cases), `programs` (what the scripts print),
`archives` (the files that `torch.save` writes), `signatures` (autograd_lab/torchlike/interface/signatures.txt) and `public_names` (those of this library). Where only rounding differs
the old record stays, so that `git diff` shows what really changed.
"""

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

import recorded  # noqa: E402  # test files import it by this name

WIDTH = 200


def laid_out(value, indent=""):
    """The JSON of a value, one value a line: what is longer than a line is broken up, a tensor and a list of numbers never."""
    text = json.dumps(value)
    one_value = not isinstance(value, dict | list) or _is_tensor(value) or '"' not in text
    if len(text) <= WIDTH or one_value:
        return text
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {laid_out(part, inner)}" for key, part in value.items()]
    else:
        lines = [inner + laid_out(part, inner) for part in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n" + ",\n".join(lines) + f"\n{indent}{ends[1]}"


def _is_tensor(value):
    """Whether a dict or list of a recording is a tensor with its type, and not a table of texts in which some name is `t`."""
    texts = (
        isinstance(value, dict) and len(value) > 20 and all(isinstance(part, str) for part in value.values())
    )
    return ("tensor" in value or "t" in value) and not texts


def file_of(name):
    """The test file of a recording."""
    found = list(TESTS.rglob(f"test_{name}.py"))
    if len(found) != 1:
        raise SystemExit(f"there is no test_{name}.py, and no recording of another kind with this name")
    return found[0]


def module_of(path):
    """A test file or a helper as a module, imported the way pytest does it."""
    sys.path.insert(0, str(path.parent))
    return importlib.import_module(path.stem)


def record_results(name, torch):
    """Run the PROGRAMS of a test file and write what they leave."""
    path = file_of(name)
    before = recorded.stored(path).get("results", {})
    results = {key: recorded.run(code, torch) for key, code in module_of(path).PROGRAMS.items()}
    for key in results.keys() & before.keys():
        if not recorded.differences(results[key], before[key]):
            results[key] = before[key]
    text = laid_out({"torch": recorded.VERSION, "results": results}) + "\n"
    recorded.path_of(path).write_text(text, encoding="utf-8")


def record_conformance(torch):
    """Run the cases of the own bank."""
    runner = module_of(TESTS / "conformance" / "runner.py")
    path = runner.BANKS["own"]
    before = {case["id"]: case["golden"] for case in runner.read_bank(path)}
    bank = runner.recorded_bank(torch)
    for case in bank["cases"]:
        if case["id"] in before and not runner.compare(before[case["id"]], case["golden"]):
            case["golden"] = before[case["id"]]
    path.write_text(laid_out(bank) + "\n", encoding="utf-8")


def record_programs(torch):
    """Run the scripts."""
    module_of(file_of("programs")).record()


def record_archives(torch):
    """Save files."""
    module_of(file_of("serialization")).record(torch)


def record_signatures(torch):
    """Ask PyTorch which arguments its functions take."""
    [path] = TESTS.rglob("signatures.py")
    module_of(path).record(torch)


def record_public_names(torch):
    """List the names of this library itself."""
    module = module_of(file_of("public_names"))
    recorded.path_of(module.__file__).write_text(laid_out(module.names_now()) + "\n", encoding="utf-8")


OTHERS = {
    "conformance": record_conformance,
    "programs": record_programs,
    "archives": record_archives,
    "signatures": record_signatures,
    "public_names": record_public_names,
}


def names():
    """Everything that is recorded."""
    files = sorted(path.stem for path in recorded.FOLDER.glob("*.json"))
    return [name for name in files if name not in OTHERS] + list(OTHERS)


def record(name):
    """Record one thing, in this process."""
    import torch

    if torch.__version__.split("+")[0] != recorded.VERSION or torch.version.cuda is not None:
        raise SystemExit(
            f"what is recorded comes from PyTorch {recorded.VERSION} built for the CPU, and this is {torch.__version__}"
        )
    if name in OTHERS:
        OTHERS[name](torch)
    else:
        record_results(name, torch)


def main(argv=None):
    """Record what is named, each in a process of its own: what a program leaves behind reaches no other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(names()))
    wanted = parser.parse_args(argv).names or names()
    if len(wanted) == 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record(wanted[0])
        print(f"recorded {wanted[0]}")
        return 0
    return max(subprocess.run([sys.executable, "-m", "tests.record", name]).returncode for name in wanted)


if __name__ == "__main__":
    sys.exit(main())
