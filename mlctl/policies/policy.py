"""Read policies from files, and check them before they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import schema, source
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.field import Field, Form
from mlctl.planning.model import Action
from mlctl.pointer import Data, Pointer
from mlctl.schema.text import nearest
from mlctl.source import Document

if TYPE_CHECKING:
    from mlctl.policies.expression import Condition
    from mlctl.policies.expression import Path as RulePath
    from mlctl.schema.compiled import Predicate

BROKEN_POLICY = Rule("MLC701", "broken-policy", Severity.ERROR)
EXPIRED_WAIVER = Rule("MLC702", "expired-waiver", Severity.WARNING)
POLICY_RULES = (BROKEN_POLICY, EXPIRED_WAIVER)

CHANGE, PLAN, ENVIRONMENT = "change", "plan", "env"  # `environment` is a kind
COST, COST_FIELDS = "cost", ("until_done",)  # of a job, from a plan's forecast
# What a rule may ask about a change and about a plan.
CHANGE_FIELDS = ("action", "address", "kind", "name", "fields")
PLAN_COUNTS = ("create", "update", "replace", "delete", "add", "change", "destroy")
PLAN_COSTS = ("monthly_floor", "monthly_ceiling", "monthly_floor_change", "monthly_ceiling_change")
_WHOLE = ""  # of a resource: no field has this name
_ACTIONS = {action: action.name.lower().replace("_", "-") for action in Action}


@dataclass(frozen=True, slots=True)
class Waiver:
    """What may break a policy, up to and including a day."""

    pattern: str
    until: date
    at: Label

    def covers(self, name: str, today: date) -> bool:
        """Whether it applies to an address (or `plan`) today."""
        return today <= self.until and fnmatchcase(name.casefold(), self.pattern.casefold())


@dataclass(frozen=True)
class Policy:
    """One policy: a rule, or a schema for the documents of a kind."""

    document: Document
    at: Pointer
    name: str
    rule: Condition | None = None
    on: Kind | None = None
    schema: Mapping[str, Data] = field(default_factory=dict)
    severity: Severity = Severity.ERROR
    message: str = ""
    hint: str | None = None
    waivers: tuple[Waiver, ...] = ()

    @cached_property
    def finding(self) -> Rule:
        """The rule under which its findings are reported, by its own name."""
        return Rule(
            self.name, self.name, self.severity, self.message, self.message, self.hint or ""
        )

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds that the rule names, in order; resources of the first are checked."""
        paths = self.rule.paths if self.rule else ()
        return list(dict.fromkeys(kind for kind in map(_kind, paths) if kind is not None))

    @cached_property
    def met_by(self) -> Predicate | None:
        """The check whether a document certainly meets the schema; None if it needs the library."""
        from mlctl.schema import simple  # noqa: PLC0415  # most policies are rules

        return simple.predicate(self.schema)

    def fields_read(self, form: Form) -> list[Field]:
        """Return the fields of a form that the rule may ask for, alone or as part of a whole."""
        if id(form) not in self._fields_of_forms:
            names = self._names_read
            self._fields_of_forms[id(form)] = [
                field for field in form.fields if not names.isdisjoint((field.at[0], _WHOLE))
            ]
        return self._fields_of_forms[id(form)]

    @cached_property
    def _fields_of_forms(self) -> dict[int, list[Field]]:
        """What was read already, by the form's id: forms are constants of their kinds."""
        return {}

    @cached_property
    def _names_read(self) -> frozenset[str]:
        paths = self.rule.paths if self.rule else ()
        return frozenset(str(path.at[0]) if path.at else _WHOLE for path in paths if _kind(path))

    def asks(self, root: str) -> bool:
        """Whether the rule names something under a root."""
        return self.rule is not None and any(path.root == root for path in self.rule.paths)

    @property
    def needs_plan(self) -> bool:
        """Whether it can only be checked on a plan."""
        return self.asks(CHANGE) or self.asks(PLAN) or self.asks(COST)

    def waived(self, name: str, today: date) -> bool:
        """Whether an address may break it today."""
        return any(waiver.covers(name, today) for waiver in self.waivers)


