"""Evidence points to the line that has to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.rehearsal.evidence import CodeLine

TEXT = """\
def save(step):
    open("outputs/last", "w").write(str(step))
for epoch in range(3):
    for step in range(9):
        save(step)
while True:
    open("outputs/a", "w")
open("outputs/end", "w")
"""


@pytest.mark.parametrize(("line", "loop"), [(2, 3), (5, 3), (7, 6), (8, 8)])
def test_a_write_is_of_the_outermost_loop_around_it_or_its_function(
    line: int, loop: int, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(TEXT)
    assert CodeLine("train.py", line).loop_around(tmp_path) == CodeLine("train.py", loop)
