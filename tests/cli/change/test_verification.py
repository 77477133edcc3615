"""Saved plans held against the files that they were made from, and against themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run, cluster, edit

Forge = Callable[[dict[str, Any]], object]
SIZE = ("properties", "properties", "scaleSettings")


@pytest.fixture
def plan(mlctl: Run, tmp_path: Path) -> Path:
    """The saved plan of an update of a cluster, which was made from `infra`."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    cluster(tmp_path / "infra" / "cpu.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    edit(tmp_path / "infra" / "cpu.yml", "max_instances: 2", "max_instances: 3")
    assert mlctl("plan", "infra", "--out", "plan.json").code == 0
    return tmp_path / "plan.json"


def forged(plan: Path, forge: Forge) -> None:
    document = json.loads(plan.read_text())
    forge(document)
    plan.write_text(json.dumps(document))


def scale(document: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = document["steps"][0]["body"]
    for key in SIZE:
        settings = settings[key]
    return settings


def more_nodes(document: dict[str, Any]) -> None:
    scale(document)["maxNodeCount"] = 90


def more_nodes_everywhere(document: dict[str, Any]) -> None:
    more_nodes(document)
    document["resource_changes"][0]["change"]["after"]["max_instances"] = 90


def delete_step(document: dict[str, Any]) -> None:
    (step,) = document["steps"]
    document["steps"] = [{**step, "role": "delete"}]


def delete_everywhere(document: dict[str, Any]) -> None:
    delete_step(document)
    document["resource_changes"][0]["change"] |= {"actions": ["delete"], "after": None}


def shown_otherwise(document: dict[str, Any]) -> None:
    document["resource_changes"][0]["change"]["after"]["max_instances"] = 1


def nodes(mlctl: Run) -> Any:
    return mlctl("compute", "show", "-n", "cpu", "--query", "max_instances").json


@pytest.mark.parametrize("flags", [[], ["infra"], ["--plan-only"]], ids=str)
def test_a_plan_as_it_was_made_is_carried_out(mlctl: Run, plan: Path, flags: list[str]) -> None:
    assert mlctl("apply", "plan.json", *flags).code == 0
    assert nodes(mlctl) == 3


@pytest.mark.parametrize("flags", [[], ["infra"], ["--plan-only"]], ids=str)
@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (more_nodes, "compute/cpu: "),
        (delete_step, "compute/cpu: "),
        (shown_otherwise, "compute/cpu: another `max_instances`"),
    ],
)
def test_a_forged_step_is_refused_with_what_differs(
    mlctl: Run, plan: Path, flags: list[str], forge: Forge, told: str
) -> None:
    forged(plan, forge)
    done = mlctl("apply", "plan.json", *flags)
    assert (done.code, told in done.err, nodes(mlctl)) == (1, True, 2), done.err


@pytest.mark.parametrize("forge", [more_nodes_everywhere, delete_everywhere])
def test_a_plan_forged_throughout_is_refused_by_the_files(
    mlctl: Run, plan: Path, forge: Forge
) -> None:
    forged(plan, forge)
    done = mlctl("apply", "plan.json")
    assert (done.code, nodes(mlctl)) == (1, 2)
    assert "does not match the files, which differ:\n  compute/cpu: " in done.err


def test_a_plan_that_says_itself_that_it_destroys_is_refused_where_files_are_named(
    mlctl: Run, plan: Path
) -> None:
    assert mlctl("plan", "infra", "--destroy", "--out", "plan.json").code == 0
    done = mlctl("apply", "plan.json", "infra")
    assert (done.code, nodes(mlctl)) == (1, 2)
    assert "compute/cpu: delete in the plan, update by files" in done.err
    assert mlctl("apply", "plan.json").code == 0


def test_files_that_changed_since_refuse_their_plan(mlctl: Run, plan: Path) -> None:
    edit(plan.parent / "infra" / "cpu.yml", "max_instances: 3", "max_instances: 4")
    done = mlctl("apply", "plan.json")
    assert (done.code, nodes(mlctl)) == (1, 2)
    assert "compute/cpu: another `max_instances`" in done.err


def test_files_that_are_gone_refuse_their_plan_and_say_what_does_without(
    mlctl: Run, plan: Path
) -> None:
    (plan.parent / "infra" / "cpu.yml").unlink()
    (plan.parent / "infra").rmdir()
    done = mlctl("apply", "plan.json")
    assert (done.code, "--plan-only" in done.err) == (1, True)
    assert mlctl("apply", "plan.json", "--plan-only").code == 0


@pytest.mark.parametrize("flags", [[], ["--plan-only"]], ids=str)
def test_what_is_protected_by_now_is_not_deleted(mlctl: Run, plan: Path, flags: list[str]) -> None:
    assert mlctl("plan", "infra", "--destroy", "--out", "plan.json").code == 0
    edit(plan.parent / "mlctl.yml", "scoring", "scoring\nprotect: [compute/cpu]")
    done = mlctl("apply", "plan.json", *flags)
    assert (done.code in (1, 5), "is protected by" in done.err, nodes(mlctl)) == (True, True, 2)


