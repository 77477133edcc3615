"""Laws of the wire: nothing that a document says is lost, and nothing is misread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from mlctl import pointer, schema
from mlctl.assets.local_files import resolve_local_files
from mlctl.config import graph, rules
from mlctl.diagnostics import Report
from mlctl.kinds import codec
from mlctl.kinds.field import Mutability
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import (
    applies,
    complete,
    decode,
    encode,
    encode_fields,
    fingerprint,
    form_of_body,
    overlay,
    overwritten_pointers,
)
from mlctl.planning.diff import differences
from mlctl.pointer import Data, Pointer
from tests.builders.generated import FORMS, Declared, documents, resources, worlds
from tests.builders.resources import declared
from tests.builders.workspace import SCOPE

NAMES = {"name", "endpoint_name", "version"}


ONE_OF_EVERY_FORM = st.sampled_from(FORMS).flatmap(
    lambda form: st.tuples(st.just(form[0]), documents(form[0], "thing", form[1]))
)


def planned_as(one: Declared) -> Resource:
    """The resource as a plan sees it: nothing is inline, and every reference has a version."""
    resource = resolve_local_files([declared(*one)], SCOPE, Report())[-1]
    pinned = {
        at: f"{value.partition('@')[0]}:1"
        for at, value in resource.values.items()
        if value
        in ("azureml:heart", "azureml:heart@latest", "azureml:torch", "azureml:torch@latest")
    }
    return replace(resource, values={**resource.values, **pinned})


def leaves(data: Data, at: Pointer = ()) -> Iterator[Pointer]:
    if isinstance(data, dict):
        for key, inner in data.items():
            yield from leaves(inner, (*at, key))
    else:
        yield at


def without_nulls(data: Data) -> Data:
    """A value without the keys that are null: to the service these are not there."""
    if isinstance(data, dict):
        return {key: without_nulls(inner) for key, inner in data.items() if inner is not None}
    return data


@given(ONE_OF_EVERY_FORM)
def test_what_was_sent_is_understood_when_it_comes_back(one: Declared) -> None:
    resource = planned_as(one)
    values = complete(resource.values, resource.form)
    body = json.loads(json.dumps(encode(values, resource.form, SCOPE)))
    back = decode(body, resource.form, SCOPE)
    assert differences(resource.form.fields, values, back, SCOPE) == []
    assert differences(resource.form.fields, back, values, SCOPE) == []


@given(ONE_OF_EVERY_FORM)
def test_a_body_says_its_own_form(one: Declared) -> None:
    resource = planned_as(one)
    body = encode(complete(resource.values, resource.form), resource.form, SCOPE)
    shown = form_of_body(resource.kind, body, SCOPE)
    assert (shown.name == "pipeline") is (resource.form.name == "pipeline")


@given(ONE_OF_EVERY_FORM)
def test_no_leaf_of_a_document_is_dropped(one: Declared) -> None:
    resource = planned_as(one)
    fields = {one.at: one for one in resource.form.fields}
    body = encode(complete(resource.values, resource.form), resource.form, SCOPE)
    for leaf in leaves(resource.document.data):
        if leaf[0] in NAMES:
            continue
        field = next((fields[leaf[:n]] for n in range(len(leaf) + 1) if leaf[:n] in fields), None)
        assert field is not None, leaf
        value = resource.values[field.at]
        if codec.encode(value, field, SCOPE) is not None:
            assert pointer.get(body, field.wire) is not None, leaf


@given(ONE_OF_EVERY_FORM)
def test_no_tag_that_is_sent_is_empty(one: Declared) -> None:
    resource = planned_as(one)
    body = encode(complete(resource.values, resource.form), resource.form, SCOPE)
    for tags in (body.get("tags"), body["properties"].get("tags")):
        for key, value in (tags or {}).items():
            assert isinstance(value, str), key
            assert value, key


@given(ONE_OF_EVERY_FORM)
def test_documents_that_differ_in_a_field_have_bodies_that_differ(one: Declared) -> None:
    resource = planned_as(one)
    values = complete(resource.values, resource.form)
    body = encode(values, resource.form, SCOPE)
    for field in resource.form.fields:
        if field.at in values and codec.encode(values[field.at], field, SCOPE) is not None:
            others = {at: value for at, value in values.items() if at != field.at}
            assert encode(others, resource.form, SCOPE) != body, field.at


@given(
    st.sampled_from(FORMS).flatmap(
        lambda form: st.tuples(
            st.just(form[0]),
            documents(form[0], "thing", form[1]),
            documents(form[0], "thing", form[1]),
        )
    )
)
def test_an_overlay_says_what_the_values_say_and_keeps_the_rest(
    pair: tuple[str, dict[str, Data], dict[str, Data]],
) -> None:
    kind, *both = pair
    live, wanted = (planned_as((kind, data)) for data in both)
    form = live.form
    had = encode(complete(live.values, form), form, SCOPE)
    values = complete(wanted.values, form)
    body = overlay(had, encode_fields(values, form, SCOPE), overwritten_pointers(values, form))
    after, before = decode(body, form, SCOPE), decode(had, form, SCOPE)
    assert differences(form.fields, values, after, SCOPE) == []
    for one in form.fields:
        kept = one.at not in values and applies(one, values, form) and one.at[0] != "identity"
        if kept and one.compared and one.mutability is not Mutability.READ_ONLY:
            assert without_nulls(after.get(one.at)) == without_nulls(before.get(one.at))


@given(ONE_OF_EVERY_FORM)
def test_a_fingerprint_is_of_what_is_said_and_of_nothing_else(one: Declared) -> None:
    resource = planned_as(one)
    body = encode(complete(resource.values, resource.form), resource.form, SCOPE)
    seen = fingerprint(body, resource.kind, SCOPE)
    own = json.loads(json.dumps(body))
    pointer.put(own, ("systemData",), {"lastModifiedAt": "2026-11-20T00:00:00Z"})
    pointer.put(own, ("properties", "provisioningState"), "Updating")
    pointer.put(own, ("properties", "properties", "currentNodeCount"), "3")
    assert resource.address.kind != "compute" or fingerprint(own, resource.kind, SCOPE) == seen
    described = json.loads(json.dumps(body))
    pointer.put(described, ("properties", "description"), "something that nobody says")
    assert fingerprint(described, resource.kind, SCOPE) != seen


@given(worlds())
def test_every_document_of_a_world_is_valid_under_its_schema_and_its_rules(
    world: list[Declared],
) -> None:
    built = graph.build(resources(world), SCOPE)
    found = list(rules.check(built, rules.RuleContext(date(2026, 11, 20), lambda _: True)))
    for one in resources(world):
        found += list(schema.check(one.document, one.kind.schema))
    report = Report()
    report.extend(found)
    assert report.errors == 0, [each.message for each in report]
