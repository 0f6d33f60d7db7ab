"""Ask live PyTorch which arguments its functions take, and write that to autograd_lab/torchlike/interface/signatures.txt.

PyTorch says so itself, when it refuses a call: functions of several forms list them, of others each argument is
asked for in turn, by passing something that is no argument of anything. To record:

    python -m tests.record signatures
"""

import re
from pathlib import Path
from types import SimpleNamespace

from autograd_lab.torchlike.interface.arguments import INSIDE

TARGET = Path(__file__).parents[3] / "autograd_lab" / "torchlike" / "interface" / "signatures.txt"
PLACES = ("", "F.", "nn.", "linalg.", "special.", "Tensor.")
SKIP = {
    "as_subclass",
    "apply_",
    "map_",
    "map2_",
    "requires_grad_",
    "new_tensor",
    "numpy",
    "T",
    "H",
    "mT",
    "mH",
    "set_num_threads",
    "set_num_interop_threads",
}


class Nothing:
    """An argument that fits nowhere."""


def answer(fn, args=(), kwargs=None):
    """The text of the TypeError, or an empty one."""
    try:
        fn(*args, **(kwargs or {}))
    except TypeError as error:
        return str(error)
    except Exception:
        return ""
    return ""


def listed(text):
    """The forms that an error lists, and whether there are older ones it does not list."""
    found = re.findall(r"^ \* \((.*)\)$", text, re.MULTILINE)
    if found:
        return found
    one = re.search(r"but expected \((.*)\)$", text)
    return [one.group(1), "..."] if one else None


def keyword_names(torch):
    """Every name that some operation of PyTorch takes as a keyword only."""
    schemas = torch._C._jit_get_all_schemas()
    given = {a.name for schema in schemas for a in schema.arguments if a.kwarg_only}
    by_hand = {"out", "dtype", "layout", "device", "pin_memory", "requires_grad", "generator", "as_tuple"}
    return sorted(given | by_hand)


def forms(fn, stand_in, keyword_names):
    """The forms in which PyTorch's function `fn` can be called, as texts."""
    found = listed(answer(fn, [Nothing()] * 30)) or listed(answer(fn))
    if found:
        return found
    if "takes no arguments" in answer(fn, [Nothing()]):
        return [""]
    needed = re.search(r"missing \d+ required positional arguments?: (.*)$", answer(fn))
    needed = re.findall(r'"(\w+)"', needed.group(1)) if needed else []
    parts, args = [], []
    while True:
        says = re.search(
            r"argument '(\w+)' \(position (\d+)\) must be ([\w. ]+?),? (?:not|but)",
            answer(fn, [*args, Nothing()]),
        )
        if not says or int(says.group(2)) != len(args) + 1:
            break
        name, _, kind = says.groups()
        refuses_none = f"'{name}'" in answer(fn, [*args, None])
        if name in needed:
            parts.append(f"{kind} {name}" if refuses_none else f"{kind} or None {name}")
        else:
            parts.append(f"{kind} {name}" + (" = ..." if refuses_none else " = None"))
        args.append(stand_in[kind])
    count = sum("=" not in p for p in parts)
    keywords, given = [], {}
    for name in dict.fromkeys([*needed, *keyword_names]):
        if any(re.search(rf" {name}\b", p) for p in parts):
            continue
        says = re.search(
            rf"argument '{name}' must be ([\w. ]+?),? (?:not|but)",
            answer(fn, args[:count], {**given, name: Nothing()}),
        )
        if says:
            refuses_none = f"'{name}'" in answer(fn, args[:count], {**given, name: None, "_": None})
            if name in needed:
                given[name] = stand_in[says.group(1)]
            default = "" if name in needed else " = ..." if refuses_none else " = None"
            keywords.append(f"{says.group(1)} {name}{default}")
    return [", ".join([*parts, "*", *keywords] if keywords else parts)]


def marked(fn, found, stand_in):
    """The forms with what no message shows: `dim?` takes None, and `dims[]` takes ints in a list only."""
    return [
        form if form == "..." else ", ".join(_marked(fn, form, part, stand_in) for part in form.split(", "))
        for form in found
    ]


def _marked(fn, form, part, stand_in):
    head, _, default = part.partition(" = ")
    kind, _, name = head.rpartition(" ")
    if name == "out" or not kind:
        return part
    mark = ""
    if default != "None" and " or None" not in kind and not _refused(fn, form, name, None, stand_in):
        mark = "?"
    if kind == "tuple of ints" and _refused(fn, form, name, 1, stand_in, alone=_alone(form)):
        mark += "[]"
    return part.replace(head, head + mark)


