"""Plans for people: what the golden cases of `cases/plan` do not say."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mlctl import source
from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds.address import Address
from mlctl.planning.model import Action, ActionReason, Change, FieldChange, Plan
from mlctl.planning.preflight.references import MISSING
from mlctl.pointer import Data
from mlctl.render.plan.blocks import human
from mlctl.render.plan.tree import DiffBranch, DiffLeaf, lines, scalar
from mlctl.render.terminal.terminal import Styler
from tests.builders.calls import calls
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER
from tests.builders.workspace import SCOPE

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def drawn(*leaves: tuple[str, Data, Data]) -> list[str]:
    branch = DiffBranch()
    for name, before, after in leaves:
        branch.put(tuple(name.split("/")), DiffLeaf(before, after))
    return list(lines(branch, Styler(color=False), 0))


def many(count: int) -> Plan:
    """A plan that changes one number of each of many resources."""
    changes = [
        Change(
            Address("compute", f"cluster-{number}"),
            Action.UPDATE,
            (FieldChange(("max_instances",), 2, 3),),
        )
        for number in range(count)
    ]
    return Plan("local", SCOPE, tuple(changes), {})


def test_values_stand_in_one_column() -> None:
    assert drawn(("a", 1, 2), ("long_name", "v", "w")) == [
        "~ a:         1 -> 2",
        "~ long_name: v -> w",
    ]


def test_what_hangs_together_is_indented() -> None:
    assert drawn(("tags/team", None, "a"), ("tags/stage", "b", None), ("size", 1, 2)) == [
        "~ tags:",
        "    + team:  a",
        "    - stage: b",
        "~ size: 1 -> 2",
    ]


def test_objects_differ_in_their_parts() -> None:
    before, after = {"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 4, "d": 3}}
    assert drawn(("settings", before, after)) == [
        "~ settings:",
        "    ~ b:",
        "        ~ c: 2 -> 4",
        "          # (1 unchanged element hidden)",
        "      # (1 unchanged element hidden)",
    ]


def test_an_object_that_only_loses_a_part_is_changed() -> None:
    assert drawn(("tags", {"a": 1, "b": 2}, {"a": 1}))[0] == "~ tags:"


def test_an_object_that_becomes_a_value_shows_both() -> None:
    assert drawn(("conda_file", {"a": 1}, "conda.yml")) == ['~ conda_file: {"a": 1} -> conda.yml']


def test_lists_differ_in_their_items() -> None:
    assert drawn(("ids", ["a", {"b": 1}], ["a", {"b": 1, "c": 2}])) == [
        "~ ids:",
        "    - - b: 1",
        "    + - {b: 1, c: 2}",
        "      # (1 unchanged element hidden)",
    ]


def test_an_empty_list_is_a_value() -> None:
    assert drawn(("ids", None, [])) == ["+ ids: []"]


def test_texts_differ_in_their_lines() -> None:
    assert drawn(("about", "a\nb\n", "a\nc\n")) == [
        "~ about:",
        "    - b",
        "    + c",
        "      # (1 unchanged line hidden)",
    ]


@example("\U000e0020")
@given(
    TEXT
    | st.sampled_from(["yes", "No", "~", "null", "1.0", "a: b", "a #b", "-", "./a", "x:", "a##[b]"])
)
def test_a_text_on_one_line_is_yaml_for_itself(value: str) -> None:
    (document,) = source.load("x.yml", f"key: {scalar(value)}\n", Report())
    assert document.data == {"key": value}


def test_nothing_that_is_drawn_is_an_order_to_a_build_agent() -> None:
    values: Data = {"a": "b ##vso[x]", "b": ["##[x]"], "c": "::x\n##vso[x]\n", "##[d]": "e##[f]"}
    for line in drawn(("value", None, values), ("other", values, "##[x]")):
        assert not re.search(r"##(vso)?\[|^\s*::", line)


@given(DATA, DATA)
def test_nothing_that_is_drawn_steers_the_terminal(before: Data, after: Data) -> None:
    for line in drawn(("value", before, after)):
        assert line.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e]", line)


@given(DATA, DATA)
def test_a_line_is_never_more_than_a_line(before: Data, after: Data) -> None:
    assert all(len(line.splitlines()) <= 1 for line in drawn(("value", before, after)))


def test_colour_adds_nothing_but_colour() -> None:
    made = plan(CLUSTER + "size: Standard_DS2_v2\n", backend=workspace(CLUSTER)).plan
    painted = human(made, color=True)
    assert painted != human(made)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == human(made)


def test_a_sensitive_value_is_not_shown_even_where_the_change_holds_it() -> None:
    secret = FieldChange(("ssh_settings", "admin_password"), "old-1", "new-1", sensitive=True)
    change = replace(many(1).changes[0], fields=(secret,))
    text = human(replace(many(1), changes=(change,)))
    assert "*** (before) -> *** (after)" in text
    assert "old-1" not in text
    assert "new-1" not in text


def test_a_plan_that_only_would_be_rejected_does_not_call_the_workspace_as_configured() -> None:
    found = Diagnostic(MISSING, "there is no compute `c`", None)
    text = human(Plan("local", SCOPE, (), {}, (found,)))
    assert text.startswith("The backend would reject this plan:\n\nerror[MLC402]")


def test_the_first_version_is_no_new_version() -> None:
    first = "$schema: https://x/model.schema.json\nname: heart\npath: azureml://x/one\n"
    assert "a new version" not in human(plan(first).plan)
    second = plan(first.replace("one", "two"), backend=workspace(first)).plan
    assert "a new version" in human(second)


def test_what_failed_before_is_put_again_and_says_so() -> None:
    failed = FieldChange(("provisioning_state",), "Failed", "Succeeded")
    text = human(replace(many(1), changes=(replace(many(1).changes[0], fields=(failed,)),)))
    assert "# (its last operation did not succeed, so it is written again)" in text
    assert "~ provisioning_state: Failed -> Succeeded" in text


def test_what_no_file_declares_says_why_it_is_destroyed() -> None:
    reason, above = ActionReason.PARENT_DELETED, Address("batch-endpoint", "scores")
    gone = Change(Address("compute", "old"), Action.DELETE, reason=reason)
    beneath = Change(Address("batch-deployment", "a", "scores"), Action.DELETE, because=above)
    text = human(Plan("local", SCOPE, (gone, beneath), {}))
    assert "# (because compute/old is not in the files)" in text
    assert "# (because batch-endpoint/scores is deleted; no file declares it)" in text


def test_a_big_plan_takes_as_much_work_per_change_as_a_small_one() -> None:
    few, more = many(100), many(2_000)
    human(few)
    assert calls(lambda: human(more)) < 21 * calls(lambda: human(few))
