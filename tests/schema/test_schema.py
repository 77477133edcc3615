"""What is wrong with a document, in the words that its author reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import pointer, schema
from mlctl.diagnostics import Diagnostic, Report, SourceText
from mlctl.schema.text import is_a, nearest, seconds
from mlctl.source import Document, load

CLUSTER = "name: cpu\ntype: amlcompute\n"
ENDPOINT = "name: heart\n"
FLAT = "name: blue\nendpoint_name: heart\nmodel: azureml:m:1\ncompute: azureml:cpu\n"
MODEL_FORM = FLAT + "type: model\n"
PIPELINE = "name: blue\nendpoint_name: heart\ntype: pipeline\ncomponent: pipeline.yml\n"
SWEEP = """type: sweep
objective: {goal: maximize, primary_metric: score}
sampling_algorithm: random
trial: {command: python train.py, environment: 'azureml:e:1'}
limits: {max_total_trials: 2}
"""
ENVIRONMENT = "name: torch\nimage: ubuntu\n"
JOB = "command: python train.py\nenvironment: azureml:e:1\n"


def check(name: str, text: str) -> list[Diagnostic]:
    (document,) = load("doc.yml", text, Report())
    return list(schema.check(document, schema.load(name)))


def told(name: str, text: str) -> list[str]:
    return [f"{one.rule.code} {one.message}" for one in check(name, text)]


def the(name: str, text: str) -> Diagnostic:
    (only,) = check(name, text)
    return only


def underlined(found: Diagnostic) -> str:
    assert found.primary is not None
    span = found.primary.span
    return span.source.lines[span.line][span.column : span.end_column]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("amlCompute", CLUSTER),
        ("batchEndpoint", ENDPOINT),
        ("batchDeployment", FLAT),
        ("batchDeployment", MODEL_FORM),
        ("batchDeployment", PIPELINE),
        ("model", "name: m\nversion: 1\npath: ./model\n"),
        ("environment", ENVIRONMENT),
    ],
)
def test_the_least_document_of_each_form_is_valid(name: str, text: str) -> None:
    assert told(name, text) == []


def test_an_unknown_field_is_underlined_and_the_right_one_suggested() -> None:
    found = the("amlCompute", CLUSTER + "tire: low_priority\n")
    assert (found.rule.code, found.message) == ("MLC101", "unknown field `tire`")
    assert (underlined(found), found.hint) == ("tire", "did you mean `tier`?")


def test_each_unknown_field_is_a_finding_of_its_own() -> None:
    assert told("amlCompute", CLUSTER + "a1: 1\nb2: 2\n") == [
        "MLC101 unknown field `a1`",
        "MLC101 unknown field `b2`",
    ]


@pytest.mark.parametrize("key", ["maxInstances", "max-instances", "MAX_INSTANCES", "max_instance"])
def test_letter_case_dashes_and_small_slips_are_seen_through(key: str) -> None:
    assert the("amlCompute", CLUSTER + f"{key}: 1\n").hint == "did you mean `max_instances`?"


def test_a_slip_for_every_three_letters_is_forgiven_and_no_more() -> None:
    found = the("batchDeployment", FLAT + "retry_settings: {max_retry: 3}\n")
    assert found.hint == "did you mean `max_retries`?"
    found = the("batchDeployment", FLAT + "retry_settings: {banana: 3}\n")
    assert found.hint == "the fields here are `max_retries` and `timeout`"


def test_a_read_only_field_is_never_suggested() -> None:
    assert "`id`" not in (the("amlCompute", CLUSTER + "ids: x\n").hint or "")


def test_a_field_of_the_2021_preview_is_answered_with_its_successor() -> None:
    found = the("batchEndpoint", ENDPOINT + "traffic: {blue: 100}\n")
    assert found.hint is not None
    assert "defaults: {deployment_name: ...}" in found.hint


def test_a_field_of_another_kind_is_answered_with_that_kind() -> None:
    found = the("batchEndpoint", ENDPOINT + "mini_batch_size: 3\n")
    assert found.hint is not None
    assert found.hint.startswith("a batch deployment has it")
    found = the("batchEndpoint", ENDPOINT + "conda_file: conda.yml\n")
    assert (found.hint or "").startswith("an environment has it")


def test_a_flat_field_beside_settings_belongs_under_settings() -> None:
    found = the("batchDeployment", MODEL_FORM + "mini_batch_size: 3\n")
    assert (found.rule.code, found.message) == (
        "MLC109",
        "`mini_batch_size` belongs under `settings`",
    )
    assert underlined(found) == "mini_batch_size"


def test_a_field_of_the_top_level_is_sent_there_from_below() -> None:
    found = the("amlCompute", CLUSTER + "network_settings: {type: none}\n")
    assert found.message == "`type` belongs at the top level"


def test_settings_need_the_type_model() -> None:
    found = the("batchDeployment", FLAT + "settings: {mini_batch_size: 3}\n")
    assert (found.rule.code, found.message) == ("MLC109", "`settings` needs `type: model`")


def test_a_component_needs_the_type_pipeline_and_nothing_else_is_said() -> None:
    text = "name: blue\nendpoint_name: heart\ncomponent: pipeline.yml\n"
    assert told("batchDeployment", text) == ["MLC109 `component` needs `type: pipeline`"]


def test_a_pipeline_has_no_compute() -> None:
    found = the("batchDeployment", PIPELINE + "compute: azureml:cpu\n")
    assert (found.rule.code, underlined(found)) == ("MLC101", "compute")
    assert found.hint is not None
    assert "default_compute" in found.hint


def test_settings_of_a_pipeline_are_free() -> None:
    assert told("batchDeployment", PIPELINE + "settings: {anything: [1, 2]}\n") == []


def test_a_missing_field_is_shown_at_the_key_above_with_an_example() -> None:
    found = the("amlCompute", CLUSTER + "ssh_settings:\n  ssh_key_value: ssh-rsa AAAA\n")
    assert (found.rule.code, underlined(found)) == ("MLC102", "ssh_settings")
    assert found.hint == "add `admin_username: azureuser`"


def test_a_misspelt_field_is_not_missing_too() -> None:
    assert told("batchEndpoint", "nmae: heart\n") == ["MLC101 unknown field `nmae`"]


def test_a_retired_field_is_not_missing_under_its_new_name_too() -> None:
    found = the("batchDeployment", FLAT.replace("azureml:m:1", "{local_path: ./m}"))
    assert (found.message, found.hint) == (
        "unknown field `local_path`",
        "a 2021 preview key; write `path`",
    )


@pytest.mark.parametrize(
    ("schema", "text", "hint"),
    [
        ("commandJob", JOB + "code: {local_path: ./src}\n", "`code: ./src`"),
        ("commandJob", JOB + "compute: {target: azureml:gpu}\n", "`compute: azureml:gpu`"),
        ("commandJob", JOB + "inputs: {data: {folder: ./data}}\n", "write `path`"),
        ("job", JOB + "type: sweep_job\n", "did you mean `sweep`?"),
        ("environment", "name: torch\ndocker: {image: ubuntu}\n", "write `image`"),
        ("managedOnlineEndpoint", "name: heart\ntype: online\n", "an endpoint has no type"),
    ],
)
def test_what_was_written_in_2021_is_answered_with_its_present_form(
    schema: str, text: str, hint: str
) -> None:
    assert hint in (the(schema, text).hint or "")


def test_each_missing_field_is_a_finding_of_its_own() -> None:
    assert told("amlCompute", "tier: dedicated\n") == [
        "MLC102 `name` is missing",
        "MLC102 `type` is missing",
    ]


def test_a_name_that_is_wrong_in_two_ways_is_one_finding() -> None:
    assert the("batchEndpoint", f"name: {'a_' * 20}\n").rule.code == "MLC106"


def test_an_environment_needs_an_image_or_a_build() -> None:
    assert told("environment", "name: torch\n") == ["MLC102 `image` or `build` is missing"]


def test_an_image_and_a_build_exclude_each_other() -> None:
    found = the("environment", ENVIRONMENT + "build: {path: docker}\n")
    assert (found.rule.code, underlined(found)) == ("MLC110", "build")
    assert [label.text for label in found.related] == ["and this"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("min_instances: yes", "YAML reads `yes` as true"),
        ("idle_time_before_scale_down: 2m", "write 120: the unit is seconds"),
        ("idle_time_before_scale_down: PT2M", "write 120: the unit is seconds"),
        ("description: 12:30", 'YAML reads `12:30` as 750; quote it: "12:30"'),
        ("description: yes", 'YAML reads `yes` as true; quote it: "yes"'),
        ("tags: {version: 1.10}", 'YAML reads `1.10` as 1.1; quote it: "1.10"'),
        ("tags: {version: 3}", 'quote it: "3"'),
        ("tags: [a]", "Names and values to find and bill the cluster by."),
        ("size: [a]", "for example `size: Standard_D4s_v3`"),
    ],
)
def test_a_wrong_type_is_answered_with_what_to_write(line: str, hint: str) -> None:
    found = the("amlCompute", CLUSTER + line + "\n")
    assert (found.rule.code, found.hint) == ("MLC103", hint)


def test_a_version_that_is_a_decimal_is_to_be_quoted() -> None:
    found = the("model", "name: m\npath: p\nversion: 1.10\n")
    assert (found.rule.code, found.hint) == ("MLC111", 'quote it: "1.10"')


@pytest.mark.parametrize(
    ("line", "at", "reading"),
    [
        ('min_instances: "3"', "min_instances", 3),
        ("enable_node_public_ip: 'no'", "enable_node_public_ip", False),
        ("idle_time_before_scale_down: '120'", "idle_time_before_scale_down", 120),
        ("max_instances: 3.7", "max_instances", 3),
        ("enable_node_public_ip: 0", "enable_node_public_ip", False),
    ],
)
def test_a_value_of_another_type_is_read_as_az_reads_it(
    line: str, at: str, reading: object
) -> None:
    (text,) = load("doc.yml", f"{CLUSTER}{line}\n", Report())
    (warning,) = schema.check(text, schema.load("amlCompute"))
    assert (warning.rule.code, text.data[at]) == ("MLC111", reading)
    assert warning.hint == f"write {str(reading).lower()}"


def test_a_fraction_in_a_search_space_is_no_whole_number() -> None:
    job = AUTOML + "search_space: [{early_stopping_delay: 2.5}]\n"
    assert the("autoMLJob", job).rule.code == "MLC103"


def test_a_power_of_ten_is_a_number_as_az_reads_it() -> None:
    space = "search_space: {rate: {type: uniform, min_value: 1e-4, max_value: 1e-1}}"
    (text,) = load("doc.yml", f"{SWEEP}{space}\n", Report())
    codes = [warning.rule.code for warning in schema.check(text, schema.load("sweepJob"))]
    rate: Any = pointer.get(text.data, ("search_space", "rate"))
    assert (codes, rate["min_value"], rate["max_value"]) == (["MLC111"] * 2, 0.0001, 0.1)


@pytest.mark.parametrize("value", ["nan", "1_000", "0x10", "1e999", "three", "9" * 50])
def test_text_that_az_takes_for_no_number_is_refused(value: str) -> None:
    assert the("amlCompute", f"{CLUSTER}max_instances: '{value}'\n").rule.code == "MLC103"


@pytest.mark.parametrize("number", ["2", "2.0"])
def test_a_whole_number_may_have_a_point(number: str) -> None:
    assert told("amlCompute", CLUSTER + f"max_instances: {number}\n") == []


@pytest.mark.parametrize("tier", ["low_priority", "LOW_PRIORITY", "Dedicated", "Low_Priority"])
def test_a_tier_is_taken_in_any_letter_case(tier: str) -> None:
    assert told("amlCompute", CLUSTER + f"tier: {tier}\n") == []


@pytest.mark.parametrize("tier", ["LowPriority", "lowpriority", "low-priority", "spot"])
def test_another_word_for_a_tier_is_answered_with_the_right_one(tier: str) -> None:
    found = the("amlCompute", CLUSTER + f"tier: {tier}\n")
    assert (found.rule.code, underlined(found)) == ("MLC104", tier)
    assert found.hint is not None
    assert "`low_priority`" in found.hint


@pytest.mark.parametrize("mode", ["key", "aml_token"])
def test_a_batch_endpoint_takes_entra_tokens_only(mode: str) -> None:
    found = the("batchEndpoint", ENDPOINT + f"auth_mode: {mode}\n")
    assert found.rule.code == "MLC104"


@pytest.mark.parametrize(
    "line",
    [
        "min_instances: -1",
        "max_instances: 0",
        "idle_time_before_scale_down: -1",
    ],
)
def test_a_number_out_of_bounds_is_refused(line: str) -> None:
    assert the("amlCompute", CLUSTER + line + "\n").rule.code == "MLC105"


@pytest.mark.parametrize("threshold", ["-2", "2147483648"])
def test_an_error_threshold_lies_between_minus_one_and_the_largest_int(threshold: str) -> None:
    found = the("batchDeployment", FLAT + f"error_threshold: {threshold}\n")
    assert found.rule.code == "MLC105"


@pytest.mark.parametrize(
    ("name", "breach"),
    [
        ("ab", "it is 2 long"),
        ("a" * 25, "it is 25 long"),
        ("gpu_T4_cluster", "`_` is not allowed in it"),
        ("1gpu", "it starts with `1`"),
        ("gpu-V100-6", "it ends with `-6`"),
        ("gpu-", "it ends with `-`"),
        ("naïve", "`ï` is not allowed in it"),
    ],
)
def test_a_bad_compute_name_is_told_the_rule_that_it_breaks(name: str, breach: str) -> None:
    found = the("amlCompute", f"name: {name}\ntype: amlcompute\n")
    assert found.rule.code == "MLC106"
    assert f": {breach}" in found.message


@pytest.mark.parametrize("name", ["cpu", "low-pri-cluster", "a-b--c", "gpu-6x", "a" * 24, "A1B2"])
def test_a_good_compute_name_is_taken(name: str) -> None:
    assert told("amlCompute", f"name: {name}\ntype: amlcompute\n") == []


@pytest.mark.parametrize("name", ["ab", "a" * 33, "a_b", "1abc", "abc-", "a--b", "My Endpoint"])
def test_a_bad_endpoint_name_is_refused(name: str) -> None:
    assert the("batchEndpoint", f"name: {name}\n").rule.code == "MLC106"


def test_a_name_does_not_end_with_a_line_break() -> None:
    assert [one.rule.code for one in check("batchEndpoint", "name: |\n  heart\n")] == ["MLC106"]


@pytest.mark.parametrize(
    "model",
    [
        "azureml:m",
        "azureml:m:1",
        "azureml:m:1:2",
        "azureml:m@latest",
        "azureml://registries/r/models/m/versions/1",
        "azureml:/subscriptions/s/resourceGroups/r/providers/Microsoft.MachineLearningServices"
        "/workspaces/w/models/m/versions/1",
        "{path: ./model}",
    ],
)
def test_a_model_is_a_reference_or_written_inline(model: str) -> None:
    assert told("batchDeployment", FLAT.replace("azureml:m:1", model)) == []


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("m:1", "did you mean `azureml:m:1`?"),
        ("./model", "for a local file write a mapping: `model: {path: ...}`"),
        ("azureml:m@", "write `azureml:NAME:VERSION`"),
    ],
)
def test_a_bad_reference_is_answered_with_the_grammar(model: str, hint: str) -> None:
    found = the("batchDeployment", FLAT.replace("azureml:m:1", model))
    assert (found.rule.code, underlined(found)) == ("MLC107", model)
    assert found.hint is not None
    assert found.hint.startswith(hint)


@pytest.mark.parametrize("compute", ["cpu", "azureml:cpu", "local"])
def test_a_compute_may_go_by_its_bare_name(compute: str) -> None:
    assert told("batchDeployment", FLAT.replace("azureml:cpu", compute)) == []


@pytest.mark.parametrize("compute", ["'azureml:cpu:1'", "a b", "'azureml:'", "./cpu"])
def test_a_compute_has_no_version_and_no_path(compute: str) -> None:
    text = FLAT.replace("azureml:cpu", compute)
    assert [one.rule.code for one in check("batchDeployment", text)] == ["MLC107"]


@pytest.mark.parametrize("component", ["hello", "file:./pipeline.yml", "'azureml:'"])
def test_a_component_is_a_reference_or_the_path_of_a_file(component: str) -> None:
    found = the("batchDeployment", PIPELINE.replace("pipeline.yml", component))
    assert found.rule.code == "MLC107"


def test_what_is_wrong_inside_an_inline_asset_is_said_there() -> None:
    found = the("batchDeployment", FLAT.replace("azureml:m:1", "{path: ./m, local_path: ./m}"))
    assert (found.rule.code, underlined(found)) == ("MLC101", "local_path")


def test_an_empty_tag_passes_as_the_sdk_lets_it_pass() -> None:
    assert check("amlCompute", "name: cpu\ntype: amlcompute\ntags: {Preview: ''}\n") == []


def test_a_field_that_a_component_ignores_is_a_warning_with_its_right_place() -> None:
    text = "name: a_b\ncommand: ls\nenvironment: azureml:e:1\nshm_size: 4g\nversoin: 2\n"
    ignored, misspelt = check("component", text)
    assert {ignored.rule.code, misspelt.rule.code} == {"MLC358"}
    assert not ignored.is_error
    assert (ignored.hint, misspelt.hint) == ("move it there", "did you mean `version`?")


@pytest.mark.parametrize("line", ["location:", "size: ''", "tags: {team: }", "tags:"])
def test_an_empty_value_is_refused(line: str) -> None:
    assert the("amlCompute", CLUSTER + line + "\n").rule.code == "MLC108"


def test_an_empty_value_is_shown_at_its_key() -> None:
    assert underlined(the("amlCompute", CLUSTER + "location:\n")) == "location"


def test_tags_of_a_cluster_are_text_and_those_of_an_endpoint_may_be_numbers() -> None:
    assert told("amlCompute", CLUSTER + "tags: {a: 1}\n") != []
    assert told("batchEndpoint", ENDPOINT + "tags: {a: 1}\n") == []


def test_what_show_prints_is_taken_again() -> None:
    shown = "id: /subscriptions/s\nprovisioning_state: Succeeded\nnode_counts: {idle: 0}\n"
    assert told("amlCompute", CLUSTER + shown) == []


def test_a_secret_is_not_repeated_and_its_line_not_shown() -> None:
    text = CLUSTER + "ssh_settings:\n  admin_username: me\n  admin_password: 271828\n"
    found = the("amlCompute", text)
    assert "271828" not in f"{found.message}{found.hint}"
    assert underlined(found) == "ssh_settings"


def test_a_keyword_without_words_of_its_own_speaks_the_librarys() -> None:
    document = Document(SourceText("doc.yml", "tags: 3"), {"tags": 3})
    (found,) = schema.check(document, {"properties": {"tags": {"multipleOf": 2}}})
    assert (found.rule.code, found.message) == ("MLC199", "`tags`: 3 is not a multiple of 2")


def test_too_many_entries_are_counted() -> None:
    document = Document(SourceText("doc.yml", "tags: [1, 2]"), {"tags": [1, 2]})
    (found,) = schema.check(document, {"properties": {"tags": {"maxItems": 1}}})
    assert (found.rule.code, found.message) == ("MLC105", "`tags` has 2 entries; the most is 1")


@pytest.mark.parametrize(
    ("text", "number"), [("2m", 120), ("120s", 120), ("PT2M", 120), ("1 hour", 3600), ("2x", None)]
)
def test_a_duration_is_read_in_seconds(text: str, number: int | None) -> None:
    assert seconds(text) == number


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (1, {"integer", "number"}),
        (2.0, {"integer", "number"}),
        (2.5, {"number"}),
        (True, {"boolean"}),
        ("1", {"string"}),
        (None, {"null"}),
        ([], {"array"}),
        ({}, {"object"}),
    ],
)
def test_a_value_has_the_types_that_json_schema_gives_it(value: object, types: set[str]) -> None:
    every = ("integer", "number", "boolean", "string", "null", "array", "object")
    assert {one for one in every if is_a(value, one)} == types


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=4), st.data())
def test_one_slip_in_a_word_is_seen_through(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 1))
    assert nearest(word[:at] + word[at + 1 :], [word]) == word
    assert nearest(word[:at] + "9" + word[at:], [word]) == word


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("pipelineJob", {"jobs": {"": {"type": "command"}}}, "`` is not a valid name: it is empty"),
        ("sparkJob", {"type": "spark", "entry": []}, "`entry` takes a mapping, not a list"),
    ],
)
def test_an_empty_name_and_a_list_for_a_choice_are_told_once(
    name: str, data: dict[str, Any], said: str
) -> None:
    document = Document(SourceText("doc.yml", ""), data)
    found = [one.message for one in schema.check(document, schema.load(name))]
    assert found.count(said) == 1


@pytest.mark.slow
@given(st.sampled_from(schema.names()), st.data())
def test_any_value_anywhere_is_answered_and_never_with_a_crash(
    name: str, data: st.DataObject
) -> None:
    known = [key for form in forms(name) for key in form.get("properties", {})]
    keys = st.sampled_from(known) | st.text(max_size=9)
    values = data.draw(st.dictionaries(keys, JSON, max_size=8))
    document = Document(SourceText("doc.yml", ""), values)
    assert all(one.message for one in schema.check(document, schema.load(name)))


def forms(name: str) -> list[schema.Schema]:
    return [form for _, form in schema.forms(schema.resolved(schema.load(name)))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("amlCompute", "name: $(NAME)\ntype: amlcompute\n"),
        ("amlCompute", CLUSTER + "max_instances: ${{ parameters.most }}\n"),
        ("amlCompute", CLUSTER + "tier: <TIER>\n"),
        ("batchDeployment", FLAT.replace("azureml:m:1", '"#{model}#"')),
        ("batchEndpoint", 'name: "{{ name }}"\n'),
        ("batchEndpoint", "name: ${NAME}\n"),
    ],
)
def test_a_placeholder_is_called_one(name: str, text: str) -> None:
    assert "looks like a placeholder that was not replaced" in (the(name, text).hint or "")


def test_an_arm_id_is_no_path_of_a_component() -> None:
    arm = (
        "/subscriptions/s/resourceGroups/r/providers/Microsoft.MachineLearningServices"
        "/workspaces/w/components/c/versions/1"
    )
    found = the("batchDeployment", PIPELINE.replace("pipeline.yml", arm))
    assert (found.rule.code, found.hint) == ("MLC107", f"did you mean `azureml:{arm}`?")


@pytest.mark.parametrize("word", ["systemAssigned", "SystemAssigned", "SYSTEM_ASSIGNED"])
def test_the_words_of_rest_are_taken_for_an_identity(word: str) -> None:
    assert told("amlCompute", CLUSTER + f"identity: {{type: {word}}}\n") == []
    assert told("batchEndpoint", ENDPOINT + f"identity: {{type: {word}}}\n") == []


@pytest.mark.parametrize("field", ["min_instances", "max_instances", "idle_time_before_scale_down"])
def test_a_number_that_the_wire_cannot_carry_is_out_of_bounds(field: str) -> None:
    found = the("amlCompute", CLUSTER + f"{field}: 2147483648\n")
    assert found.message == f"`{field}` is 2147483648; the most is 2147483647"


@pytest.mark.parametrize("value", ["42", "0.1", "true", "text"])
def test_an_input_may_be_a_value_written_as_a_mapping(value: str) -> None:
    job = "command: echo\nenvironment: azureml:e:1\ncompute: cpu\ninputs:\n  a: "
    assert told("commandJob", f"{job}{{value: {value}}}\n") == []
    assert told("commandJob", f"{job}{{mode: direct}}\n") == [
        "MLC102 `path` or `value` is missing in `inputs.a`"
    ]


def test_a_job_may_run_on_a_virtual_cluster() -> None:
    arm = "/subscriptions/s/resourceGroups/r/providers/Microsoft.MachineLearningServices"
    job = "command: echo\nenvironment: azureml:e:1\ncompute: "
    assert told("commandJob", f"{job}{arm}/virtualclusters/v\n") == []
    assert told("commandJob", f"{job}{arm}/clusters/v\n") != []


def test_a_value_of_a_wrong_type_is_no_bug_where_words_or_mappings_stand() -> None:
    collector = FLAT.replace("compute: azureml:cpu", "instance_type: Standard_D4s_v3")
    collector += "instance_count: 1\ndata_collector: {collections: {a: {enabled: 2.5}}}\n"
    assert told("managedOnlineDeployment", collector) == [
        "MLC103 `data_collector.collections.a.enabled` takes text, not `2.5`"
    ]
    credentials = "type: git\ntarget: x\ncredentials: {type: 3, key: a}\n"
    assert told("others/workspaceConnection", credentials) == [
        "MLC103 `credentials.type` takes text, not `3`"
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("commandJob", "command: ls\nenvironment: azureml:e:1\ntags: {owner: }\n"),
        (
            "component",
            "type: command\nname: c\ncommand: ls\nenvironment: azureml:e:1\n"
            "outputs: {more: {type: boolean, is_control: true}}\n",
        ),
        ("model", "name: m\npath: x\ndefault_deployment_template: {asset_id: azureml://a}\n"),
        ("data", "name: d\npath: x\nauto_delete_setting: {condition: created_greater_than}\n"),
    ],
)
def test_what_the_sdk_takes_is_valid(name: str, text: str) -> None:
    assert told(name, text) == []


def test_a_tag_of_a_job_is_text() -> None:
    found = the("commandJob", "command: ls\nenvironment: azureml:e:1\ntags: {run: 3}\n")
    assert (found.rule.code, found.hint) == ("MLC103", 'quote it: "3"')


AUTOML = """\
type: automl
task: image_classification
target_column_name: label
primary_metric: accuracy
training_data: {type: mltable, path: data/}
compute: azureml:gpu
"""
SPARK = """\
type: spark
code: src
entry: {file: main.py}
conf:
  spark.driver.cores: 1
  spark.driver.memory: 2g
  spark.executor.cores: 2
  spark.executor.memory: 2g
  spark.executor.instances: 2
