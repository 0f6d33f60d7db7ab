"""A deck in Chromium, without a network: a live stepper, a covered answer, notes, and room for everything.

reveal.js is not ours to test: a stand-in says what slide it is on. Where $REVEAL_JS names a copy (the folder that
`npm pack reveal.js` unpacks to), the real one is used besides.
"""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from ran import aside

from autograd_lab.course import slides

SOURCE = """# %% [markdown]
# # 90 · A short one
#
# **Ten minutes.** With a formula, $x^2$.

# %% [markdown]
# ## Predict
#
# What is `a.grad`?

# %%
prediction = ...

import autograd_lab as torch
from autograd_lab import lab

with lab.record() as trace:
    a = torch.tensor(2.0, requires_grad=True)
    b = a * a
    loss = b * b * 3
    loss.backward()
lab.reveal(prediction, a.grad)

# %%
lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Ask* them.

# %% [markdown]
# > **You may think** so.
# >
# > **That is not what happens.**

# %%
import matplotlib.pyplot as plt

plt.plot([1, 4, 9])
plt.show()
"""

STAND_IN = """
window.Reveal = (() => {
  const heard = {};
  const all = () => [...document.querySelectorAll(".slides section > section")];
  let at = 0;
  const tell = (name) => (heard[name] ?? []).forEach((f) => f({ currentSlide: all()[at] }));
  return {
    initialize(options) { this.options = options; setTimeout(() => tell("ready")); },
    configure(options) { Object.assign(this.options, options); },
    on(name, f) { (heard[name] ??= []).push(f); },
    go(k) { at = k; tell("slidechanged"); },
  };
})();
"""


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Makes a deck of the short notebook as the command does, or `by_itself` with the command, in a process of its own."""
    root = tmp_path_factory.mktemp("course")
    (root / "notebooks").mkdir()
    (root / "notebooks" / "90_short.py").write_text(SOURCE, encoding="utf-8")

    def deck(*options, by_itself=False):
        out = tmp_path_factory.mktemp("out")
        arguments = [str(part) for part in ("90", "--root", root, "--out", out, *options)]
        if by_itself:
            command = [sys.executable, "-m", "autograd_lab", "slides", *arguments]
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
            status, said = run.returncode, run.stdout + run.stderr
        else:
            with redirect_stdout(io.StringIO()) as printed:
                status, said = aside(slides.main, arguments), printed.getvalue()
        assert status == 0, said
        return out / "90_short.html", said

    return deck


@pytest.fixture(scope="module")
def deck(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reveal")
    for name, content in zip(slides.FILES, ("", STAND_IN, "window.RevealNotes = {};"), strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    path, said = make("--reveal", folder, by_itself=True)
    assert "needs no network" in said
    return path


@pytest.fixture
def open_(tab):
    """Opens a file with the network cut off; what was asked of it, and what failed, is listed."""

    def page_of(path, width=1024, height=768, scheme="light"):
        one = tab((width, height), color_scheme=scheme)
        one.page.goto(path.as_uri())
        return one

    return page_of


def test_it_asks_the_network_for_nothing_and_breaks_nowhere(deck, open_):
    one = open_(deck)
    page = one.page
    page.wait_for_function("!!Reveal.options")
    assert one.noted == []
    assert page.title() == "90 · A short one"


@pytest.mark.parametrize("width", [1024, 1366])
def test_everything_fits_on_its_slide(deck, open_, width):
    page = open_(deck, width).page
    heights = page.evaluate(
        "[...document.querySelectorAll('.slides section > section')].map((s) => [s.scrollHeight, s.scrollWidth])"
    )
    assert len(heights) == 5
    assert all(high <= 768 and wide <= width for high, wide in heights), heights


def test_a_stepper_leaves_room_for_the_number_of_the_slide_and_the_arrows(deck, open_):
    page = open_(deck).page
    bottom = page.evaluate(
        """() => { const frame = document.querySelector(".agl-embed iframe");
                   return frame.getBoundingClientRect().bottom - frame.closest("section").getBoundingClientRect().top; }"""
    )
    assert bottom <= 768 - 36, bottom


def test_a_deck_is_as_wide_as_the_screen_and_code_is_large(deck, open_):
    assert open_(deck, 1024, 768).page.evaluate("Reveal.options.width") == 1024
    page = open_(deck, 1920, 1080).page
    assert page.evaluate("Reveal.options.width") == 1365
    size = "getComputedStyle(document.querySelector('.jp-InputArea-editor pre')).fontSize"
    assert page.evaluate(size) == "20px"  # of 768: as 14 point on a page 10 inches wide


def test_the_answer_is_covered_by_a_click_and_the_question_is_not(deck, open_):
    page = open_(deck).page
    assert page.locator(".fragment", has_text="It is 96.").count() == 1
    assert page.locator(".fragment", has_text="What is").count() == 0
    assert page.locator(".fragment", has_text="That is not what happens").count() == 1


def test_notes_are_speaker_notes(deck, open_):
    page = open_(deck).page
    notes = page.locator("aside.notes")
    assert notes.count() == 1
    assert "Ask them." in notes.text_content()
    assert page.locator("section > section:has(iframe) aside.notes").count() == 1


def test_a_stepper_wakes_with_its_slide_and_steps(deck, open_):
    one = open_(deck)
    page = one.page
    page.wait_for_function("!!Reveal.options")
    frame = page.locator(".agl-embed iframe")
    assert frame.get_attribute("srcdoc") is None
    page.evaluate(
        "Reveal.go([...document.querySelectorAll('.slides section > section')].findIndex((s) => s.querySelector('iframe')))"
    )
    inside = page.frame_locator(".agl-embed iframe")
    inside.get_by_role("button", name="Step", exact=True).click()
    inside.get_by_text("1 / ").wait_for()
    has_the_keys = "(name) => document.activeElement.tagName === name"
    page.wait_for_function(has_the_keys, arg="IFRAME")
    page.get_by_role("button", name="Click into the stepper").click()
    page.wait_for_function(has_the_keys, arg="BODY")
    assert one.noted == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_can_be_read(deck, open_, scheme):
    page = open_(deck, scheme=scheme).page
    colors = page.evaluate(
        """() => {
          const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
          const light = (c) => { const [r, g, b] = rgb(c).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const paper = light(getComputedStyle(document.body).backgroundColor);
          return [...document.querySelectorAll(".jp-RenderedMarkdown :is(h1, h2, p, code), .highlight span, .fragment pre")].map((e) => {
            const ink = light(getComputedStyle(e).color);
            return [e.textContent, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
          });
        }"""
    )
    assert len(colors) > 20
    assert [pair for pair in colors if pair[1] < 4.5 and pair[0].strip()] == []


def test_without_reveal_it_is_one_page_that_says_why(make, open_):
    path, said = make()
    assert "so the room needs a network" in said
    assert "--reveal package" in said
    one = open_(path)
    page = one.page
    page.get_by_text("reveal.js could not be loaded").wait_for()
    page.frame_locator(".agl-embed iframe").get_by_role("button", name="Step", exact=True).wait_for()
    assert page.get_by_text("It is 96.").is_visible()
    assert not page.locator("aside.notes").is_visible()
    assert page.evaluate("document.documentElement.scrollHeight") > 2000
    assert all(url.startswith(slides.CDN) for url in one.errors + one.asked)


@pytest.mark.skipif("REVEAL_JS" not in os.environ, reason="REVEAL_JS names no copy of reveal.js")
def test_with_the_real_reveal(make, open_):
    path, _ = make("--reveal", Path(os.environ["REVEAL_JS"]))
    one = open_(path)
    page = one.page
    page.wait_for_function("Reveal.isReady()")
    answer = page.locator(".fragment", has_text="It is 96.")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    while not answer.is_visible():
        page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getCurrentSlide().innerText").count("prediction = ...") == 1
    page.keyboard.press("ArrowRight")
    page.frame_locator(".agl-embed iframe").get_by_role("button", name="Step", exact=True).click()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Click into the stepper").click()
        page.keyboard.press("s")
    opened.value.get_by_text("Ask").wait_for()
    opened.value.close()
    assert one.noted == []
