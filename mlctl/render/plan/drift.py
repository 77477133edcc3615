"""Drift as text, as Markdown for an issue, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlctl.backends.ports.activity import Activity
from mlctl.kinds.address import Address
from mlctl.planning.drift import Difference, Drifted, Origin
from mlctl.pointer import Data, dotted
from mlctl.render.plan.text import masked_sides
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.style import Style, Styler
from mlctl.render.terminal.terminal import clean

NO_DRIFT = "No drift. Your workspace is as the files declare."
FORMAT_VERSION = "1.0"
_ORIGINS = {
    Origin.OUTSIDE: "changed outside: the file is the one that was applied",
    Origin.UNKNOWN: "changed outside, or in the file since it was applied",
}

Writes = Mapping[Address, Activity | None]  # the last write of each; None is unknown


def human(found: Sequence[Drifted], writes: Writes, *, color: bool = False) -> str:
    """The drift as text, with a line break at its end."""
    styler = Styler(color)
    if not found:
        return styler.apply(NO_DRIFT, Style.BOLD) + "\n"
    lines: list[str] = []
    for one in found:
        lines.append(styler.apply(clean(str(one.address)), Style.BOLD) + f"  ({_place(one)})")
        lines += [f"  {line}" for line in _lines(one, writes)] + [""]
    lines.append(styler.apply(summary(found), Style.BOLD))
    return "\n".join(lines) + "\n"


def summary(found: Sequence[Drifted]) -> str:
    """`Drift: 2 resources differ, 1 resource is missing.`"""
    missing = sum(one.missing for one in found)
    differ = len(found) - missing
    parts = []
    if differ:
        parts.append(f"{differ} {'resource differs' if differ == 1 else 'resources differ'}")
    if missing:
        parts.append(f"{missing} {'resource is' if missing == 1 else 'resources are'} missing")
    return f"Drift: {', '.join(parts)}."


def markdown(found: Sequence[Drifted], writes: Writes) -> str:
    """The drift for an issue; it ends in a line break."""
    if not found:
        return f"### mlctl drift: none\n\n{NO_DRIFT}\n"
    parts = [f"### mlctl drift: {summary(found).removeprefix('Drift: ').removesuffix('.')}", ""]
    parts += ["| resource | field | file | workspace | last write |", "|---|---|---|---|---|"]
    for one in found:
        when = _cell(_written(one, writes))
        if one.missing:
            parts.append(f"| `{_cell(str(one.address))}` | | declared | **missing** | {when} |")
        for each in one.differences:
            live, declared = masked_sides(each.field)
            values = " | ".join(_cell(_shown(value)) for value in (declared, live))
            name = _cell(dotted(each.field.at))
            parts.append(f"| `{_cell(str(one.address))}` | `{name}` | {values} | {when} |")
    return "\n".join(parts) + "\n"


def document(found: Sequence[Drifted], writes: Writes) -> dict[str, Data]:
    """The drift as plain data, without secrets."""
    return {
        "format_version": FORMAT_VERSION,
        "drift": [
            {
                "address": str(one.address),
                "missing": one.missing,
                "source": _source(one),
                "fields": [_field(each) for each in one.differences],
                "last_write": _last(writes.get(one.address)),
            }
            for one in found
        ],
    }


def _field(one: Difference) -> dict[str, Data]:
    live, declared = masked_sides(one.field)
    return {
        "path": [*one.field.at],
        "declared": declared,
        "live": live,
        "origin": one.origin.value,
    }


def _last(write: Activity | None) -> dict[str, Data] | None:
    return {"at": write.at, "by": write.caller or None, "verb": write.verb} if write else None


def _lines(one: Drifted, writes: Writes) -> Iterator[str]:
    if one.missing:
        yield "it is declared, and not in the workspace"
    for each in one.differences:
        live, declared = masked_sides(each.field)
        name = clean(dotted(each.field.at))
        said = "by default" if _is_default(one, each) else "in the file"
        yield f"~ {name}: {_shown(declared)} {said}, {_shown(live)} in the workspace"
    for origin in Origin:
        if any(each.origin is origin for each in one.differences):
            told = [dotted(each.field.at) for each in one.differences if each.origin is origin]
            mixed = len(told) < len(one.differences)
            yield f"# {clean(', '.join(told)) + ': ' if mixed else ''}{_ORIGINS[origin]}"
    yield f"# last write: {_written(one, writes)}"


def _is_default(one: Drifted, each: Difference) -> bool:
    """Whether the file is silent about the field."""
    at = each.field.at
    return not any(at[:length] in one.resource.values for length in range(1, len(at) + 1))


def _written(one: Drifted, writes: Writes) -> str:
    write = writes.get(one.address)
    if write is None:
        return "unknown"
    verb = "deleted" if write.verb == "delete" else "written"
    return clean(f"{verb} {write.at} by {write.caller or 'unknown'}")


def _place(one: Drifted) -> str:
    span = one.resource.label().span
    return clean(f"{span.source.name}:{span.line + 1}")


def _source(one: Drifted) -> dict[str, Data]:
    differing = next((each.field.at for each in one.differences), ())
    span = one.resource.label(differing).span
    return {"filename": span.source.name, "line": span.line + 1}


def _shown(value: Data) -> str:
    if value is None:
        return "nothing"
    return clean(scalar(value)) if not isinstance(value, dict | list) else clean(str(value))


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|").replace("<", "&lt;")
