"""Check files and plans with the project's policies and plug-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Diagnostic, Report, Rule
from mlctl.planning.model import Plan
from mlctl.policies import check
from mlctl.policies.policy import Policy, expired, read
from mlctl.project.file import Project, ProjectError
from mlctl.project.plugins import Plugins


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a project and of its plug-ins, today, in its environment."""

    known: tuple[Policy, ...]
    today: date
    environment: str | None = None
    plugins: Plugins = field(default_factory=Plugins)

    @classmethod
    def of(cls, project: Project, today: date) -> Policies:
        """Read the policy files and plug-ins that `mlctl.yml` names.

        Raises:
            ProjectError: one of them cannot be read or used, or has something that is not a policy.
        """
        report, plugins = Report(), Plugins.of(project)
        policies = read([*project.policies, *plugins.policies], report)
        if report.failed:
            raise ProjectError(report)
        return cls(tuple(policies), today, project.environment, plugins)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of plug-ins."""
        return self.plugins.rules

    def of_files(self, graph: Graph) -> Iterable[Diagnostic]:
        """Yield the declared resources that break policies, and the waivers that have ended."""
        yield from self.plugins.check(graph, self.today)
        yield from expired(self.known, self.today)
        yield from check.check_files(self.known, graph, self.today, self.environment)

    def of_forecast(self, forecast: Mapping[str, Any]) -> list[Diagnostic]:
        """Return what in a plan's forecast breaks policies."""
        return [*check.check_forecast(self.known, forecast, self.today, self.environment)]

    def over(self, plan: Plan, graph: Graph, report: Report) -> Plan:
        """Return the plan with broken policies among its refusals and warnings.

        What `report` ignores is left out.
        """
        findings = Report(report.ignore, report.select)
        findings.extend(check.check_plan(self.known, plan, graph, self.today, self.environment))
        errors = tuple(finding for finding in findings if finding.is_error)
        warnings = tuple(finding for finding in findings if not finding.is_error)
        return replace(
            plan,
            refusals=(*plan.refusals, *errors),
            warnings=(*plan.warnings, *warnings),
        )
