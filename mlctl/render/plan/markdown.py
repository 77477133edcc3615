"""A plan as Markdown: a comment on a pull request, with the whole plan folded in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mlctl.planning.cost import of_plan
from mlctl.planning.model import Action, ActionReason, Change, Plan
from mlctl.pointer import dotted
from mlctl.render.plan import blocks as text
from mlctl.render.plan import cost
from mlctl.render.plan.text import SYMBOLS, masked_sides, place
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.terminal import clean

_LONGEST = 60_000  # bytes; GitHub takes 65 536 characters in a comment, and others add some
_ROWS = 50
_FIELDS = 4  # fields that a row names
_WIDTH = 100
_WORDS = {  # in the order of what deserves attention
    Action.DELETE: "**destroy**",
    Action.REPLACE: "**replace**",
    Action.UPDATE: "change",
    Action.CREATE: "create",
    Action.NO_OP: "",
}


def plan(made: Plan) -> str:
    """The comment; it ends in a line break.

    What destroys comes first, and is what is shown of more changes than a comment holds.
    """
    order = [*_WORDS]
    first = sorted(made.changes, key=lambda one: order.index(one.action))
    made = replace(made, changes=tuple(first))
    parts = [f"### mlctl plan: {_title(made)}", *_findings(made), *_in_motion(made)]
    if made.pending:
        costs = "\n".join(cost.markdown(of_plan(made)))
        parts += ["\n".join(_table(made)), *([costs] if costs else [])]
        parts.append(_whole(made, _LONGEST - len("\n\n".join(parts).encode())))
    return "\n\n".join(parts) + "\n"


def _title(made: Plan) -> str:
    if made.errors:
        return "the project forbids it" if made.refusals else "the workspace would refuse it"
    summary = text.summary(made.summary).removeprefix("Plan: ").removesuffix(".")
    return summary if made.pending else "no changes"


def _in_motion(made: Plan) -> Iterator[str]:
    if made.in_motion:
        yield "\n".join(f"- {_escaped(one)}" for one in text.in_motion(made))


def _findings(made: Plan) -> Iterator[str]:
    every = (*made.errors, *made.warnings)
    lines = [
        f"- **{found.rule.code}** {_escaped(found.message)}"
        + (f"  \n  {_escaped(found.hint)}" if found.hint else "")
        for found in every[:_ROWS]
    ]
    if len(every) > _ROWS:
        lines.append(f"- and {len(every) - _ROWS} more")
    if lines:
        yield "\n".join(lines)


def _table(made: Plan) -> Iterator[str]:
    yield "| | resource | change | asked for in |"
    yield "|---|---|---|---|"
    for change in made.pending[:_ROWS]:
        asked = _code(found) if (found := place(change)) else ""
        what = _WORDS[change.action]
        if change.reason is ActionReason.PRUNED:
            what = f"{what}: no file declares it any more"
        if change.unfinished is not None:
            what = f"{what}, with what an unfinished apply took away"
        fields = ", ".join(_fields(change))
        address = _code(str(change.address))
        yield f"| `{SYMBOLS[change.action]}` | {address} | {what}{fields} | {asked} |"
    left = len(made.pending) - _ROWS
    if left > 0:
        yield f"| | and {left} more | | |"


def _fields(change: Change) -> Iterator[str]:
    """The first changed fields; those that force a replacement before others."""
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return
    ordered = sorted(change.fields, key=lambda one: not one.forces_replacement)
    for number, one in enumerate(ordered[:_FIELDS]):
        before, after = masked_sides(one)
        values = "" if one.sensitive else f" {_value(before)} → {_value(after)}"
        yield f"{': ' if number == 0 else ''}{_code(dotted(one.at))}{values}"
    if len(ordered) > _FIELDS:
        yield f"and {len(ordered) - _FIELDS} more"


def _value(value: object) -> str:
    if value is None:
        return "nothing"
    return "`...`" if isinstance(value, dict | list) else _code(scalar(value))


def _code(words: str) -> str:
    """A code span in a cell of a table, whatever is in it."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", words)), default=0))
    pad = " " if len(fence) > 1 else ""
    return f"{fence}{pad}{clean(words)}{pad}{fence}".replace("|", "\\|")


def _whole(made: Plan, room: int) -> str:
    made = replace(made, refusals=(), rejections=(), warnings=())  # they stand above
    shown = text.human(made, width=_WIDTH, room=room)
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", shown))])
    return (
        f"<details><summary>The whole plan</summary>\n\n{fence}diff\n{_as_diff(shown)}{fence}\n\n"
        "</details>"
    )


def _as_diff(shown: str) -> str:
    """The signs at the left, where a highlighter of diffs looks for them; `!` is a change."""
    return re.sub(
        r"(?m)^( *)([+~-]|-/\+) ",
        lambda found: (
            {"~": "!", "-/+": "-"}.get(found[2], found[2]) + found[1] + found[2][1:] + " "
        ),
        shown,
    )


def _escaped(words: str) -> str:
    return clean(words).replace("|", "\\|").replace("<", "&lt;")
