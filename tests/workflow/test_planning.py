"""Files to a plan: what cannot be planned is said, with the option that is in the way."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date
from pathlib import Path

import pytest

import mlctl
from mlctl.backends.ports.backend import Backend
from mlctl.config.loader import LoadedConfig
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.kinds import Address
from mlctl.project.file import Project
from mlctl.project.load import loader, policies_of
from mlctl.workflow.model import (
    InvalidFiles,
    InvalidOption,
    PlanContext,
    PlanOptions,
    Strategy,
    UnreadableFolder,
)
from mlctl.workflow.planning import plan_files
from tests.builders import bodies
from tests.builders.shell import cluster

TODAY = date(2026, 1, 1)


class Planner:
    """Plans files in a new simulated workspace; `notes` and `shown` are what people are given."""

    def __init__(self, project: Project) -> None:
        self.notes: list[str] = []
        self.shown: list[LoadedConfig] = []
        self.context = PlanContext(
            project=project,
            new_loader=lambda report, **settings: loader(
                project,
                report,
                TODAY,
                Variables(),
                lambda: policies_of(project, TODAY),
                **settings,
            ),
            policies=lambda: policies_of(project, TODAY),
            note=self.notes.append,
            show=self.shown.append,
        )

    def plan(
        self, path: Path, options: PlanOptions = PlanOptions(), workspace: Backend | None = None
    ) -> list[str]:
        with nullcontext(workspace) if workspace else mlctl.open_workspace() as backend:
            planned = plan_files([str(path)], backend, self.context, Report(), options)
        return [f"{change.action.name} {change.address}" for change in planned.plan.pending]


def test_what_was_loaded_is_shown_before_the_workspace_is_read(tmp_path: Path) -> None:
    planner = Planner(Project())
    assert planner.plan(cluster(tmp_path / "cpu.yml")) == ["CREATE compute/cpu"]
    assert [str(one.address) for one in planner.shown[0].resources] == ["compute/cpu"]
    (tmp_path / "cpu.yml").write_text("a: [\n")
    with pytest.raises(InvalidFiles):
        planner.plan(tmp_path / "cpu.yml")
    assert len(planner.shown) == 2


def test_a_plan_that_keeps_going_leaves_files_out_but_not_all_of_them(tmp_path: Path) -> None:
    planner, keep_going = Planner(Project()), PlanOptions(keep_going=True)
    text = cluster(tmp_path / "cpu.yml").read_text()
    (tmp_path / "bad.yml").write_text(text.replace("name: cpu", "name: gpu") + "tire: x\n")
    assert planner.plan(tmp_path, keep_going) == ["CREATE compute/cpu"]
    (tmp_path / "cpu.yml").unlink()
    with pytest.raises(InvalidFiles):
        planner.plan(tmp_path, keep_going)


@pytest.mark.parametrize(
    ("options", "option", "why"),
    [
        (PlanOptions(prune=True), "prune", "set `project: NAME` in mlctl.yml"),
        (PlanOptions(targets=["compute/cpu-2"]), "target", "is not declared in these files"),
        (PlanOptions(targets=["cpu"]), "target", "cpu"),
        (
            PlanOptions(strategy=Strategy.BLUE_GREEN, destroying=True),
            "replace_strategy",
            "destroy deletes what they declare",
        ),
        (
            PlanOptions(strategy=Strategy.BLUE_GREEN, targets=["compute/cpu"]),
            "replace_strategy",
            "targets are only part",
        ),
    ],
)
def test_an_option_that_cannot_be_met_is_named(
    tmp_path: Path, options: PlanOptions, option: str, why: str
) -> None:
    with pytest.raises(InvalidOption, match=why) as refused:
        Planner(Project()).plan(cluster(tmp_path / "cpu.yml"), options)
    assert refused.value.option == option


def test_a_folder_that_cannot_be_read_whole_is_not_pruned(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    (tmp_path / "broken.yml").write_text("a: [\n")
    planner = Planner(mlctl.read_project(tmp_path))
    path = cluster(tmp_path / "cpu.yml")
    assert planner.plan(path, PlanOptions(prune=True)) == ["CREATE compute/cpu"]
    with mlctl.open_workspace() as workspace:
        owned = bodies.cluster(tags={"mlctl.project": "scoring"})
        workspace.put(Address("compute", "old"), owned).wait()
        with pytest.raises(UnreadableFolder, match="may declare what would be pruned") as refused:
            planner.plan(path, PlanOptions(prune=True), workspace)
    assert refused.value.report.failed
