"""Schedules that start no job: what is over is none of a mistake."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report

SCHEDULE = """\
$schema: https://azuremlschemas.azureedge.net/latest/schedule.schema.json
name: nightly
create_job: azureml:job
trigger: {type: cron, expression: "0 6 * * *", %s}
"""


@pytest.mark.parametrize(
    ("until", "is_error"),
    [
        ("end_time: '2022-06-10T10:15:00'", False),
        ("end_time: '2026-06-19T05:00:00', start_time: '2026-06-19T00:00:00'", True),
    ],
)
def test_an_end_in_the_past_is_a_warning(tmp_path: Path, until: str, is_error: bool) -> None:
    (tmp_path / "s.yml").write_text(SCHEDULE % until)
    report = Report()
    Loader(report, date(2026, 6, 18)).load([str(tmp_path / "s.yml")])
    assert [(one.rule.code, one.is_error) for one in report] == [("MLC366", is_error)]


@pytest.mark.parametrize(
    ("start", "codes"), [("2026-06-17T23:59:59", ["MLC367"]), ("2026-06-18T00:00:00", [])]
)
def test_a_schedule_that_starts_now_is_not_late(
    tmp_path: Path, start: str, codes: list[str]
) -> None:
    (tmp_path / "s.yml").write_text(SCHEDULE % f"start_time: '{start}'")
    report = Report()
    Loader(report, date(2026, 6, 18)).load([str(tmp_path / "s.yml")])
    assert [finding.rule.code for finding in report] == codes
