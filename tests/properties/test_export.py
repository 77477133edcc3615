"""What is exported plans to no changes, whatever is live: of every kind, here and on Azure."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlctl import pointer, schema, source
from mlctl.backends.ports.backend import Backend
from mlctl.cli.change.export import format_text
from mlctl.cli.files.fmt import canonical
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, kind_of_schema
from mlctl.kinds.kind import Kind
from mlctl.kinds.resource import Resource, build
from mlctl.pointer import Data
from mlctl.render.cloud.export import Placeholders, document
from tests.builders.azure import azure, emulated
from tests.builders.generated import REMOTE, Declared, documents, resources, workspace, worlds
from tests.builders.plans import applied, fields, planned
from tests.builders.resources import declared, environment
from tests.builders.workspace import SCOPE


def exported(backend: Backend, placeholders: Placeholders) -> list[Resource]:
    """What the exported files of a workspace declare; nothing may be wrong with them."""
    found = []
    for kind in KINDS:
        for live in backend.list_all([kind]):
            if pointer.get(live.body, ("properties", "isAnonymous")):
                continue
            text = format_text(document(live, backend.scope, backend.location, placeholders))
            told = {name: value or "a-secret" for name, value in placeholders.values.items()}
            report = Report()
            (read,) = source.load(f"{live.address}.yml", text, report)
            assert canonical("", [read]) == text  # `mlctl fmt --check` has nothing to say
            filled = Variables(environment=told).fill(read, report)
            meant = kind_of_schema(str(filled.data["$schema"]))
            assert isinstance(meant, Kind)
            report.extend(schema.check(filled, meant.schema))
            assert [one.message for one in report if one.is_error] == [], text
            made = build(filled, meant)
            assert made is not None
            assert made.address == live.address
            found.append(made)
    return found


def assert_exports(backend: Backend) -> None:
    placeholders = Placeholders()
    assert fields(planned(backend, *exported(backend, placeholders)).plan) == {}


@pytest.mark.slow
@given(worlds())
@settings(max_examples=60)
def test_planning_what_was_exported_is_no_change(world: list[Declared]) -> None:
    backend = workspace()
    applied(backend, *resources(world))
    assert_exports(backend)


@pytest.mark.parametrize("kind", ["data", "component", "batch-pool"])
@given(st.data())
@settings(max_examples=20)
def test_kinds_that_others_do_not_need_are_exported_too(kind: str, data: st.DataObject) -> None:
    backend = workspace()
    form = "command" if kind == "component" else ""
    made = {**_NEEDED[kind], **data.draw(documents(kind, "thing", form)), "name": "thing"}
    assume(not list(schema.check(declared(kind, made).document, KINDS[kind].schema)))
    applied(backend, environment(), *resources([(kind, made)]))
    (there,) = backend.list(kind)
    assert there.address.name == "thing"
    assert_exports(backend)


_NEEDED: dict[str, dict[str, Data]] = {
    "data": {"path": REMOTE[0]},
    "component": {"command": "echo", "environment": "azureml:torch:1"},
    "batch-pool": {},
}


@pytest.mark.slow
@given(worlds())
@settings(max_examples=8)
def test_planning_what_was_exported_of_azure_is_no_change(world: list[Declared]) -> None:
    local = workspace()  # with quotas that nothing exceeds
    with closing(azure(emulated(local.handle.store), SCOPE).backend) as backend:
        applied(backend, *resources(world))
        assert_exports(backend)
