"""What `show` and `list` print, in az's formats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mlctl import schema, source
from mlctl.diagnostics import Report, Severity
from mlctl.kinds import KINDS, kind_of, kind_of_schema
from mlctl.kinds.address import Address
from mlctl.render.cloud.resources import output, resource
from tests.builders.paths import SAMPLES
from tests.builders.plans import plan, succeeded, workspace
from tests.builders.resources import CLUSTER, ENDPOINT
from tests.builders.workspace import SCOPE


def declares(file: Path) -> bool:
    """Whether a sample's file has a resource, and no job or pipeline."""
    url = re.search(r"(?m)^\$schema: (.+)$", file.read_text(encoding="utf-8"))
    return url is not None and kind_of_schema(url[1]) in KINDS.values()


FILES = sorted(filter(declares, SAMPLES.glob("*/*.yml")))


def shown(address: str, *texts: str) -> dict[str, Any]:
    wanted = Address.parse(address)
    return resource(workspace(*texts).read([wanted])[wanted], SCOPE)


def all_of(folder: Path) -> list[tuple[Address, dict[str, Any]]]:
    """Every resource that the files of a folder become."""
    texts = [file.read_text(encoding="utf-8") for file in FILES if file.parent == folder]
    backend = workspace()
    made = plan(*texts, name=str(folder / "all.yml"), backend=backend)
    succeeded(made.work, backend)
    own = (one.address for one in made.plan.changes if one.resource and not one.resource.owner)
    live = backend.read(list(own))
    return [(one.address, resource(one, SCOPE)) for one in live.values()]


def test_a_resource_is_shown_under_the_names_of_its_file() -> None:
    one = shown("compute/cpu-cluster", CLUSTER + "max_instances: 2\ntier: low_priority\n")
    assert next(iter(one)) == "name"
    assert (one["type"], one["tier"], one["max_instances"]) == ("amlcompute", "low_priority", 2)


def test_what_the_service_fills_in_is_shown() -> None:
    one = shown("batch-endpoint/scores", ENDPOINT)
    assert one["provisioning_state"] == "Succeeded"
    assert one["id"].endswith("/batchEndpoints/scores")


def test_a_secret_is_not_shown() -> None:
    one = shown(
        "compute/cpu-cluster",
        CLUSTER + "ssh_settings: {admin_username: kim, admin_password: Pw-1}\n",
    )
    assert one["ssh_settings"] == {"admin_username": "kim"}


@pytest.mark.parametrize(
    "folder", sorted({file.parent for file in FILES}), ids=lambda one: one.name
)
def test_what_is_shown_as_yaml_is_a_valid_file_again(folder: Path) -> None:
    for address, one in all_of(folder):
        (document,) = source.load("shown.yml", output(one, "yaml"), Report())
        found = list(schema.check(document, kind_of(address).schema))
        assert not [error for error in found if error.rule.severity is Severity.ERROR], address
        assert document.data == one


def test_json_is_indented_and_keeps_the_order_and_the_letters() -> None:
    assert output({"b": "é", "a": [1]}, "json") == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}\n'


def test_colour_does_not_change_what_is_read() -> None:
    data = {"a": 'x "y": 1', "b": [True, None, -1.5], "c": {"d": "no: 3"}}
    for fmt, plain in (("jsonc", "json"), ("yamlc", "yaml")):
        assert output(data, fmt) == output(data, plain)
        assert "\x1b[" in output(data, fmt, color=True)
        assert _without_colour(output(data, fmt, color=True)) == output(data, plain)


def _without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_table_leaves_out_ids_types_and_what_is_nested() -> None:
    rows = [
        {"name": "a", "id": "/x", "type": "amlcompute", "tags": {"k": "v"}, "max_instances": 4},
        {"name": "bcd", "max_instances": None},
    ]
    assert output(rows, "table").splitlines() == [
        "Name    Max_instances",
        "------  ---------------",
        "a       4",
        "bcd",
    ]


def test_a_table_has_the_columns_that_are_asked_for() -> None:
    assert output([{"a": 1, "b": 2, "c": 3}], "table", columns=("c", "a")).split() == [
        *("C", "A"),
        *("---", "---"),
        *("3", "1"),
    ]


def test_a_table_of_values_and_of_lists_has_made_up_heads() -> None:
    assert output(["x"], "table").split() == ["Result", "--------", "x"]
    assert output([["x", 1]], "table").split()[:2] == ["Column1", "Column2"]
    assert output([], "table") == ""


def test_a_terminal_is_not_steered_by_a_table() -> None:
    assert "\x1b" not in output([{"name": "a\x1b[31m"}], "table")


def test_tsv_has_no_head_and_keeps_the_order_of_the_query() -> None:
    assert output([{"b": 1, "a": "x"}, ["y", None]], "tsv") == "1\tx\ny\tNone\n"


def test_tsv_shows_lists_by_length_and_objects_as_nothing() -> None:
    assert output({"a": [1, 2], "b": {"c": 1}, "d": True}, "tsv") == "2\t\tTrue\n"
    assert output(True, "tsv") == "true\n"


def test_none_prints_nothing() -> None:
    assert output({"a": 1}, "none") == ""


def test_json_of_a_resource_can_be_read_again() -> None:
    one = shown("compute/cpu-cluster", CLUSTER)
    assert json.loads(output(one, "json")) == one
