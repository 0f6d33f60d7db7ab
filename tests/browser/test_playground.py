"""The playground in Chromium, on a site with Python in it: one page and one Python serve most tests; the network is cut but for the site.

Needs Pyodide: tests/webassembly/pyodide.txt says where it is.
"""

import json
import os
import re
import secrets
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from each import each
from playwright.sync_api import expect
from ran import bytecode
from tabs import violations

from autograd_lab.site import build, play, pyodide

ROOT = Path(__file__).parents[2]
FOLDER = os.environ.get("PYODIDE_FOLDER")
LIMITS = "limit=4&events=400"  # seconds and events; a fresh Python costs more than they do

pytestmark = [
    pytest.mark.slow,  # Python starts in WebAssembly, nine times
    pytest.mark.browser,
    pytest.mark.skipif(FOLDER is None, reason="needs Pyodide: set PYODIDE_FOLDER to it; tests/webassembly/pyodide.txt says where to get it"),
]  # fmt: skip

SAMPLE = (ROOT / "autograd_lab/site/assets/play/sample.txt").read_text(encoding="utf-8")
OTHER = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * 3).sum()\nloss.backward()\nprint('it is', w.grad)\n"
TWICE = OTHER + "loss.backward()\n"


class Site:
    """A site that is served, what was asked of it, and pages in it."""

    def __init__(self, folder, browser):
        self.asked = asked = []

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_):
                asked.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/play/index.html"
        self.browser = browser

    def page(self, query="", fragment="", **options):
        """A new page, and what went wrong or was asked of the network in it."""
        context = self.browser.new_context(**options)
        context.grant_permissions(
            ["clipboard-read", "clipboard-write"], origin=self.url.rpartition("/play")[0]
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.noted = []
        page.on("pageerror", lambda error: page.noted.append(str(error)))
        page.on("console", lambda said: said.type in ("error", "warning") and page.noted.append(said.text))
        context.route(
            re.compile(r"^https?://(?!127\.0\.0\.1)"),
            lambda route: (page.noted.append(route.request.url), route.abort()),
        )
        page.goto(f"{self.url}?{query}{fragment}")
        page.locator("html[data-play=open]").wait_for()
        return page


@pytest.fixture(scope="module")
def site(browser, tmp_path_factory):
    """A site with the playground alone."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyodide.Pyodide, "_bytecode", bytecode)
        made = build.build(build.Options(ROOT, pyodide.of(FOLDER, None)), [play.PAGE])
    assert made.broken_links() == []
    made.write(folder)
    served = Site(folder, browser)
    yield served
    served.server.shutdown()
    served.server.server_close()


@pytest.fixture(scope="module")
def ready(site):
    """A page with a running Python, which came while nobody did anything."""
    page = site.page(LIMITS)
    expect(page.locator("#play-state")).to_have_text("Python is ready.")
    yield page
    page.context.close()


@pytest.fixture
def page(ready):
    """The same page, at the beginning."""
    ready.noted.clear()
    ready.set_viewport_size({"width": 1300, "height": 900})
    yield ready
    assert ready.noted == []


def state(page):
    return page.locator("#play-state")


def write(page, program):
    page.locator("#play-program").fill(program)


def run(page, program=None):
    """Run a program, and wait until it is over."""
    if program is not None:
        write(page, program)
    page.locator("#play-run").click()
    expect(state(page)).to_have_text(
        re.compile(
            r"has run\.$|stopped with an error|^Recording ended|there is nothing to step|afresh|is ready"
        )
    )


def steps(page):
    return page.locator(".agl-count").inner_text()


def follow(page, fragment):
    """Enter another address, as somebody who clicks on a link in the same tab."""
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)


# -- running ----------------------------------------------------------------------------------------------


def test_a_program_runs_and_is_stepped_through(page):
    run(page, OTHER)
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\n")
    assert steps(page).startswith("0 / ")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".agl-count")).to_have_text(re.compile("^1 / "))
    expect(page.locator("#play-names button[aria-pressed=true]")).to_contain_text(
        "loss"
    )  # the one that has no .grad
    page.locator("#play-names button").first.click()
    expect(page.locator("#play-answer h3")).to_have_text("Why is w.grad [3, 3]?")


def test_an_error_is_marked_and_explained_and_mended(page):
    run(page, TWICE)
    expect(page.locator("#play-error")).to_contain_text(
        "RuntimeError in line 6: Trying to backward through the graph a second time"
    )
    expect(page.locator(".play-numbers .play-failed")).to_have_text("6")
    now, of = steps(page).split(" / ")
    assert now == of  # where it stopped
    expect(page.locator("#play-answer")).to_contain_text("The first time it freed the values")
    page.get_by_role("button", name="Make this change").click()
    assert "retain_graph=True" in page.locator("#play-program").input_value()
    run(page)
    expect(page.locator("#play-error")).to_be_hidden()
    expect(page.locator(".play-failed")).to_have_count(0)


@pytest.mark.parametrize(
    ("program", "says", "line"),
    [
        ("x = (", "SyntaxError in line 1", 1),
        ("import no_such_module", "No module named", 1),
        ("\n\n1/0", "ZeroDivisionError in line 3", 3),
    ],
)
def test_errors_before_there_is_a_graph(page, program, says, line):
    run(page, program)
    expect(page.locator("#play-error")).to_contain_text(says)
    expect(page.locator(".play-numbers .play-failed")).to_have_text(str(line))
    expect(page.locator("#play-stepper .agl")).to_have_count(0)


def test_a_program_without_tensors_is_said_to_be_one(page):
    run(page, "print('hello')")
    expect(state(page)).to_have_text(
        "The program has run, and there is nothing to step through: no operation on a tensor ran."
    )
    expect(page.locator("#play-printed")).to_have_text("hello\n")


def test_a_program_may_ask_the_lab_why(page):
    run(page, OTHER + "from autograd_lab import lab\nprint(lab.why(loss).cause)\n")
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\nnot-leaf\n")


def test_each_run_begins_alike(page):
    program = "import torch\nprint(torch.rand(1).item(), torch.ones(1).dtype, torch.is_grad_enabled())\ntorch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)"
    printed = []
    for _ in range(2):
        run(page, program)
        printed.append(page.locator("#play-printed").inner_text())
    assert printed[0] == printed[1]
    assert "float32 True" in printed[0]


def test_what_a_program_has_changed_is_put_back(page):
    """More of it in tests/widgets/test_afresh.py."""
    after = "import torch\nw = torch.tensor([1.23456], requires_grad=True)\n(w * 2).sum().backward()\nprint(w, w.grad)\n"
    run(page, after)
    alone = page.locator("#play-printed").inner_text(), steps(page)
    for before in (
        "import torch\ntorch.tensor = None\ntorch.Tensor.backward = print\ntorch.set_printoptions(precision=1)",
        "import builtins\nbuiltins.print = builtins.len = None\n",
        "import sys\nfor name in [*sys.modules]:\n    if 'torch' in name: del sys.modules[name]\n",
    ):
        run(page, before)
        run(page, after)
        assert (page.locator("#play-printed").inner_text(), steps(page)) == alone, before


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("x = " + "-" * 100_000 + "1", "nested too deeply"),
        ("x = []\nfor _ in range(100_000): x = [x]\nprint(x)", "nested too deeply"),
        ("import os\nos.abort()", "Aborted"),
    ],
)
def test_a_python_that_broke_down_is_replaced(page, program, says):
    run(page, program)
    expect(page.locator("#play-error")).to_contain_text(says)
    expect(state(page)).to_have_text(
        re.compile("Python broke down with the program, so it starts afresh|Python is ready")
    )
    page.noted.clear()  # Pyodide tells its makers
    run(page, OTHER)
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\n")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("n = input('How many? ')", "write the value into it, in place of input()"),
        ("import torchvision", "Python's own modules, NumPy and torch"),
        ("import threading\nthreading.Thread(target=print).start()", "no threads in a browser"),
        ("from autograd_lab import lab\nwith lab.record(): pass", "leave lab.record() out"),
        ("import torch\nfrom autograd_lab import lab\nlab.step(torch.relu, torch.ones(1, requires_grad=True))", "leave the call out"),
        ("import torch\nfrom autograd_lab import lab\nlab.draw(torch.ones(1, requires_grad=True) * 2)", "leave the call out"),
    ],
)  # fmt: skip
def test_what_does_not_work_here_gets_a_sentence(page, program, says):
    run(page, program)
    expect(page.locator("#play-error")).to_contain_text(says)


def test_recording_ends_at_its_events(page):
    run(
        page,
        "import torch\nw = torch.ones(2, requires_grad=True)\nwhile True:\n    (w * 2).sum().backward()\n",
    )
    expect(state(page)).to_have_text(
        "Recording ended after 400 steps, and the program with it. What was recorded until then is shown."
    )
    assert steps(page) == "0 / 400"


def test_recording_ends_when_its_time_is_over(page):
    run(
        page,
        "import time, torch\nw = torch.ones(2, requires_grad=True)\nwhile True:\n    y = w * 2\n    time.sleep(0.05)\n",
    )
    expect(state(page)).to_have_text(
        re.compile(
            r"^Recording ended after 3\.6 seconds, and the program with it\. The \d+ steps until then are shown\.$"
        )
    )
    assert steps(page).startswith("0 / ")


LATE = """import time, torch
from autograd_lab.tracing.builder import Builder
build = Builder.build
def late(*given):
    Builder.build = build
    time.sleep(4.5)
    return build(*given)
Builder.build = late
w = torch.ones(2, requires_grad=True)
while True:
    y = w * 2
"""


def test_a_recording_is_shown_also_if_working_it_out_takes_longer_than_the_limit(page):
    begin = time.monotonic()
    run(page, LATE)
    expect(state(page)).to_have_text(re.compile(r"^Recording ended after 400 .*shown\.$"))
    assert time.monotonic() - begin > 4.5
    assert steps(page) == "0 / 400"


ENDLESS = "print('before', flush=True)\nimport time; time.sleep(.2); print('then')\nwhile True:\n    pass\n"


def test_stop_ends_a_program_that_never_ends(page):
    write(page, ENDLESS)
    page.locator("#play-program").press("Control+Enter")
    expect(page.locator("#play-printed")).to_have_text(re.compile("before\n"))
    page.locator("#play-stop").click()
    expect(state(page)).to_have_text(re.compile("^Stopped"))
    expect(page.locator("#play-stop")).to_be_hidden()
    run(page, OTHER)  # waits for the fresh one
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\n")


def test_a_program_ends_at_its_limit(page):
    write(page, "print(1)\n" + ENDLESS)
    begin = time.monotonic()
    page.locator("#play-run").click()
    expect(state(page)).to_have_text(re.compile("^Stopped after 4 seconds: does a loop never end?"))
    assert time.monotonic() - begin > 3
    run(page, OTHER)
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\n")


# -- the slider of a number in the program ------------------------------------------------------------------

SLIDES = """import torch
x = torch.tensor(2.0, requires_grad=True)
endless = x.item() > 5
while endless:
    pass
y = x**3 if x.item() > 0 else 1 // 0
y.backward()
print("ran")
"""


def test_a_number_of_the_program_is_changed_live(page):
    run(page, SLIDES)
    slider, leaves = page.get_by_role("slider", name="Value of x"), page.locator(".agl-leaves tbody tr").first
    note = page.locator(".agl-slide-note")
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    expect(note).to_be_empty()
    page.get_by_label("Position").fill("9")
    expect(page).to_have_url(re.compile("&s=9$"))
    url = page.url
    slider.evaluate("""async (e) => {
        for (let i = 21; i <= 35; i++) { e.value = i; e.dispatchEvent(new Event("input", { bubbles: true })); await new Promise((done) => setTimeout(done, 5)); }
        e.value = 30;
        for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, { bubbles: true }));
    }""")
    expect(leaves).to_contain_text("4")
    expect(page.locator(".agl-svg")).to_contain_text("64")
    expect(page.locator(".agl-code")).to_contain_text("x = torch.tensor(4.0, requires_grad=True)")
    expect(page.locator(".agl-count")).to_have_text(re.compile("^9 / "))
    page.get_by_role("button", name="Nudge").click()
    expect(page.locator(".agl-nudge")).to_contain_text(re.compile(r"gradient 48\D"))
    expect(page.locator(".agl-nudge")).to_contain_text(re.compile(r"/ h = 48\.0"))
    # program, link and output stay as they are
    assert page.locator("#play-program").input_value() == SLIDES
    assert page.url == url
    expect(page.locator("#play-printed")).to_have_text("ran\n")
    # by the keyboard, and out of the domain
    slider.focus()
    page.keyboard.press("Home")
    expect(note).to_have_text(
        "With this value the program raises ZeroDivisionError: integer division or modulo by zero. The picture stays at x = 4."
    )
    expect(slider).to_be_focused()


def test_a_number_with_which_the_program_never_ends_is_stopped(page):
    run(page, SLIDES)
    slider, note = page.get_by_role("slider", name="Value of x"), page.locator(".agl-slide-note")
    slider.fill("36")
    page.locator("#play-stop").click()
    expect(note).to_have_text(re.compile("^Stopped. Python starts afresh. The picture stays at x = 2"))
    expect(state(page)).to_have_text(re.compile("Python is ready"))
    slider.fill("37")
    expect(note).to_have_text(re.compile("^Stopped after 4 seconds"))
    expect(state(page)).to_have_text(re.compile("Python is ready"))
    slider.fill("21")
    expect(page.locator(".agl-leaves tbody tr").first).to_contain_text("2.2")
    run(page, OTHER)
    expect(slider).to_be_hidden()  # no number alone in it


def test_nothing_runs_before_run_is_pressed(site):
    other = site.page("preload=off", play.address(SAMPLE, 3))
    expect(other.locator(".agl-count")).to_have_text(re.compile("^3 / "))
    expect(other.get_by_role("slider", name="Value of b")).to_be_disabled()
    expect(other.locator(".agl-slide-note")).to_have_text("Press Run: then the slider moves the program.")
    assert other.noted == []
    other.context.close()


# -- the address ------------------------------------------------------------------------------------------


def test_the_address_says_program_and_step_and_opens_both_without_running(site, page):
    run(page, SAMPLE)
    page.get_by_label("Position").fill("7")
    expect(page).to_have_url(re.compile("&s=7$"))
    fragment = "#" + page.url.partition("#")[2]
    asked = len(site.asked)
    other = site.page("preload=off", fragment)
    expect(other.locator(".agl-count")).to_have_text(re.compile("^7 / "))
    assert other.locator("#play-program").input_value() == SAMPLE
    expect(other.locator("#play-answer")).to_contain_text("Why is w.grad None?")
    assert not [path for path in site.asked[asked:] if "/pyodide/" in path], "it asked for Python"
    expect(other.locator("#play-output")).to_be_hidden()
    assert other.noted == []
    other.context.close()


def test_a_link_to_another_program_waits_for_run_and_keeps_its_step(page):
    follow(page, play.address(OTHER + "# by link", 5))
    expect(page.locator("#play-program")).to_have_value(OTHER + "# by link")
    expect(page.locator("#play-stepper .agl")).to_have_count(0)
    expect(page.locator("#play-output")).to_be_hidden()
    run(page)
    assert steps(page).startswith("5 / ")
    follow(page, play.address(TWICE))  # without a step: where it fails
    expect(page.locator("#play-program")).to_have_value(TWICE)
    run(page)
    now, of = steps(page).split(" / ")
    assert now == of


def test_links_and_frames_are_copied(page):
    follow(page, play.address(SAMPLE, 4))
    expect(page.locator(".agl-count")).to_have_text(re.compile("^4 / "))
    page.locator("#play-link").click()
    expect(state(page)).to_contain_text("link is copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"http://127[^?]*/play/index\.html#p=[\w-]+&s=4", link)
    page.locator("#play-iframe").click()
    expect(state(page)).to_contain_text("frame is copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith('<iframe src="http://127')


def damaged():
    """Addresses that no longer say what they said."""
    whole = play.address(SAMPLE, 4)
    for end in (3, 4, 20, 60, len(whole) // 2, len(whole) - 8):
        yield whole[:end] + "&s=4"
    for place in range(3, len(whole) - 5, 23):
        yield whole[:place] + ("A" if whole[place] != "A" else "B") + whole[place + 1 :]
    yield from (
        "#p=%%%",
        "#p=%E0%A4%A",
        "#p=é",
        "#p=AAAA",
        "#p=====",
        "#p=a b",
        "#p=<script>",
        "#p=" + "A" * 9000,
    )
    yield whole.replace("&s=4", "AAAA")
    yield "#p=" + bomb()
    yield "#p=" + not_text()


def bomb():
    import base64
    import zlib

    return base64.urlsafe_b64encode(zlib.compress(b" " * 5_000_000, 9)).decode().rstrip("=")


def not_text():
    import base64
    import zlib

    return base64.urlsafe_b64encode(zlib.compress(b"\xff\xfe\x80")).decode().rstrip("=")


def test_a_damaged_link_gets_a_sentence_and_an_empty_editor(page):
    def check(fragment):
        follow(page, play.address("before"))
        expect(page.locator("#play-program")).to_have_value("before")
        follow(page, fragment)
        expect(state(page)).to_have_text(re.compile("^This link is damaged"))
        assert page.locator("#play-program").input_value() == ""

    each(damaged(), check)


@pytest.mark.parametrize("after", [")", ".", ",", '">', ").", "]"])
def test_what_stands_behind_a_link_in_a_text_is_no_part_of_it(page, after):
    follow(page, play.address("before"))
    expect(page.locator("#play-program")).to_have_value("before")
    follow(page, play.address(SAMPLE, 4) + after)
    expect(page.locator(".agl-count")).to_have_text(re.compile("^4 / "))
    follow(page, play.address("before") + after)
    expect(page.locator("#play-program")).to_have_value("before")


def test_a_link_to_lines_of_windows_is_the_same_program(page):
    follow(page, play.address(SAMPLE.replace("\n", "\r\n"), 4))
    expect(page.locator(".agl-count")).to_have_text(re.compile("^4 / "))
    assert page.locator("#play-program").input_value() == SAMPLE


def test_odd_steps_are_the_beginning_or_the_end(page):
    for step, shown in [
        ("999999999", "30 / 30"),
        ("-1", "0 / 30"),
        ("x", "0 / 30"),
        ("1e9", "0 / 30"),
        ("", "0 / 30"),
        ("99999999999", "0 / 30"),
    ]:
        follow(page, play.address(SAMPLE) + f"&s={step}")
        expect(page.locator(".agl-count")).to_have_text(shown)
        follow(page, play.address("before"))
        expect(page.locator(".agl-count")).to_have_count(0)


def test_a_long_program_is_a_file(page):
    noise = "".join(
        f"# {secrets.token_hex(400)}\n" for _ in range(30)
    )  # in few lines: Playwright types them slowly
    write(page, noise)
    expect(page.locator("#play-long")).to_contain_text("Pass it on as a file")
    assert "#" not in page.url
    with page.expect_download() as download:
        page.locator("#play-long button").click()
    assert Path(download.value.path()).read_text(encoding="utf-8") == noise
    page.locator("#play-file").set_input_files(
        {"name": "a.py", "mimeType": "text/x-python", "buffer": OTHER.replace("\n", "\r\n").encode()}
    )
    expect(page.locator("#play-program")).to_have_value(OTHER)
    expect(page.locator("#play-long")).to_be_hidden()
    page.locator("#play-file").set_input_files(
        {"name": "a.png", "mimeType": "image/png", "buffer": b"\x89PNG\xff"}
    )
    expect(state(page)).to_contain_text("not a text")


# -- what linked code can reach ---------------------------------------------------------------------------

REACHES = {
    "indexedDB": "await new Promise((done, failed) => { const r = self.indexedDB.open('lab'); r.onsuccess = () => done(r.result.name); r.onerror = () => failed(r.error); })",
    "list of databases": "(await self.indexedDB.databases()).length",
    "caches": "await (await self.caches.open('lab')).keys()",
    "localStorage": "self.localStorage.length",
    "sessionStorage": "self.sessionStorage.length",
    "cookie": "self.document.cookie",
    "cookieStore": "await self.cookieStore.getAll()",
    "files": "await navigator.storage.getDirectory()",
    "page": "self.parent.document.title",
    "window": "self.window.top.location.href",
    "BroadcastChannel": "await new Promise((done, failed) => { const c = new BroadcastChannel('lab'); c.onmessage = ({ data }) => done(data); setTimeout(() => failed(Error('nobody answers')), 300); })",
    "SharedWorker": "new SharedWorker(SITE)",
    "service worker": "await navigator.serviceWorker.register(SITE)",
    "fetch": "(await fetch(SITE)).status",
    "the browser's own fetch": "(await WorkerGlobalScope.prototype.fetch.call(self, SITE)).status",
    "fetch after delete": "await (async () => { delete self.fetch; return (await self.fetch(SITE)).status; })()",
    "fetch without cors": "(await WorkerGlobalScope.prototype.fetch.call(self, SITE, { mode: 'no-cors', method: 'POST', body: 'secret' })).type",
    "XMLHttpRequest": "(() => { const r = new XMLHttpRequest(); r.open('GET', SITE, false); r.send(); return r.status; })()",
    "WebSocket": "await new Promise((done, failed) => { const s = new WebSocket(SITE.replace('http', 'ws')); s.onopen = () => done('open'); s.onerror = () => failed(Error('error')); })",
    "EventSource": "await new Promise((done, failed) => { const s = new EventSource(SITE); s.onopen = () => done('open'); s.onerror = () => { s.close(); failed(Error('error')); }; })",
    "WebTransport": "await new WebTransport(SITE.replace('http:', 'https:')).ready",
    "beacon": "navigator.sendBeacon(SITE, 'secret') && 'sent'",
    "importScripts": "importScripts(SITE)",
    "import": "await import(SITE)",
    "nested worker": "await new Promise((done, failed) => { const w = new Worker(URL.createObjectURL(new Blob([`fetch('${SITE}').then((a) => postMessage(a.status), (e) => postMessage('no'))`]))); w.onmessage = ({ data }) => (data === 'no' ? failed(Error(data)) : done(data)); w.onerror = () => failed(Error('error')); setTimeout(() => failed(Error('nothing')), 1500); })",
    "worker from the site": "await new Promise((done, failed) => { const w = new Worker(SITE); w.onerror = () => failed(Error('error')); w.onmessage = done; setTimeout(() => failed(Error('nothing')), 500); })",
    "font": "await new FontFace('x', `url(${SITE})`).load()",
}
"""Ways to read what the site keeps, or to send something out; each must raise."""

REACH = """
import asyncio, builtins, json
from pyodide.code import run_js
ways = json.loads(%r)
run_js("self.SITE = " + json.dumps(%r))
builtins.told = told = []
async def reach():
    for name, code in ways.items():
        try:
            told.append(f"reached {name}: {await run_js('(async () => (' + code + '))()')}")
        except BaseException as error:
            told.append(f"refused {name}: {str(error).splitlines()[0][:90]}")
    told.append("all tried")
