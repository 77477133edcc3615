"""Rehearsals of trainings: killed at a line or in the middle of a file, and started again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mlctl.rehearsal.process import running
from mlctl.rehearsal.stage import Stage
from mlctl.rehearsal.training.job import from_script
from mlctl.rehearsal.training.lives import RunConditions, train
from mlctl.rehearsal.training.model import Cut, Training
from mlctl.rehearsal.training.rehearsal import TrainingFails, rehearse_training
from tests.builders import rehearsed

COUNTS = """\
from pathlib import Path
note = Path("outputs/note")
Path("here").write_text("gone with the node")
start = int(note.read_text()) if note.exists() else 0
for number in range(start, 10):
    note.write_text(str(number))
Path("outputs/end").write_text(f"from {start} to {number}")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kill"), [("last_ckpt", 2), ("momentum", 1)])
def test_a_defect_is_found_at_its_line_and_its_cure_is_found_good(
    name: str, kill: int, tmp_path: Path
) -> None:
    planted = rehearsed.planted(rehearsed.FOLDER / "training" / f"{name}.py")
    assert rehearsed.trained(name, tmp_path / "a", kill) == planted
    assert rehearsed.trained(f"{name}_cured", tmp_path / "b", kill) == []


def script(folder: Path, text: str) -> Training:
    """A training of these lines."""
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text(text)
    return from_script(folder / "code" / "train.py")


def here(stage: Stage) -> RunConditions:
    """As on this machine."""
    return RunConditions(stage.interpreter, dict(os.environ))


def test_outputs_come_back_and_nothing_else_does(tmp_path: Path) -> None:
    training = script(tmp_path, COUNTS)
    stage = rehearsed.stage(tmp_path)
    cut = Cut(line=12)
    done = train(training, here(stage), tmp_path / "run", (cut,))
    first, second = done.lives
    assert first.stopped_at is not None
    assert (first.stopped_at.file, first.stopped_at.line) == ("train.py", 6)
    assert second.code == 0
    lines = {name: content.lines for name, content in done.files.items()}
    assert lines == {"outputs/note": ("9",), "outputs/end": ("from 2 to 9",)}
    assert running(stage.interpreter.mark) == []


def test_a_write_that_is_cut_leaves_half_a_checkpoint(tmp_path: Path) -> None:
    text = 'open("outputs/all", "a").close()\nopen("outputs/some", "w").write("x" * 100)\n'
    training = script(tmp_path, text)
    stage = rehearsed.stage(tmp_path)
    cuts = (Cut(change=2, size=40),)
    done = train(training, here(stage), tmp_path / "run", cuts)
    assert [life.code == 0 for life in done.lives] == [False, True]
    assert [one.path for one in done.lives[0].writes] == ["outputs/all", "outputs/some"]


def test_a_training_that_fails_by_itself_is_no_rehearsal(tmp_path: Path) -> None:
    training = script(tmp_path, "raise SystemExit('no data')\n")
    with pytest.raises(TrainingFails, match="exit code 1"):
        rehearse_training(training, rehearsed.stage(tmp_path), rehearsed.training_plan(1))


def test_metrics_of_mlflow_s_file_store_are_read(tmp_path: Path) -> None:
    text = (
        "import os\nfrom pathlib import Path\n"
        "store = Path(os.environ['MLFLOW_TRACKING_URI'].removeprefix('file://'))\n"
        "folder = store / '0' / 'run' / 'metrics'\nfolder.mkdir(parents=True, exist_ok=True)\n"
        "for step in range(20):\n    with open(folder / 'loss', 'a') as file:\n"
        "        file.write(f'1 0.5 {step}\\n')\n"
    )
    training = script(tmp_path, text)
    done = rehearse_training(training, rehearsed.stage(tmp_path), rehearsed.training_plan(1))
    assert [one.rule.code for one in done.evidence] == ["MLC654"]


def test_a_shell_script_around_the_training_is_watched_too(tmp_path: Path) -> None:
    script(tmp_path, COUNTS)
    command = "echo begins && python train.py && cp outputs/end ${{outputs.model}}/end"
    training = Training(command, tmp_path / "code", {}, ("model",))
    done = rehearse_training(training, rehearsed.stage(tmp_path), rehearsed.training_plan(1))
    assert "named/model/end" in done.calm.files
    assert done.runs[0][2].lives[0].stopped_at is not None


def test_a_rehearsal_kept_within_the_code_does_not_copy_itself(tmp_path: Path) -> None:
    training = script(tmp_path, "open('outputs/a', 'w').close()\n")
    stage = rehearsed.stage(tmp_path / "code" / "kept")
    done = train(training, here(stage), stage.folder / "runs" / "one")
    assert [life.code for life in done.lives] == [0]


