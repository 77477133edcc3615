"""The output of `show` and `list`: resources as `az ml` prints them, in az's formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mlctl import inert, pointer
from mlctl.backends.ports.backend import Live
from mlctl.kinds import Scope, kind_of
from mlctl.kinds.facts import Columns
from mlctl.kinds.field import Form
from mlctl.kinds.values import decode, form_of_body
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.source import dump_inert

# knack.output: the keys that an automatic table omits
_NOT_IN_TABLES = ("id", "type", "etag")
_PADDING = 2  # tabulate.MIN_PADDING


def resource(live: Live, scope: Scope, form: Form | None = None) -> dict[str, Data]:
    """Return a live resource under the field names of its YAML file, with the service's own fields.

    `form` is the shape of the file; by default the one that the body suggests.

    The result can be given to `create -f`, which ignores the service's own fields. It contains no
    secrets: the service never returns them.
    """
    kind = kind_of(live.address)
    shape = form or form_of_body(kind, live.body, scope)
    names = live.address.name_fields
    return pointer.nest({**names, **decode(live.body, shape, scope), **names})


def printed(live: Live, scope: Scope) -> dict[str, Data]:
    """Return a live resource as `az ml` prints it: in az's form, with the group beside the id.

    The result can be given to `create -f`.
    """
    kind = kind_of(live.address)
    form_name = form_of_body(kind, live.body, scope)
    name = kind.az.printed_forms.get(form_name.name, form_name.name)
    form = next(form_ for form_ in kind.forms if form_.name == name)
    data = resource(live, scope, form)
    if kind.form_of(data) is not form:
        data.pop("type", None)  # a flat deployment has none
    fields = {field.at[0] for field in form.fields}
    empty: dict[str, Data] = {key: {} for key in kind.az.printed_empty if key in fields}
    of_group = "/resourcegroups/" in str(data.get("id")).casefold()  # not for a registry
    group = {"resourceGroup": scope.resource_group} if of_group else {}
    return {**empty, **data, **group}


def output(
    data: Data, fmt: str, *, color: bool = False, columns: Sequence[str] | None = None
) -> str:
    """Format `data` in one of az's formats: json, jsonc, yaml, yamlc, table, tsv or none.

    All but `none` end in a line break. `columns` are those of a table, in order; the default is
    every value that is neither an object nor a list. As for az, empty data gives no line in a table
    or tsv: scripts test `[ -z "$(... -o tsv)" ]`.
    """
    if data is None and fmt in ("table", "tsv"):
        return ""
    match fmt:
        case "json" | "jsonc":
            text = inert.as_json(data, indent=2, ascii_only=False) + "\n"
            return _highlighted(text, _JSON) if color and fmt == "jsonc" else text
        case "yaml" | "yamlc":
            text = dump_inert(data)
            return _highlighted(text, _YAML) if color and fmt == "yamlc" else text
        case "table":
            return _table(data, columns, color=color)
        case "tsv":
            return "".join(f"{_row(row)}\n" for row in (data if isinstance(data, list) else [data]))
        case _:
            return ""


def _table(data: Data, columns: Sequence[str] | None, *, color: bool = False) -> str:
    """Draw a table in `tabulate`'s `simple` format, as az does; never wrapped or cut."""
    rows = [_cells(row, columns) for row in (data if isinstance(data, list) else [data])]
    heads = list(dict.fromkeys(head for row in rows for head in row))
    if not heads:
        return ""
    lines = [heads, *([row.get(head, "") for head in heads] for row in rows)]
    widths = [
        max(len(head) + _PADDING, *(len(line[place]) for line in lines))
        for place, head in enumerate(heads)
    ]
    lines.insert(1, ["-" * width for width in widths])
    drawn = [_pad(line, widths, color=color) for line in lines]
    heads_line = Styler(color).apply(drawn[0].removesuffix("\n"), Style.BOLD)
    return "".join([f"{heads_line}\n", *drawn[1:]])


def _pad(line: Sequence[str], widths: Sequence[int], *, color: bool) -> str:
    cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
    text = "  ".join(cells).rstrip() + "\n"
    return _STATE.sub(_in_color, text) if color else text