"""
SERVERLESS = "resources: {instance_type: standard_e4s_v3, runtime_version: '3.4'}\n"


def test_a_spark_job_with_its_settings_and_resources_is_valid() -> None:
    files = "inputs: {a: {path: in/, mode: Direct}, b: 3}\noutputs: {o: {mode: direct}, p: }\n"
    assert told("sparkJob", SPARK + SERVERLESS + files) == []


@pytest.mark.parametrize(
    ("document", "findings"),
    [
        (SPARK, ["MLC102 `compute` or `resources` is missing"]),
        (
            SPARK + SERVERLESS + "compute: azureml:pool\n",
            ["MLC110 `resources` and `compute` exclude each other"],
        ),
        (
            SPARK.replace("executor.instances: 2", "dynamicAllocation.enabled: true") + SERVERLESS,
            [
                "MLC102 `spark.executor.instances` or `spark.dynamicAllocation.minExecutors`"
                " is missing in `conf`"
            ],
        ),
        (
            SPARK + "resources: {instance_type: standard_e4s_v3}\n",
            ["MLC102 `runtime_version` is missing in `resources`"],
        ),
        (
            SPARK + SERVERLESS + "inputs: {a: {path: in/}}\n",
            ["MLC102 `mode` is missing in `inputs.a`"],
        ),
        (
            SPARK + SERVERLESS + "outputs: {o: {mode: upload}}\n",
            ["MLC104 `outputs.o.mode` does not take `upload`"],
        ),
    ],
)
def test_a_spark_job_is_held_to_what_the_sdk_asks_of_it(document: str, findings: list[str]) -> None:
    assert told("sparkJob", document) == findings


def test_only_a_table_can_be_evaluated() -> None:
    job = "command: ls\nenvironment: azureml:e:1\ninputs: {a: {path: x/, mode: eval_mount%s}}\n"
    assert told("commandJob", job % "") == told("commandJob", job % ", type: MLTable") == []
    finding = the("commandJob", job % ", type: uri_file")
    assert (finding.rule.code, underlined(finding)) == ("MLC104", "eval_mount")


@pytest.mark.parametrize(
    ("name", "document", "hint"),
    [
        ("commandJob", "type: Command\ncommand: ls\nenvironment: azureml:e:1\n", "command"),
        (
            "component",
            "name: c\ncommand: ls\nenvironment: azureml:e:1\ninputs: {a: {type: Number}}\n",
            "number",
        ),
    ],
)
def test_words_that_the_sdk_compares_as_they_are_are_spelt_out(
    name: str, document: str, hint: str
) -> None:
    finding = the(name, document)
    assert (finding.rule.code, finding.hint) == ("MLC104", f"did you mean `{hint}`?")


def test_a_version_of_a_model_to_register_needs_a_name() -> None:
    flat = "name: blue\nendpoint_name: scoring\ncompute: azureml:cpu\nmodel: {path: m%s}\n"
    assert told("batchDeployment", flat % "") == []
    assert told("batchDeployment", flat % ", version: 1") == ["MLC102 `name` is missing in `model`"]


def test_the_older_word_for_private_networks_is_known() -> None:
    online = "name: blue\nendpoint_name: scoring\nmodel: azureml:m:1\ninstance_count: 1\n"
    online += "instance_type: Standard_DS3_v2\nprivate_network_connection: true\n"
    assert told("managedOnlineDeployment", online) == []
