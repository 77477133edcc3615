"""The project's own policies in the commands that check files and plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from mlctl.config.graph import Graph
from mlctl.diagnostics import Diagnostic, Report
from mlctl.planning.model import Plan
from mlctl.policies import check
from mlctl.policies.policy import Policy, expired, read
from mlctl.project.file import Project, ProjectError


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a project, today, in its environment."""

    known: tuple[Policy, ...]
    today: date
    environment: str | None = None

    @classmethod
    def of(cls, project: Project, today: date) -> Policies:
        """What the files say that `mlctl.yml` names.

        Raises:
            ProjectError: one of them cannot be read, or holds what is no policy.
        """
        report = Report()
        known = read(project.policies, report)
        if report.failed:
            raise ProjectError(report)
        return cls(tuple(known), today, project.environment)

    def of_files(self, graph: Graph) -> Iterable[Diagnostic]:
        """What of the declared resources breaks them, and which waivers have ended."""
        yield from expired(self.known, self.today)
        yield from check.of_files(self.known, graph, self.today, self.environment)

    def over(self, plan: Plan, graph: Graph, report: Report) -> Plan:
        """The plan, with what of it breaks them among its refusals and warnings.

        What `report` leaves out is left out here, too.
        """
        found = Report(report.ignore, report.select)
        found.extend(check.of_plan(self.known, plan, graph, self.today, self.environment))
        errors = tuple(one for one in found if one.is_error)
        warnings = tuple(one for one in found if not one.is_error)
        return replace(
            plan,
            refusals=(*plan.refusals, *errors),
            warnings=(*plan.warnings, *warnings),
        )
