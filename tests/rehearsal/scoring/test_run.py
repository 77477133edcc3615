"""One run: mini-batches to real workers on virtual time, and nodes lost at their place."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlctl.rehearsal.inputs import Inputs, mini_batches
from mlctl.rehearsal.losses import Loss, Moment
from mlctl.rehearsal.process import TooLate, running
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.outcome import RehearsalOutcome, Status
from mlctl.rehearsal.scoring.run import KillTargets, RunOrder, ScoringRun, ScriptFails
from tests.builders import rehearsed

DOUBLES = """\
import os
def init():
    global factor
    factor = 2
def run(mini_batch):
    rows = []
    for path in mini_batch:
        with open(path) as file:
            rows.append(f"{int(file.read()) * factor}")
    with open(os.path.join(os.environ["AZUREML_BI_OUTPUT_PATH"], rows[0]), "w") as file:
        file.write("x" * 100)
    return rows
"""


def go(folder: Path, deployment: Deployment, inputs: Inputs, **more: Any) -> RehearsalOutcome:
    """A run of all mini-batches."""
    batches = mini_batches(inputs.names, deployment.mini_batch_size)
    order = RunOrder(
        key="k", inputs=inputs, mini_batches=batches, order=range(len(batches)), **more
    )
    name = f"run-{len(list(folder.iterdir()))}"
    return ScoringRun(
        deployment, order, rehearsed.interpreter(), folder / name, dict(os.environ)
    ).run()


def test_a_calm_run_scores_every_file_once(tmp_path: Path) -> None:
    done = go(
        tmp_path, rehearsed.written(tmp_path, DOUBLES, slots=2), rehearsed.numbers(tmp_path, 7)
    )
    assert done.status is Status.COMPLETED
    assert sorted(map(int, done.all_rows().elements())) == [0, 2, 4, 6, 8, 10, 12]
    assert [len(one.rows) for _, one in sorted(done.scored.items())] == [2, 2, 2, 1]
    assert len(done.init_seconds) == 4
    assert sorted(done.files) == ["0", "12", "4", "8"]


@pytest.mark.parametrize(
    ("loss", "hit", "lines"),
    [
        (Loss(1, 70.0, 0, Moment.BOUNDARY, 0.0, 0), (), ()),
        (Loss(1, 40.0, 0, Moment.RUN, 0.5, 0), (0,), (9,)),
        (Loss(1, 69.9, 0, Moment.REPORT, 0.5, 0), (0,), ()),
        (Loss(1, 8.0, 1, Moment.INIT, 0.8), (), (4,)),
        (Loss(1, 40.0, 1, Moment.WRITE, 0.5, 1), (1,), ()),
    ],
    ids=lambda one: one.moment.value if isinstance(one, Loss) else "",
)
def test_a_node_is_lost_where_it_was_said(
    loss: Loss, hit: tuple[int, ...], lines: tuple[int, ...], tmp_path: Path
) -> None:
    deployment = rehearsed.written(tmp_path, DOUBLES)
    inputs = rehearsed.numbers(tmp_path, 8)
    calm = go(tmp_path, deployment, inputs, trace=True)
    targets = KillTargets(calm.events, calm.init_events, 100)
    lost = go(tmp_path, deployment, inputs, losses=[loss], targets=targets)
    (kill,) = lost.kills
    assert kill.mini_batches == hit
    assert tuple(one.line for one in kill.places) == lines
    assert lost.all_rows() == calm.all_rows()
    assert lost.files == calm.files


def test_a_write_that_is_cut_leaves_half_a_file(tmp_path: Path) -> None:
    once = DOUBLES.replace(', "w") as', ', "x") as')  # the second attempt finds the file
    deployment = rehearsed.written(tmp_path, once, tries=1)
    loss = Loss(1, 40.0, 0, Moment.WRITE, 0.5, 0)
    inputs = rehearsed.numbers(tmp_path, 4)
    done = go(tmp_path, deployment, inputs, losses=[loss], targets=KillTargets({}, 0, 100))
    assert done.files["0"].size == 50
    assert [one.type for one in done.failures] == ["FileExistsError"]
    assert done.failed == {0}


def test_the_same_losses_give_the_same_run(tmp_path: Path) -> None:
    deployment = rehearsed.written(tmp_path, DOUBLES, slots=2)
    inputs = rehearsed.numbers(tmp_path, 16)
    calm = go(tmp_path, deployment, inputs, trace=True)
    targets = KillTargets(calm.events, calm.init_events, 100)
    losses = [Loss(1, 83.0, 0, Moment.RUN, 0.2), Loss(2, 100.0, 1, Moment.RUN, 0.2)]
    runs = [go(tmp_path, deployment, inputs, losses=losses[:1], targets=targets) for _ in range(2)]
    assert runs[0].kills == runs[1].kills
    assert runs[0].timeline == runs[1].timeline


def test_a_job_whose_last_node_is_lost_is_cancelled(tmp_path: Path) -> None:
    deployment = rehearsed.written(tmp_path, DOUBLES)
    losses = [Loss(1, 40.0, node, Moment.RUN, 0.5) for node in (0, 1)]
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 8), losses=losses)
    assert done.status is Status.CANCELED
    assert not done.scored


def test_a_failing_mini_batch_is_tried_as_often_as_it_may(tmp_path: Path) -> None:
    text = "def run(mini_batch):\n    raise ValueError(len(mini_batch))\n"
    deployment = rehearsed.written(tmp_path, text, tries=3)
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 2))
    failures = [(failure.type, failure.place and failure.place.line) for failure in done.failures]
    assert failures == [("ValueError", 2)] * 3
    assert (done.failed, done.status) == ({0}, Status.COMPLETED)


def test_more_failed_files_than_the_threshold_end_the_job(tmp_path: Path) -> None:
    text = "def run(mini_batch):\n    return mini_batch[1:]\n"
    deployment = rehearsed.written(tmp_path, text, error_threshold=1)
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 12))
    assert done.status is Status.FAILED
    assert len(done.scored) == 2


def test_a_sleep_takes_no_time_and_still_breaks_a_timeout(tmp_path: Path) -> None:
    text = "import time\ndef run(mini_batch):\n    time.sleep(86400)\n    return mini_batch\n"
    deployment = rehearsed.written(tmp_path, text, tries=1)
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 2))
    assert [one.type for one in done.failures] == ["Timeout"]


def test_a_process_that_ends_itself_is_a_failed_attempt(tmp_path: Path) -> None:
    text = "import os\ndef run(mini_batch):\n    os._exit(3)\n"
    deployment = rehearsed.written(tmp_path, text, tries=1)
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 4))
    assert [one.type for one in done.failures] == ["Ended", "Ended"]


def test_a_script_that_cannot_be_imported_ends_the_run(tmp_path: Path) -> None:
    deployment = rehearsed.written(tmp_path, "x = 1\nimport nothing_of_that_name\n")
    with pytest.raises(ScriptFails) as told:
        go(tmp_path, deployment, rehearsed.numbers(tmp_path, 2))
    assert told.value.failure.type == "ModuleNotFoundError"
    assert told.value.failure.place is not None
    assert told.value.failure.place.line == 2


def test_a_worker_gets_the_variables_of_the_service_and_a_folder_of_its_own(tmp_path: Path) -> None:
    text = (
        "import os\ndef run(mini_batch):\n"
        "    names = ['AZUREML_MODEL_DIR', 'HOME', 'TMPDIR', 'MINE']\n"
        "    return [os.getcwd(), *(os.environ[name] for name in names)]\n"
    )
    deployment = rehearsed.written(tmp_path, text, variables={"MINE": "yes"}, nodes=1)
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 2))
    plain = [done.plain(row) for row in done.scored[0].rows]
    assert plain == ["/code", "/model", "/home", "/tmp", "yes"]


def test_a_script_reaches_no_network_where_that_can_be_had(tmp_path: Path) -> None:
    text = (
        "import socket\ndef run(mini_batch):\n"
        "    here = socket.create_server(('127.0.0.1', 0))\n"
        "    socket.create_connection(here.getsockname(), 5).close()\n"
        "    return socket.if_nameindex()\n"
    )
    if not rehearsed.interpreter().alone:
        pytest.skip("this system gives no process a network of its own")
    done = go(tmp_path, rehearsed.written(tmp_path, text, tries=1), rehearsed.numbers(tmp_path, 2))
    assert done.scored[0].rows == ("(1, 'lo')",)


def test_a_run_whose_time_is_over_leaves_no_process(tmp_path: Path) -> None:
    interpreter = replace(rehearsed.interpreter(), ends=time.monotonic())
    inputs = rehearsed.numbers(tmp_path, 4)
    batches = mini_batches(inputs.names, 2)
    order = RunOrder(key="k", inputs=inputs, mini_batches=batches, order=range(len(batches)))
    deployment = rehearsed.written(tmp_path, DOUBLES, slots=2)
    run = ScoringRun(deployment, order, interpreter, tmp_path / "run", dict(os.environ))
    with pytest.raises(TooLate):
        run.run()
    assert running(interpreter.mark) == []


def test_a_run_with_two_arguments_gets_the_context_of_its_mini_batch(tmp_path: Path) -> None:
    text = (
        "from azureml_user.parallel_run import EntryScript\nimport os, sys\n"
        "def run(mini_batch, context):\n"
        "    assert os.path.isdir(EntryScript().output_dir)\n"
        "    return [f'{context.minibatch_index} {sys.argv[1]}' for _ in mini_batch]\n"
    )
    deployment = rehearsed.written(tmp_path, text, arguments=("--to=${{outputs.rows}}",))
    done = go(tmp_path, deployment, rehearsed.numbers(tmp_path, 4))
    rows = sorted(done.plain(row) for row in done.all_rows())
    assert rows == ["0 --to=/output/rows", "1 --to=/output/rows"]
