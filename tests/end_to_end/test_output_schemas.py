"""What commands print for programs is as `schemas/output` says, and no key of it is unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry

from mlctl.backends.local.backend import LocalBackend
from mlctl.planning.model import ActionReason
from tests.builders.leased import CI, LOCAL
from tests.builders.paths import ROOT
from tests.builders.shell import Run, cluster, edit

FOLDER = ROOT / "schemas" / "output"
PAGE = ROOT / "docs" / "output.md"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))
ELSEWHERE = {"advice", "forecast", "training-forecast"}  # tests of their commands
TRAINING = (
    "import pathlib\n"
    "for epoch in range(2):\n"
    "    pathlib.Path('outputs').mkdir(exist_ok=True)\n"
    "    pathlib.Path('outputs/model.txt').write_text(str(epoch))\n"
    "    print(epoch)\n"
)


def strict(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    return {"additionalProperties": False, **closed} if "properties" in schema else closed


def references(schema: Any) -> Iterator[str]:
    """Every `$ref` in it."""
    if isinstance(schema, list):
        for value in schema:
            yield from references(value)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Of a schema of the folder, closed."""
    schema = strict(json.loads((FOLDER / f"{name}.schema.json").read_text()))
    return jsonschema.Draft202012Validator(
        schema, registry=Registry(), format_checker=jsonschema.FormatChecker()
    )


def check(name: str, printed: Any) -> None:
    """That what was printed is as the schema says."""
    errors = [f"{one.json_path}: {one.message}" for one in validator(name).iter_errors(printed)]
    assert errors == []


