"""A plan as Markdown: a comment on a pull request, with the whole plan folded in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlctl.dataclasses import replace
from mlctl.inert import code_span, prose, table_row
from mlctl.masking import mask
from mlctl.planning.cost import of_plan
from mlctl.planning.model import Action, ActionReason, Change, Plan
from mlctl.pointer import dotted
from mlctl.render.plan import blocks as text
from mlctl.render.plan import cost
from mlctl.render.plan.text import SYMBOLS, masked_sides, orphans, place
from mlctl.render.plan.tree import scalar

_LONGEST = 60_000  # bytes; GitHub accepts 65 536 characters in a comment, and others add some
_ROWS = 50
_FIELDS = 4  # fields that a row names
_WIDTH = 100
_WORDS = {  # most important first
    Action.DELETE: "**destroy**",
    Action.REPLACE: "**replace**",
    Action.UPDATE: "change",
    Action.CREATE: "create",
    Action.NO_OP: "",
}


def plan(plan_: Plan) -> str:
    """Render the comment, with a final line break.

    Destructive changes come first, and stay if a comment cannot hold all.
    """
    order = [*_WORDS]
    first = sorted(plan_.changes, key=lambda change: order.index(change.action))
    plan_ = replace(plan_, changes=tuple(first))
    parts = [f"### mlctl plan: {_title(plan_)}", *_findings(plan_), *_in_motion(plan_)]
    parts += [f"- {_prose(orphans(plan_.orphans))}"] if plan_.orphans else []
    if plan_.pending:
        costs = "\n".join(cost.markdown(of_plan(plan_)))
        parts += ["\n".join(_table(plan_)), *([costs] if costs else [])]
        parts.append(_whole(plan_, _LONGEST - len("\n\n".join(parts).encode())))
    return "\n\n".join(parts) + "\n"


def _title(plan_: Plan) -> str:
    if plan_.errors:
        return "the project forbids it" if plan_.refusals else "the workspace would refuse it"
    summary = text.summary(plan_.summary).removeprefix("Plan: ").removesuffix(".")
    return summary if plan_.pending else "no changes"


def _in_motion(plan_: Plan) -> Iterator[str]:
    if plan_.in_motion:
        yield "\n".join(f"- {_prose(sentence)}" for sentence in text.in_motion(plan_))


def _findings(plan_: Plan) -> Iterator[str]:
    every = (*plan_.errors, *plan_.warnings)
    lines = [
        f"- **{finding.rule.code}** {_prose(finding.message)}"
        + (f"  \n  {_prose(finding.hint)}" if finding.hint else "")
        for finding in every[:_ROWS]
    ]
    if len(every) > _ROWS:
        lines.append(f"- and {len(every) - _ROWS} more")
    if lines:
        yield "\n".join(lines)


def _table(plan_: Plan) -> Iterator[str]:
    yield "| | resource | change | declared in |"
    yield "|---|---|---|---|"
    for change in plan_.pending[:_ROWS]:
        position = _code(written) if (written := place(change)) else ""
        action = _WORDS[change.action]
        if change.reason is ActionReason.PRUNED:
            action = f"{action}: no file declares it any more"
        if change.unfinished is not None:
            action = f"{action}, restoring what an unfinished apply removed"
        fields = ", ".join(_fields(change))
        address = _code(str(change.address))
        yield table_row((_code(SYMBOLS[change.action]), address, f"{action}{fields}", position))
    unlisted = len(plan_.pending) - _ROWS
    if unlisted > 0:
        yield f"| | and {unlisted} more | | |"


def _fields(change: Change) -> Iterator[str]:
    """Return the first changed fields; those that force a replacement come first."""
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return
    ordered = sorted(change.fields, key=lambda field: not field.forces_replacement)
    for number, field in enumerate(ordered[:_FIELDS]):
        old, new = masked_sides(field)
        values = "" if field.sensitive else f" {_value(old)} → {_value(new)}"
        yield f"{': ' if number == 0 else ''}{_code(dotted(field.at))}{values}"
    if len(ordered) > _FIELDS:
        yield f"and {len(ordered) - _FIELDS} more"


def _value(value: object) -> str:
    if value is None:
        return "nothing"
    return "`...`" if isinstance(value, dict | list) else _code(scalar(value))


def _whole(plan_: Plan, room: int) -> str:
    plan_ = replace(plan_, refusals=(), rejections=(), warnings=())  # they are listed above
    text_ = text.human(plan_, width=_WIDTH, room=room)
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text_))])
    return (
        f"<details><summary>The whole plan</summary>\n\n{fence}diff\n{_as_diff(text_)}{fence}\n\n"
        "</details>"
    )


def _as_diff(text_: str) -> str:
    """Move the signs to the left margin for diff highlighters; `!` marks a change."""
    return re.sub(
        r"(?m)^( *)([+~-]|-/\+) ",
        lambda match: (
            {"~": "!", "-/+": "-"}.get(match[2], match[2]) + match[1] + match[2][1:] + " "
        ),
        text_,
    )


def _code(text_: str) -> str:
    return code_span(mask(text_))


def _prose(text_: str) -> str:
    return prose(mask(text_))