def test_what_a_library_keeps_on_the_node_is_no_state_of_the_training(tmp_path: Path) -> None:
    text = (
        "from pathlib import Path\ncache = Path.home() / '.config' / 'library'\n"
        "cache.mkdir(parents=True)\n(cache / 'told.tmp').write_text('1')\n"
        "Path('scratch.bin').write_text('1')\nfor number in range(60):\n    number += 1\n"
        "Path('outputs/end').write_text(str(number))\n"
    )
    done = rehearse_training(
        script(tmp_path, text), rehearsed.stage(tmp_path), rehearsed.training_plan(2)
    )
    assert done.evidence == ()
    assert done.starts_over


def test_a_training_that_does_not_start_again_is_told_at_its_line(tmp_path: Path) -> None:
    text = (
        "import os\nos.mkdir('outputs/points')\n"
        "for number in range(60):\n    number += 1\nopen('outputs/end', 'w').close()\n"
    )
    done = rehearse_training(
        script(tmp_path, text), rehearsed.stage(tmp_path), rehearsed.training_plan(1)
    )
    (found,) = done.evidence
    assert (found.rule.code, found.place and found.place.line) == ("MLC657", 2)
    assert "FileExistsError" in found.message


def test_state_outside_of_the_node_is_told_when_it_is_read_again(tmp_path: Path) -> None:
    far = tmp_path / "far.json"
    text = (
        f"import os\nfar, start = {str(far)!r}, 0\nif os.path.exists(far):\n"
        "    start = int(open(far).read())\nfor number in range(start, 30):\n"
        "    with open(far, 'w') as file:\n        file.write(str(number))\n"
    )
    done = rehearse_training(
        script(tmp_path, text), rehearsed.stage(tmp_path / "stage"), rehearsed.training_plan(1)
    )
    assert [one.rule.code for one in done.evidence] == ["MLC614", "MLC653"]


def test_a_child_that_is_forked_does_not_stop_where_its_parent_would(tmp_path: Path) -> None:
    text = (
        "import os\nchild = os.fork()\nif child == 0:\n    for number in range(100):\n"
        "        number += 1\n    os._exit(0)\nassert os.waitpid(child, 0)[1] == 0\n"
    )
    training, stage = script(tmp_path, text), rehearsed.stage(tmp_path)
    done = train(training, here(stage), tmp_path / "run", (Cut(line=150),))
    assert [(life.lost, life.code) for life in done.lives] == [(False, 0)]


MEETS = """\
import os, socket
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(at) as server:
        for _ in range(size - 1):
            server.accept()[0].close()
    open("outputs/met", "w").write(str(size))
else:
    while True:
        try:
            socket.create_connection(at).close()
            break
        except ConnectionRefusedError:
            pass
"""


def test_the_processes_of_a_distributed_job_meet_and_go_together(tmp_path: Path) -> None:
    training = replace(
        script(tmp_path, MEETS), nodes=2, processes=2, distributed=True, variables={"A": "b"}
    )
    stage = rehearsed.stage(tmp_path)
    if not stage.interpreter.alone:
        pytest.skip("this system gives no process a network of its own")
    done = train(training, here(stage), tmp_path / "run", (Cut(change=1, rank=0),))
    assert [(life.lost, life.code == 0) for life in done.lives] == [(True, False), (False, True)]
    assert done.files["outputs/met"].lines == ("4",)
    assert running(stage.interpreter.mark) == []


def test_a_checkpoint_that_has_not_got_its_name_yet_is_none(tmp_path: Path) -> None:
    name = "recovery_cured"
    plan = rehearsed.training_plan(only=8, anywhere=True)
    plan = replace(plan, schedule=replace(plan.schedule, seed=5))
    told = from_script(rehearsed.FOLDER / "training" / f"{name}.py")
    done = rehearse_training(told, rehearsed.stage(tmp_path), plan)
    assert [one.place and one.place.line for one in done.calm.lives[0].saved[:1]] == [29]
    assert done.runs[0][2].lives[0].lost
    assert done.evidence == ()


@pytest.mark.slow
def test_a_file_that_was_opened_and_not_yet_written_is_half_a_checkpoint(tmp_path: Path) -> None:
    text = (
        "import json, os\nlast, epoch = 'outputs/last', 0\nif os.path.exists(last):\n"
        "    epoch = json.loads(open(last).read())\nwhile epoch < 40:\n    epoch += 1\n"
        "    with open(last, 'w') as file:\n        written = json.dumps(epoch)\n"
        "        file.write(written)\n"
    )
    training, stage = script(tmp_path, text), rehearsed.stage(tmp_path)
    done = rehearse_training(training, stage, rehearsed.training_plan(12))
    assert {one.rule.code for one in done.evidence} == {"MLC652"}
