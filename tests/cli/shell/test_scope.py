"""Where defaults come from, and which of them counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlctl.cli.shell.scope import LOCATION, PARTS, Configuration, ScopeError
from tests.builders.shell import Run

ACCOUNT = {"subscriptions": [{"id": "other"}, {"id": "account", "isDefault": True}]}
# From the strongest to the weakest; a flag is over all of them.
PLACES = ["MLCTL", "AZURE_DEFAULTS", "mlctl's file", "az's file"]


def settings(folder: Path, *places: str) -> Configuration:
    """The settings of a folder in which the group is the name of each place where it is set."""
    environment = {"HOME": str(folder)}
    for place in places:
        match place:
            case "MLCTL":
                environment["MLCTL_RESOURCE_GROUP"] = place
            case "AZURE_DEFAULTS":
                environment["AZURE_DEFAULTS_GROUP"] = place
            case "mlctl.yml":
                (folder / place).write_text(f"resource_group: {place}\n")
            case "mlctl's file":
                ini(folder / ".config" / "mlctl" / "config", f"[defaults]\ngroup = {place}\n")
            case _:
                ini(folder / ".azure" / "config", f"[defaults]\ngroup = {place}\n")
    return Configuration.read(folder / "mlctl.yml", environment)


def ini(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("number", range(len(PLACES)))
def test_the_strongest_place_counts(tmp_path: Path, number: int) -> None:
    found = settings(tmp_path, *PLACES[number:])
    assert found.scope("local", {}).resource_group == PLACES[number]


def test_the_project_counts_before_configuration_files(tmp_path: Path) -> None:
    found = settings(tmp_path, "mlctl.yml", *PLACES[2:])
    assert found.scope("local", {}).resource_group == "mlctl.yml"


@pytest.mark.parametrize("place", PLACES[:2])
def test_a_variable_that_names_another_workspace_than_the_project_is_refused(
    tmp_path: Path, place: str
) -> None:
    found = settings(tmp_path, "mlctl.yml", place)
    with pytest.raises(ScopeError, match=f"says `{place}`; unset the variable, or decide"):
        found.scope("local", {})
    assert found.scope("local", {"resource_group": "flag"}).resource_group == "flag"


def test_a_variable_that_agrees_with_the_project_is_no_conflict(tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("workspace: Mine\n")
    found = Configuration.read(tmp_path / "mlctl.yml", {"AZURE_DEFAULTS_WORKSPACE": "mine"})
    assert found.scope("local", {}).workspace == "Mine"


def test_a_flag_counts_before_all_else(tmp_path: Path) -> None:
    found = settings(tmp_path, *PLACES)
    assert found.scope("local", {"resource_group": "flag"}).resource_group == "flag"


def test_the_subscription_is_that_of_az_where_nobody_says_another(tmp_path: Path) -> None:
    file = tmp_path / ".azure" / "azureProfile.json"
    ini(file, "\ufeff" + json.dumps(ACCOUNT))
    found = settings(tmp_path, "MLCTL")
    assert found.scope("azure", {"workspace": "w"}).subscription == "account"
    assert found.scope("local", {}).subscription == "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"subscriptions": null}', '{"subscriptions": [{}]}']
)
def test_a_profile_that_makes_no_sense_says_nothing(tmp_path: Path, text: str) -> None:
    ini(tmp_path / ".azure" / "azureProfile.json", text)
    assert settings(tmp_path).account is None


def test_a_file_that_makes_no_sense_says_nothing(tmp_path: Path) -> None:
    ini(tmp_path / ".azure" / "config", "no section\n")
    assert settings(tmp_path).az == {}


def test_what_is_missing_is_said_with_all_ways_to_give_it(tmp_path: Path) -> None:
    with pytest.raises(ScopeError) as caught:
        settings(tmp_path, "MLCTL").scope("azure", {"subscription": "s"})
    ways = ("--workspace-name", "$MLCTL_WORKSPACE", "$AZURE_DEFAULTS_WORKSPACE", "mlctl configure")
    assert all(way in str(caught.value) for way in ways)


def test_az_configures_the_output(mlctl: Run, tmp_path: Path) -> None:
    ini(tmp_path / ".azure" / "config", "[core]\noutput = tsv\n")
    mlctl("compute", "create", "-n", "cpu", "-t", "amlcompute", "-o", "none")
    query = ("compute", "list", "--query", "[].name")
    assert mlctl(*query).out == "cpu\n"
    assert mlctl(*query, "-o", "json").json == ["cpu"]


def test_an_output_that_there_is_not_is_json(mlctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CORE_OUTPUT", "bogus")
    assert mlctl("compute", "list").json == []


def test_configure_writes_its_own_file_and_never_that_of_az(mlctl: Run, tmp_path: Path) -> None:
    ini(tmp_path / ".azure" / "config", "[defaults]\ngroup = of-az\n")
    assert mlctl("configure", "--defaults", "workspace=W", "group=G", "location=L").code == 0
    assert (tmp_path / ".azure" / "config").read_text() == "[defaults]\ngroup = of-az\n"
    own = tmp_path / ".config" / "mlctl" / "config"
    assert "workspace = W" in own.read_text()
    listed = mlctl("configure", "--list-defaults").json
    values = {one["name"]: one["value"] for one in listed}
    assert values == {"group": "G", "workspace": "W", "location": "L"}


def test_an_empty_value_removes_a_default(mlctl: Run, tmp_path: Path) -> None:
    ini(tmp_path / ".azure" / "config", "[defaults]\ngroup = of-az\n")
    mlctl("configure", "--defaults", "group=G", "workspace=W")
    mlctl("configure", "-d", "group=")
    assert "group" not in (tmp_path / ".config" / "mlctl" / "config").read_text()
    listed = mlctl("configure", "-l").json
    assert [(one["name"], one["value"], one["source"] == "az configure") for one in listed] == [
        *(("group", "of-az", True), ("workspace", "W", False))
    ]


def test_configure_says_where_a_default_comes_from(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_DEFAULTS_GROUP", "G")
    Path("mlctl.yml").write_text("workspace: W\n")
    listed = mlctl("configure", "-l").json
    assert [(one["name"], one["source"]) for one in listed] == [
        *(("group", "$AZURE_DEFAULTS_GROUP"), ("workspace", "mlctl.yml"))
    ]


@pytest.mark.parametrize("line", [(), ("--defaults", "nope=1"), ("--defaults", "group")])
def test_configure_refuses_what_it_does_not_know(mlctl: Run, line: tuple[str, ...]) -> None:
    assert mlctl("configure", *line).code == 2


def test_every_part_has_a_flag_and_variables() -> None:
    every = [*PARTS.values(), LOCATION]
    assert all(part.flag.startswith("--") and part.variables for part in every)
