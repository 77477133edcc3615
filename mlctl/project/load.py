"""Load what every command needs: `mlctl.yml`, variables, and a loader of documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl import schema, source
from mlctl.config.loader import Loader
from mlctl.config.variables import Unchosen, Variables
from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import ON_DISK, Files, leaves_checkout
from mlctl.kinds import Kind
from mlctl.masking import Secrets
from mlctl.pointer import Data
from mlctl.project.file import ENVIRONMENTS, Project, ProjectError
from mlctl.schema.text import nearest
from mlctl.source import Document
from mlctl.source.files import left_checkout
from mlctl.source.rules import EMPTY

if TYPE_CHECKING:
    from mlctl.project.policies import Policies

_SCHEMA = "project"  # of schemas/, which describes each key
_WRITE = "write `project: NAME` in it, or remove it"


class VariableError(ValueError):
    """A variable is set that the project does not declare."""


def load_project(path: Path) -> Project:
    """Load a `mlctl.yml`; an empty project if there is none.

    Raises:
        ProjectError: it cannot be read, or does not match its schema.
    """
    if not os.path.lexists(path):
        return Project()
    report = Report(strict=True)
    if leaves_checkout(path, path.parent):
        report.add(left_checkout(path))
        raise ProjectError(report)
    documents = source.read(path, report, explicit=False)
    if not documents and not report.failed:
        report.add(Diagnostic(EMPTY, f"`{path}` is empty", None, _WRITE))
    for document in documents:
        report.extend(schema.check(document, schema.load(_SCHEMA)))
    if documents and not report.failed:
        from mlctl.project.checks import findings

        report.extend(findings(documents[0]))
        report.extend(map(_report_second, documents[1:]))
    if report.failed:
        raise ProjectError(report)
    return Project(documents[0].data, documents[0])


def loader(
    project: Project,
    report: Report,
    today: date,
    variables: Variables,
    policies: Callable[[], Policies],
    kind: Kind | None = None,
    *,
    files: Files = ON_DISK,
    **settings: Any,
) -> Loader:
    """Return a loader of the project's documents; `settings` are passed to `Loader`.

    The `policies` are only read if the project has some.
    """
    settings["overlays"] = project.overlays(files)
    if project.policies or project.plugins:  # otherwise their modules are not even imported
        settings["policies"] = policies().of_files
    return Loader(report, today, kind, variables=variables, files=files, **settings)


def policies_of(project: Project, today: date) -> Policies:
    """Return the project's own rules."""
    from mlctl.project.policies import Policies

    return Policies.of(project, today)


def variables(
    project: Project,
    given: Mapping[str, Data],
    files: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    *,
    secrets: Secrets,
) -> Variables:
    """Return the variables of a run; `environment` are the process's.

    Secrets in the files of the run are added to `secrets`.

    Raises:
        VariableError: one is set that `mlctl.yml` does not declare.
    """
    values = dict(project.variables)
    declared = list(values)
    for layer in (*map(_read_variables, files), given):
        _check(layer, declared)
        values |= layer
    plain = frozenset(project.values.get("plain_env", ()))
    unchosen = _find_unchosen(project)
    return Variables(values, environment or {}, secrets, plain=plain, unchosen=unchosen)


def _find_unchosen(project: Project) -> Unchosen | None:
    """Return the environments of a project, if they set variables and none is chosen."""
    environments = project.values.get(ENVIRONMENTS) or {}
    declared = [(values or {}).get("variables") or {} for values in environments.values()]
    if project.environment is not None or project.document is None or not any(declared):
        return None
    label = project.document.label((ENVIRONMENTS,), key=True)
    return Unchosen(
        tuple(environments), frozenset(name for names in declared for name in names), label
    )


def _read_variables(path: str) -> dict[str, Data]:
    report = Report(ignore=frozenset({EMPTY.code}))
    documents = source.read(Path(path), report)
    if report.failed:
        raise ProjectError(report, path)
    return {name: value for document in documents for name, value in document.data.items()}


def _check(names: Iterable[str], declared: list[str]) -> None:
    """Refuse variables that `mlctl.yml` does not declare."""
    for name in names if declared else ():
        if name not in declared:
            near = nearest(name, declared)
            hint = f"did you mean `{near}`?" if near else f"it declares {', '.join(declared)}"
            raise VariableError(f"mlctl.yml declares no variable `{name}`: {hint}")


def _report_second(document: Document) -> Diagnostic:
    message = "mlctl.yml must be one document, but this is a second one"
    from mlctl.schema.rules import VALUE_NOT_ALLOWED

    return Diagnostic(VALUE_NOT_ALLOWED, message, document.label(), "remove the `---` above it")
