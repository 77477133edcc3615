"""A plan as text, in Terraform's words: what would happen to each resource, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds import Address, Scope, kind_of, routes
from mlctl.kinds.field import Field, Mutability
from mlctl.kinds.values import decode, form_of_body, state
from mlctl.masking import masked
from mlctl.planning.cost import PlanCost, of_plan
from mlctl.planning.model import Action, ActionReason, Change, FieldChange, Plan, PlanSummary
from mlctl.planning.steps.routing import routed_by
from mlctl.pointer import Data, Pointer, dotted
from mlctl.render.findings import diagnostics
from mlctl.render.plan import cost, unfinished
from mlctl.render.plan import text as plan_text
from mlctl.render.plan.tree import DiffBranch, DiffLeaf, hidden, lines, styled_sign
from mlctl.render.terminal.terminal import Style, Styler, clean

NO_CHANGES = "No changes. Your workspace matches the configuration."
_NO_CHANGES_MORE = (
    "mlctl has compared the workspace with your files and found no differences,"
    " so no changes are needed."
)
_NO_CHANGES_DECLARED = "No changes to what the files declare."
_NOT_COMPARED = "No changes to what could be compared."
_SYMBOLS = "Resource actions are indicated with the following symbols:"
_ACTIONS = "mlctl will perform the following actions:"
_REFUSED = "This project forbids it:"
_REJECTED = "The backend would reject this plan:"
_AFTER_APPLY = "(known after apply)"

_LEGEND = {
    Action.CREATE: "  + create",
    Action.UPDATE: "  ~ update in-place",
    Action.DELETE: "  - destroy",
    Action.REPLACE: "-/+ destroy and then create replacement",
}


def human(
    plan: Plan,
    *,
    color: bool = False,
    width: int = 100,
    verbose: bool = False,
    room: int | None = None,
    costs: PlanCost | None = None,
) -> str:
    """Render the plan as text, with a final line break.

    `verbose` names the line behind every changed field, and shows what the service fills in. If the
    changes exceed `room` (in bytes), the first are shown, and the number of the others.
    `costs` are those of the plan, if they were computed already.
    """
    styler = Styler(color)
    parts = []
    if plan.pending:
        parts.append("\n".join(_body(plan, styler, width, room, costs, verbose=verbose)))
    elif plan.in_motion and not plan.errors:
        parts.append(styler.apply(_NOT_COMPARED, Style.BOLD))
    elif plan.orphans and not plan.errors:
        parts.append(styler.apply(_NO_CHANGES_DECLARED, Style.BOLD))
    elif not plan.errors:
        explanation = "\n".join(textwrap.wrap(_NO_CHANGES_MORE, max(width, 40)))
        parts.append(f"{styler.apply(NO_CHANGES, Style.BOLD)}\n\n{explanation}")
    parts += ["\n".join(textwrap.wrap(sentence, max(width, 40))) for sentence in in_motion(plan)]
    parts += [plan_text.orphans(plan.orphans)] if plan.orphans else []
    if plan.warnings:
        parts.append(_findings(plan.warnings, color=color, width=width))
    for title, diagnostics_ in ((_REFUSED, plan.refusals), (_REJECTED, plan.rejections)):
        if diagnostics_:
            text = _findings(diagnostics_, color=color, width=width)
            parts.append(f"{styler.apply(title, Style.BOLD_RED)}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def _findings(findings: Iterable[Diagnostic], *, color: bool, width: int) -> str:
    report = Report()
    report.extend(findings)
    return diagnostics.report(report, color=color, width=width).rstrip("\n")


def in_motion(plan: Plan) -> Iterator[str]:
    """Name each resource that was not compared because an operation is running, in a sentence."""
    for change in plan.in_motion:
        address = change.address
        above = f" -e {address.parent}" if address.parent else ""
        wait = f"mlctl {address.kind} wait -n {address.name}{above} --updated"
        yield clean(
            f"{address} was not compared: it is {state(change.live.body if change.live else {})},"
            f" so its final state is not known yet. Wait for it, and plan again: {wait}"
        )


def summary(numbers: PlanSummary) -> str:
    """`Plan: 1 to add, 0 to change, 2 to destroy.`"""
    return f"Plan: {numbers.add} to add, {numbers.change} to change, {numbers.destroy} to destroy."


def _body(
    plan: Plan,
    styler: Styler,
    width: int,
    room: int | None,
    costs: PlanCost | None,
    *,
    verbose: bool,
) -> Iterator[str]:
    present = {change.action for change in plan.pending}
    yield _SYMBOLS
    yield from (
        _sign(action, text, styler) for action, text in _LEGEND.items() if action in present
    )
    yield f"\n{_ACTIONS}\n"
    view = _View(plan, styler, width, verbose=verbose)
    for number, change in enumerate(plan.pending):
        block = "\n".join(view.change(change))
        if room is not None and (room := room - len(block.encode()) - 2) < 0:
            yield f"  # ... and {len(plan.pending) - number} more changes, which do not fit here\n"
            break
        yield f"{block}\n"
    yield styler.apply(summary(plan.summary), Style.BOLD)
    heads = True
    for line in cost.human(costs or of_plan(plan), width):
        yield f"\n{styler.apply(line, Style.BOLD)}" if heads else line
        heads = False


def _sign(action: Action, text: str, styler: Styler) -> str:
    sign = plan_text.SYMBOLS[action]
    return text.replace(sign, styled_sign(sign, styler), 1)


class _View:
    """Renders the changes of one plan, which refer to each other."""

    def __init__(self, plan: Plan, styler: Styler, width: int, *, verbose: bool) -> None:
        self._scope = plan.scope
        self._styler = styler
        self._width = width
        self._verbose = verbose
        self._filled_in: dict[int, list[str]] = {}
        self._changes = {change.address: change for change in plan.changes}

    def change(self, change: Change) -> Iterator[str]:
        """Return the lines of a change."""
        place = self._place(change)
        title = f"# {change.address} {plan_text.VERBS[change.action]}"
        yield (
            "  "
            + self._styler.apply(title, Style.BOLD)
            + (self._styler.apply(f"  ({place})", Style.GRAY) if place else "")
        )
        for why in self._reasons(change):
            yield "  " + self._styler.apply(f"# ({clean(why)})", Style.GRAY)
        tree = self._tree(change)
        sign = styled_sign(plan_text.SYMBOLS[change.action], self._styler)
        pad = " " * (3 - len(plan_text.SYMBOLS[change.action]))
        yield f"{pad}{sign} {change.address}" + (":" if tree.parts else "")
        yield from lines(tree, self._styler, 6)
        yield from self._later(change)
        unchanged = _unchanged(change)
        if unchanged:
            yield " " * 8 + self._styler.apply(hidden(unchanged, "attribute"), Style.GRAY)

    def _place(self, change: Change) -> str:
        """Return what requested the change: the owner of an inline asset, or the file and line."""
        resource = change.resource
        if resource is None:
            return ""
        parts = [f"inline in {resource.owner}"] if resource.owner else []
        return ", ".join([*parts, clean(plan_text.place(change))])

    def _reasons(self, change: Change) -> Iterator[str]:
        """Say why the change is made, and what it destroys."""
        action, resource = change.action, change.resource
        if action is Action.REPLACE:
            yield f"because {_cause(change)}"
        if change.dependents:
            verb = "depends" if len(change.dependents) == 1 else "depend"
            yield f"{plan_text.listed(plan_text.some(change.dependents))} {verb} on it"
        if action is Action.CREATE and resource is not None and plan_text.outdates(change):
            yield "a new version: the content of the newest one differs and cannot change"
        if change.unfinished is not None:
            yield unfinished.reason(change.unfinished)
        if change.repairs:
            yield "its last operation did not succeed, so it is written again"
        if change.reason is ActionReason.SUPERSEDED:
            yield f"because {change.because} replaces it; it is deleted last"
        elif action is Action.DELETE and change.because is not None:
            yield f"because {change.because} is deleted; no file declares it"
        elif change.reason is ActionReason.PRUNED:
            yield "because the project owns it and no file declares it any more"
        elif action is Action.DELETE and change.reason is ActionReason.PARENT_DELETED:
            yield f"because {change.address} is not in the files"
        if action in (Action.REPLACE, Action.DELETE) and kind_of(change.address).plan.loss:
            yield kind_of(change.address).plan.loss
        if action is Action.REPLACE:
            yield from self._unrouted(change)

    def _unrouted(self, change: Change) -> Iterator[str]:
        """Say which requests an endpoint's deployment misses while it is replaced."""
        above = self._changes.get(change.address.up) if change.address.up else None
        if above is None or above.live is None or above.action is Action.REPLACE:
            return
        kind, name = kind_of(above.address), change.address.name
        at = kind.plan.routes[0]
        was = routes.routes(kind, above.live.body)[at]
        part, value = routes.share({at: was}, name), above.values.get(at)
        if value is not None and not routes.share({at: routes.shares(value)}, name):
            return  # others have taken over before, for good
        remaining = routes.without(was, frozenset({name.casefold()}))
        if part and not remaining:
            yield f"{above.address} has no {kind.plan.routing} until it exists again"
        elif part:
            shares = ", ".join(f"{child} has {share:g} %" for child, share in remaining.items())
            yield (
                f"others get its {part:g} % of the {kind.plan.routing} until it exists again: "
                f"{shares}"
            )

    def _tree(self, change: Change) -> DiffBranch:
        tree = DiffBranch()
        if change.action is Action.DELETE:
            for at, value in _gone(change, self._scope):
                tree.put(at, DiffLeaf(value, None, text_before=plan_text.uploaded(value)))
            return tree
        content = plan_text.content(change)
        if change.action is Action.CREATE and content is not None:
            tree.put(("content",), DiffLeaf(None, None, text_after=content))
            return tree
        changed: dict[Pointer, int] = {}
        is_routed = bool(kind_of(change.address).plan.routes)
        for field in change.fields:
            tree.put(field.at, self._leaf(change, field, is_routed=is_routed))
            changed[field.at[:-1]] = changed.get(field.at[:-1], 0) + (field.after is not None)
        secrets = change.resource.form.marked_secrets if change.resource else ()
        if (
            change.action.creates
            and secrets
            and not any(field.at in change.values for field, _ in secrets)
        ):
            none = DiffLeaf(None, None, text_after="(none: identities are used)")
            tree.put(secrets[0][0].at[:1], none)
        for at, count in changed.items():
            said_value = change.values.get(at)
            branch = tree.at(at) if isinstance(said_value, dict) else None
            if branch is not None and isinstance(said_value, dict):
                branch.hidden += len(said_value) - count
        return tree

    def _leaf(self, change: Change, field: FieldChange, *, is_routed: bool) -> DiffLeaf:
        remarks = list(self._remarks(change, field, is_routed=is_routed))
        alarm = "forces replacement" if field.forces_replacement else ""
        if field.sensitive:
            old_text = None if field.before is None else "*** (before)"
            new_text = None if field.after is None else "*** (after)"
            return DiffLeaf(None, None, ", ".join(remarks), alarm, old_text, new_text)
        old_text, new_text = plan_text.local_content(change, field, self._changes)
        old, new = plan_text.masked_sides(field)
        return DiffLeaf(old, new, ", ".join(remarks), alarm, old_text, new_text)

    def _remarks(self, change: Change, field: FieldChange, *, is_routed: bool) -> Iterator[str]:
        if field.note:
            yield f"from {field.note}"
        elif field.after is not None and plan_text.is_default(change, field):
            yield "default"
        if is_routed and any(self._is_made(child) for child in routed_by(change.address, field)):
            yield "set once that deployment exists"
        label = change.label_of(field) if self._verbose else None
        if label is not None:
            yield f"{label.span.source.name}:{label.span.line + 1}"

    def _is_made(self, address: Address) -> bool:
        target = self._changes.get(address)
        return target is not None and target.action.creates

    def _later(self, change: Change) -> Iterator[str]:
        """List the names that the service will fill in."""
        if change.action not in (Action.CREATE, Action.REPLACE) or change.resource is None:
            return
        form = change.resource.form
        if id(form) not in self._filled_in:
            names = ", ".join(dotted(field.at) for field in form.fields if self._fills_in(field))
            text = f"{names}: {_AFTER_APPLY}" if names else ""
            self._filled_in[id(form)] = textwrap.wrap(text, max(self._width - 8, 40))
        sign = styled_sign("+" if change.action is Action.CREATE else "~", self._styler)
        for line in self._filled_in[id(form)]:
            yield f"      {sign} {line}"
            sign = " "

    def _fills_in(self, field: Field) -> bool:
        return field.mutability is Mutability.READ_ONLY and (len(field.at) == 1 or self._verbose)


