"""Exported pages: they step from disk without a network; and what everyone needs of a stepper: names, contrast, room, keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import samples
from labserver import eventually
from playwright.sync_api import Locator, Page, expect
from tabs import scrub, violations, walk

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate
from autograd_lab.tracing.recorder import last_recording
from autograd_lab.tracing.state import State
from autograd_lab.tracing.told import told
from autograd_lab.widgets import step
from autograd_lab.widgets.engine_source import listing, rows, variables
from autograd_lab.widgets.front import front_end, style

TRACE = samples.diamond()
WORST = {"serious", "critical"}


@pytest.fixture
def visit(visit):
    """Also waits for the stepper."""

    def there(*args, **options):
        page, noted = visit(*args, **options)
        expect(page.locator(".agl-count").first).to_be_visible()
        return page, noted

    return there


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "demo.html"
    step(TRACE).save_html(path)
    return path


def test_a_page_steps_from_disk_without_a_network(visit, demo):
    page, noted = visit(demo)
    for k in range(1, len(TRACE) + 1):
        page.get_by_role("button", name="Step", exact=True).click()
        assert page.get_by_role("status").first.inner_text() == narrate(TRACE, k)
    assert not noted


OPERATION, LOOP = ["rule", "out", "inputs", "edges", "saved"], ["node", "ready", "deps", "buffers"]
WRITE = ["rule", "out", "inputs", "edges"]
HELD = {
    "": [], "node": OPERATION, "edge": OPERATION, "edge CopySlices": ["inner", "base", "view", "edges"],
    "inplace recorded": ["name", "target", "rule", "inputs"], "inplace": ["target", "data"], "mode": ["on"],
    "const": ["inputs", "out"], "const view": ["x", "out"],
}  # fmt: skip
"""The variables that stand above, by the mark of the statement that is lit; above others those of the loop."""


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def written():
    """A program that writes through a view, with a custom Function and a hook, and ends with an error."""
    with lab.record() as trace:
        w = torch.tensor([0.5, -1.0], requires_grad=True)
        y = w * torch.tensor([2.0, 3.0])
        y[0].mul_(w[1])
        z = Twice.apply(y)
        z.register_hook(lambda g: g / 2)
        with torch.no_grad():
            k = torch.ones(2)
            k += w[0]
        z.sum().backward()
        z.sum().backward()
    return trace


def failed():
    with pytest.raises(RuntimeError):
        written()
    return last_recording()


def forward(page: Page) -> Locator:
    return page.get_by_role("button", name="Step", exact=True)


LOOK = """() => {
    const code = document.querySelector(".agl-code");
    const texts = (what) => [...code.querySelectorAll(what)].map((e) => e.innerText);
    const box = (what) => code.querySelector(what)?.getBoundingClientRect().toJSON();
    return {
        lit: texts("[data-lit=now] code").map((text) => text.trim()), sentences: texts(".agl-variables p"),
        variables: texts(".agl-variables code"), line: box("[data-lit=now]"), head: box(".agl-listings"),
        pane: code.getBoundingClientRect().toJSON(), whole: code.scrollWidth <= code.clientWidth,
    };
}"""
"""All that is asked at a step."""


@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
@pytest.mark.parametrize("trace", [TRACE, failed()], ids=["diamond", "writes"])
def test_the_engine_is_seen_at_work(visit, tmp_path, trace, size):
    """Beside the program is the engine's own source; lit is the statement that has just run, and its variables stand above."""
    step(trace).save_html(tmp_path / "engine.html")
    page, noted = visit(tmp_path / "engine.html", size)
    code, pages, at = page.get_by_role("region", name="Code"), listing()["pages"], listing()["at"]
    page.get_by_role("button", name="engine", exact=True).click()
    assert "runs at the next operation" in code.inner_text()
    state, seen = State(trace), set()
    looks = walk(forward(page), len(trace), LOOK, drawn=trace is TRACE)
    for (mark, sentence), look in zip(told(trace), looks, strict=True):
        state.advance()
        now = variables(state, mark)
        assert look["lit"] == ([rows(pages[at[mark][0]])[at[mark][1]][1].strip()] if mark else [])
        assert look["sentences"] == ([sentence] if sentence else [])
        held = dict(text.split(" = ", 1) for text in look["variables"])
        names = WRITE if mark in ("node", "edge") and "saved" not in now else HELD.get(mark, LOOP)
        assert list(held) == (LOOP if "ready" in now else names)
        if "ready" in held:
            for name in ("ready", "deps", "buffers"):
                assert held[name].count("Mul") + held[name].count("Acc") <= len(now[name])
        elif "rule" in held:
            assert held["rule"] == now["rule"]
        if look["lit"]:
            line, pane, head = look["line"], look["pane"], look["head"]
            assert head["bottom"] <= line["top"]
            assert line["bottom"] <= pane["bottom"]
            seen.add(at[mark][0])
        assert look["whole"]  # nothing is cut off at the right
    assert seen == ({0, 1} if trace is TRACE else {0, 1, 2})
    page.get_by_role("button", name="your code", exact=True).click()
    assert "heappop" not in code.inner_text()
    assert not noted


