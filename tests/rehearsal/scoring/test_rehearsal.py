"""Rehearsals of the samples: each defect at its line, and nothing on the cured twins.

The table of all samples takes minutes: `make test-rehearsal` prints it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlctl.rehearsal.folders import snapshot
from mlctl.rehearsal.inputs import Inputs
from mlctl.rehearsal.process import running
from mlctl.rehearsal.rules import REHEARSAL_RULES
from mlctl.rehearsal.scoring.rehearsal import rehearse
from mlctl.rehearsal.stage import KillSchedule
from tests.builders import rehearsed

SCRIPTS = sorted(
    one.stem
    for one in (rehearsed.FOLDER / "scoring").glob("*.py")
    if not one.stem.endswith("_cured")
)
TRAININGS = sorted(
    one.stem
    for one in (rehearsed.FOLDER / "training").glob("*.py")
    if not one.stem.endswith("_cured")
)
RUNS = int(os.environ.get("MLCTL_TEST_REHEARSAL", "0"))
PARTS = 20  # of the runs, for as many processes
# The kill that shows the defect; None: the calm runs do.
QUICK = {
    "appends": 3,
    "skips_existing": 5,
    "counts_up": None,
    "says_nothing": None,
    "stumbles": None,
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kill"), QUICK.items())
def test_a_defect_is_found_at_its_line_and_its_cure_is_found_good(
    name: str, kill: int | None, tmp_path: Path
) -> None:
    plan = KillSchedule(kills=0, only=kill)
    script = rehearsed.FOLDER / "scoring" / f"{name}.py"
    assert rehearsed.shown(rehearsed.of_sample(name, tmp_path / "a", plan)) == rehearsed.planted(
        script
    )
    assert rehearsed.shown(rehearsed.of_sample(f"{name}_cured", tmp_path / "b", plan)) == []


def test_each_rule_has_a_sample_and_each_sample_a_cured_twin() -> None:
    files = [
        *(rehearsed.FOLDER / "scoring").glob("*.py"),
        *(rehearsed.FOLDER / "training").glob("*.py"),
    ]
    found = {
        one.stem: {code for code, _ in rehearsed.planted(one)}
        for one in files
        if one.suffix == ".py"
    }
    assert {code for codes in found.values() for code in codes} == {
        one.code for one in REHEARSAL_RULES
    }
    bad = {name for name in found if not name.endswith("_cured")}
    assert {f"{name}_cured" for name in bad} == found.keys() - bad
    assert not any(found[f"{name}_cured"] for name in bad)


def test_a_rehearsal_leaves_no_process_and_damages_no_input(tmp_path: Path) -> None:
    text = (
        "import os\ndef run(mini_batch):\n    for one in mini_batch:\n        os.remove(one)\n"
        "    return mini_batch\n"
    )
    deployment = rehearsed.written(tmp_path, text)
    inputs = rehearsed.numbers(tmp_path, 4)
    stage = rehearsed.stage(tmp_path / "stage")
    done = rehearse(deployment, inputs, KillSchedule(kills=1), stage)
    assert rehearsed.shown(done) == [("MLC618", 4)]
    assert running(stage.interpreter.mark) == []
    assert len(list((tmp_path / "numbers").iterdir())) == 4
    assert list((tmp_path / "stage" / "runs").iterdir()) == []


LOCKS_THE_NODE = """\
import os, tempfile
def run(mini_batch):
    lock = os.path.join(tempfile.gettempdir(), os.path.basename(mini_batch[0]) + ".lock")
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    rows = [os.path.basename(path) for path in mini_batch]
    os.remove(lock)
    return rows
