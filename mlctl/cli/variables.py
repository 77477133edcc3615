"""The variables of files: of `mlctl.yml`, `--var-file` and `--var`; the later wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mlctl import source
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.project import Project, ProjectError
from mlctl.cli.session import GlobalArgs
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.pointer import Data
from mlctl.schema.text import nearest


def variables(flags: GlobalArgs, project: Project, environment: Mapping[str, str]) -> Variables:
    """The variables of a run.

    Raises:
        InvalidValue: a flag gives none, or one that `mlctl.yml` does not declare.
        ProjectError: a file of variables cannot be read.
    """
    given = dict(project.variables)
    declared = list(given) or None
    for file in flags.var_file or ():
        said = _of_file(file)
        _check("--var-file", said, declared)
        given |= said
    for text in flags.var or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InvalidValue(f"`{text}` is not NAME=VALUE", flag="--var")
        _check("--var", [name], declared)
        given[name] = source.plain(value) if value else ""
    return Variables(given, environment)


def _of_file(path: str) -> dict[str, Data]:
    report = Report()
    documents = source.read(Path(path), report)
    if report.failed:
        raise ProjectError(report)
    return {name: value for document in documents for name, value in document.data.items()}


def _check(flag: str, names: Iterable[str], declared: list[str] | None) -> None:
    """Refuse what `mlctl.yml` does not declare; without `variables:` it declares nothing."""
    for name in names if declared else ():
        if name not in (declared or ()):
            near = nearest(name, declared or [])
            hint = f"did you mean `{near}`?" if near else f"it declares {', '.join(declared or ())}"
            raise InvalidValue(f"mlctl.yml declares no variable `{name}`: {hint}", flag=flag)
