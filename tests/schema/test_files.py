"""The schemas themselves: well formed, complete, and of one mind with the code that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mlctl import schema
from mlctl.kinds import DOCUMENTS
from mlctl.kinds.address import Reference
from mlctl.kinds.codec import CODECS
from mlctl.kinds.records.job import KIND as JOB
from mlctl.pointer import Pointer
from mlctl.schema.text import enumerated
from tests.builders.paths import ROOT, SHARED

SDK_FIELDS = SHARED / "reference" / "sdk_fields_azure-ai-ml-1.35.2.json"
ANNOTATIONS = {
    *("x-ms-mutability", "x-ms-secret", "x-mlctl-wire", "x-mlctl-codec", "x-mlctl-enum"),
    *("x-mlctl-absent", "x-mlctl-refers-to", "x-mlctl-alias", "x-mlctl-when", "x-mlctl-path"),
    *("x-mlctl-additive", "x-mlctl-credential", "x-mlctl-wire-constants", "x-mlctl-retired"),
    *(
        "x-mlctl-seen-length",
        "x-mlctl-wire-copy",
        "x-mlctl-name",
        "x-mlctl-reference",
        "x-mlctl-retired-service",
    ),
    *("x-mlctl-any-case", "x-mlctl-bindings", "x-mlctl-unknown", "x-mlctl-wire-under"),
    "x-mlctl-overwritten",
}
# What a document says to mlctl and not to the service, or what the service never says back.
UNSENT = {
    "resourceGroup",  # az reads it off the id
    *("$schema", "name", "version", "endpoint_name", "resource_id", "datastore", "job_definition"),
    *(
        "latest_version",
        "intellectual_property",
        "private_network_connection",
        "services",
        "parent_job_name",
        "log_files",
    ),
    *("utc_time_created", "default_deployment_template", "allowed_deployment_templates"),
}
OWN = {"project", "policy", "test", "journal"}  # files of mlctl itself, which describe no resource

# What az compares without lower-casing it: the type of a job chooses what reads the document.
EXACT = {
    *((f"{kind}Job", "type") for kind in ("command", "pipeline", "sweep", "spark", "autoML")),
    *(("job", "type"), ("job", "task"), ("autoMLJob", "task"), ("schedule", "create_job", "type")),
    *(("component", "inputs", "type"), ("component", "logging_level")),
    *(("component", "outputs", "type"), ("component", "outputs", "mode")),
}
# Fields whose codec sends what is within them.
CODED = {
    *(
        "network_settings",
        "create_monitor",
        "auto_delete_setting",
        "services",
        "import_data",
        "data_collector",
        "identity",
        "inputs",
        "outputs",
        "trial",
        "search_space",
        "sampling_algorithm",
    ),
    *(
        "schedules",
        "setup_scripts",
        "custom_applications",
        "early_termination",
        "jobs",
        "component",
        "limits",
        "featurization",
        "training",
        "forecasting",
    ),
    *("sweep", "training_parameters", "training_data", "validation_data", "test_data"),
}

every_schema = pytest.mark.parametrize("name", schema.names())


def forms(name: str) -> list[schema.Schema]:
    return [form for _, form in schema.forms(schema.resolved(schema.load(name)))]


def properties(part: schema.Schema, at: Pointer = ()) -> Iterator[tuple[Pointer, schema.Schema]]:
    """Every property below `part`, those of inline assets, list items and map entries too."""
    for name, one in part.get("properties", {}).items():
        yield (*at, name), one
        yield from properties(one, (*at, name))
    entry = part.get("additionalProperties")
    items = [one for one in (part.get("items"), entry) if isinstance(one, Mapping)]
    for branch in (*part.get("anyOf", ()), *items):
        yield from properties(branch, at)


def all_properties() -> Iterator[tuple[str, Pointer, schema.Schema]]:
    """Those of every kind."""
    for name in sorted({*schema.names()} - OWN):
        for form in forms(name):
            for at, one in properties(form):
                yield name, at, one


def parts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    for inner in value.values() if isinstance(value, Mapping) else value:
        if isinstance(inner, Mapping | list):
            yield from parts(inner)


def valid(part: schema.Schema, value: Any) -> bool:
    return Draft202012Validator(part).is_valid(value)


@every_schema
def test_a_schema_is_valid_against_the_meta_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema.load(name))
    assert schema.load(name)["$schema"] == Draft202012Validator.META_SCHEMA["$id"]


@every_schema
def test_a_schema_stands_alone(name: str) -> None:
    refs = [part["$ref"] for part in parts(schema.load(name)) if "$ref" in part]
    assert all(schema.dereference(schema.load(name), {"$ref": ref}) for ref in refs)


@every_schema
def test_every_annotation_is_one_that_somebody_reads(name: str) -> None:
    given = {key for part in parts(schema.load(name)) for key in part if key.startswith("x-")}
    assert given <= ANNOTATIONS


@every_schema
def test_every_codec_exists(name: str) -> None:
    given = {part.get("x-mlctl-codec", "plain") for part in parts(schema.load(name))}
    assert all(CODECS[codec] for codec in given)


def test_every_definition_is_used() -> None:
    written = {
        file.name: json.loads(file.read_text()) for file in (ROOT / "schemas").glob("*.json")
    }
    refs = [
        (file, part["$ref"])
        for file, root in written.items()
        for part in parts(root)
        if "$ref" in part
    ]
    used = {ref if ref.partition("#")[0] else f"{file}{ref}" for file, ref in refs}
    for file, root in written.items():
        assert {f"{file}#/$defs/{name}" for name in root.get("$defs", {})} <= used


@every_schema
def test_every_level_refuses_unknown_fields(name: str) -> None:
    open_levels = [
        at
        for form in forms(name)
        for at, one in [((), form), *properties(form)]
        if "properties" in one and one.get("additionalProperties", True) is not False
    ]
    known = ("batchDeployment", "job", "pipelineJob")  # the service keeps what it does not know
    scheduled = [("create_job", "settings")] * 2 if name == "schedule" else []
    assert open_levels == ([("settings",)] if name in known else scheduled)


@every_schema
def test_every_field_is_described_in_a_sentence(name: str) -> None:
    for form in forms(name):
        for at, one in properties(form):
            assert one.get("description", "").endswith("."), at


@every_schema
def test_every_example_and_default_is_valid(name: str) -> None:
    root = schema.resolved(schema.load(name))
    assert all(valid(root, example) for example in root["examples"])
    for form in forms(name):
        for at, one in properties(form):
            values = [*one.get("examples", ()), *([one["default"]] if "default" in one else ())]
            assert all(valid(one, value) for value in values), at


def test_every_field_reaches_the_wire_or_is_known_not_to() -> None:
    for name, at, one in all_properties():
        sent = "x-mlctl-wire" in one or "properties" in one
        inside = name == "batchDeployment" and at[0] == "settings"
        codec_does_it = at[0] in CODED or at[1:2] in [(word,) for word in CODED]
        assert sent or at[-1] in UNSENT or inside or codec_does_it, (name, at)


def test_every_word_of_an_enum_has_a_spelling_on_the_wire() -> None:
    for name, at, one in all_properties():
        if one.get("x-mlctl-codec") == "enum":
            assert set(enumerated(one)) <= set(one["x-mlctl-enum"]), (name, at)


def test_words_are_taken_in_any_letter_case_but_where_az_compares_them_as_they_are() -> None:
    exact = set()
    for name, at, one in all_properties():
        words = enumerated(one)
        if not all(valid(one, word.upper()) and valid(one, word.title()) for word in words):
            exact.add((name, *at))
        assert not words or not valid(one, words[0] + "x"), (name, at)
    assert exact == EXACT


@pytest.mark.parametrize("kind", DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_no_two_fields_of_a_form_share_a_place_on_the_wire(kind: Any) -> None:
    for form in kind.forms:
        wires = [field.wire for field in form.fields]
        assert len(wires) == len(set(wires))


def test_an_inline_asset_has_the_fields_of_the_kind() -> None:
    for owner, at in (("batchDeployment", "model"), ("commandJob", "environment")):
        field = next(form for form in forms(owner) if at in form["properties"])["properties"][at]
        inline = next(one for one in field["anyOf"] if "properties" in one)
        assert inline["properties"] == schema.resolved(schema.load(at))["properties"]
        assert "name" not in inline.get("required", ())


REFERRERS = {
    one["x-mlctl-refers-to"]: one
    for _, _, one in all_properties()
    if one.get("x-mlctl-codec") in ("reference", "asset") and not one.get("x-mlctl-path")
}
WORDS = st.sampled_from(["azureml:", "azureml://", "registries", "/", ":", "@", "latest", "1", "m"])
ARM = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"
IDS = st.sampled_from(["models", "environments", "computes", "components"]).flatmap(
    lambda kind: st.sampled_from(["", "/versions/1", "/labels/latest", "/x"]).map(
        lambda tail: f"{ARM}/{kind}/n{tail}"
    )
)


@given(
    st.sampled_from(sorted(REFERRERS)),
    st.lists(WORDS, max_size=6).map("".join) | IDS | IDS.map("azureml:{}".format),
)
def test_what_the_schema_takes_for_a_reference_parses_as_one(kind: str, text: str) -> None:
    assert not valid(REFERRERS[kind], text) or Reference.parse(text, kind)


@pytest.mark.skipif(not SDK_FIELDS.is_file(), reason="no ../shared/reference beside the checkout")
@pytest.mark.parametrize(
    ("sdk", "name", "form"),
    [
        ("AmlComputeSchema", "amlCompute", 0),
        ("BatchEndpointSchema", "batchEndpoint", 0),
        ("PipelineComponentBatchDeploymentSchema", "batchDeployment", 0),
        ("ModelBatchDeploymentSchema", "batchDeployment", 1),
        ("BatchDeploymentSchema", "batchDeployment", 2),
    ],
)
def test_every_field_that_the_sdk_takes_is_known(sdk: str, name: str, form: int) -> None:
    fields = json.loads(SDK_FIELDS.read_text(encoding="utf-8"))[sdk]["fields"]
    of_pipelines = {"component", "job_definition"} if form else set()
    assert set(fields) - of_pipelines <= set(forms(name)[form]["properties"])


def test_the_texts_for_editors_are_the_files_each_complete_in_itself() -> None:
    texts = schema.texts()
    assert [json.loads(text)["$id"].rpartition("/")[2] for text in texts.values()] == list(texts)
    refs = [
        part["$ref"]
        for text in texts.values()
        for part in parts(json.loads(text))
        if "$ref" in part
    ]
    assert all(ref.startswith("#/") for ref in refs)
    documents = {kind.schema_name for kind in DOCUMENTS.values()} | {*JOB.documents, *OWN}
    assert set(texts) == {f"{name}.schema.json" for name in documents}


def test_a_reference_that_leads_to_itself_stays() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}}
    assert schema.resolved(loop)["properties"]["b"] == {"$ref": "#/$defs/a"}
