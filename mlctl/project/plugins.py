"""The plug-ins that `mlctl.yml` names: rules and policies from other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from mlctl import plugins
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity
from mlctl.plugins import BrokenPlugin, Plugin
from mlctl.project.file import Project, ProjectError
from mlctl.schema.text import nearest

BROKEN_PLUGIN = Rule("MLC703", "broken-plugin", Severity.ERROR)
PLUGIN_RULES = (BROKEN_PLUGIN,)
_HINT = "upgrade the package, or remove the name from `plugins:`"
_OWN = "MLC"  # mlctl's own codes begin so


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a plug-in: an object with `RULES` and `check(graph, today)`."""

    plugin: Plugin
    rules: tuple[Rule, ...]
    at: Label | None

    def check(self, graph: Graph, today: date) -> Iterator[Diagnostic]:
        """Yield the findings of its rules; MLC703 if it fails."""
        try:
            for finding in self.plugin.value.check(graph, today):
                yield self._of_its_own(finding)
        except BrokenPlugin as error:
            yield Diagnostic(BROKEN_PLUGIN, str(error), self.at, _HINT)
        except Exception as error:  # noqa: BLE001 - somebody else's code
            message = str(self.plugin.failed(error))
            yield Diagnostic(BROKEN_PLUGIN, message, self.at, _HINT)

    def _of_its_own(self, finding: object) -> Diagnostic:
        if not isinstance(finding, Diagnostic):
            raise self.plugin.broken(f"finds {finding!r}, which is not a Diagnostic")
        if finding.rule not in self.rules:
            raise self.plugin.broken(f"finds {finding.rule.code}, which is not among its `RULES`")
        return finding


@dataclass(frozen=True, slots=True)
class Plugins:
    """The rules and policy files of all plug-ins of a project."""

    rule_sets: tuple[RuleSet, ...] = ()
    policies: tuple[Path, ...] = ()

    @classmethod
    def of(cls, project: Project) -> Plugins:
        """Load the plug-ins that the project names.

        Raises:
            ProjectError: one is not installed, or cannot be used.
        """
        report, rule_sets, policies = Report(), list[RuleSet](), list[Path]()
        for name, at in project.plugins:
            try:
                rules = plugins.load(plugins.RULES, name)
                files = plugins.load(plugins.POLICIES, name)
                if rules is not None:
                    rule_sets.append(RuleSet(rules, _read_rules(rules), at))
                if files is not None:
                    policies += _list_files(files)
            except BrokenPlugin as error:
                report.add(Diagnostic(BROKEN_PLUGIN, str(error), at, _HINT))
                continue
            if rules is None and files is None:
                report.add(_report_missing(name, at))
        if report.failed:
            raise ProjectError(report)
        return cls(tuple(rule_sets), tuple(policies))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of all of them."""
        return tuple(rule for rule_set in self.rule_sets for rule in rule_set.rules)

    def check(self, graph: Graph, today: date) -> Iterable[Diagnostic]:
        """Yield the findings of their rules on the declared resources."""
        for rule_set in self.rule_sets:
            yield from rule_set.check(graph, today)


def _read_rules(plugin: Plugin) -> tuple[Rule, ...]:
    """Return a plug-in's rules."""
    rules = getattr(plugin.value, "RULES", None)
    if not isinstance(rules, tuple | list) or not callable(getattr(plugin.value, "check", None)):
        raise plugin.broken("has no `RULES` with a `check(graph, today)`")
    for rule in rules:
        if not isinstance(rule, Rule):
            raise plugin.broken(f"has {rule!r} among its `RULES`, which is not a Rule")
        if rule.code.startswith(_OWN):
            raise plugin.broken(f"has a rule {rule.code}: codes that begin with {_OWN} are mlctl's")
    return tuple(rules)


def _list_files(plugin: Plugin) -> list[Path]:
    """Return a plug-in's policy files."""
    value = plugin.value
    listed = list(value) if isinstance(value, tuple | list) else [value]
    if not listed or not all(isinstance(item, str | Path) for item in listed):
        raise plugin.broken("must name policy files: a path, or a list of them")
    paths = [Path(item) for item in listed]
    for path in paths:
        if not path.is_file():
            raise plugin.broken(f"names the missing file {path}")
    return paths


def _report_missing(name: str, at: Label | None) -> Diagnostic:
    names = sorted({*plugins.names(plugins.RULES), *plugins.names(plugins.POLICIES)})
    near = nearest(name, names)
    choices = f"there is {', '.join(names)}" if names else "install the package that provides it"
    hint = f"did you mean `{near}`?" if near else choices
    return Diagnostic(BROKEN_PLUGIN, f"no installed package provides a plug-in `{name}`", at, hint)