task = asyncio.ensure_future(reach())
"""


def test_linked_code_reaches_nothing_and_sends_nothing(site, ready):
    """Everything that JavaScript has in a worker is open to a program; the browser itself refuses it."""
    ready.evaluate("""async () => {
        localStorage.setItem("lab", "secret");
        document.cookie = "lab=secret";
        await (await caches.open("lab")).put("/secret", new Response("secret"));
        await new Promise((done) => { indexedDB.open("lab", 1).onsuccess = done; });
    }""")
    where = site.url.rpartition("/play")[0] + "/reached"
    asked = len(site.asked)
    run(ready, REACH % (json.dumps(REACHES), where))
    told, deadline = [], time.monotonic() + 90
    while "all tried" not in told and time.monotonic() < deadline:
        ready.wait_for_timeout(500)  # they go on when the program has ended
        run(ready, "import builtins\nprint(chr(10).join(builtins.told))")
        told = ready.locator("#play-printed").inner_text().splitlines()
    assert told[-1:] == ["all tried"], told
    assert [line for line in told if line.startswith("reached")] == []
    assert len(told) == len(REACHES) + 1
    assert [path for path in site.asked[asked:] if "reached" in path] == []
    ready.noted.clear()  # the browser says what it refused


def test_python_itself_reaches_nothing(site, page):
    asked = len(site.asked)
    run(page, f"import urllib.request\nurllib.request.urlopen('{site.url}?reached', timeout=2)")
    expect(page.locator("#play-error")).to_contain_text("Error")
    assert [path for path in site.asked[asked:] if "reached" in path] == []


HOSTILE = """
import js, json
from pyodide.ffi import to_js
bad = '"><img src=x onerror="window.hit=1"><script>window.hit=1</script><iframe srcdoc="x"></iframe>'
why = {"name": bad, "says": bad, "cause": bad, "question": bad, "sentences": [bad], "lines": [{"source": bad, "number": bad, "text": bad, "what": bad}], "fix": bad, "edits": [], "step": 0}
error = {"type": bad, "message": bad, "line": bad, "text": bad}
for n in range(200):
    js.postMessage(to_js({"kind": "drawing", "n": n}, dict_converter=js.Object.fromEntries))
    js.postMessage(to_js({"kind": "printed", "n": n, "text": bad}, dict_converter=js.Object.fromEntries))
    js.postMessage(to_js({"kind": "done", "n": n, "heap": 2e9, "result": json.dumps({"traits": {"_film": 3, "_pairs": "x"}, "why": [why], "error": error, "events": bad, "cut": "events"})}, dict_converter=js.Object.fromEntries))
