"""The variables of files: of `mlctl.yml`, of files of variables, and given ones; the later wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mlctl import source
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.pointer import Data
from mlctl.project.file import Project, ProjectError
from mlctl.schema.text import nearest
from mlctl.source.rules import EMPTY


class VariableError(ValueError):
    """A variable is given that the project does not declare."""


def variables(
    project: Project,
    given: Mapping[str, Data],
    files: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Variables:
    """The variables of a run; `environment` are those of the process.

    Raises:
        VariableError: one is given that `mlctl.yml` does not declare.
        ProjectError: a file of variables cannot be read.
    """
    values = dict(project.variables)
    declared = list(values)
    for said in (*map(_of_file, files), given):
        _check(said, declared)
        values |= said
    return Variables(values, environment or {})


def _of_file(path: str) -> dict[str, Data]:
    report = Report(ignore=frozenset({EMPTY.code}))
    documents = source.read(Path(path), report)
    if report.failed:
        raise ProjectError(report, path)
    return {name: value for document in documents for name, value in document.data.items()}


def _check(names: Iterable[str], declared: list[str]) -> None:
    """Refuse what `mlctl.yml` does not declare; without `variables:` it declares nothing."""
    for name in names if declared else ():
        if name not in declared:
            near = nearest(name, declared)
            hint = f"did you mean `{near}`?" if near else f"it declares {', '.join(declared)}"
            raise VariableError(f"mlctl.yml declares no variable `{name}`: {hint}")
