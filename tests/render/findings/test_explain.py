"""`mlctl explain` prints what the rules and the schemas know."""

from __future__ import annotations

import pytest

from mlctl.diagnostics import Rule
from mlctl.kinds import DOCUMENTS
from mlctl.render.findings.explain import explain
from mlctl.schema.rules import SCHEMA_RULES


def page(what: str) -> str:
    return explain(what, SCHEMA_RULES)


def facts(what: str) -> dict[str, str]:
    rows = (line.strip().split("  ", 1) for line in page(what).splitlines() if line[:2] == "  ")
    return {row[0]: row[1].strip() for row in rows if len(row) == 2}


def test_a_field_says_what_it_takes_its_default_and_its_name_on_the_wire() -> None:
    assert page("compute.tier") == (
        "compute.tier\n\n"
        "Dedicated nodes stay; low-priority nodes cost less, have a core quota of their own, and\n"
        "can be taken away at any time.\n\n"
        "  takes        `dedicated` or `low_priority`, in any letter case\n"
        "  default      dedicated\n"
        "  a change     forces replacement\n"
        "  on the wire  properties.properties.vmPriority (dedicated is Dedicated, low_priority is\n"
        "               LowPriority)\n"
        "  for example  tier: dedicated\n"
    )


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("compute.max_instances", "in place"),
        ("compute.size", "forces replacement"),
        ("compute.name", "makes it another resource"),
        ("compute.id", "is set by the service: ignored in files"),
        ("compute.network_settings.subnet", "is one of `network_settings`"),
        ("compute.ssh_settings", "see its fields"),
        ("model.path", "needs a new version"),
        ("batch-endpoint.properties", "only adds"),
        ("batch-deployment.job_definition", "is not sent to the service"),
    ],
)
def test_a_field_says_what_a_change_does(field: str, change: str) -> None:
    assert facts(field)["a change"] == change


def test_a_field_says_its_bounds() -> None:
    assert facts("compute.min_instances")["takes"] == "a whole number, 0 or more"
    assert facts("batch-deployment.error_threshold")["takes"].endswith("-1 or more")


def test_a_secret_is_called_one() -> None:
    assert "never printed" in facts("compute.ssh_settings.admin_password")["secret"]


def test_a_field_says_which_forms_have_it_and_where_it_is_in_others() -> None:
    said = facts("batch-deployment.mini_batch_size")
    assert said["forms"] == "no `type`"
    assert said["elsewhere"] == "`settings.mini_batch_size` with `type: model`"


def test_an_alias_says_what_it_stands_for() -> None:
    said = facts("batch-deployment.settings.instance_count")
    assert said["stands for"].startswith("`resources.instance_count`")
    assert "default" not in said


def test_the_fields_of_an_inline_asset_and_of_a_list_are_found() -> None:
    assert "The model's files" in page("batch-deployment.model.path")
    assert "ARM id" in page("compute.identity.user_assigned_identities.resource_id")


def test_a_part_of_a_field_has_no_wire_and_no_change_of_its_own() -> None:
    assert facts("batch-deployment.model")["path"] == "text"
    assert "on the wire" not in facts("batch-deployment.model.path")


def test_a_field_that_differs_between_forms_is_told_once_for_each() -> None:
    told = page("batch-deployment.settings")
    assert told.count("takes") == 2
    assert page("batch-deployment.model").count("takes") == 1


def test_a_kind_lists_every_field_that_a_file_can_set() -> None:
    assert facts("compute")["max_instances"] == "a whole number, 1 or more; default 4; in place"
    assert "provisioning_state" not in facts("compute")


@pytest.mark.parametrize("name", ["compute", "amlCompute", "modelBatchDeployment"])
def test_a_kind_goes_by_its_name_or_by_that_of_its_documents(name: str) -> None:
    assert "Fields" in page(name)


@pytest.mark.parametrize("rule", SCHEMA_RULES, ids=lambda rule: rule.code)
def test_a_rule_goes_by_its_code_or_its_name_in_any_letter_case(rule: Rule) -> None:
    assert page(rule.code.lower()) == page(rule.name.upper())
    assert page(rule.code).startswith(f"{rule.code} {rule.name} ({rule.severity.value})")


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("compte", "did you mean `compute`?"),
        ("MLC1044", "did you mean `MLC104`?"),
        ("banana", "the kinds are `compute`"),
        ("compute.teir", "did you mean `compute.tier`?"),
        ("compute.identity.typ", "did you mean `compute.identity.type`?"),
        ("compute.tier.banana", "see `mlctl explain compute`"),
    ],
)
def test_what_does_not_exist_is_answered_with_what_is_near(what: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"is neither|has no field") as told:
        page(what)
    assert hint in str(told.value)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_field_of_every_form_has_a_page(kind: str) -> None:
    fields = [field for form in DOCUMENTS[kind].forms for field in form.fields]
    assert all(page(".".join([kind, *map(str, field.at)])) for field in fields)


def test_no_line_is_wider_than_a_terminal() -> None:
    for what in (*DOCUMENTS, *(rule.code for rule in SCHEMA_RULES)):
        assert all(len(line) <= 100 for line in page(what).splitlines())
