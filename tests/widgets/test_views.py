"""What stands beside the graph, without a browser: formulas, the ledger behind the table, what the film tells of a trace."""

import html
import json
import re
import shutil
import subprocess
from xml.dom import minidom

import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.ops.rule import RULES
from autograd_lab.tracing import formulas
from autograd_lab.tracing.rules import rule_texts
from autograd_lab.widgets import frames
from autograd_lab.widgets.front import ASSETS, MODULES

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")


def run(tmp_path, script, *documents):
    """What a script sees that has the front end's parts in scope and the documents as `docs`, read as JSON."""
    sources = [(ASSETS / name).read_text(encoding="utf-8") for name in MODULES[:-1]]
    front = "".join(re.sub(r"^import .*?;\n|^export (?!default)", "", text, flags=re.M) for text in sources)
    (tmp_path / "docs.json").write_text(json.dumps(documents), encoding="utf-8")
    (tmp_path / "test.mjs").write_text(
        f'import {{ readFileSync }} from "node:fs";\n{front}\nconst docs = JSON.parse(readFileSync("docs.json", "utf8"));\n'
        f"console.log(JSON.stringify((() => {{ {script} }})()));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts():
    found = {}
    for rule in RULES.values():
        for text in map(formulas.read, rule_texts(rule)):
            found.update(dict.fromkeys(formulas.written(right) for _, right in text.claims))
            found.update(dict.fromkeys(map(formulas.written, text.definitions.values())))
    return [text for text in found if text]


def shown(xml):
    """The letters and digits of a formula, in order."""
    return re.sub(r"\W", "", html.unescape(re.sub(r"<[^>]*>", "", xml)))


GREEK = {"pi": "\u03c0", "alpha": "\u03b1", "beta": "\u03b2", "gamma": "\u03b3", "delta": "\u03b4", "Phi": "\u03a6", "phi": "\u03c6",
         "lambda": "\u03bb"}  # fmt: skip


@needs_node
def test_every_rule_becomes_well_formed_mathml_and_loses_nothing(tmp_path):
    said = texts()
    assert len(said) > 300
    for text, xml in zip(said, run(tmp_path, "return docs[0].map((t) => formula(t));", said), strict=True):
        minidom.parseString(f"<p>{xml}</p>")  # a long one is several elements
        want = re.sub(r"\.T\b", "T", text).replace("sqrt", "")
        for name, letter in GREEK.items():
            want = re.sub(rf"(?<![A-Za-z]){name}(?![A-Za-z])", letter, want)
        have = shown(xml).replace("sqrt", "")
        assert have == re.sub(r"[\W_]", "", want) or have.replace("_", "") == re.sub(r"[\W_]", "", want), text


@needs_node
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("g * b", ["<mo>\u00d7</mo>"]),
        ("g / (2 * y)", ["<mfrac><mi class=\"agl-var\">g</mi><mrow><mn>2</mn><mo>\u00d7</mo>"]),
        ("g * (1 - y ** 2)", ["<mo>(</mo>", "<msup><mi class=\"agl-var\">y</mi><mn>2</mn></msup>", "<mo>\u2212</mo>"]),
        ("a ** (n - 1)", ["<msup><mi class=\"agl-var\">a</mi><mrow><mi class=\"agl-var\">n</mi><mo>\u2212</mo><mn>1</mn></mrow></msup>"]),
        ("a^T @ g", ["<msup><mi class=\"agl-var\">a</mi><mi mathvariant=\"normal\">T</mi></msup><mo>@</mo>"]),
        ("g / sqrt(1 - a ** 2)", ["<mfrac>", "<msqrt><mrow><mn>1</mn>"]),
        ("y = tanh(a)", ["<mi>tanh</mi><mo>\u2061</mo><mo>(</mo>"]),
        ("g where y > 0", ["<mi class=\"agl-var\">g</mi>", "where", "<mo>&gt;</mo>"]),
        ("I_2 kron b^T", ["<msub><mi class=\"agl-var\">I</mi><mn>2</mn></msub>", "<mo>\u2297</mo>"]),
        ("24 * (-3)", ["<mn>24</mn><mo>\u00d7</mo><mrow><mo>(</mo><mrow><mo>\u2212</mo><mn>3</mn></mrow>"]),
        ("y = max of a", ["<mo>=</mo>", "<mtext>"]),
        ("2 * err ** 2", ["<msup><mi class=\"agl-var\">err</mi><mn>2</mn></msup>"]),
        ("g * \u0448\u0438\u0440\u0438\u043d\u0430_2 / \u03b8", ["<mi class=\"agl-var\">\u0448\u0438\u0440\u0438\u043d\u0430_2</mi>", "<mi class=\"agl-var\">\u03b8</mi>"]),
        ("h\u2081\u2082 = tanh(h\u2081)", ["<msub><mi class=\"agl-var\">h</mi><mn>12</mn></msub>"]),
        ("h\u2082\u2032 = tanh(h\u2082)", ["<msubsup><mi class=\"agl-var\">h</mi><mn>2</mn><mo>\u2032</mo></msubsup>"]),
        ("0.1 * w\u2081.grad", ["<msub><mi class=\"agl-var\">w</mi><mn>1</mn></msub><mi class=\"agl-var\">.grad</mi>"]),
        ("g * params[0]\u2082", ["<msub><mrow><mi class=\"agl-var\">params</mi><mo>[</mo><mn>0</mn><mo>]</mo></mrow><mn>2</mn></msub>"]),
        ("<b>", ["&lt;"]),
    ],
)  # fmt: skip
def test_formulas(tmp_path, text, parts):
    (xml,) = run(tmp_path, "return docs[0].map((t) => formula(t));", [text])
    minidom.parseString(xml)
    for part in parts:
        assert part in xml


