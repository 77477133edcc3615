"""One-line rules: what they mean, and where they are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.policies.expression import ExpressionError, parse

ROOTS = {
    "compute": {"tier": "low_priority", "max_instances": 4, "tags": {"a-b": "x", "n": ["p", 2]}},
    "environment": "prod",
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('compute.tier == "low_priority"', True),
        ("compute.tier == 'dedicated'", False),
        ("compute.max_instances >= 4 and compute.max_instances < 4.5", True),
        ('compute.tags["a-b"] == "x" and compute.tags.a-b == "x"', True),
        ("compute.tags.n[1] == 2", True),
        ('"p" in compute.tags.n', True),
        ('environment in ["dev", "prod"]', True),
        ("environment in []", False),
        ('compute.tier matches "^low"', True),
        ('not compute.tier matches "^low"', False),
        ("not not true", True),
        ("has(compute.size)", False),
        ("size(compute.tags) == 2", True),
        ("compute.size == null", True),
        ("compute.size < 3 or compute.size >= 3", False),
        ("compute.max_instances == true", False),
        ('compute.max_instances < "5"', False),
        ("false implies false", True),
        ("true implies false", False),
        ("false implies true implies false", True),
        ("(true implies false) implies false", True),
        ("true or false and false", True),
        ("(true or false) and false", False),
        ("not false and false", False),
    ],
)
def test_a_rule_holds_or_not(text: str, holds: bool) -> None:
    assert parse(text).holds(ROOTS) is holds


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("compute.tier = 3", 13, "means nothing in a rule"),
        ("compute.tier ==", 15, "a value is missing"),
        ("compute. == 3", 9, "the name of a field is missing"),
        ("(compute.a == 3", 15, "`)` is missing"),
        ("compute.a == 3)", 14, "`)` cannot stand here"),
        ("compute.a and or 3", 14, "`or` is no value"),
        ("length(compute.a) == 3", 0, "there are has and size"),
        ('compute.a matches "("', 18, "the pattern is none"),
        ("compute.a matches compute.b", 18, "takes a pattern as text"),
        ("compute.a[x] == 1", 10, 'write ["key"] or [0]'),
        ("(" * 99, 50, "nested too deeply"),
        ("", 0, "a value is missing"),
    ],
)
def test_what_is_no_rule_is_said_at_its_column(text: str, column: int, said: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert said in raised.value.message
    assert raised.value.start == column


Rule = tuple[str, bool]  # a text, and whether it holds
_TRUTH = st.sampled_from([("true", True), ("false", False)])
_RULES = st.recursive(
    _TRUTH,
    lambda inner: st.one_of(
        st.builds(lambda one: (f"not ({one[0]})", not one[1]), inner),
        st.builds(lambda a, b: (f"({a[0]}) and ({b[0]})", a[1] and b[1]), inner, inner),
        st.builds(lambda a, b: (f"({a[0]}) or ({b[0]})", a[1] or b[1]), inner, inner),
        st.builds(lambda a, b: (f"({a[0]}) implies ({b[0]})", not a[1] or b[1]), inner, inner),
    ),
    max_leaves=12,
)


@given(_RULES)
def test_any_rule_of_truth_values_means_what_logic_says(rule: Rule) -> None:
    text, holds = rule
    assert parse(text).holds({}) is holds


@given(st.text(max_size=40))
def test_any_text_is_a_rule_or_an_error_within_it(text: str) -> None:
    try:
        parse(text)
    except ExpressionError as error:
        found = error
    else:
        return
    assert 0 <= found.start <= len(text)
    assert found.start < found.end