js.postMessage(None); js.postMessage("x")
"""


def test_what_a_program_makes_up_is_shown_as_text(page):
    """It can send whatever the worker sends; and more than 1 GB of memory, if only said, has Python start afresh."""
    run(page, HOSTILE)
    expect(state(page)).to_contain_text("The program used more than 1 GB of memory, so Python starts afresh.")
    expect(page.locator("#play-error")).to_contain_text("<img src=x")
    assert (
        page.locator(
            "#play-error img, #play-why img, #play-output img, main iframe, main script:not([type])"
        ).count()
        == 0
    )
    assert page.evaluate("window.hit === undefined")
    run(page, OTHER)
    expect(page.locator("#play-printed")).to_have_text("it is tensor([3., 3.])\n")


def test_the_frame_does_nothing_where_it_has_an_origin(site, browser):
    """Else whoever opens it in a window could run code of their own as the site's."""
    page = site.page("preload=off")
    page.goto(site.url.replace("index.html", "frame.html"))
    page.evaluate("""() => {
        const channel = new MessageChannel();
        window.answers = [];
        channel.port1.onmessage = ({ data }) => window.answers.push(data);
        postMessage({ files: {}, lock: {}, packages: [] }, "*", [channel.port2]);
    }""")
    page.wait_for_timeout(500)
    assert page.evaluate("window.answers.length") == 0
    page.context.close()


