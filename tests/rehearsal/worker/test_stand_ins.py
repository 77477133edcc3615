"""Packages that are not here: stand-ins answer alike for the same input, and element by element."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.rehearsal.scoring.rehearsal import Rehearsal, rehearse
from mlctl.rehearsal.scoring.run import ScriptFails
from mlctl.rehearsal.stage import KillSchedule
from mlctl.rehearsal.worker.stand_ins import Finder, StandIn, digest
from tests.builders import rehearsed

PICTURES = """\
import os
import nothing_like_torch as torch
from nothing_like_torch import nn
from nothing_like_pil import Image

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

@torch.no_grad()
def predict(model, picture):
    return model(picture)

def init():
    global model
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Net().to(device)

def run(mini_batch):
    rows = []
    for path in mini_batch:
        with torch.inference_mode():
            score = predict(model, Image.open(path).resize((3, 3)))
        rows.append(f"{os.path.basename(path)} {score[0]} {float(score):.4f}")
    return rows
"""


def go(folder: Path, text: str, **more: object) -> Rehearsal:
    told = rehearsed.written(folder, text, stand_ins=True, **more)
    inputs = rehearsed.numbers(folder, 4)
    return rehearse(told, inputs, KillSchedule(kills=2), rehearsed.stage(folder / "stage"))


@pytest.mark.slow
def test_a_script_is_rehearsed_without_the_packages_that_it_imports(tmp_path: Path) -> None:
    done = go(tmp_path, PICTURES)
    assert rehearsed.shown(done) == []
    assert done.first.stand_ins == {"nothing_like_torch", "nothing_like_pil"}
    rows = sorted(done.first.all_rows())
    assert [row.split()[0] for row in rows] == ["0.txt", "1.txt", "2.txt", "3.txt"]
    assert len({row.split()[1] for row in rows}) == 4


def test_a_defect_shows_with_stand_ins_too(tmp_path: Path) -> None:
    text = PICTURES.replace(
        "    return rows\n", "        open(os.environ['AZUREML_BI_OUTPUT_PATH'] + '/x', 'a')"
        ".write(rows[-1] + '\\n')\n    return rows\n",
    )  # fmt: skip
    told = rehearsed.written(tmp_path, text, stand_ins=True)
    inputs = rehearsed.numbers(tmp_path, 4)
    done = rehearse(
        told, inputs, KillSchedule(kills=0, only=3), rehearsed.stage(tmp_path / "stage")
    )
    assert rehearsed.shown(done) == [("MLC603", 26)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import nothing_here\ndef run(paths):\n    return len(nothing_here.x) + 'a'\n", 3),
        (
            "import nothing_here\ndef run(paths):\n    try:\n        a, b = nothing_here.f(1)\n"
            "    except ValueError:\n        return []\n    return paths\n",
            5,
        ),
    ],
    ids=["let go", "taken"],
)
def test_an_error_that_a_stand_in_may_have_made_is_no_finding(
    text: str, line: int, tmp_path: Path
) -> None:
    with pytest.raises(ScriptFails) as told:
        go(tmp_path, text)
    assert told.value.stand_ins == {"nothing_here"}
    assert told.value.failure.place is not None
    assert told.value.failure.place.line == line


def test_each_element_is_answered_for_itself() -> None:
    model = StandIn("model")
    one, other = model.predict(["a", "b", "c"]), model.predict(["c", "a"])
    assert len(one) == 3
    assert [str(part) for part in other] == [str(one[2]), str(one[0])]
    assert [float(part) for part in (one * 2)] == [float(part) for part in one * 2]
    assert str(model.predict("a")) != str(model.predict("b"))


def test_a_file_is_known_by_its_content_and_a_folder_by_its_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.png").write_text("same")
        (tmp_path / name / "model").mkdir()
    assert digest(tmp_path / "a" / "x.png") == digest(str(tmp_path / "b" / "x.png"))
    assert digest(str(tmp_path / "a" / "model")) == digest(str(tmp_path / "b" / "model"))
    (tmp_path / "b" / "x.png").write_text("other")
    assert digest(tmp_path / "a" / "x.png") != digest(tmp_path / "b" / "x.png")


def test_only_lines_of_the_script_get_a_stand_in(tmp_path: Path) -> None:
    finder = Finder(str(tmp_path) + "/")
    assert finder.find_spec("nothing_here") is None
    assert finder.packages == set()
