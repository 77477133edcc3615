"""One-line rules: what they mean, where they are wrong, and that none takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.pointer import Data
from mlctl.policies.expression import ExpressionError, parse

ROOTS = {
    "compute": {
        "tier": "low_priority",
        "size": "Standard_D4ds_v5",
        "max_instances": 4,
        "tags": {"a-b": "x", "n": ["p", 2]},
    },
    "env": "prod",
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("compute.tier == 'low_priority'", True),
        ("compute.tier == 'dedicated'", False),
        ("compute.max_instances >= `4` && compute.max_instances < `4.5`", True),
        ("compute.tags.\"a-b\" == 'x'", True),
        ("compute.tags.n[1] == `2`", True),
        ("contains(compute.tags.n, 'p')", True),
        ("compute.tags.n[?@ == 'q']", False),
        ("length(compute.tags.n[?@ != 'q']) == `2`", True),
        ("compute.tags.*[0]", True),
        ('contains(`["dev", "prod"]`, env)', True),
        ("contains(`[]`, env)", False),
        ("glob(compute.size, 'standard_[de]*', 'standard_nc*')", True),
        ("glob(compute.size, 'Standard_NC*')", False),
        ("!glob(compute.tier, 'low*')", False),
        ("!!`true`", True),
        ("compute.vm == `null`", True),
        ("compute.vm", False),
        ("length(keys(compute.tags)) == `2`", True),
        ("length(compute.vm) == `0`", False),
        ("!starts_with(compute.vm, 'x')", True),
        ("compute.vm < `3` || compute.vm >= `3`", False),
        ("compute.max_instances == `true`", False),
        ("compute.max_instances < '5'", False),
        ("!(compute.max_instances < '5')", False),
        ("`true` || `false` && `false`", True),
        ("(`true` || `false`) && `false`", False),
        ("!`false` && `false`", False),
    ],
)
def test_a_rule_holds_or_not(text: str, holds: bool) -> None:
    assert parse(text).holds(ROOTS) is holds


def test_the_paths_of_a_rule_are_known_with_their_places() -> None:
    text = 'contains(env, a.b[0].c) || x.*.y[?d == e] && "p q"."r-s" == `[1]`'
    paths = parse(text).paths
    assert [(path.root, path.at) for path in paths] == [
        ("env", ()),
        ("a", ("b", 0, "c")),
        ("x", ()),
        ("p q", ("r-s",)),
    ]
    written = [text[path.start : path.end] for path in paths]
    assert written == ["env", "a.b[0].c", "x", '"p q"."r-s"']


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("compute.tier = `3`", 13, "`=` means nothing in a rule"),
        ("compute.tags.a-b", 14, "`-` means nothing in a rule"),
        ("compute.tier ==", 15, "ends too early"),
        ("compute. == `3`", 9, "`==` cannot stand here"),
        ("(compute.a == `3`", 17, "ends too early"),
        ("compute.a == `3`)", 16, "`)` cannot stand here"),
        ("compute.a and `3`", 10, "`and` cannot stand here"),
        ("compute.a >= 3", 13, "put numbers in backticks"),
        ("compute.a == `x`", 13, "`x` is not JSON; put texts in single quotes"),
        ("compute.a == 'x", 13, "is not closed"),
        ("true && size(compute.a)", 8, "`size` is not a function of rules; use abs,"),
        ("length(compute.a, `1`)", 0, "`length` takes 1, not 2 values"),
        ("glob()", 0, "`glob` takes at least 2, not 0 values"),
        ("join(',', compute.a)", 0, "`join` is not a function of rules"),
        ("map(&a, compute.a)", 0, "`map` is not a function of rules"),
        ("[compute.a, compute.a]", 0, "cannot have a multi select list"),
        ("compute.a | b", 0, "cannot have a pipe"),
        ("@.compute.a", 0, "must begin with a kind"),
        ("*.tier", 0, "must begin with a kind"),
        ("`[1, 2]`[?@ == compute.a]", 0, "can only be compared"),
        ("a" + " || a" * 200, 0, "nested too deeply"),
        ("(" * 900 + "a" + ")" * 900, 0, "nested too deeply"),
        ("!" * 1999 + "a", 0, "nested too deeply"),
        ("a" * 2001, 2000, "longer than 2,000 characters"),
        (" ", 0, "the rule is empty"),
    ],
)
def test_what_is_no_rule_is_reported_at_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert message in raised.value.message
    assert raised.value.start == column


@pytest.mark.parametrize(
    "text",
    [
        f"glob(a.text, '{'*a' * 300}b')",
        f"glob(a.text, '{'[a-z]*' * 200}!')",
        f"a.digits == `{'1' * 1900}`",
        f"to_number(a.digits) == `{'1' * 1900}`",
        f"a.deep == `{'[' * 900}{']' * 900}`",
        f"a.list{'[]' * 40}",
        f"a.list{'[?@' * 40}{']' * 40}",
        f"a{'.*' * 90}",
        f"{'sort(' * 90}a.list{')' * 90}",
    ],
)
def test_a_hostile_rule_is_answered_at_once(text: str) -> None:
    value = {"text": "a" * 20_000, "digits": "1" * 5_000, "list": [["b"] * 80] * 80, "deep": 1}
    start = time.process_time()
    assert parse(text).holds({"a": value}) in (True, False)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("function", ["sum", "avg", "max", "min", "sort", "ceil", "floor", "abs"])
@pytest.mark.parametrize("value", [[10**400, 1.5], [10**400, 15], ["a", 1], 1e999, "nan", "1e999"])
def test_what_a_function_cannot_count_is_null(function: str, value: Data) -> None:
    for text in (f"{function}(a.x) > `1`", f"{function}(to_number(a.x)) > `1`"):
        assert parse(text).holds({"a": {"x": value}}) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "has(" * 900,
        "!" * 900 + "a.b",
        "(" * 900 + "a.b" + ")" * 900,
        f"a.b > `{'1' * 5_000}`",
        "a.tags[1.5]",
        "a{99999999999999999999}",
        "a.name matches '^(a+)+$'",
        "matches(a.name, '^(a+)+$')",
        "a.b || " * 30_000 + "a.b",
    ],
)
def test_what_once_had_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


Rule = tuple[str, bool]  # a text, and whether it holds
_TRUTH = st.sampled_from([("`true`", True), ("`false`", False)])
_RULES = st.recursive(
    _TRUTH,
    lambda inner: st.one_of(
        st.builds(lambda rule: (f"!({rule[0]})", not rule[1]), inner),
        st.builds(lambda a, b: (f"({a[0]}) && ({b[0]})", a[1] and b[1]), inner, inner),
        st.builds(lambda a, b: (f"({a[0]}) || ({b[0]})", a[1] or b[1]), inner, inner),
    ),
    max_leaves=12,
)


@given(_RULES)
def test_any_rule_of_truth_values_means_what_logic_says(rule: Rule) -> None:
    text, holds = rule
    assert parse(text).holds({}) is holds


_PIECES = st.sampled_from(
    [
        "a.b",
        "[0]",
        "[]",
        "[?a]",
        "[*]",
        "(",
        ")",
        "!",
        "&&",
        "||",
        "==",
        "<",
        ",",
        "`1`",
        "`[1]`",
        "'x'",
        '"q"',
        "@",
        "*",
        "&",
        "|",
        "{",
        "}",
    ]
)


@given(st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=15).map("".join)))
def test_any_text_is_a_rule_or_an_error_within_it(text: str) -> None:
    try:
        parse(text).holds(ROOTS)
    except ExpressionError as error:
        place = error
    else:
        return
    assert 0 <= place.start <= len(text)
    assert place.start < place.end
