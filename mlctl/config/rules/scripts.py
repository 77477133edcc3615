"""The scoring scripts of deployments: whether they are Python."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, deployments, finding
from mlctl.config.rules.paths import local
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity, SourceText, Span
from mlctl.kinds import Resource
from mlctl.schema.text import placeholder

_CODE = ("code_configuration", "code")
_SCRIPT = ("code_configuration", "scoring_script")

BROKEN_SCRIPT = Rule("MLC327", "broken-scoring-script", Severity.ERROR)


def broken_script(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC327. A missing script is MLC203."""
    for deployment in deployments(graph):
        path = _script(deployment)
        text = context.script(path) if path is not None else None
        error = _error(text) if text is not None else None
        if path is not None and text is not None and error is not None:
            line = max((error.lineno or 1) - 1, 0)
            source = SourceText(str(path), text)
            length = len(source.lines[line]) if line < len(source.lines) else 0
            begin = min(max((error.offset or 1) - 1, 0), max(length - 1, 0))
            message = f"`{path}` is not valid Python: line {line + 1}: {error.msg}"
            related = Label(Span(source, line, begin, line, begin + 1), "here")
            yield finding(
                BROKEN_SCRIPT, deployment, _SCRIPT, message, "correct the script", related
            )


def _script(deployment: Resource) -> Path | None:
    """Return the local scoring script; None if it is not local."""
    folder, name = local(deployment, _CODE), deployment.text(*_SCRIPT)
    if folder is None or not name or placeholder(name):
        return None
    return folder / name


def _error(text: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are only a warning
            ast.parse(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return SyntaxError("it cannot be read")
    return None


CHECKS = (broken_script,)
