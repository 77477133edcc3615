"""Local files and folders that documents name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, finding
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity, SourceText, Span
from mlctl.kinds import Resource
from mlctl.kinds.field import Form
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Pointer, dotted
from mlctl.schema.text import placeholder

MISSING_PATH = Rule("MLC203", "missing-path", Severity.WARNING)
MISSING_TO_PLAN = Rule("MLC204", "missing-path-to-plan", Severity.ERROR)
LEFT_EXPRESSION = Rule("MLC206", "expression-in-content", Severity.WARNING)

_CONDA_FILE: Pointer = ("conda_file",)
# Files that are relative to a folder that another field names.
_INSIDE: dict[Pointer, Pointer] = {
    ("code_configuration", "scoring_script"): ("code_configuration", "code"),
    ("build", "dockerfile_path"): ("build", "path"),
}


def missing_paths(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC203, or MLC204 when planning. Files in a folder are checked only if it exists."""
    for resource in graph.with_inline_assets:
        below = (at for at, _ in resource.places("x-mlctl-path"))
        for at in dict.fromkeys((*_path_fields(resource.form), *below)):
            path = local(resource, at)
            if path is None:
                continue
            if context.exists(path):
                yield from _check_inside(resource, at, path, context)
            else:
                yield _report_missing(resource, at, path, planning=context.planning)


def left_expressions(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC206, for the first expression of a file."""
    for resource in graph.with_inline_assets:
        path = local(resource, _CONDA_FILE)
        text = context.script(path) if path is not None else None
        if path is None or text is None:
            continue
        from mlctl.kinds.expressions import find  # noqa: PLC0415 - few files have any

        expression = next(
            (expression for expression in find(text) if expression.path[0] in ("var", "env")), None
        )
        if expression is None:
            continue
        ahead = text[: expression.start]
        line, column = ahead.count("\n"), expression.start - (ahead.rfind("\n") + 1)
        place = Span(
            SourceText(str(path), text),
            line,
            column,
            line,
            column + expression.end - expression.start,
        )
        message = f"`{path}` has `{expression.text}`, which mlctl only replaces in documents"
        hint = "write the value, or move the dependencies into the document"
        yield finding(
            LEFT_EXPRESSION, resource, _CONDA_FILE, message, hint, Label(place, "not replaced")
        )


def local(resource: Resource, at: Pointer) -> Path | None:
    """Return the local path of a value; None for references, URIs, content and placeholders."""
    value = resource.values.get(at) or resource.get(*map(str, at))
    if not isinstance(value, str) or not is_local(value) or placeholder(value):
        return None
    return resource.document.folder / local_path(value)


def _check_inside(
    resource: Resource, folder: Pointer, path: Path, context: RuleContext
) -> Iterator[Diagnostic]:
    for at, folder_field in _INSIDE.items():
        name = resource.text(*map(str, at))
        if folder_field != folder or not name or path.suffix == ".py" or placeholder(name):
            continue
        if not context.exists(path / name):
            yield _report_missing(resource, at, path / name, planning=context.planning, inside=path)


def _report_missing(
    resource: Resource, at: Pointer, path: Path, *, planning: bool, inside: Path | None = None
) -> Diagnostic:
    has_file = not resource.document.source.name.startswith("<")  # not a command line, or a stream
    folder = "folder of this file" if has_file else "working directory"
    problem = f"there is no `{path.name}` in `{inside}`" if inside else f"`{path}` does not exist"
    return finding(
        MISSING_TO_PLAN if planning else MISSING_PATH,
        resource,
        at,
        f"{dotted(at)}: {problem}",
        "correct the path: it is relative to "
        + ("the folder named beside it" if inside else f"the {folder}"),
    )


@cache
def _path_fields(form: Form) -> tuple[Pointer, ...]:
    return tuple(field.at for field in form.fields if field.path)


CHECKS = (missing_paths, left_expressions)