def action_name(action: Action) -> str:
    """Return how rules spell an action: `create`, `update`, `replace`, `delete`, `no-op`."""
    return _ACTIONS[action]


def read(paths: Iterable[Path], report: Report) -> list[Policy]:
    """Read the policies of files; errors in them go to the report."""
    policies: list[Policy] = []
    for path in paths:
        for document in source.read(path, report):
            violations = list(schema.check(document, schema.load("policy")))
            report.extend(violations)
            if not violations:
                policies += _policies(document, report)
    names: dict[str, Policy] = {}
    for policy in policies:
        earlier = names.setdefault(policy.name, policy)
        if earlier is not policy:
            related = (earlier.document.label((*earlier.at, "name"), "the other one"),)
            label = policy.document.label((*policy.at, "name"))
            message = f"two policies have the name `{policy.name}`"
            report.add(Diagnostic(BROKEN_POLICY, message, label, "rename one of them", related))
    return policies


def expired(policies: Iterable[Policy], today: date) -> Iterator[Diagnostic]:
    """MLC702: the waivers that have ended."""
    for policy in policies:
        for waiver in policy.waivers:
            if waiver.until < today:
                message = (
                    f"the waiver of `{policy.name}` for `{waiver.pattern}` ended on {waiver.until}"
                )
                yield Diagnostic(EXPIRED_WAIVER, message, waiver.at, "remove it, or extend it")


def _policies(document: Document, report: Report) -> Iterator[Policy]:
    for number, body in enumerate(document.data["policies"]):
        policy = _policy(document, ("policies", number), body, report)
        if policy is not None:
            yield policy


def _policy(
    document: Document, at: Pointer, body: Mapping[str, Data], report: Report
) -> Policy | None:
    errors = len(report)
    rule, on = None, None
    if "rule" in body:
        rule = _rule(document, (*at, "rule"), body["rule"], report)
    else:
        on = kind_named(body["kind"])
        if on is None:
            report.add(_unknown(document.label((*at, "kind")), "kind", body["kind"], list(KINDS)))
        report.extend(_broken_schema(document, (*at, "schema"), body["schema"]))
    waivers = tuple(_waivers(document, (*at, "waive"), body.get("waive", ()), report))
    if len(report) > errors:
        return None
    message = body.get("message") or (
        f"this must be true: {' '.join(body['rule'].split())}"
        if rule
        else f"it does not meet the schema of `{body['name']}`"
    )
    return Policy(
        document,
        at,
        body["name"],
        rule,
        on,
        schema=body.get("schema", {}),
        severity=Severity(body.get("severity", "error")),
        message=message,
        hint=body.get("hint"),
        waivers=waivers,
    )


def _rule(document: Document, at: Pointer, text: str, report: Report) -> Condition | None:
    from mlctl.policies.expression import ExpressionError, parse  # noqa: PLC0415  # JMESPath

    try:
        rule = parse(text)
    except ExpressionError as error:
        label = place(document, at, text, error.start, error.end)
        report.add(Diagnostic(BROKEN_POLICY, error.message, label, _LANGUAGE))
        return None
    for path in rule.paths:
        finding = _wrong(path, partial(place, document, at, text, path.start, path.end))
        if finding is not None:
            report.add(finding)
    if not rule.paths:
        message = "the rule does not name any resource, change or plan"
        report.add(Diagnostic(BROKEN_POLICY, message, document.label(at), _LANGUAGE))
    return rule


_LANGUAGE = (
    "rules are JMESPath, such as compute.tier != 'low_priority' || compute.max_instances >= `2`"
)
_JSON_WORDS = ("true", "false", "null")