"""


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 2])
def test_a_lock_on_the_disk_of_a_node_that_survives_is_met(slots: int, tmp_path: Path) -> None:
    deployment = rehearsed.written(tmp_path, LOCKS_THE_NODE, slots=slots)
    stage = rehearsed.stage(tmp_path / "stage")
    done = rehearse(deployment, rehearsed.numbers(tmp_path, 8), KillSchedule(kills=12), stage)
    assert rehearsed.shown(done) == [("MLC615", 4)]
    (shown,) = done.evidence
    assert "after a worker of node" in shown.message
    assert "was killed at its timeout" in shown.message


@pytest.mark.slow
def test_the_same_seed_shows_the_same(tmp_path: Path) -> None:
    plan = KillSchedule(kills=0, only=8, seed=3)
    runs = [rehearsed.of_sample("appends", tmp_path / str(one), plan) for one in range(2)]
    assert runs[0].evidence == runs[1].evidence
    assert runs[0].runs[0].kills == runs[1].runs[0].kills


@pytest.mark.slow
def test_a_port_that_two_workers_of_a_node_take_is_found_at_its_line(tmp_path: Path) -> None:
    text = (
        "import socket\ndef init():\n    global here\n    here = socket.socket()\n"
        "    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        "    here.bind(('127.0.0.1', 18765))\ndef run(mini_batch):\n    return mini_batch\n"
    )
    shown = []
    for slots in (1, 2):
        (tmp_path / str(slots)).mkdir()
        deployment = rehearsed.written(tmp_path / str(slots), text, slots=slots)
        stage = rehearsed.stage(tmp_path / str(slots) / "stage")
        done = rehearse(
            deployment, rehearsed.numbers(tmp_path / str(slots), 4), KillSchedule(kills=0), stage
        )
        shown.append(rehearsed.shown(done))
    assert shown == [[], [("MLC615", 6)]]


@pytest.mark.slow
@pytest.mark.skipif(not RUNS, reason="make test-rehearsal")
@pytest.mark.parametrize("part", range(PARTS))
def test_random_rehearsals_end_leave_nothing_and_show_the_same(part: int, tmp_path: Path) -> None:
    script = rehearsed.FOLDER / "scoring" / "appends.py"
    inputs, before = Inputs.find(rehearsed.INPUT), snapshot(rehearsed.FOLDER)
    for seed in range(part, RUNS, PARTS):
        stage = rehearsed.stage(tmp_path / str(seed))
        plan = KillSchedule(seed=seed, kills=5)  # one of each moment
        done = rehearse(rehearsed.deployment(script), inputs, plan, stage)
        assert rehearsed.shown(done) == rehearsed.planted(script), seed
        assert running(stage.interpreter.mark) == [], seed
        assert [*(tmp_path / str(seed)).rglob("*")] == [tmp_path / str(seed) / "runs"], seed
    assert snapshot(rehearsed.FOLDER) == before


@pytest.mark.slow
@pytest.mark.skipif(not RUNS, reason="make test-rehearsal")
def test_all_defects_are_found_at_their_lines_and_the_cured_twins_are_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, wrong = [], []
    for name in SCRIPTS:
        planted = rehearsed.planted(rehearsed.FOLDER / "scoring" / f"{name}.py")
        bad = rehearsed.shown(rehearsed.of_sample(name, tmp_path / name))
        cured = rehearsed.shown(rehearsed.of_sample(f"{name}_cured", tmp_path / f"{name}_cured"))
        rows.append(f"{name:16} {_text(planted):12} {_text(bad):24} {_text(cured)}")
        if bad != planted or cured:
            wrong.append(name)
    for name in sorted(TRAININGS):
        planted = rehearsed.planted(rehearsed.FOLDER / "training" / f"{name}.py")
        bad = rehearsed.trained(name, tmp_path / name)
        cured = rehearsed.trained(f"{name}_cured", tmp_path / f"{name}_cured")
        rows.append(f"{name:16} {_text(planted):12} {_text(bad):24} {_text(cured)}")
        if bad != planted or cured:
            wrong.append(name)
    with capsys.disabled():
        print("\n" + "\n".join([f"{'script':16} {'planted':12} {'found':24} cured", *rows]))
    assert wrong == []


def _text(found: list[tuple[str, int]]) -> str:
    return ", ".join(f"{code}:{line}" for code, line in found) or "-"
