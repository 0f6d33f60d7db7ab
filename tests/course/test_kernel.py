import gc
import os
import subprocess
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

from autograd_lab.course.kernel import LONGEST_SOCKET, manager_of_files


def started(manager):
    manager.start_kernel(stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    return client


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sockets that are files")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_kernel_listens_on_files_and_leaves_none():
    manager = manager_of_files(KernelManager, kernel_name="python3")
    client = started(manager)
    folder = Path(manager.ip).parent
    assert manager.transport == "ipc"
    assert len([*folder.iterdir()]) == 5
    client.execute_interactive("print(6 * 7)", output_hook=(said := []).append, timeout=60)
    assert [m["content"]["text"] for m in said if m["msg_type"] == "stream"] == ["42\n"]
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    del client, manager
    gc.collect()
    assert not folder.exists()


def test_where_a_path_is_too_long_it_listens_on_ports(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * LONGEST_SOCKET)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert manager_of_files(KernelManager).transport == "tcp"
