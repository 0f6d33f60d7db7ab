"""What a student sees after typing `autograd-lab`: the first notebook as it was delivered, a kernel that is ready, and nothing over it."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
def test_the_command_opens_the_first_notebook_ready_to_run(browser, tmp_path):
    """The page the command hands to the system's browser, opened here in ours."""
    opened = tmp_path / "opened"
    environment = {
        **os.environ,
        "HOME": str(tmp_path),  # a student who has never used Jupyter
        "BROWSER": f"{sys.executable} -c \"import sys; open('{opened}', 'w').write(sys.argv[1])\" %s",
    }
    environment = {name: value for name, value in environment.items() if not name.startswith("JUPYTER")}
    command = [sys.executable, "-m", "autograd_lab", "--dir", str(tmp_path / "work")]
    lab = subprocess.Popen(command, env=environment, cwd=tmp_path, start_new_session=True)
    try:
        end = time.monotonic() + 300
        while not (opened.exists() and opened.read_text()):
            assert lab.poll() is None
            assert time.monotonic() < end, "no browser was opened"
            time.sleep(0.05)

        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.goto(opened.read_text())
        first = min(path.name for path in (tmp_path / "work" / "notebooks").glob("*.ipynb"))
        tab = page.locator(".lm-TabBar-tab.jp-mod-current", has_text=first)
        tab.wait_for(timeout=240_000)
        page.get_by_text(re.compile(r"Python 3.* \| Idle")).wait_for(timeout=240_000)
        page.wait_for_timeout(1000)  # a news notification would come up about now
        assert page.locator(".jp-Dialog").count() == 0
        assert page.locator(".Toastify__toast").count() == 0
        assert (
            page.locator(".lm-TabBar-tab.jp-mod-dirty").count() == 0
        )  # unsaved, though nobody has changed it
        page.context.close()

        lab.send_signal(signal.SIGINT)
        assert lab.wait(timeout=180) == 0
    finally:
        if lab.poll() is None:
            os.killpg(lab.pid, signal.SIGKILL)
            lab.wait()
