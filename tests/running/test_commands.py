"""What a command may fill."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.running.commands import _is_full


@pytest.mark.parametrize(("limit", "is_full"), [(9, True), (10, False), (0, False)])
def test_a_folder_is_full_above_the_limit_and_0_is_none(
    limit: int, is_full: bool, tmp_path: Path
) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "a").write_bytes(b"x" * 10)
    assert _is_full(tmp_path, limit) is is_full