def _alone(form):
    """Whether the ints of a form may come without a list: as in view(2, 3)."""
    return len(form.partition(", *")[0].split(", ")) == 1


def _refused(fn, form, name, value, stand_in, alone=False):
    """Whether PyTorch's parser takes no call of this form with `value` for the argument `name`, by name if it is `alone`."""
    args, kwargs, by_name = [], {}, alone
    for part in form.split(", "):
        if part == "*":
            by_name = True
            continue
        head, _, default = part.partition(" = ")
        kind, _, param = head.rpartition(" ")
        given = value if param == name else stand_in.get(kind)
        if default and param != name:
            by_name = True  # left out, and so are the places after it
        elif by_name or default:
            kwargs[param] = given
            by_name = True
        else:
            args.append(given)
    text = answer(fn, args, kwargs)
    return "invalid combination" in text or "must be" in text


def without_input(form):
    """The form of the method, from that of the function: without `input` and `out`."""
    form = re.sub(r"(, \*)?, (Tensor|tuple of Tensors) out = None$", "", form)
    return re.sub(r"^Tensor input(, )?", "", form)


def recorded(torch, ours):
    """{forms: names} for every function of PyTorch that is built in and that `ours` has too."""
    ones = torch.ones(2, 2)
    stand_in = {
        "Tensor": ones, "int": 0, "float": 0.5, "bool": True, "Number": 1, "str": "a", "tuple of ints": (1,),
        "tuple of Tensors": (ones,), "tuple of floats": (1.0,), "tuple of bools": (True,), "torch.dtype": torch.float32,
        "torch.Generator": torch.Generator(), "torch.device": "cpu", "torch.layout": torch.strided,
    }  # fmt: skip
    groups = {}
    functions = {}
    names = keyword_names(torch)
    for place in PLACES:
        theirs, mine = torch, ours
        if place == "nn.":  # what functions of PyTorch call, and no user
            names_there = {inner[3:] for inner, *_ in INSIDE.values() if inner.startswith("nn.")}
            mine = theirs = SimpleNamespace(
                **{
                    n: getattr(torch._C._nn, n, None) or getattr(torch._C._VariableFunctions, n)
                    for n in names_there
                }
            )
        elif place:
            where = {"F.": "nn.functional"}.get(place, place[:-1])
            for part in where.split("."):
                theirs, mine = getattr(theirs, part), getattr(mine, part)
        for name in sorted(dir(theirs)):
            if (name.startswith("_") and place != "nn.") or name in SKIP or not hasattr(mine, name):
                continue
            fn = getattr(theirs, name)
            if place == "Tensor." and type(fn).__name__ == "method_descriptor":
                fn = getattr(torch.ones(2, 2), name)
            if type(fn).__name__ != "builtin_function_or_method":
                continue
            found = marked(fn, forms(fn, stand_in, names), stand_in)
            if place == "Tensor." and [without_input(f) for f in functions.get(name, ())] == found:
                continue  # the method's forms follow from the function's
            if not place:
                functions[name] = found
            if found and not (found == [""] and place != "Tensor."):
                says = re.match(r"(\w+)\(\)", answer(fn, [Nothing()] * 30))
                said = says.group(1) if says else name
                label = (
                    place
                    + name
                    + ("" if said == name or place == "linalg." or place == "special." else f"={said}")
                )
                groups.setdefault("\n".join(f"({f})" for f in found), []).append(label)
    return groups


def text(groups, version):
    """The file's text."""
    lines = [
        f"# What the functions of PyTorch {version} take, as its own messages put it: the forms of a call, and",
        "# under them the names that have these forms. `...`: an optional argument that may not be None, or older",
        "# forms that no message mentions. `?`: may be None, though no message says so. `[]`: takes no lone number. `python -m tests.record signatures` writes this file.",
    ]
    for found, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(found)
        line = "   "
        for name in names:
            if len(line) + len(name) > 115:
                lines.append(line)
                line = "   "
            line += f" {name}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def record(torch):
    """Write the file."""
    import autograd_lab

    TARGET.write_text(text(recorded(torch, autograd_lab), torch.__version__.split("+")[0]), encoding="utf-8")
