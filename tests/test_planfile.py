"""Plans that are saved, and found again as they were, but for the secrets."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlctl import planfile, source
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address
from mlctl.planfile import PlanFileError
from mlctl.planning.model import Action
from mlctl.planning.steps.work import PlanStep, Work
from mlctl.pointer import Data
from tests.builders.plans import Planned, plan, succeeded, workspace
from tests.builders.resources import CLUSTER, ENDPOINT

PASSWORD = "Correct-Horse-1"
SSH = CLUSTER + f"ssh_settings: {{admin_username: kim, admin_password: {PASSWORD}}}\n"
WIRE = ("properties", "properties", "userAccountCredentials", "adminUserPassword")


def saved(planned: Planned, folder: Path) -> planfile.SavedPlan:
    planfile.save(planned.plan, planned.work, folder / "plan.json")
    return planfile.load(folder / "plan.json")


def in_file(folder: Path, text: str = SSH) -> Planned:
    """The plan of a file that stands in `folder`."""
    (folder / "main.yml").write_text(text, encoding="utf-8")
    return plan(text, name=str(folder / "main.yml"))


def read(file: str, index: int) -> Mapping[str, Data] | None:
    return next((one.data for one in source.read(file, Report()) if one.index == index), None)


def as_data(step: PlanStep) -> dict[str, Any]:
    return {name: getattr(step, name) for name in PlanStep.__slots__}


def refusal(action: Callable[[], object]) -> PlanFileError:
    with pytest.raises(PlanFileError) as caught:
        action()
    return caught.value


def edited(folder: Path, **changes: Data) -> Path:
    """A saved plan with other values."""
    path = folder / "plan.json"
    made = plan(CLUSTER)
    planfile.save(made.plan, made.work, path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes))
    return path


def test_a_saved_plan_is_found_again_as_it_was(tmp_path: Path) -> None:
    made = plan(CLUSTER + "size: Standard_DS2_v2\n", ENDPOINT, backend=workspace(CLUSTER))
    found = saved(made, tmp_path).work
    assert list(map(as_data, found.steps)) == list(map(as_data, made.work.steps))
    assert (found.backend, found.scope, found.read) == (
        made.work.backend,
        made.work.scope,
        made.work.read,
    )


def test_a_saved_plan_can_be_shown_and_says_what_it_does(tmp_path: Path) -> None:
    found = saved(plan(CLUSTER, backend=workspace(CLUSTER)), tmp_path)
    assert found.actions == {Address("compute", "cpu-cluster"): Action.NO_OP}
    assert found.document["summary"] == {"add": 0, "change": 0, "destroy": 0}
    assert not found.applyable


def test_a_saved_plan_can_be_carried_out(tmp_path: Path) -> None:
    backend = workspace()
    made = plan(CLUSTER, ENDPOINT, backend=backend)
    succeeded(saved(made, tmp_path).work, backend)
    assert plan(CLUSTER, ENDPOINT, backend=backend).plan.empty


def test_no_secret_is_saved(tmp_path: Path) -> None:
    for made in (in_file(tmp_path), plan(SSH.replace("kim", "lee"), backend=workspace(SSH))):
        saved(made, tmp_path)
        assert PASSWORD not in (tmp_path / "plan.json").read_text(encoding="utf-8")


def test_a_line_of_the_users_text_is_not_saved(tmp_path: Path) -> None:
    """It may hold a secret: this plan is rejected because of a number beside a password."""
    text = SSH.replace("}\n", "}\nmin_instances: 9999\nmax_instances: 9999\n")
    flow = f"{{{', '.join(text.strip().splitlines())}}}\n"
    made = in_file(tmp_path, flow)
    assert made.plan.rejections
    saved(made, tmp_path)
    kept = (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert json.loads(kept)["diagnostics"][0]["snippet"] is None
    assert PASSWORD not in kept


def test_a_secret_that_nobody_listed_is_not_saved(tmp_path: Path) -> None:
    made = in_file(tmp_path)
    forgetful = replace(made.work, steps=tuple(replace(s, secrets=()) for s in made.work.steps))
    planfile.save(made.plan, forgetful, tmp_path / "plan.json")
    assert PASSWORD not in (tmp_path / "plan.json").read_text(encoding="utf-8")


def test_secrets_are_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.yml").write_text(SSH, encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    made = plan(SSH, name="main.yml")
    planfile.save(made.plan, made.work, "plan.json")
    monkeypatch.chdir(tmp_path / "below")
    work = planfile.fill_secrets(planfile.load("../plan.json").work, read)
    assert PASSWORD in json.dumps(work.steps[0].body)


def test_secrets_come_back_from_the_users_file(tmp_path: Path) -> None:
    made = in_file(tmp_path)
    work = planfile.fill_secrets(saved(made, tmp_path).work, read)
    assert [one.body for one in work.steps] == [one.body for one in made.work.steps]
    assert PASSWORD in json.dumps(work.steps[0].body)


def test_filling_in_secrets_leaves_the_work_without_them_alone(tmp_path: Path) -> None:
    work = saved(in_file(tmp_path), tmp_path).work
    planfile.fill_secrets(work, read)
    assert PASSWORD not in json.dumps(work.steps[0].body)


def test_secrets_are_found_in_another_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "main.yml").write_text(SSH, encoding="utf-8")
    monkeypatch.chdir(here)
    made = plan(SSH, name="main.yml")
    planfile.save(made.plan, made.work, there / "plan.json")
    (here / "main.yml").unlink()
    monkeypatch.chdir(there)
    work = planfile.fill_secrets(planfile.load("plan.json").work, read)
    assert PASSWORD in json.dumps(work.steps[0].body)


def test_a_secret_whose_file_is_gone_is_asked_for(tmp_path: Path) -> None:
    work = saved(in_file(tmp_path), tmp_path).work
    (tmp_path / "main.yml").unlink()
    error = refusal(lambda: planfile.fill_secrets(work, read))
    assert "`ssh_settings.admin_password` of compute/cpu-cluster" in error.message
    assert "put the file back" in error.hint


def test_a_secret_that_the_file_no_longer_gives_is_asked_for(tmp_path: Path) -> None:
    work = saved(in_file(tmp_path), tmp_path).work
    (tmp_path / "main.yml").write_text(CLUSTER, encoding="utf-8")
    assert "does not give it" in refusal(lambda: planfile.fill_secrets(work, read)).message


def test_a_secret_of_another_resource_is_never_taken(tmp_path: Path) -> None:
    work = saved(in_file(tmp_path), tmp_path).work
    (tmp_path / "main.yml").write_text(SSH.replace("cpu-cluster", "gpu-cluster"), encoding="utf-8")
    assert "other contents" in refusal(lambda: planfile.fill_secrets(work, read)).message


def test_a_secret_from_standard_input_cannot_be_saved(tmp_path: Path) -> None:
    made = plan(SSH, name="<stdin>")
    error = refusal(lambda: planfile.save(made.plan, made.work, tmp_path / "plan.json"))
    assert "standard input" in error.message
    assert not (tmp_path / "plan.json").exists()


def test_only_its_owner_can_read_a_saved_plan(tmp_path: Path) -> None:
    saved(plan(CLUSTER), tmp_path)
    assert stat.S_IMODE((tmp_path / "plan.json").stat().st_mode) == 0o600


def test_saving_replaces_a_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("old")
    saved(plan(CLUSTER), tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.json").mkdir()
    made = plan(CLUSTER)
    error = refusal(lambda: planfile.save(made.plan, made.work, tmp_path / "plan.json"))
    assert "directory" in error.message
    assert len(list(tmp_path.iterdir())) == 1


def test_a_thousand_replacements_take_less_than_three_megabytes(tmp_path: Path) -> None:
    before = [CLUSTER.replace("cpu-cluster", f"c{number:05}x") for number in range(50)]
    after = [f"{one}enable_node_public_ip: false\n" for one in before]
    made = plan(*after, backend=workspace(*before))
    saved(made, tmp_path)
    assert (tmp_path / "plan.json").stat().st_size < len(after) * 3000
    loaded = planfile.load(tmp_path / "plan.json").work.steps
    over = [(one.id, one.body_over(None), one.without) for one in made.work.steps]
    assert [(one.id, one.body_over(None), one.without) for one in loaded] == over


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b'{"format_version": "1.0", "steps": [', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "no plan"),
        (b'{"terraform_version": "1.9"}', "no plan"),
        (b'{"format_version": "5.0"}', "damaged"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    assert said in refusal(lambda: planfile.load(tmp_path / "plan.json")).message


def test_a_missing_file_and_a_folder_are_no_plans(tmp_path: Path) -> None:
    assert "No such file" in refusal(lambda: planfile.load(tmp_path / "none.json")).message
    assert "directory" in refusal(lambda: planfile.load(tmp_path)).message


@pytest.mark.parametrize("version", ["1.0", "3.0", "4.0"])
def test_another_format_names_the_version_that_made_it(tmp_path: Path, version: str) -> None:
    error = refusal(
        lambda: planfile.load(edited(tmp_path, format_version=version, mlctl_version="9"))
    )
    assert f"has the format {version}, which this mlctl does not know" in error.message
    assert "9" in error.hint


def test_a_newer_minor_format_is_read(tmp_path: Path) -> None:
    assert planfile.load(edited(tmp_path, format_version="5.7", more=[])).work.steps


@pytest.mark.parametrize(
    "change",
    [
        {"steps": [{"id": 1}]},
        {"steps": None},
        {"read": {"nonsense": None}},
        {"workspace": {"name": "x"}},
        {"applyable": None, "resource_changes": [{}]},
    ],
    ids=str,
)
def test_a_damaged_plan_is_refused(tmp_path: Path, change: dict[str, Data]) -> None:
    assert "damaged" in refusal(lambda: planfile.load(edited(tmp_path, **change))).message


def test_work_without_secrets_needs_no_files(tmp_path: Path) -> None:
    work: Work = saved(plan(CLUSTER, name="<stdin>"), tmp_path).work
    assert planfile.fill_secrets(work, lambda _file, _index: None).steps == work.steps