@pytest.mark.parametrize("size", [(1024, 700), (1440, 900)])
def test_the_engines_line_is_seen_when_it_is_presented(visit, demo, size):
    """In large type the lit line still lies whole below the variables."""
    page, noted = visit(demo, size)
    page.get_by_role("button", name="engine", exact=True).click()
    page.get_by_role("button", name="Present").click()
    at, seen = listing()["at"], 0
    for (mark, _), look in zip(told(TRACE), walk(forward(page), len(TRACE), LOOK), strict=True):
        if mark in at:
            line, pane, head = look["line"], look["pane"], look["head"]
            assert head["bottom"] <= line["top"] + 1
            assert line["bottom"] <= pane["bottom"] + 1
            seen += 1
    assert seen > 20
    assert not noted


def test_the_loops_variables_are_told_with_their_numbers(visit, demo):
    page, noted = visit(demo)
    page.get_by_role("button", name="engine", exact=True).click()
    state = State(TRACE)
    looks = walk(forward(page), len(TRACE), LOOK, drawn=False)
    for (mark, _), look in zip(told(TRACE), looks, strict=True):
        state.advance()
        now = variables(state, mark)
        held = dict(text.split(" = ", 1) for text in look["variables"])
        if "ready" in held:
            for name in ("ready", "deps", "buffers"):
                assert held[name].count("Mul") + held[name].count("Acc") == len(now[name])
            values = [float(text) for text in re.findall(r": ([-0-9.]+)", held["buffers"])]
            assert values == [TRACE.values[v]["data"] for (v,) in now["buffers"].values()]
        elif held:
            assert float(held["out"]) == TRACE.values[state.tensors[now["out"][0]].value]["data"]
    assert not noted


def test_several_steppers_in_a_page_begin_where_they_stood(visit, tmp_path):
    lab.save_html(tmp_path / "two.html", step(TRACE, position=9), step(samples.mlp()), title="<Two> & more")
    page, noted = visit(tmp_path / "two.html")
    assert page.title() == "<Two> & more"
    expect(page.get_by_role("heading", level=1)).to_have_text("<Two> & more")
    one, two = page.get_by_role("group", name="Autograd stepper").all()
    two.get_by_role("button", name="Step", exact=True).click()
    assert one.locator(".agl-count").inner_text() == f"9 / {len(TRACE)}"
    assert two.locator(".agl-count").inner_text() == f"1 / {len(samples.mlp())}"
    assert not noted


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_theme_is_the_readers(visit, demo, scheme, dark):
    page, _ = visit(demo, color_scheme=scheme)
    for place in ("body", ".agl"):
        color = page.locator(place).first.evaluate("e => getComputedStyle(e).backgroundColor")
        assert (sum(int(part) for part in re.findall(r"\d+", color)[:3]) < 380) == dark


def test_without_scripts_the_picture_and_the_steps_are_there(tab, demo):
    page = tab(context={"java_script_enabled": False}).page
    page.goto(demo.as_uri())
    assert "35 steps" in page.locator("img").get_attribute("alt")
    page.locator("summary").click()
    expect(page.get_by_role("cell", name=narrate(TRACE, 35))).to_be_visible()


