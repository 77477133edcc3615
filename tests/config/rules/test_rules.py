"""The semantic rules; each has its cases under `tests/cases/rules/`, and these are about all."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import schema, source
from mlctl.config import rules
from mlctl.diagnostics import Rule, Severity
from mlctl.kinds import DOCUMENTS
from tests.builders.findings import (
    TODAY,
    check,
    check_files,
    codes,
    of_case,
    rules_case,
)
from tests.builders.paths import CASES

RULES = CASES / "rules"
FOLDERS = sorted(folder for folder in RULES.iterdir() if folder.is_dir())
each_case = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
each_rule = pytest.mark.parametrize("rule", rules.rules(), ids=lambda rule: rule.code)

CLUSTER = """\
$schema: amlCompute.schema.json
name: cpu-cluster
type: amlcompute
max_instances: 4
"""
DEPLOYMENT = """\
$schema: batchDeployment.schema.json
name: classifier
endpoint_name: heart-batch
model: azureml:heart@latest
compute: azureml:cpu-cluster
"""
CODE = """\
environment: azureml:e:1
code_configuration: {code: ./src, scoring_script: a.py}
"""


@each_case
def test_the_bad_case_is_found_by_its_rule_and_the_good_one_by_none(folder: Path) -> None:
    assert folder.name.partition("-")[0] in codes(of_case(folder, "bad.yml"))
    found = of_case(folder, "good.yml")
    assert [one.rule.code for one in found if one.rule.severity is not Severity.INFO] == []


def test_every_rule_has_its_cases_and_every_case_its_rule() -> None:
    assert {one.name for one in FOLDERS} == {f"{one.code}-{one.name}" for one in rules.rules()}


@each_rule
def test_codes_and_names_are_well_formed(rule: Rule) -> None:
    assert re.fullmatch(r"MLC([23]\d\d|422)", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


@each_rule
def test_a_rule_says_why_how_to_fix_and_where_it_comes_from(rule: Rule) -> None:
    rule = rule.documented()
    assert all(text.endswith((".", '."')) for text in (rule.why, rule.fix))
    assert rule.origin
    assert not rule.summary.endswith(".")


@each_case
def test_a_finding_has_an_action_an_address_and_a_place(folder: Path) -> None:
    found = [one for one in of_case(folder, "bad.yml") if one.rule in rules.rules()]
    assert all(one.hint and one.address and one.primary for one in found)
    assert not any(one.message.endswith(".") for one in found)


COMMAND = "{command: ls, environment: azureml:e:1}"
PARALLEL = "{task: {type: run_function, code: ., entry_script: a.py, environment: azureml:e:1}}"
NESTED = "{jobs: {a: {command: ls, environment: azureml:e:1}}}"


@pytest.mark.parametrize(
    ("step", "component", "expected"),
    [
        ("", COMMAND, []),
        ("type: sweep", COMMAND, []),
        ("", PARALLEL, ["is parallel, but has no `type`"]),
        ("type: parallel", PARALLEL, ["is parallel, but has no `type`"]),
        ("", "{type: parallel, " + PARALLEL[1:], []),
        ("", NESTED, ["is a pipeline, which needs a separate file"]),
        ("", "{type: pipeline, " + NESTED[1:], ["is a pipeline, which needs a separate file"]),
        ("type: parallel", COMMAND, ["is a command, but the step a parallel"]),
    ],
)
def test_a_component_in_a_step_gets_the_verdict_of_the_sdk(
    step: str, component: str, expected: list[str]
) -> None:
    lines = [
        "$schema: pipelineJob.schema.json",
        "type: pipeline",
        "settings: {default_compute: azureml:c}",
        "jobs:",
        "  a:",
    ]
    lines += [f"    {line}" for line in (step, f"component: {component}") if line]
    findings = [one for one in check("\n".join(lines) + "\n") if one.rule.code == "MLC359"]
    messages = [one.message.removeprefix("the component in step `a` ") for one in findings]
    assert messages == expected


@pytest.mark.parametrize("name", ["MLC312-password-in-file", "MLC313-private-key-in-file"])
def test_a_secret_is_never_printed(name: str) -> None:
    printed = rules_case(RULES / name)
    assert "hunter2" not in printed
    assert "bm90" not in printed


def test_a_secret_in_a_document_of_one_line_costs_the_finding_its_place() -> None:
    text = (
        '{"$schema": "compute.json", "name": "cpu-cluster", "type": "amlcompute",'
        ' "max_instances": 4, "ssh_settings": {"admin_username": "a", "admin_password": "b"}}\n'
    )
    assert [one.primary for one in check(text)] == [None]


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (date(2026, 4, 30), []),
        (date(2026, 5, 1), ["MLC305"]),
        (date(2028, 4, 30), ["MLC305"]),
        (date(2028, 5, 1), ["MLC304"]),
    ],
)
def test_a_size_is_reported_from_two_years_before_its_end(today: date, expected: list[str]) -> None:
    assert codes(check(CLUSTER + "size: Standard_DS3_v2\n", today=today)) == expected


def test_a_size_that_is_not_written_is_not_reported() -> None:
    assert codes(check(CLUSTER, today=date(2029, 1, 1))) == []


@pytest.mark.parametrize(
    "size",
    [
        "Standard_B2ats_v2",
        "Standard_D8s_v6",
        "Standard_DC4as_cc_v6",
        "Standard_E16-4ds_v5",
        "Standard_HB176-24rs_v4",
        "Standard_L80as_v3",
        "Standard_M128s",
        "Standard_M416ms_8_v2",
        "Standard_NC40ads_H100_v5",
        "Standard_ND128isr_NDR_GB200_v6",
        "Standard_ND96isr_MI300X_v5",
        "Standard_NG8ads_V620_v1",
    ],
)
def test_a_size_that_is_named_as_azure_names_sizes_is_not_doubted(size: str) -> None:
    assert codes(check(CLUSTER + f"size: {size}\n")) == []


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        ("D4s_v3", "did you mean `Standard_D4s_v3`?"),
        ("Standard_DS3v2", "did you mean `Standard_DS3_v2`?"),
        ("Standard_D5s_v3", "did you mean `Standard_D2s_v3`?"),
        ("Standard_D44_v2", "did you mean `Standard_D14_v2`?"),
    ],
)
def test_a_size_that_is_not_has_a_suggestion(size: str, hint: str) -> None:
    assert [one.hint for one in check(CLUSTER + f"size: {size}\n")] == [hint]


def test_a_path_is_looked_for_beside_its_file() -> None:
    asked = {Path("deploy/src"): True, Path("deploy/src/a.py"): True}
    assert codes(check(DEPLOYMENT + CODE, exists=asked.__getitem__, name="deploy/x.yml")) == []


@pytest.mark.parametrize(
    "path",
    [
        "azureml://datastores/d/paths/m",
        "azureml:m:1",
        "runs:/abc/model",
        "https://example.com/m",
        "../${MODEL}/m",
        "__MODEL__",
    ],
)
def test_what_is_no_local_path_is_not_looked_for(path: str) -> None:
    text = f"$schema: model.schema.json\nname: heart\npath: {path}\n"
    assert codes(check(text, exists=lambda _: False)) == []


def test_a_script_is_not_looked_for_in_a_folder_that_is_missing() -> None:
    found = check(DEPLOYMENT + CODE, exists=lambda _: False)
    assert [one.message for one in found] == ["code_configuration.code: `src` does not exist"]


def test_paths_inside_an_inline_environment_are_looked_for_too() -> None:
    inline = "environment:\n  build:\n    path: ./context\n    dockerfile_path: Dockerfile.gpu\n"
    found = check(DEPLOYMENT + inline, exists=lambda path: path.name == "context")
    said = "build.dockerfile_path: there is no `Dockerfile.gpu` in `context`"
    assert [(one.message, one.address) for one in found] == [
        (said, "batch-deployment/heart-batch/classifier")
    ]


@pytest.mark.parametrize("region", ["East US 2", "EASTUS2", "eastus2euap", "usgovarizona"])
def test_a_region_is_known_in_any_spelling_and_any_cloud(region: str) -> None:
    assert codes(check(CLUSTER + f"location: {region}\n")) == []


def test_one_node_in_a_low_priority_cluster_is_said_once_per_cause() -> None:
    cluster = CLUSTER.replace("4", "1") + "tier: low_priority\n"
    assert codes(check(cluster, DEPLOYMENT)) == ["MLC308", "MLC422"]


def test_a_cluster_that_is_not_declared_is_no_reason_to_guess() -> None:
    assert codes(check(DEPLOYMENT + "resources: {instance_count: 900}\n")) == []


def test_the_default_of_max_instances_bounds_a_deployment_too() -> None:
    cluster = CLUSTER.replace("max_instances: 4\n", "")
    found = check(cluster, DEPLOYMENT + "resources: {instance_count: 5}\n")
    assert codes(found) == ["MLC302", "MLC309"]


@pytest.mark.parametrize(("most", "expected"), [("1", ["MLC309"]), ("0", ["MLC105"])])
def test_a_deployment_is_measured_by_a_cluster_that_can_be(most: str, expected: list[str]) -> None:
    deployment = DEPLOYMENT + "resources: {instance_count: 2}\n"
    assert codes(check(CLUSTER.replace("4", most), deployment)) == expected


def test_the_same_asset_inline_in_two_deployments_is_no_conflict() -> None:
    inline = "environment: {name: e, version: 1, image: i}\n"
    other = DEPLOYMENT.replace("classifier", "other")
    assert codes(check(DEPLOYMENT + inline, other + inline)) == []


def test_the_same_path_from_two_folders_is_two_contents() -> None:
    inline = "model: {name: m, version: 1, path: ./m}\n"
    one = DEPLOYMENT.replace("model: azureml:heart@latest\n", inline)
    texts = {"a/x.yml": one, "b/y.yml": one.replace("classifier", "other")}
    found = check_files(texts, rules.RuleContext(TODAY, lambda _: True))
    assert [one.message for one in found] == [
        "`model/m:1` is described in two ways: `path` differs"
    ]


def test_the_same_image_from_two_folders_is_one_content() -> None:
    one = DEPLOYMENT + "environment: {name: e, version: 1, image: i}\n"
    texts = {"a/x.yml": one, "b/y.yml": one.replace("classifier", "other")}
    assert codes(check_files(texts, rules.RuleContext(TODAY, lambda _: True))) == []


def test_an_inline_mlflow_model_needs_no_environment() -> None:
    model = "model: {path: ./m, type: mlflow_model}\n"
    text = DEPLOYMENT.replace("model: azureml:heart@latest\n", model)
    assert codes(check(text + "code_configuration: {code: ./src, scoring_script: a.py}\n")) == []


def test_a_repeated_document_is_checked_like_the_first() -> None:
    again = CLUSTER + "idle_time_before_scale_down: 0\n"
    assert codes(check(CLUSTER, again)) == ["MLC201", "MLC303"]


def test_a_repeated_document_is_checked_by_the_rules_of_its_kind_only() -> None:
    endpoint = "$schema: batchEndpoint.schema.json\nname: heart-batch\n"
    assert codes(check(endpoint, endpoint + "location: moonbase\n")) == ["MLC201", "MLC307"]


def test_a_wrong_type_is_left_to_the_schema() -> None:
    cluster = CLUSTER.replace("4", "many") + "min_instances: 5\nsize: 3\nlocation: 4\n"
    assert set(codes(check(cluster))) == {"MLC103"}


def test_a_misspelt_key_is_not_missed_as_well() -> None:
    ssh = "ssh_settings: {admin_username: a, admin_pasword: b}\n"
    found = check(CLUSTER.replace("max_instances", "max_instance") + ssh)
    assert codes(found) == ["MLC101", "MLC101"]


SCALARS = st.none() | st.booleans() | st.integers(-2, 40) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner)
)
FORMS = [
    form["properties"]
    for kind in DOCUMENTS.values()
    for _, form in schema.forms(schema.resolved(kind.schema))
]
BENEATH = {key for form in FORMS for one in form.values() for key in one.get("properties", {})}
KEYS = st.sampled_from(sorted({*BENEATH, "name", "path", "timeout"}))
OBJECTS = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, SCALARS), max_size=4)
FIELDS = st.dictionaries(
    st.sampled_from(sorted({name for form in FORMS for name in form})), VALUES | OBJECTS, max_size=8
)
NAMES = [name for one in DOCUMENTS.values() for name in one.documents]
PARTS = st.tuples(st.sampled_from(NAMES), FIELDS)


@pytest.mark.slow
@given(st.lists(PARTS, min_size=1, max_size=3))
def test_no_document_whatever_its_types_stops_the_rules(
    parts: list[tuple[str, dict[str, object]]],
) -> None:
    names = {"name": "abc", "endpoint_name": "def"}
    texts = [source.dump({**names, **odd, "$schema": f"{kind}.json"}) for kind, odd in parts]
    assert all(found.rule.severity in Severity for found in check(*texts))


def test_a_topic_is_about_the_kinds_that_have_what_it_looks_at() -> None:
    steps = {name for name, kind in DOCUMENTS.items() if kind.steps}
    sizes = {name for name, kind in DOCUMENTS.items() if kind.quota.vm_size}
    children = {name for name, kind in DOCUMENTS.items() if kind.parent}
    assert {*rules.TOPICS["commands"]} == {*rules.TOPICS["steps"]} == steps
    assert {*rules.TOPICS["step_values"]} == steps
    assert {*rules.TOPICS["sizes"]} == sizes
    assert {*rules.TOPICS["scripts"]} == children
    assert {name for kinds in rules.TOPICS.values() for name in kinds} <= DOCUMENTS.keys()


@pytest.mark.parametrize("declared", ["inputs: {x: {type: string, default: y}}, ", ""])
def test_a_step_that_is_a_pipeline_of_its_own_needs_no_compute(declared: str) -> None:
    head = "$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json\n"
    inner = "jobs: {inner: {component: azureml:c:1, compute: azureml:cpu-cluster}}"
    component = f"{{type: pipeline, {declared}{inner}}}"
    job = f"{head}type: pipeline\njobs:\n  whole:\n    component: {component}\n"
    assert "MLC356" not in codes(check(job))
    assert "MLC356" in codes(check(job.replace(inner, "command: python train.py")))


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("tier: low_priority", (6, 18)),
        ("tier:   low_priority  # while it lasts", (8, 20)),
        ("tier:\n  low_priority", (0, 0)),
        ('"tier": low_priority', (0, 0)),
    ],
)
def test_low_priority_is_shown_at_the_tier_where_its_line_says_it(
    line: str, columns: tuple[int, int]
) -> None:
    (spot,) = [item for item in check(f"{CLUSTER}{line}\n") if item.rule.code == "MLC422"]
    assert spot.primary is not None
    span = spot.primary.span
    assert (span.column, span.end_column) == columns
    assert (span.line > 0) is (columns != (0, 0))
