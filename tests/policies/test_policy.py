"""Policies as their files say them: waivers, and what a rule asks for."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from mlctl.diagnostics import Report
from mlctl.policies.policy import Policy, expired, read

LAST_DAY = date(2027, 1, 31)
WAIVED = """\
policies:
  - name: two-nodes
    rule: compute.max_instances >= `2`
    waive: [{address: compute/Old-*, until: 2027-01-31}]
"""


def policy(folder: Path, text: str) -> Policy:
    """The only policy of a file."""
    path = folder / "policies.yml"
    path.write_text(text)
    report = Report()
    (only,) = read([path], report)
    assert not report.failed
    return only


@pytest.mark.parametrize(
    ("day", "waived"),
    [
        (date(2027, 1, 30), True),
        (LAST_DAY, True),
        (date(2027, 2, 1), False),
    ],
)
def test_a_waiver_counts_up_to_its_last_day_and_is_reported_from_the_next(
    tmp_path: Path, day: date, waived: bool
) -> None:
    two_nodes = policy(tmp_path, WAIVED)
    assert two_nodes.waived("compute/old-cpu", day) is waived
    assert bool(list(expired([two_nodes], day))) is not waived


@pytest.mark.parametrize("address", ["compute/new", "compute/cold-1", "plan"])
def test_a_waiver_covers_no_other_address(tmp_path: Path, address: str) -> None:
    assert not policy(tmp_path, WAIVED).waived(address, LAST_DAY)


def test_the_kinds_of_a_policy_are_those_of_its_rule_in_their_order(tmp_path: Path) -> None:
    rule = "batch_deployment.compute != 'x' || compute.size == batch_deployment.type"
    asked = policy(tmp_path, f"policies:\n  - {{name: a, rule: {rule}}}\n")
    assert [kind.name for kind in asked.kinds] == ["batch-deployment", "compute"]
    form = asked.kinds[1].forms[0]
    assert [field.at for field in asked.fields_read(form)] == [("type",), ("size",)]
    assert not asked.needs_plan
