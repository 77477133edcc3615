"""Golden cases: `cases/<topic>/<sentence>/` holds an input and, in expected.txt, what it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mlctl import source
from mlctl.diagnostics import Report
from mlctl.render.findings import diagnostics
from tests.builders.findings import rules_case
from tests.builders.paths import CASES
from tests.builders.plans import plan_case


def source_case(folder: Path) -> str:
    """What reading `input.yml` finds, and the data of its documents."""
    report = Report()
    documents = source.load("input.yml", (folder / "input.yml").read_bytes(), report)
    data = [json.dumps(one.data) + "\n" for one in documents]
    return diagnostics.report(report, width=80) + "".join(data)


# A topic is a folder of cases/ and a function from one of its folders to the text expected there.
TOPICS: Mapping[str, Callable[[Path], str]] = {
    "plan": plan_case,
    "rules": rules_case,
    "source": source_case,
}
FOLDERS = [folder for topic in TOPICS for folder in sorted((CASES / topic).iterdir())]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: f"{one.parent.name}/{one.name}")
def test_a_case_gives_what_it_expects(folder: Path, request: pytest.FixtureRequest) -> None:
    given = TOPICS[folder.parent.name](folder)
    expected = folder / "expected.txt"
    if request.config.getoption("--update-cases"):
        expected.write_text(given, encoding="utf-8")
    assert given == expected.read_text(encoding="utf-8")