@needs_node
def test_a_long_formula_breaks_between_its_operands(tmp_path):
    """A browser breaks no line inside of a <math> element: what did not fit was cut."""
    said = [
        "g * b",
        "scatter(zeros_like(y), 0, unsqueeze(idx, 0), unsqueeze(g0, 0))",
        "g * sum(a * b, dim=0, keepdim=True) / (y * b + 1)",
    ]
    parts = [
        len(re.findall("<math.*?</math>", xml))
        for xml in run(tmp_path, "return docs[0].map((t) => formula(t));", said)
    ]
    assert parts == [1, 6, 1]  # a fraction stays whole


@needs_node
def test_a_variable_of_the_user_s_is_never_a_word(tmp_path):
    """A variable called `scale` beside another name would read as English."""
    plain, known = run(tmp_path, 'return [formula("g * where"), formula("g * where", new Set(["where"]))];')
    assert "<mtext>" in plain
    assert "<mtext>" not in known


@needs_node
@pytest.mark.parametrize(
    "make", [samples.diamond, samples.twice, samples.mlp], ids=["diamond", "twice", "mlp"]
)
def test_the_table_is_the_trace(tmp_path, make):
    """At every step: each row's value and adjoint are those of the trace's own events, per pass."""
    trace = make()
    film = frames.film(trace)
    script = """const l = new Ledger(docs[0]), f = docs[0];
      return [...Array(f.steps + 1).keys()].map((k) => l.rows.map((row) => [l.value(row, k),
        ...l.passes.map((_, i) => row.n < 0 ? null : l.adjoint(row, i + 1, k))]));"""
    found = run(tmp_path, script, film)
    film_value = frames.Film(trace)
    film_value.document()
    for k in range(len(trace) + 1):
        sums, current = {}, 0
        for e in trace.events[:k]:
            if e["k"] == "backward":
                current = e["p"]
            elif e["k"] == "seed":
                sums[current, e["n"]] = ([e["v"]], e["v"])
            elif e["k"] == "deliver":
                sums[current, e["to"]] = ([*sums.get((current, e["to"]), ([],))[0], e["v"]], e["sum"])
        for row, (_, *adjoints) in zip(film["details"]["rows"], found[k], strict=True):
            for p, got in enumerate(adjoints, 1):
                want = sums.get((p, row[2]))
                assert (got is None) == (want is None or row[2] < 0)
                if got is not None:
                    assert got["sum"] == film_value.value(want[1])
                    assert got["parts"] == [film_value.value(v) for v in want[0]]


