"""Which checkpoints are trusted, by the names and sizes of their files."""

from __future__ import annotations

import pytest

from mlctl.finishing.cloud import count_saved_steps


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        ([], None),
        (["step-000040.ckpt.partial", ".lock"], None),
        (["step-000040.ckpt", "step-000050.ckpt.partial"], 40),
        (["epoch=3-step=120.ckpt", "config.json"], 120),
        (["checkpoint-30/model.bin", "checkpoint-20/model.bin"], 30),
        (["model.bin"], 10),
        (["model.bin.tmp"], None),
        (["step-9999.ckpt"], 10),
        (["config.json", "step-50.ckpt.tmp"], None),
    ],
)
def test_the_names_of_files_say_how_far_a_checkpoint_is(
    names: list[str], steps: int | None
) -> None:
    assert count_saved_steps(dict.fromkeys(names, 100), 10, 1000) == steps


@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        ({"step-20.pt": 100, "step-40.pt": 101, "step-60.pt": 55}, 40),  # it ends too early
        ({"step-20.pt": 100, "step-40.pt": 0}, 20),
        ({"step-20.pt": 0}, None),
        ({"model.pt": 0}, None),
        ({"step-20/a": 9, "step-20/b": 9, "step-40/a": 9}, 20),  # a file of it is missing
        ({"step-20/a": 9, "step-40/a": 9, "step-40/b": 9, "step-60/a": 9, "step-60/b": 9}, 60),
        ({"step-20/m-00001-of-00002": 9, "step-20/m-00002-of-00002": 9}, 20),
        ({"step-20/m-00001-of-00002": 9}, None),  # of two parts it has one
        ({"step-20/a": 9, "step-20/_SUCCESS": 0}, 20),
        ({"step-20/a": 9, "step-20/b.tmp": 3}, None),
        ({"step-40.pt": 50, "step-60.pt": 100, "step-80.pt": 95}, 80),
        ({"step-20.pt": 100, "step-40.pt": 90}, 40),  # nine tenths are enough
        ({"step-20.pt": 100, "step-40.pt": 89}, 20),
    ],
)
def test_a_checkpoint_that_is_not_whole_is_not_trusted(
    sizes: dict[str, int], steps: int | None
) -> None:
    assert count_saved_steps(sizes, 10, 1000) == steps