# States that are well, in progress, or wrong, as whole words.
_STATES = {
    Style.GREEN: ("Succeeded", "idle", "running"),
    Style.YELLOW: (
        "Creating",
        "Updating",
        "Deleting",
        "Scaling",
        "Resizing",
        "preparing",
        "leaving",
    ),
    Style.RED: ("Failed", "Canceled", "unusable", "preempted"),
}
_STATE = re.compile(
    "(?<![^ ])(?:"
    + "|".join(state for words in _STATES.values() for state in words)
    + ")(?![^ \n])"
)


def _in_color(word: re.Match[str]) -> str:
    style = next(style for style, words in _STATES.items() if word[0] in words)
    return Styler(color=True).apply(word[0], style)


def _cells(item: Data, columns: Sequence[str] | None) -> dict[str, str]:
    if isinstance(item, list):
        return {f"Column{number}": _cell(value) for number, value in enumerate(item, start=1)}
    if not isinstance(item, dict):
        return {"Result": _cell(item)}
    if columns is not None:
        return {_head(name): _cell(item.get(name)) for name in columns}
    items = ((name, value) for name, value in item.items() if name not in _NOT_IN_TABLES)
    return {
        _head(name): _cell(value)
        for name, value in items
        if not isinstance(value, dict | list | None)
    }


def _head(name: str) -> str:
    return clean(name[:1].upper() + name[1:])


def _cell(value: Data) -> str:
    return "" if value is None else clean(str(value))


def _row(item: Data) -> str:
    """Format a line of az's tsv: values in order, lists as their length, objects as nothing."""
    if isinstance(item, bool):
        return str(item).lower()
    values: Sequence[Data] = [item]
    if isinstance(item, dict):
        values = list(item.values())
    elif isinstance(item, list):
        values = item
    return "\t".join(map(_tsv, values))


def _tsv(value: Data) -> str:
    if isinstance(value, list):
        return str(len(value))
    return "" if isinstance(value, dict) else inert.tsv_cell(str(value))


_JSON = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=:)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>\b(?:true|false|null)\b|-?\d[\d.eE+-]*)'
)
_YAML = re.compile(
    r"(?m)^(?:[ -]*)(?P<key>[^\s:#'\"-][^:\n]*)(?=:(?: |$))|(?P<text>(?<=: )['\"].*$)"
    r"|(?P<word>(?<=: )(?:true|false|null|-?\d[\d.e+-]*)$)"
)
_STYLES = {"key": Style.BLUE_BOLD, "text": Style.YELLOW, "word": Style.MAGENTA}


def _highlighted(text: str, grammar: re.Pattern[str]) -> str:
    return "".join(_pieces(text, grammar))


def _pieces(text: str, grammar: re.Pattern[str]) -> Iterator[str]:
    position = 0
    for match in grammar.finditer(text):
        name = match.lastgroup or "text"
        start, end = match.span(name)
        yield text[position:start] + Styler(color=True).apply(text[start:end], _STYLES[name])
        position = end
    yield text[position:]


SIZES: Columns = {
    "Name": ("name",),
    "Family": ("family",),
    "VCPUs": ("vCPUs",),
    "GPUs": ("gpus",),
    "MemoryGB": ("memoryGB",),
    "LowPriority": ("lowPriorityCapable",),
    "UsdPerHour": ("estimatedVMPrices", "values", 0, "retailPrice"),
}
USAGE: Columns = {"Name": ("name", "value"), "Used": ("currentValue",), "Limit": ("limit",)}
NODES: Columns = {
    "NodeId": ("node_id",),
    "State": ("node_state",),
    "PrivateIp": ("private_ip_address",),
    "Port": ("port",),
    "Job": ("current_job_name",),
}


def rows(data: Data, columns: Columns) -> list[dict[str, Data]]:
    """Return the columns of one item or a list of them."""
    items = data if isinstance(data, list) else [data]
    return [
        {
            name: _named_cell(at(item) if callable(at) else pointer.get(item, at))
            for name, at in columns.items()
        }
        for item in items
    ]


def _named_cell(value: Data) -> Data:
    """Return a cell's value; a map as flags accept it: `blue=90 green=10`."""
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return "" if value is None else value
