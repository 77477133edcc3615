"""Jobs and endpoints of one process run their code side by side; the end of one is its own."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlctl.serving.servers import Servers
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import CLUSTER, WS, World, world

JOB = {
    "jobType": "Command",
    "environmentId": "azureml:AzureML-sklearn-1.5@latest",
    "computeId": f"{WS}/computes/cpu",
}


def status(here: World, name: str) -> str:
    """How a job ended: virtual time passes as it is asked for."""
    for _ in range(20):
        shown = str(here.get(f"{WS}/jobs/{name}").data["properties"]["status"])
        if shown in ("Completed", "Failed"):
            break
    return shown


def test_a_job_that_ends_takes_no_process_of_another_with_it(tmp_path: Path) -> None:
    servers = Servers(sys.executable, dict(os.environ))
    here = world(Store(str(tmp_path / "local.db")), servers=servers)
    here.made(f"{WS}/computes/cpu", CLUSTER)
    for name in ("up-first", "go-first", "up-second", "go-second"):
        os.mkfifo(tmp_path / name)

    def begin(name: str) -> int:
        """Run a job that says that it is up, and ends once it is let go."""
        command = f"echo up > {tmp_path}/up-{name}; read line < {tmp_path}/go-{name}; echo $line"
        return here.put(f"{WS}/jobs/{name}", {"properties": {**JOB, "command": command}}).status

    gates = {name: os.open(tmp_path / f"go-{name}", os.O_RDWR) for name in ("first", "second")}
    with ThreadPoolExecutor(2) as threads:
        jobs = {}
        for name in gates:
            jobs[name] = threads.submit(begin, name)
            assert (tmp_path / f"up-{name}").read_text() == "up\n"
        for name, job in jobs.items():
            os.write(gates[name], b"on\n")
            assert job.result() == 201
    assert [status(here, name) for name in jobs] == ["Completed", "Completed"]