@needs_node
def test_a_row_leads_to_its_steps_and_back(tmp_path):
    """From anywhere in the pass a row leads to where its adjoint is complete; from there to where it was made."""
    film = frames.film(samples.diamond())
    rows = film["details"]["rows"]
    script = "const l = new Ledger(docs[0]); return docs[1].map((k) => l.rows.map((row) => l.step(row, k)));"
    at_end, at_start = run(tmp_path, script, film, [film["steps"], 1])
    events = samples.diamond().events
    for row, full, made in zip(rows, at_end, at_start, strict=True):
        assert made == row[0]
        if row[2] >= 0:
            assert events[full - 1]["k"] in ("deliver", "seed")
    assert run(
        tmp_path, "const l = new Ledger(docs[0]); return l.rows.map((r) => l.current(r.k));", film
    ) == [0, 1, 2, 3, 4]


def details(trace):
    film = frames.film(trace)
    return film["details"], film


def test_saved_values_are_held_until_they_are_freed():
    trace = samples.diamond()
    found, _ = details(trace)
    for since, t, version, n, freed in found["pins"]:
        assert trace.events[since - 1]["k"] == "node"
        assert [t, version] in [saved[1:] for saved in trace.nodes[n]["saved"]]
        assert trace.events[freed - 1] == {**trace.events[freed - 1], "k": "free", "n": n}
    assert len(found["pins"]) == sum(len(n["saved"]) for n in trace.nodes)


def test_a_failing_version_check_shows_both_versions_and_both_lines():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x * 2
        z = y * y
        y.mul_(10)
        with pytest.raises(RuntimeError, match="inplace"):
            z.sum().backward()
    found, film = details(trace)
    ((k, kind, t, was, now, then, after, s1, l1, s2, l2),) = found["failures"]
    assert (kind, was, now) == ("version", 0, 1)
    assert trace.events[k - 1]["k"] == "error"
    assert trace.tensors[t]["name"] == "y"
    assert [film["values"][v]["data"] for v in (then, after)] == [[2, 4], [20, 40]]
    lines = dict(film["sources"][s1]["lines"])
    assert lines[l1].strip() == "z = y * y"
    assert lines[l2].strip() == "y.mul_(10)"
    assert s1 == s2


def test_a_write_through_a_view_is_found_by_the_base_s_counter():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x * 2
        z = y * y
        y[0] = 7
        y[1] = 8
        with pytest.raises(RuntimeError, match="inplace"):
            z.sum().backward()
    found, film = details(trace)
    (one,) = found["failures"]
    assert one[1:5] == ["version", next(i for i, t in enumerate(trace.tensors) if t["name"] == "y"), 0, 2]
    assert dict(film["sources"][one[9]]["lines"])[one[10]].strip() == "y[0] = 7"


def test_a_saved_view_is_spoilt_by_a_write_to_its_base():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x * 2
        part = y[:1]
        z = part * part
        y.mul_(10)
        y.add_(1)
        with pytest.raises(RuntimeError, match="inplace"):
            z.sum().backward()
    found, film = details(trace)
    (one,) = found["failures"]
    assert trace.tensors[one[2]]["name"] == "part"
    assert one[3:5] == [0, 2]
    assert dict(film["sources"][one[9]]["lines"])[one[10]].strip() == "y.mul_(10)"


