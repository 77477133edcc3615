"""Drift as text, as Markdown for an issue, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlctl.backends.ports.monitor import Activity
from mlctl.inert import code_span, prose, table_row
from mlctl.kinds import Address
from mlctl.planning.drift import Difference, Drifted, Origin
from mlctl.pointer import Data, dotted
from mlctl.render.plan.text import masked_sides, orphans
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted

NO_DRIFT = "No drift. Your workspace matches the files."
FORMAT_VERSION = "1.0"
_ORIGINS = {
    Origin.OUTSIDE: "changed outside: the file is unchanged since it was applied",
    Origin.UNKNOWN: "changed outside, or in the file since it was applied",
}

Writes = Mapping[Address, Activity | None]  # the last write of each; None if unknown


def human(
    drifts: Sequence[Drifted],
    writes: Writes,
    undeclared: Sequence[Address] = (),
    *,
    color: bool = False,
) -> str:
    """Render the drift as text, with a final line break; `undeclared` are the project's orphans."""
    styler = Styler(color)
    if not drifts:
        text = orphans(undeclared) if undeclared else NO_DRIFT
        return styler.apply(text, Style.BOLD) + "\n"
    lines: list[str] = []
    for drifted in drifts:
        lines.append(
            styler.apply(clean(str(drifted.address)), Style.BOLD) + f"  ({_place(drifted)})"
        )
        lines += [f"  {line}" for line in _lines(drifted, writes)] + [""]
    lines += [orphans(undeclared), ""] if undeclared else []
    lines.append(styler.apply(summary(drifts), Style.BOLD))
    return "\n".join(lines) + "\n"


def summary(drifts: Sequence[Drifted]) -> str:
    """Format `Drift: 2 resources differ, 1 resource is missing.`"""
    missing = sum(drifted.missing for drifted in drifts)
    differ = len(drifts) - missing
    parts = []
    if differ:
        parts.append(counted(differ, "resource differs", "resources differ"))
    if missing:
        parts.append(counted(missing, "resource is missing", "resources are missing"))
    return f"Drift: {', '.join(parts)}."


def markdown(drifts: Sequence[Drifted], writes: Writes, undeclared: Sequence[Address] = ()) -> str:
    """Render the drift for an issue, with a final line break."""
    if undeclared and not drifts:
        return f"### mlctl drift: no longer declared\n\n{prose(clean(orphans(undeclared)))}\n"
    if not drifts:
        return f"### mlctl drift: none\n\n{NO_DRIFT}\n"
    parts = [f"### mlctl drift: {summary(drifts).removeprefix('Drift: ').removesuffix('.')}", ""]
    parts += ["| resource | field | file | workspace | last write |", "|---|---|---|---|---|"]
    for drifted in drifts:
        written = prose(_written(drifted, writes))
        address = code_span(clean(str(drifted.address)))
        if drifted.missing:
            parts.append(table_row((address, "", "declared", "**missing**", written)))
        for difference in drifted.differences:
            live, declared = masked_sides(difference.field)
            name = code_span(clean(dotted(difference.field.at)))
            values = (prose(_shown(value)) for value in (declared, live))
            parts.append(table_row((address, name, *values, written)))
    parts += ["", prose(clean(orphans(undeclared)))] if undeclared else []
    return "\n".join(parts) + "\n"


def document(
    drifts: Sequence[Drifted], writes: Writes, undeclared: Sequence[Address] = ()
) -> dict[str, Data]:
    """Return the drift as plain data, without secrets."""
    return {
        "format_version": FORMAT_VERSION,
        "drift": [
            {
                "address": str(drifted.address),
                "missing": drifted.missing,
                "source": _source(drifted),
                "fields": [_field(difference) for difference in drifted.differences],
                "last_write": _last(writes.get(drifted.address)),
            }
            for drifted in drifts
        ],
        "orphans": [str(address) for address in undeclared],
    }


def _field(difference: Difference) -> dict[str, Data]:
    live, declared = masked_sides(difference.field)
    return {
        "path": [*difference.field.at],
        "declared": declared,
        "live": live,
        "origin": difference.origin.value,
    }


def _last(write: Activity | None) -> dict[str, Data] | None:
    return {"at": write.at, "by": write.caller or None, "verb": write.verb} if write else None


def _lines(drifted: Drifted, writes: Writes) -> Iterator[str]:
    if drifted.missing:
        yield "it is declared, but not in the workspace"
    for difference in drifted.differences:
        live, declared = masked_sides(difference.field)
        name = clean(dotted(difference.field.at))
        place = "by default" if _is_default(drifted, difference) else "in the file"
        if difference.field.sensitive:
            live = difference.field.note or "no secret"
            yield f"~ {name}: *** in the file, {live} in the workspace"
            continue
        yield f"~ {name}: {_shown(declared)} {place}, {_shown(live)} in the workspace"
    for origin in Origin:
        if any(difference.origin is origin for difference in drifted.differences):
            fields = [
                dotted(difference.field.at)
                for difference in drifted.differences
                if difference.origin is origin
            ]
            mixed = len(fields) < len(drifted.differences)
            yield f"# {clean(', '.join(fields)) + ': ' if mixed else ''}{_ORIGINS[origin]}"
    yield f"# last write: {_written(drifted, writes)}"


def _is_default(drifted: Drifted, difference: Difference) -> bool:
    """Whether the file does not set the field."""
    at = difference.field.at
    return not any(at[:length] in drifted.resource.values for length in range(1, len(at) + 1))


def _written(drifted: Drifted, writes: Writes) -> str:
    write = writes.get(drifted.address)
    if write is None:
        return "unknown"
    verb = "deleted" if write.verb == "delete" else "written"
    return clean(f"{verb} {write.at} by {write.caller or 'unknown'}")


def _place(drifted: Drifted) -> str:
    span = drifted.resource.label().span
    return clean(f"{span.source.name}:{span.line + 1}")


def _source(drifted: Drifted) -> dict[str, Data]:
    differing = next((difference.field.at for difference in drifted.differences), ())
    span = drifted.resource.label(differing).span
    return {"filename": span.source.name, "line": span.line + 1}


def _shown(value: Data) -> str:
    if value is None:
        return "nothing"
    return clean(scalar(value)) if not isinstance(value, dict | list) else clean(str(value))