def place(document: Document, at: Pointer, text: str, start: int, end: int) -> Label:
    """Return the place of a part of a text; of the whole if it is not on one line."""
    label = document.label(at)
    span = label.span
    line = span.source.lines[span.line] if span.line < len(span.source.lines) else ""
    column = line.find(text, span.column)
    if column < 0 or span.line != span.end_line:
        return label
    inner = type(span)(span.source, span.line, column + start, span.line, column + end)
    return Label(inner)


def kind_named(name: str) -> Kind | None:
    """Return the kind of a name in a rule, which may have `_` for `-`."""
    return KINDS.get(name) or KINDS.get(name.replace("_", "-"))


def _kind(path: RulePath) -> Kind | None:
    return kind_named(path.root)


def _wrong(path: RulePath, label: Callable[[], Label]) -> Diagnostic | None:
    """Report a path of a rule whose root or field does not exist."""
    kind = _kind(path)
    if kind is not None:
        forms = kind.forms
        if not path.at or any(_knows(form, path.at) for form in forms):
            return None
        first = sorted({str(field.at[0]) for form in forms for field in form.fields})
        return _unknown(label(), f"field of {kind.name}", ".".join(map(str, path.at)), first)
    parts = _PARTS.get(path.root)
    if parts is None:
        return _unknown_root(label(), path)
    if (len(path.at) == 1 and path.at[0] in parts) or (not path.at and not parts):
        return None
    return _unknown(label(), f"part of `{path.root}`", ".".join(map(str, path.at)), list(parts))


_PARTS: Mapping[str, tuple[str, ...]] = {
    CHANGE: CHANGE_FIELDS,
    PLAN: PLAN_COUNTS + PLAN_COSTS,
    COST: COST_FIELDS,
    ENVIRONMENT: (),
}


def _unknown_root(label: Label, path: RulePath) -> Diagnostic:
    """Report an unknown root, often a text or word written as in other languages."""
    if path.root in _JSON_WORDS:
        hint = f"put {path.root} between backticks"
    elif path.end - path.start > len(path.root) + sum(len(str(step)) + 1 for step in path.at):
        hint = "double quotes are for names; put texts in single quotes"
    else:
        return _unknown(label, "kind", path.root, [*KINDS, *_PARTS])
    return Diagnostic(BROKEN_POLICY, f"`{path.root}` is not a kind", label, hint)


def _knows(form: Form, at: Pointer) -> bool:
    """Whether a form has a field at, above or below a pointer."""
    return any(
        field.at[: len(at)] == at or at[: len(field.at)] == field.at
        for field in (*form.fields, *form.aliases)
    )


def _unknown(label: Label, noun: str, name: str, names: list[str]) -> Diagnostic:
    near = nearest(name, names)
    hint = f"did you mean `{near}`?" if near else f"one of {', '.join(names[:12])}"
    return Diagnostic(BROKEN_POLICY, f"`{name}` is not a {noun}", label, hint)


def _broken_schema(
    document: Document, at: Pointer, body: Mapping[str, Data]
) -> Iterator[Diagnostic]:
    from mlctl.schema import foreign  # noqa: PLC0415  # most policies are rules

    violation = foreign.wrong(body)
    if violation is not None:
        message = f"this schema cannot be used: {violation[1]}"
        label = document.label((*at, *violation[0]))
        yield Diagnostic(BROKEN_POLICY, message, label, "see json-schema.org")


def _waivers(
    document: Document, at: Pointer, bodies: Iterable[Mapping[str, Data]], report: Report
) -> Iterator[Waiver]:
    for number, body in enumerate(bodies):
        label = document.label((*at, number, "until"))
        try:
            last_day = date.fromisoformat(body["until"])
        except ValueError:
            message = f"`{body['until']}` is not a date"
            report.add(Diagnostic(BROKEN_POLICY, message, label, "write it as 2027-01-31"))
        else:
            yield Waiver(body["address"], last_day, label)