# -- how it looks and is reached --------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barriers(page, scheme):
    page.emulate_media(color_scheme=scheme)
    run(page, TWICE)
    page.locator("#play-error summary").click()
    found = [(one["id"], [node["html"] for node in one["nodes"]]) for one in violations(page)]
    assert found == [], found
    page.emulate_media(color_scheme="light")


def test_on_a_phone_nothing_is_cut(page):
    page.set_viewport_size({"width": 390, "height": 800})
    run(page, TWICE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for button in page.locator(".play-bar button:visible").all():
        assert button.bounding_box()["height"] >= 32


def test_the_keyboard_is_enough(page):
    write(page, "")
    field = page.locator("#play-program")
    field.press_sequentially("def f(x):\nreturn x\n")
    assert field.input_value() == "def f(x):\n    return x\n    "
    field.press("Shift+Tab")
    field.press_sequentially("f(1)")
    field.press("Tab")
    assert field.input_value() == "def f(x):\n    return x\nf(1)    "
    field.press("Control+a")
    field.press("Tab")
    assert field.input_value() == "    def f(x):\n        return x\n    f(1)    "
    field.press("Control+z")
    assert field.input_value() == "def f(x):\n    return x\nf(1)    "
    field.press("Escape")
    field.press("Tab")
    assert page.evaluate("document.activeElement.id") != "play-program"
    field.press("Control+Enter")
    expect(state(page)).to_have_text(re.compile("nothing to step through"))


def test_in_a_frame_the_stepper_comes_first(site):
    page = site.page("embed", play.address(SAMPLE, 3), viewport={"width": 800, "height": 620})
    expect(page.locator(".agl-count")).to_have_text(re.compile("^3 / "))
    expect(page.locator("#play-editor")).to_be_hidden()
    assert page.locator(".site-head").is_hidden()
    assert page.evaluate("document.documentElement.scrollHeight") <= 640
    page.locator("#play-edit").click()
    expect(page.locator("#play-program")).to_be_visible()
    found = [(one["id"], [node["html"] for node in one["nodes"]]) for one in violations(page)]
    assert found == [], found
    page.evaluate("(fragment) => { location.hash = fragment; }", play.address(OTHER))
    expect(page.locator("#play-program")).to_have_value(OTHER)
    assert not [path for path in site.asked[-8:] if path.endswith(".wasm")]
    assert page.noted == []
    page.context.close()