def test_any_host_with_the_anywidget_model_will_do(tab, tmp_path):
    """As VS Code, Colab and marimo load it: imported from a blob, in a shadow root, with get, set, on, off, save_changes.

    Under a content security policy that allows no other script; and all else that is asked of the model fails.
    """
    assert not re.search(
        r"\b(?:process|require|Jupyter|IPython|google|acquireVsCodeApi)\s*[.(\[]", front_end()
    )
    s = step(TRACE)
    traits = {
        "_film": s._film,
        **{name: getattr(s, name) for name in s.traits(sync=True) if hasattr(type(s), name)},
    }
    data = {name: value for name, value in traits.items() if isinstance(value, (str, int, bool, list, dict))}
    (tmp_path / "host.html").write_text(
        """<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-x' blob:;
        style-src 'unsafe-inline'"><body><div id="place"></div><script nonce="x">window.failed = [];</script></body>""",
        encoding="utf-8",
    )
    one = tab()
    page = one.page
    page.goto((tmp_path / "host.html").as_uri())
    page.evaluate(
        """async ([esm, css, data]) => {
             const root = document.getElementById("place").attachShadow({mode: "open"}), el = document.createElement("div");
             const sheet = document.createElement("style");
             sheet.textContent = css;
             root.append(sheet, el);
             const calls = [], can = {
               get: (name) => data[name], set: (name, value) => { data[name] = value; calls.push(name); },
               on: (event, call) => { calls.push("on " + event); }, off: (event, call) => { calls.push("off " + event); }, save_changes: () => {},
             };
             const model = new Proxy(can, {get(target, name) {
               if (!(name in target)) throw new Error("the model has no " + String(name));
               return target[name];
             }});
             const url = URL.createObjectURL(new Blob([esm], {type: "text/javascript"}));
             const {default: widget} = await import(url);
             window.calls = calls;
             window.data = data;
             window.close_it = await widget.render({model, el});
           }""",
        [front_end(), style(), data],
    )
    page.get_by_role("button", name="Next node", exact=True).click()
    page.get_by_role("button", name="Last", exact=True).click()
    expect(page.get_by_role("status").first).to_have_text(narrate(TRACE, 35))
    # wait_for_function would evaluate a string in the page, which its policy forbids.
    eventually(lambda: page.evaluate("window.data.position"), 35)
    page.evaluate("window.close_it()")
    calls = page.evaluate("window.calls")
    events = {call[3:] for call in calls if call.startswith("on ")}
    assert events
    assert events == {call[4:] for call in calls if call.startswith("off ")}  # nothing goes on listening
    assert not one.noted


# Everyone.


