"""Steps of control flow are read as the steps that they make run, in the words of azure-ai-ml."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.kinds.control_flow import ControlFlowError, drop_unrun, rounds_of, unroll

BODY = {"component": "b.yml", "inputs": {"n": 3}}


def of(step: str, *output: str) -> str:
    return "${{parent.jobs." + ".".join((step, *(("outputs", *output) if output else ()))) + "}}"


def read(steps: dict[str, Any], **texts: str) -> dict[str, Any]:
    return unroll(steps, texts.get)


def do_while(**more: Any) -> dict[str, Any]:
    return {
        "type": "do_while",
        "body": of("b"),
        "mapping": {"next": "n"},
        "limits": {"max_iteration_count": 3},
        **more,
    }


@pytest.mark.parametrize(
    ("condition", "second"),
    [("more", of("b-1", "more")), (of("b", "more"), of("b-1", "more")), (True, "True")],
)
def test_each_round_of_a_loop_takes_what_the_one_before_it_left(
    condition: Any, second: str
) -> None:
    steps = read({"b": BODY, "w": do_while(condition=condition), "c": {"inputs": of("b", "next")}})
    assert list(steps) == ["c", "b-1", "b-2", "b-3"]
    assert steps["b-1"]["inputs"] == {"n": 3}
    assert steps["b-2"]["inputs"] == {"n": of("b-1", "next")}
    assert "condition" not in steps["b-1"]
    assert steps["b-2"]["condition"] == {"true": [second]}
    every, paths = rounds_of(steps["c"]["inputs"]) or (None, [])
    assert (every, [path[2] for path in paths]) == (False, ["b-1", "b-2", "b-3"])


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ([{"n": 1}, {"n": 2}], ["b-1", "b-2"]),
        ({"one": {"n": 1}, "a/b": {"n": 2}}, ["b-one", "b-a_b"]),
        ('[{"n": 1}, {"n": 2}]', ["b-1", "b-2"]),
        ("${{parent.inputs.all}}", ["b-1", "b-2"]),
    ],
)
def test_each_item_is_a_round_with_its_values_as_inputs(items: Any, names: list[str]) -> None:
    loop = {"type": "parallel_for", "body": of("b"), "items": items}
    steps = read({"b": BODY, "f": loop, "c": {"inputs": of("f", "o")}}, all='[{"n": 1}, {"n": 2}]')
    assert [name for name in steps if name != "c"] == names
    assert [steps[name]["inputs"]["n"] for name in names] == [1, 2]
    every, paths = rounds_of(steps["c"]["inputs"]) or (None, [])
    assert (every, [path[2] for path in paths]) == (True, names)


def test_both_blocks_wait_for_a_condition_and_a_loop_in_one_with_all_its_rounds() -> None:
    choice = {"type": "if_else", "condition": of("a", "yes"), "true_block": of("x")}
    choice["false_block"] = [of("w")]  # type: ignore[assignment]
    steps = read({"a": {}, "x": {}, "b": BODY, "w": do_while(condition="more"), "i": choice})
    assert steps["x"]["condition"] == {"true": [of("a", "yes")]}
    assert steps["b-1"]["condition"] == {"false": [of("a", "yes")]}
    assert steps["b-2"]["condition"] == {"false": [of("a", "yes")], "true": [of("b-1", "more")]}


def test_what_did_not_run_is_left_out_and_named_by_nothing() -> None:
    steps = read({"b": BODY, "w": do_while(condition="more"), "c": {"inputs": of("b", "next")}})
    remaining = drop_unrun(steps, lambda name: name in ("c", "b-1"))
    assert list(remaining) == ["c", "b-1"]
    assert remaining["c"]["inputs"].split() == ["or", of("b-1", "next")]


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (do_while(body=of("z")), "does not name a step"),
        (do_while(body=["b"]), "does not name a step"),
        (do_while(limits={"max_iteration_count": 1001}), "must be from 1 to 1000, not `1001`"),
        (do_while(limits=None), "not `None`"),
        ({"type": "if_else", "condition": of("b", "x")}, "neither"),
        ({"type": "if_else", "true_block": of("b")}, "true, false or an output"),
        ({"type": "parallel_for", "body": of("b"), "items": []}, "not empty"),
        ({"type": "parallel_for", "body": of("b"), "items": "["}, "not JSON"),
        ({"type": "parallel_for", "body": of("b"), "items": [1]}, "a mapping of inputs"),
        ({"type": "parallel_for", "body": of("b"), "items": of("b", "x")}, "write them"),
        ({"type": "parallel_for", "body": of("b")}, "not empty"),
    ],
)
def test_a_step_of_control_flow_that_cannot_be_read_says_why(control: Any, why: str) -> None:
    with pytest.raises(ControlFlowError, match=why) as refused:
        read({"b": BODY, "w": control})
    assert refused.value.step == "w"


def test_a_loop_may_have_a_thousand_rounds() -> None:
    steps = {"b": {"inputs": {}}, "loop": do_while(limits={"max_iteration_count": 1000})}
    assert sum(name.startswith("b-") for name in read(steps)) == 1000


def test_a_round_takes_no_other_step_s_name() -> None:
    with pytest.raises(ControlFlowError, match="rename the step"):
        read({"b": BODY, "w": do_while(), "b-2": {}})
    with pytest.raises(ControlFlowError, match="the body of another loop"):
        read({"b": BODY, "w": do_while(), "v": do_while()})


def test_a_key_of_an_item_that_no_input_of_the_body_has_is_refused() -> None:
    body = {"command": "echo", "inputs": {"n": 3}}
    loop = {"type": "parallel_for", "body": of("b"), "items": [{"m": 1}]}
    with pytest.raises(ControlFlowError, match="`m` in `items` is not an input of `b`"):
        read({"b": body, "f": loop})
    for component in ("component", "componentId"):  # whose inputs a step need not name
        read({"b": {component: "azureml:square:1"}, "f": loop})
