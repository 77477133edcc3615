"""Online deployments answer with the user's own code, where that was asked for."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.serving.deployments import CodeSettings, OnlineLimits
from mlctl.serving.servers import OnlineServer, ScriptError
from tests.builders.scripts import online_files
from tests.builders.shell import Run

NAME = ("-n", "scores")


@pytest.fixture
def deployed(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A request to an endpoint whose deployment multiplies by three; a home of the user's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert mlctl("online-endpoint", "create", *NAME).code == 0
    file = str(online_files(tmp_path))
    assert mlctl("online-deployment", "create", "-f", file, "--all-traffic").code == 0
    (tmp_path / "request.json").write_text('{"data": [1, 2]}')
    return str(tmp_path / "request.json")


def test_the_answer_of_a_deployment_is_that_of_its_script(mlctl: Run, deployed: str) -> None:
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", deployed, "--run-code")
    assert (done.code, json.loads(done.json)) == (0, [3, 6])
    logs = mlctl("online-deployment", "get-logs", "-n", "blue", "-e", "scores").json
    assert "factor 3\n" in logs


def test_code_is_run_once_it_was_switched_on_and_until_it_is_off(mlctl: Run, deployed: str) -> None:
    line = ("online-endpoint", "invoke", *NAME, "-r", deployed)
    assert "no code was run" in mlctl(*line).out
    assert mlctl("local", "code", "on").code == 0
    assert mlctl("local", "code", "show").json["run_code"] is True
    assert json.loads(mlctl(*line).json) == [3, 6]
    assert mlctl("local", "code", "off").code == 0
    assert "no code was run" in mlctl(*line).out


def test_an_error_of_the_script_is_the_services_424(
    mlctl: Run, deployed: str, tmp_path: Path
) -> None:
    (tmp_path / "request.json").write_text("{}")
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", deployed, "--run-code")
    assert done.code != 0
    assert "(HTTP 424)" in done.err
    assert "An unexpected error occurred in scoring script" in done.err
    logs = mlctl("online-deployment", "get-logs", "-n", "blue", "-e", "scores").json
    assert "KeyError: 'data'" in logs


def test_a_script_that_cannot_be_loaded_says_its_line(
    mlctl: Run, deployed: str, tmp_path: Path
) -> None:
    (tmp_path / "code" / "score.py").write_text("import no_such_package\n")
    done = mlctl("online-endpoint", "invoke", *NAME, "-r", deployed, "--run-code")
    assert "score.py" in done.err
    assert "line 1" in done.err
    assert "use --python with an interpreter" in done.err


def test_a_python_that_is_not_there_is_refused(mlctl: Run, deployed: str) -> None:
    line = ("online-endpoint", "invoke", *NAME, "-r", deployed, "--run-code")
    assert "no program" in mlctl(*line, "--python", "no-such-python").err


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OnlineServer]:
    """A server that may take 0.3 s for a request, and two requests at once."""
    online_files(tmp_path)
    deployment = Deployment(tmp_path / "code/score.py", tmp_path / "code", tmp_path / "model")
    made = OnlineServer(deployment, OnlineLimits(0.3, 2, 1), tmp_path / "log.txt", _code())
    yield made
    made.end()


def _code() -> CodeSettings:
    return CodeSettings(sys.executable, lambda _: None)


def test_requests_beyond_what_may_wait_are_refused_and_slow_ones_time_out(
    server: OnlineServer,
) -> None:
    assert server.answer('{"data": [1]}').body == "[3]"
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(server.answer, ['{"data": "slow"}'] * 4))
    assert sorted(answer.status for answer in answers) == [408, 408, 429, 429]


def test_a_process_that_has_ended_is_started_again_for_the_next_request(
    server: OnlineServer,
) -> None:
    first = server._pool.workers[0]._process.popen
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert server.answer('{"data": [2]}').body == "[6]"
    assert len(server._pool.workers) == 1


def test_nothing_is_left_of_a_server_that_has_ended(server: OnlineServer) -> None:
    process = server._pool.workers[0]._process.popen
    server.end()
    assert process.poll() is not None
    assert not server._pool._folder.exists()


def test_a_script_without_run_is_no_server(tmp_path: Path) -> None:
    online_files(tmp_path, "def init():\n    pass\n")
    deployment = Deployment(tmp_path / "code/score.py", tmp_path / "code", tmp_path / "model")
    began = time.monotonic()
    with pytest.raises(ScriptError, match="no function `run`"):
        OnlineServer(deployment, OnlineLimits(5, 2, 1), tmp_path / "log.txt", _code())
    assert time.monotonic() - began < 5
