"""The SQLite file of the simulated cloud: how much a write logs."""

from __future__ import annotations

from pathlib import Path

from mlctl.simulator.control_plane.state.store import Store


def test_a_small_write_to_a_new_state_logs_less_than_four_kibibytes(tmp_path: Path) -> None:
    store = Store(tmp_path / "local.db")
    log = tmp_path / "local.db-wal"
    sizes = []
    for moment in (1, 2):
        with store.write() as db:
            db.execute("UPDATE world SET now = ?", (moment,))
        sizes.append(log.stat().st_size)
    assert 0 < sizes[1] - sizes[0] < 4096
    store.close()