@pytest.mark.parametrize(
    "rule",
    [
        "compute.max_instances <= `2`",
        "!contains(change.fields, 'max_instances')",
        "plan.monthly_ceiling < `1`",
    ],
)
def test_policies_are_asked_without_the_files_too(mlctl: Run, plan: Path, rule: str) -> None:
    edit(plan.parent / "mlctl.yml", "scoring", "scoring\npolicies: [rules.yml]")
    text = f'policies:\n  - name: few\n    rule: "{rule}"\n    message: too many\n'
    (plan.parent / "rules.yml").write_text(text)
    done = mlctl("apply", "plan.json", "--plan-only")
    assert (done.code, "too many" in done.err, nodes(mlctl)) == (5, True, 2), done.err
    (plan.parent / "rules.yml").write_text(text.replace(rule, "compute.max_instances <= `3`"))
    assert mlctl("apply", "plan.json", "--plan-only").code == 0


def test_policies_are_asked_as_they_are_by_now(mlctl: Run, plan: Path) -> None:
    edit(plan.parent / "mlctl.yml", "scoring", "scoring\npolicies: [rules.yml]")
    (plan.parent / "rules.yml").write_text(
        "policies:\n  - name: few\n    rule: compute.max_instances <= `2`\n    message: too many\n"
    )
    done = mlctl("apply", "plan.json")
    assert (done.code, "too many" in done.err, nodes(mlctl)) == (1, True, 2)


def test_a_variable_of_the_plan_is_known_when_it_is_applied(mlctl: Run, plan: Path) -> None:
    edit(plan.parent / "mlctl.yml", "scoring", "scoring\nvariables: {nodes: 1}")
    edit(plan.parent / "infra" / "cpu.yml", "max_instances: 3", "max_instances: ${{ var.nodes }}")
    assert mlctl("plan", "infra", "--var", "nodes=5", "--out", "plan.json").code == 0
    assert "another `max_instances`" in mlctl("apply", "plan.json", "infra").err
    assert mlctl("apply", "plan.json").code == 0
    assert nodes(mlctl) == 5


def test_a_pruning_plan_needs_the_flag_where_files_are_named(mlctl: Run, plan: Path) -> None:
    cluster(plan.parent / "infra" / "old.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    (plan.parent / "infra" / "old.yml").unlink()
    assert mlctl("plan", "infra", "--prune", "--out", "plan.json").code == 0
    assert "compute/old: delete in the plan" in mlctl("apply", "plan.json", "infra").err
    assert mlctl("apply", "plan.json", "infra", "--prune").code == 0


def test_a_secret_is_taken_from_files_of_the_plan_alone(mlctl: Run, plan: Path) -> None:
    (plan.parent / "other.yml").write_text("name: cpu\nsecret: Correct-Horse-1\n")
    place = {"wire": ["tags", "x"], "file": "other.yml", "index": 0, "at": ["secret"]}
    absolute = str(plan.parent / "other.yml")
    forged(plan, lambda it: it["steps"][0].update(secrets=[{**place, "absolute": absolute}]))
    for flags in ([], ["--plan-only"]):
        assert mlctl("apply", "plan.json", *flags).code == 1
    assert "Correct-Horse" not in str(mlctl("compute", "show", "-n", "cpu").out)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"needs": [0]}, "steps"),
        ({"needs": [7]}, "steps"),
        ({"needs": 1}, "steps[0].needs"),
        ({"id": "0"}, "steps[0].id"),
        ({"body": []}, "steps[0].body"),
        ({"secrets": [1]}, "steps[0].secrets[0]"),
        ({"secrets": [{"wire": [None]}]}, "steps[0].secrets[0].wire[0]"),
        ({"uploads": {}}, "steps[0].uploads"),
    ],
    ids=str,
)
def test_a_plan_of_wrong_types_is_told_in_a_sentence(
    mlctl: Run, plan: Path, changes: dict[str, Any], place: str
) -> None:
    forged(plan, lambda document: document["steps"][0].update(changes))
    done = mlctl("apply", "plan.json")
    assert (done.code, f"`{place}` is not what a plan has there" in done.err) == (1, True), done.err


def test_a_forged_successor_deletes_nothing_where_files_are_named(mlctl: Run, plan: Path) -> None:
    create = ("compute", "create", "-n", "precious", "-t", "amlcompute")
    assert mlctl(*create).code == 0
    edit(
        plan.parent / "mlctl.yml",
        "scoring",
        "scoring\nmoved: [{from: compute/precious, to: compute/cpu}]",
    )
    assert mlctl("plan", "infra", "--out", "plan.json").code == 0
    edit(plan.parent / "mlctl.yml", "\nmoved: [{from: compute/precious, to: compute/cpu}]", "")
    done = mlctl("apply", "plan.json", "infra")
    said = "the plan replaces compute/precious by compute/cpu, which mlctl.yml does not"
    assert (done.code, said in done.err) == (1, True), done.err