@pytest.fixture
def infra(tmp_path: Path) -> Path:
    """A project of a cluster, and of one that is not written as it should be."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    cluster(tmp_path / "infra" / "cpu.yml")
    return tmp_path / "infra"


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_listed_on_the_page(name: str) -> None:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [target for target in references(schema) if not target.startswith("#/$defs/")] == []
    findings = json.loads((FOLDER / "findings.schema.json").read_text())["$defs"]
    shared = findings.keys() & schema.get("$defs", {}).keys()
    assert [key for key in shared if schema["$defs"][key] != findings[key]] == []
    assert schema["$id"] == f"https://mlctl.dev/schemas/output/{name}.schema.json"
    assert f"schemas/output/{name}.schema.json" in PAGE.read_text()


def test_findings(mlctl: Run, infra: Path) -> None:
    edit(infra / "cpu.yml", "max_instances: 2", "max_instance: 2")
    printed = mlctl("validate", "infra", "-o", "json").json
    assert printed["error_count"] > 0
    check("findings", printed)


def plans(mlctl: Run, infra: Path) -> Iterator[Any]:
    """Plans of every action, one that is refused among them."""
    yield mlctl("plan", "infra", "-o", "json").json
    mlctl("apply", "infra", "--yes")
    yield mlctl("plan", "infra", "-o", "json").json
    edit(infra / "cpu.yml", "max_instances: 2", "max_instances: 3\ntags: {a: b}")
    yield mlctl("plan", "infra", "-o", "json").json
    edit(infra / "cpu.yml", "D4ds", "D8ds")
    yield mlctl("plan", "infra", "-o", "json").json
    yield mlctl("plan", "infra", "-o", "json", "--destroy").json
    (infra.parent / "mlctl.yml").write_text("project: others\n")
    yield mlctl("plan", "infra", "-o", "json").json


def test_plans(mlctl: Run, infra: Path) -> None:
    printed = list(plans(mlctl, infra))
    changes = [change["change"] for one in printed for change in one["resource_changes"]]
    acts = {str(one["actions"]) for one in changes}
    assert len(acts) == 5
    assert [one["refused"] for one in printed] == [False] * 5 + [True]
    for one in printed:
        check("plan", one)


def test_a_plan_that_renames(mlctl: Run, infra: Path) -> None:
    mlctl("apply", "infra", "--yes")
    edit(infra / "cpu.yml", "D4ds", "D8ds")
    printed = mlctl("plan", "infra", "--replace-strategy", "blue-green", "-o", "json").json
    assert "+name: cpu-v2" in printed["patch"]
    check("plan", printed)


def test_the_schema_of_plans_knows_every_reason() -> None:
    schema = json.loads((FOLDER / "plan.schema.json").read_text())
    change = schema["properties"]["resource_changes"]["items"]["properties"]
    assert set(change["action_reason"]["enum"]) == {None, *(one.value for one in ActionReason)}


def test_a_plan_with_a_forecast(mlctl: Run, sample: Path) -> None:
    flags = ("--simulate", "--files", "20", "--seconds-per-file", "5", "--runs", "10")
    printed = mlctl("plan", "sample", *flags, "-o", "json").json
    assert "forecast" in printed
    check("plan", printed)


def test_drift(mlctl: Run, infra: Path) -> None:
    mlctl("apply", "infra", "--yes")
    cluster(infra / "gone.yml")
    mlctl("compute", "update", "-n", "cpu", "--set", "tags.team=x")
    mlctl("compute", "update", "-n", "cpu", "--max-instances", "7")
    printed = mlctl("drift", "infra", "-o", "json").json
    assert [one["missing"] for one in printed["drift"]] == [False, True]
    check("drift", printed)


def test_events(mlctl: Run, infra: Path) -> None:
    for name in ("other", "third"):
        cluster(infra / f"{name}.yml")
    lines = mlctl("apply", "infra", "--yes", "-o", "json").lines
    edit(infra / "cpu.yml", "max_instances: 2", "max_instances: 3")
    mlctl("local", "fault", "add", "throttle", "--operation", "put")
    lines += mlctl("apply", "infra", "--yes", "-o", "json").lines
    edit(infra / "cpu.yml", "D4ds", "D8ds")
    refused = ("--operation", "put", "--status", "400", "--code", "BadArgument")
    mlctl("local", "fault", "add", "fail", *refused)
    lines += mlctl("apply", "infra", "--yes", "-o", "json").lines
    edit(infra / "cpu.yml", "size: ", "sizes: ")
    lines += mlctl("apply", "infra", "--yes", "-o", "json").lines
    edit(infra / "cpu.yml", "sizes: ", "size: ")
    lines += mlctl("destroy", "infra", "--yes", "-o", "json").lines
    known = json.loads((FOLDER / "events.schema.json").read_text())["oneOf"]
    types = {one["properties"]["type"]["const"] for one in known}
    assert {one["type"] for one in lines} == types
    for one in lines:
        check("events", one)


def test_tests(mlctl: Run, infra: Path) -> None:
    (infra.parent / "a.test.yml").write_text(
        "tests:\n- {name: good, files: [infra], expect: {changes: {compute/cpu: create}}}\n"
        "- {name: bad, files: [infra], expect: {changes: {compute/cpu: delete}}}\n"
    )
    printed = mlctl("test", "-o", "json").json
    assert [one["passed"] for one in printed] == [True, False]
    check("tests", printed)


def test_leases(mlctl: Run) -> None:
    mlctl("compute", "list")  # makes the state
    backend = LocalBackend(Path(".mlctl", "local.db"), LOCAL)
    backend.leases.acquire("scoring", CI)
    backend.close()
    printed = mlctl("lock", "show", "-o", "json").json
    assert [one["holder"]["run"] for one in printed] == [CI.run]
    check("leases", printed)


def test_a_lease_that_another_holds(mlctl: Run, infra: Path) -> None:
    mlctl("compute", "list")
    backend = LocalBackend(Path(".mlctl", "local.db"), LOCAL)
    backend.leases.acquire("scoring", CI)
    backend.close()
    lines = mlctl("apply", "infra", "--yes", "-o", "json").lines
    assert [one["type"] for one in lines] == ["version", "diagnostic"]
    for one in lines:
        check("events", one)


def test_health(mlctl: Run) -> None:
    check("health", mlctl("doctor", "-o", "json").json)


@pytest.mark.slow
def test_a_rehearsal(mlctl: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text("1\n")
    line = ("rehearse", "sample", "--input", "in", "--stub", "--kills", "1", "-o", "json")
    check("rehearsal", mlctl(*line).json)


def test_a_rehearsal_of_a_training(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    check("training-rehearsal", mlctl("rehearse", "train.py", "--kills", "1", "-o", "json").json)


def test_every_schema_is_tried() -> None:
    text = Path(__file__).read_text()
    assert [name for name in NAMES if f'check("{name}"' not in text and name not in ELSEWHERE] == []