def _cause(change: Change) -> str:
    if change.because is not None:
        return f"{change.because} is replaced"
    forcing = [field for field in change.fields if field.forces_replacement]
    names = [f"`{dotted(field.at)}`{_line(change, field)}" for field in forcing]
    return f"{plan_text.listed(names)} cannot be changed in place"


def _line(change: Change, field: FieldChange) -> str:
    """Return ` (cluster.yml:4)`; "" if no file sets the field or the change has that place."""
    label = change.label_of(field)
    place = f"{label.span.source.name}:{label.span.line + 1}" if label else ""
    return f" ({place})" if place and place != plan_text.place(change) else ""


def _gone(change: Change, scope: Scope) -> Iterator[tuple[Pointer, Data]]:
    """Return the destroyed values under the file's own fields."""
    if change.live is None:
        return
    form = form_of_body(kind_of(change.address), change.live.body, scope)
    values = decode(change.live.body, form, scope)
    for field in form.fields:
        if values.get(field.at) not in (None, {}) and field.mutability is not Mutability.READ_ONLY:
            yield field.at, masked(values[field.at], field.at[-1])


def _unchanged(change: Change) -> int:
    """Count the values of the files that stay unchanged."""
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return 0
    touched = {at for field in change.fields for at in (field.at, field.at[:-1])}
    return sum(at not in touched for at in change.values)