def barriers(page: Page) -> list[str]:
    """What axe-core finds that is serious or worse, by WCAG 2.2 A and AA and its own best practices."""
    return [
        f"{found['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for found in violations(page)
        for node in found["nodes"]
        if found["impact"] in WORST
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(visit, tmp_path, scheme):
    traces = {"diamond": samples.diamond(), "mlp": samples.mlp()}
    for name, trace in traces.items():
        step(trace).save_html(tmp_path / f"{name}.html")
        page, _ = visit(tmp_path / f"{name}.html", color_scheme=scheme, reduced_motion="reduce")
        page.evaluate("document.querySelector('meta[http-equiv]').remove()")
        slider = page.get_by_role("slider", name="Position")
        for k in (0, len(trace) // 3, 2 * len(trace) // 3, len(trace)):
            slider.fill(str(k))
            assert barriers(page) == [], (name, k)
        tab = page.get_by_role("tab", name="Table").or_(page.get_by_role("button", name="Table", exact=True))
        tab.first.click()
        assert barriers(page) == [], (name, "table")


@pytest.mark.parametrize("mode", ["predict", "engine"])
def test_axe_in_the_other_modes(visit, tmp_path, mode):
    step(samples.diamond(), mode=mode, position=8).save_html(tmp_path / "a.html")
    page, noted = visit(tmp_path / "a.html", reduced_motion="reduce")
    assert barriers(page) == []
    assert not noted


# Whether something that can be operated, or the sentence, sticks out of the window or of what clips it, or lies under
# something else.
CLIPPED = """() => {
  const bad = [], wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) bad.push("the page scrolls sideways");
  const stage = document.querySelector(".agl");
  if (stage.scrollHeight > stage.clientHeight + 1) bad.push("the stage is cut off");
  for (const e of document.querySelectorAll(".agl button, .agl select, .agl input, .agl [role=status], .agl [tabindex]")) {
    if (!e.checkVisibility() || !e.getClientRects().length) continue;
    e.scrollIntoView({block: "nearest", inline: "nearest"});
    const r = e.getBoundingClientRect(), name = e.getAttribute("aria-label") ?? e.className ?? e.tagName;
    if (r.left < -0.5 || r.right > wide + 0.5) bad.push(`${name} is outside`);
    if (r.width < 1 || r.height < 1) continue;
    if (e.scrollWidth > e.clientWidth + 1 && e.tagName === "BUTTON") bad.push(`${name} is cut off`);
    if (!["BUTTON", "SELECT", "INPUT"].includes(e.tagName)) continue;
    const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
    if (top && top !== e && !e.contains(top) && !top.contains(e)) bad.push(`${name} lies under ${top.className.baseVal ?? top.className}`);
    for (let up = e.parentElement; up && up.matches(".agl *"); up = up.parentElement) {
      const box = up.getBoundingClientRect(), hides = getComputedStyle(up).overflowX === "hidden";
      if (hides && (r.right > box.right + 1 || r.left < box.left - 1)) bad.push(`${name} is clipped by ${up.className}`);
    }
  }
  return bad;
}"""


@pytest.mark.parametrize("mode", ["watch", "predict"])
def test_no_control_is_cut_off(visit, tmp_path, mode):
    step(samples.mlp(), mode=mode).save_html(tmp_path / "a.html")
    for size, context in [
        ((1024, 768), {}),
        ((1280, 800), {}),
        ((1920, 1080), {}),
        ((320, 640), {}),  # 400 %, WCAG's reflow
        ((640, 400), {"device_scale_factor": 2}),  # 1280 x 800 at 200 % zoom
        ((512, 384), {"device_scale_factor": 2}),  # the projector at 200 %
    ]:
        page, _ = visit(tmp_path / "a.html", size, context=context)
        places = [0, 20, 60, 82]
        for k, bad in zip(
            places, scrub(page.get_by_role("slider", name="Position"), places, CLIPPED), strict=True
        ):
            assert bad == [], (size, k)


def test_the_focus_is_seen_wherever_it_goes(visit, demo):
    """Tab goes through every control, each with an outline, and out at the end."""
    for scheme in ("light", "dark"):
        page, _ = visit(demo, color_scheme=scheme)
        seen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            name, outline, width = page.evaluate(
                """() => { const e = document.activeElement, s = getComputedStyle(e), seen = [e.tagName, e.getAttribute("aria-label") ?? e.id];
                           return [seen.join(" "), s.outlineStyle, parseFloat(s.outlineWidth)]; }"""
            )
            if name.startswith("BODY"):
                break
            assert outline != "none", name
            assert width >= 2, name
            seen.append(name)
        else:
            pytest.fail("Tab does not leave the stepper")
        assert {"BUTTON Step", "BUTTON Play", "INPUT Position", "SELECT Step by", "SELECT Speed"} <= set(seen)


def test_what_is_chosen_is_seen_in_forced_colours(visit, demo):
    """Every view, panel and switch that is on stands out as a whole, not by an underline; and what is off does not."""
    page, _ = visit(demo, forced_colors="active")
    looks = """() => {
      const probe = document.body.appendChild(document.createElement("div")), style = probe.style;
      const of = (name) => { style.cssText = `forced-color-adjust: none; color: ${name}`; return getComputedStyle(probe).color; };
      const chosen = [of("Highlight"), of("HighlightText")].join(), found = {};
      for (const e of document.querySelectorAll("button[aria-selected], button[aria-pressed]")) {
        if (!e.checkVisibility()) continue;
        const now = getComputedStyle(e), on = [e.ariaSelected, e.ariaPressed].includes("true");
        found[e.textContent] = [on, [now.backgroundColor, now.color].join() === chosen];
      }
      return found;
    }"""
    seen: dict[str, set[bool]] = {}
    for name, role in (("Table", "tab"), ("Cost", "tab"), ("Graph", "tab"), ("engine", "button")):
        page.get_by_role(role, name=name, exact=True).first.click()
        page.mouse.move(0, 0)
        for text, (on, stands_out) in page.evaluate(looks).items():
            assert on == stands_out, (text, on)
            seen.setdefault(text, set()).add(on)
    assert {text for text, states in seen.items() if len(states) == 2} >= {"Graph", "Table", "Cost", "engine"}


def test_reduced_motion_and_forced_colours_are_honoured(visit, demo):
    page, _ = visit(demo, reduced_motion="reduce", forced_colors="active")
    page.get_by_role("button", name="Last", exact=True).click()
    moving = page.evaluate(
        """() => document.getAnimations().filter((a) => a.playState === "running" && a.effect.getTiming().duration > 50).length"""
    )
    assert moving == 0
    strange = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement("div"));
          const of = (name) => { probe.style.color = name; return getComputedStyle(probe).color; };
          const system = new Set(["Canvas", "CanvasText", "Highlight"].map(of).concat("none")), bad = new Set();
          for (const e of document.querySelectorAll(".agl-svg text, .agl-box, .agl-node, .agl-fline, .agl-bline, .agl-pill rect, .agl-badge rect, .agl-weight, .agl-stop path, .agl-kept, .agl-joined path, .agl-at rect")) {
            const style = getComputedStyle(e);
            for (const what of e.tagName === "text" ? ["fill"] : ["fill", "stroke"]) {
              if (!system.has(style[what])) bad.add(`${what} of ${e.getAttribute("class")}: ${style[what]}`);
            }
          }
          return [...bad];
        }"""
    )
    assert strange == []
