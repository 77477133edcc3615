"""A project's loader of documents, and its policies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

from mlctl.config.loader import Loader
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.kinds import Kind
from mlctl.project.file import Project

if TYPE_CHECKING:
    from mlctl.project.policies import Policies


def loader(
    project: Project,
    report: Report,
    today: date,
    variables: Variables,
    policies: Callable[[], Policies],
    kind: Kind | None = None,
    **settings: Any,
) -> Loader:
    """A loader of documents as the project has them; `settings` are further ones of `Loader`.

    The `policies` are read only where the project has some.

    Raises:
        ProjectError: an overlay or a policy of `mlctl.yml` cannot be used.
    """
    settings["overlays"] = project.overlays()
    if project.policies or project.plugins:  # else their modules are not even imported
        settings["policies"] = policies().of_files
    return Loader(report, today, kind, variables=variables, **settings)


def policies_of(project: Project, today: date) -> Policies:
    """The project's own rules.

    Raises:
        ProjectError: a file of them cannot be used.
    """
    from mlctl.project.policies import Policies

    return Policies.of(project, today)
