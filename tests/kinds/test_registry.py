"""A kind is one record: no other place compares kinds by name, and every table knows them all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from mlctl.cli.az import commands, field_values
from mlctl.emulator.shapes import protocols
from mlctl.kinds import ALL, DOCUMENTS, KINDS, Kind, children
from mlctl.simulator.control_plane.resources import assets, behaviours
from mlctl.simulator.control_plane.state.settings import Delays
from tests.builders.paths import ROOT, SAMPLES

# Tables of higher layers with entries for some kinds; the others have what is usual.
TABLES: dict[str, Mapping[str, Any]] = {
    "mlctl/simulator/control_plane/resources/behaviours.py: BEHAVIOURS": behaviours.BEHAVIOURS,
    "mlctl/simulator/control_plane/resources/assets.py: ADDED": assets.ADDED,
    "mlctl/emulator/shapes/protocols.yml": protocols._table(),
    "mlctl/cli/az/commands.py: MORE": commands.MORE,
}
NAMES = "|".join(sorted(ALL))
# `address.kind == "compute"`, `"model" == kind.name`, `case "job"`, `in ("code", "component")`.
COMPARED = re.compile(
    rf"""\bkind(?:\.name)?\s*(?:==|!=|in|not\ in)\s*[\[({{]?\s*["'](?:{NAMES})["']"""
    rf"""|["'](?:{NAMES})["']\s*(?:==|!=)\s*[\w.]*\bkind\b"""
    rf"""|\brefers_to\s*(?:==|!=)\s*["']"""
    rf"""|\bcase\ ["'](?:{NAMES})["']""",
    re.VERBOSE,
)


def test_no_code_compares_a_kind_by_its_name_outside_of_the_kinds() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sorted((ROOT / "mlctl").rglob("*.py"))
        if "kinds" not in file.relative_to(ROOT).parts
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if COMPARED.search(line)
    ]
    assert found == [], "make it a fact of the record: mlctl/kinds/kind.py, mlctl/kinds/records/"


@pytest.mark.parametrize(
    "line",
    ['if address.kind == "compute":', 'case "job":', 'if kind in ("code", "component"):'],
)
def test_a_comparison_is_seen(line: str) -> None:
    assert COMPARED.search(line)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_no_entry_for_what_is_no_kind(table: str) -> None:
    assert set(TABLES[table]) <= set(ALL), f"correct {table}"


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_record_names_fields_that_there_are(kind: Kind) -> None:
    for flag in (*kind.az.create_flags, *kind.az.update_flags, *kind.az.list_flags):
        assert field_values.field_of(kind, flag.at), flag
    shown = {at[0] for at in kind.az.columns.values() if not callable(at)}
    known = {name for form in kind.forms for name in form.schema["properties"]}
    assert shown <= known, f"columns of mlctl/kinds/records: {shown - known}"
    assert kind.az.columns["Name"] == ("name",)
    assert all(kind.forms[-1].field(at) for at in kind.quota.capped.values())


@pytest.mark.parametrize("kind", DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_a_record_names_a_field_for_its_size(kind: Kind) -> None:
    schema = kind.forms[-1].schema
    assert not kind.quota.vm_size or kind.quota.vm_size[0] in schema["properties"]


@pytest.mark.parametrize("kind", ALL.values(), ids=list(ALL))
def test_the_facts_of_a_record_fit_each_other(kind: Kind) -> None:
    assert kind.parent is None or kind in children(kind.parent)
    assert not (kind.versioned and (kind.parent or kind.arm.delay or kind.quota.has_nodes))
    assert len(kind.route_fields) == len(kind.plan.routes)
    assert bool(kind.plan.routes) == bool(kind.plan.routing)
    assert not kind.arm.delay or hasattr(Delays(), f"{kind.arm.delay}_create")
    assert not kind.az.sample[0] or (SAMPLES.parent / kind.az.sample[0]).is_file()


def test_no_two_kinds_share_a_name() -> None:
    documents = [one.casefold() for kind in ALL.values() for one in kind.documents]
    assert len(documents) == len(set(documents))
    collections = [(kind.parent, kind.collection) for kind in ALL.values() if not kind.arm.within]
    assert len(collections) == len(set(collections))