def test_what_an_earlier_pass_freed():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x**2
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    found, _ = details(trace)
    ((_, kind, _, freed, *_),) = found["failures"]
    assert kind == "freed"
    assert trace.events[freed - 1]["k"] == "free"


def test_in_place_writes_rewrite_history():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x * 2
        y.add_(1)
        y.exp_()
    found, film = details(trace)
    versions = [(w[2], trace.nodes[w[5]]["op"], trace.nodes[w[6]]["op"], w[7]) for w in found["writes"]]
    assert versions == [(1, "mul", "add", "add_"), (2, "add", "exp", "exp_")]
    assert [film["values"][v]["data"] for v in found["writes"][0][3:5]] == [[2, 4], [3, 5]]


def test_where_history_ends_is_marked_on_the_tensor_and_on_the_line():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x * 3
        with torch.no_grad():
            free = y * 10
        cut = y.detach()
        plain = cut * 2
    found, film = details(trace)
    assert {trace.tensors[t]["name"]: why for _, t, why in found["origins"]} == {
        "free": "no_grad", "cut": "detach", "plain": "inputs",
    }  # fmt: skip
    lines = {dict(film["sources"][s]["lines"])[line].strip(): why for s, line, why in found["marks"]}
    assert lines == {"free = y * 10": "no_grad", "cut = y.detach()": "detach"}
    assert [free.item(), plain.item()] == [60, 12]


def test_nodes_of_a_second_order_pass_are_marked():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        g.backward()
    made = {n for n, node in enumerate(frames.film(trace)["nodes"]) if node["pass"]}
    assert made
    assert made == {n for n, node in enumerate(trace.nodes) if node["made_in"] == 1}
    assert trace.nodes[0]["made_in"] == 0


def test_hooks_show_before_and_after():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x * 3
        y.register_hook(lambda g: g * 10)
        (y**2).backward()
    found, film = details(trace)
    ((k, _, stage, before, after, t),) = found["hooks"]
    assert (trace.events[k - 1]["k"], stage) == ("hook", "tensor")
    assert film["tensors"][t]["label"] == "y"
    assert [film["values"][v] for v in before + after] == ["12", "120"]
    assert [k, found["hooks"][0][1], 0, -2, after[0]] in found["adjoints"]
    assert found["marks"] == []  # the hook's own arithmetic is no boundary of the program


@needs_node
def test_jacobians_in_the_browser(tmp_path):
    """The rows of numbers and J^T g, written out, are those of Python."""
    import numpy as np

    w = torch.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    with lab.record() as trace:
        (w @ torch.tensor([1.0, -2.0, 0.5]).double()).sum().backward()
    film = frames.film(trace)
    _n, _, rows, columns, *_, entries = next(
        j for j in film["details"]["jacobians"] if trace.nodes[j[0]]["op"] == "mv"
    )
    matrix, products = run(
        tmp_path,
        "const [r, c, e] = docs, m = dense(r, c, e); return [m, [...Array(c).keys()].map((i) => product(m, i, [2, 3]))];",
        rows, columns, entries,
    )  # fmt: skip
    want = np.kron(np.eye(2), [1.0, -2.0, 0.5])
    assert np.array_equal(matrix, want)
    assert [p["sum"] for p in products] == [2, -4, 1, 3, -6, 1.5]
    assert products[1]["terms"] == [[-2, 2]]


@needs_node
def test_sizes_in_bytes(tmp_path):
    assert run(tmp_path, "return docs[0].map(bytes);", [0, 999, 1500, 768e6, 4.2e9, 3e12]) == [
        "0 bytes", "999 bytes", "1.5 kB", "768 MB", "4.2 GB", "3 TB",
    ]  # fmt: skip


@needs_node
def test_rows_are_named_by_their_indices(tmp_path):
    names = run(tmp_path, "return [rowNames([3], 1), rowNames([2, 3], 2), rowNames([2, 2, 5], 4)];")
    assert names == [[""], ["[0]", "[1]"], ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]]
