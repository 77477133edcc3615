"""The memory of a running studio: flat, however often its pages are asked for."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from mlctl.backends.local.backend import LocalBackend
from tests.builders import shell
from tests.builders.workspace import SCOPE
from tests.studio.conftest import with_cluster, with_job

pytest.importorskip("jinja2", reason="the studio extra is not installed")
pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says it of another process"),
]
PAGES = ("", "clusters", "jobs", "happened", "clusters/cpu", "jobs/job-0")
WARM, MINUTES, MOST_GROWTH_MB = 20, 60, 2.0


def test_memory_is_flat_over_an_hour_of_virtual_time(tmp_path: Path) -> None:
    (tmp_path / ".mlctl").mkdir()
    cloud = LocalBackend(str(tmp_path / ".mlctl" / "local.db"), SCOPE)
    with_cluster(cloud, most=40)
    for number in range(4):
        with_job(cloud, f"job-{number}", steps=6000, nodes=10)
    cloud.close()
    where = ("-g", SCOPE.resource_group, "-w", SCOPE.workspace, "--port", "0", "--no-browser")
    process = shell.start(tmp_path, "studio", *where, stdout=subprocess.PIPE)
    assert process.stdout is not None
    address = process.stdout.readline().rpartition(" ")[2].strip()

    def let_minutes_pass(count: int) -> float:
        for _ in range(count):
            urllib.request.urlopen(address + "act/step", b"time=1m").close()
            for page in PAGES:
                urllib.request.urlopen(f"{address}{page}?part=1").close()
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        size = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert size is not None
        return int(size[1]) / 1000

    try:
        begin = let_minutes_pass(WARM)
        assert let_minutes_pass(MINUTES) - begin < MOST_GROWTH_MB
    finally:
        process.send_signal(signal.SIGINT)
        shell.finish(process)
