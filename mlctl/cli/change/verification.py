"""Check a saved plan against the files that it was made from, or else against itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import pointer
from mlctl.applying.targets import as_planned
from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.shell import Session
from mlctl.cli.shell.workflow import plan_context
from mlctl.config.graph import build
from mlctl.dataclasses import replace
from mlctl.diagnostics import Report, SourceText
from mlctl.kinds import Address, Resource, kind_of
from mlctl.kinds.values import form_of_body, stored_values
from mlctl.masking import masked
from mlctl.planfile import PlanFileError, SavedPlan, masked_body
from mlctl.planning.diff import differences
from mlctl.planning.model import Action, Change, FieldChange, Plan
from mlctl.planning.steps.work import PlanStep, StepRole, Work
from mlctl.pointer import Data
from mlctl.render.plan import plan_json
from mlctl.schema.text import counted
from mlctl.source import Document
from mlctl.source.files import STDIN
from mlctl.workflow.model import InvalidFiles, InvalidOption, Planned, PlanOptions, ignore
from mlctl.workflow.planning import plan_files

_MOST = 10  # differences that are named
_ALONE = "--plan-only carries it out without the files, if you trust its author"
_ROUTES = {StepRole.SET_DEFAULT, StepRole.UNSET_DEFAULT}
_ROLES = {  # of the steps of a change
    Action.NO_OP: {StepRole.WAIT, StepRole.UPDATE, *_ROUTES},
    Action.CREATE: {StepRole.CREATE, *_ROUTES},
    Action.UPDATE: {StepRole.UPDATE, StepRole.WAIT, *_ROUTES},
    Action.REPLACE: {StepRole.DELETE, StepRole.CREATE, *_ROUTES},
    Action.DELETE: {StepRole.DELETE},
}


def plan_again(
    session: Session,
    backend: Backend,
    saved: SavedPlan,
    report: Report,
    given: PlanOptions,
    paths: Sequence[str] = (),
) -> Planned:
    """Plan the files again.

    With `paths`, these and the `given` options count, whatever the saved plan says of itself.
    """
    made_from = saved.made_from
    options = _options(saved, given, trusted=not paths)
    if not paths:
        variables = [*made_from.variables, *(session.flags.var or ())]
        files = [*made_from.variable_files, *(session.flags.var_file or ())]
        session.flags = replace(session.flags, var=variables, var_file=files)
    context = replace(plan_context(session), note=ignore, show=ignore)
    try:
        planned = plan_files(paths or _paths(saved), backend, context, report, options)
    except InvalidFiles as error:
        session.show(error.report)
        raise PlanFileError("the files of the plan have errors now") from None
    except InvalidOption as error:
        raise PlanFileError(f"the plan cannot be made of these files: {error}") from None
    moved = {str(old): str(new) for old, new in context.project.moved.items()}
    for old, new in made_from.successors.items():
        places = f"the plan replaces {old} by {new}"
        if planned.graph.declared(Address.parse(old)):
            raise PlanFileError(f"{places}, which is declared")
        if paths and moved.get(old) != new:
            hint = f"write `moved: [{{from: {old}, to: {new}}}]` there, or name no other files"
            raise PlanFileError(f"{places}, which mlctl.yml does not declare", hint)
    return planned


def _options(saved: SavedPlan, given: PlanOptions, *, trusted: bool) -> PlanOptions:
    made_from = saved.made_from
    successors = {
        Address.parse(old): Address.parse(new) for old, new in made_from.successors.items()
    }
    options = replace(given, resuming=False, looking_for_orphans=False)
    if trusted:
        return replace(
            options,
            destroying=made_from.destroy,
            targets=made_from.targets,
            tagged=made_from.tagged,
            prune=made_from.prune,
            prune_limit=made_from.prune_limit,
            successors=successors,
        )
    return replace(options, targets=given.targets or made_from.targets)


def _paths(saved: SavedPlan) -> list[str]:
    """Return the plan's files: as they were named, here or in the folder where it was made."""
    made_from, paths = saved.made_from, []
    for path in made_from.paths:
        moved = Path(made_from.folder, path)
        paths.append(str(moved) if moved.exists() and not Path(path).exists() else path)
        if path == STDIN or not (Path(paths[-1]).exists() or any(sign in path for sign in "*?[")):
            message = (
                f"`{path}`, from which the plan was made, is missing, so the plan cannot be checked"
            )
            raise PlanFileError(message, _ALONE)
    if not paths:
        raise PlanFileError("the plan does not say which files it was made from", _ALONE)
    return paths


def check_against_files(saved: SavedPlan, planned: Planned, backend: Backend) -> None:
    """Check that the files give this plan, or, if an apply has begun it, the rest of it."""
    old, new = saved.work, planned.work
    begun = [address for address in old.read if old.read[address] != new.read.get(address)]
    if begun:
        live = backend.read({step.target for step in (*old.steps, *new.steps)})
        differences = [*_other_remaining_steps(old, new, live)]
    else:
        differences = [*_other_changes(saved, planned), *_other_steps(old, new)]
    _refuse(differences, "the files, which differ:")


def check_alone(saved: SavedPlan, session: Session) -> None:
    """Check that the steps of a plan match its changes, and delete nothing protected."""
    _refuse([*_unexplained_steps(saved)], "itself: its steps do not match its changes:")
    ownership = session.settings.project.ownership()
    covered = [
        f"{address} is protected by `{protected.pattern}` in mlctl.yml"
        for address, action in saved.actions.items()
        for protected in ownership.protected
        if action.deletes and protected.covers(address)
    ]
    _refuse(covered, "the project, which forbids it:")


def ask_policies(saved: SavedPlan, session: Session, backend: Backend, report: Report) -> None:
    """Report what policies refuse of a plan without its files: they see what it shows."""
    live = backend.read(saved.actions)
    changes = [_shown_change(entry, live) for entry in saved.document["resource_changes"]]
    graph = build(change.resource for change in changes if change.resource is not None)
    plan = Plan(
        backend.name,
        saved.work.scope,
        tuple(changes),
        saved.work.read,
        location=backend.location,
        prices=session.settings.project.price_list(),
    )
    report.extend(session.policies.of_files(graph))
    report.extend(session.policies.over(plan, graph, report).refusals)


def _shown_change(shown: Mapping[str, Any], live: Mapping[Address, Live]) -> Change:
    """Return a change as a saved plan shows it; its document is the state afterwards."""
    address, action = Address.parse(shown["address"]), Action(tuple(shown["change"]["actions"]))
    before, after = shown["change"]["before"] or {}, shown["change"]["after"]
    if after is None:
        return Change(address, action, live=live.get(address))
    kind = kind_of(address)
    form = kind.form_of(after)
    old, new = form.written(before), form.written(after)
    changed = [at for at in {**old, **new} if old.get(at) != new.get(at)]
    fields = tuple(FieldChange(at, old.get(at), new.get(at)) for at in changed)
    read_only = {field.at for field in form.fields} - {
        field.at for field in form.writable
    }  # service's
    values = {at: value for at, value in new.items() if at not in read_only}
    document = Document(SourceText(str(address), ""), pointer.nest(values))
    resource = Resource(address, kind, form, document, values)
    return Change(address, action, fields, resource, values, live.get(address))


def _refuse(found: Sequence[str], against: str) -> None:
    if found:
        lines = list(dict.fromkeys(found))
        remainder = [f"and {counted(len(lines) - _MOST, 'difference')} more"] * (len(lines) > _MOST)
        text = "".join(f"\n  {line}" for line in [*lines[:_MOST], *remainder])
        raise PlanFileError(f"the plan does not match {against}{text}")


def _other_changes(saved: SavedPlan, planned: Planned) -> Iterator[str]:
    """Find changes in which the saved plan and the files differ."""
    new = {change.address: change for change in planned.plan.changes}
    documents = {
        change["address"]: masked(change["change"]["after"])
        for change in plan_json.document(planned.plan)["resource_changes"]
    }
    changes = {change["address"]: change["change"] for change in saved.document["resource_changes"]}
    for address, action in saved.actions.items():
        if address not in new:
            yield f"{address}: {_word(action)} in the plan, but not in the files"
        elif action is not new[address].action:
            yield f"{address}: {_word(action)} in the plan, {_word(new[address].action)} by files"
        elif action not in (Action.NO_OP, Action.DELETE):
            before, after = changes[str(address)].get("after"), documents[str(address)]
            for field in new[address].fields:
                if pointer.get(before, field.at) != pointer.get(after, field.at):
                    yield f"{address}: another `{pointer.dotted(field.at)}`"
    for address in new.keys() - saved.actions.keys():
        yield f"{address}: {_word(new[address].action)} by the files, but not in the plan"


def _word(action: Action) -> str:
    return action.name.lower().replace("_", "-")


def _other_steps(old: Work, new: Work) -> Iterator[str]:
    """Find steps in which two plans of the same workspace differ."""
    saved, fresh = _comparable(old, saved=True), _comparable(new, saved=False)
    for role, target in [*saved, *(fresh.keys() - saved.keys())]:
        old_step, new_step = saved.get((role, target)), fresh.get((role, target))
        if new_step is None or old_step is None:
            yield f"{target}: {role} {'by the files' if new_step else 'in the plan'} alone"
            continue
        for part in old_step:
            if old_step[part] != new_step[part]:
                yield f"{target}: {role} with another {_part(part, old_step, new_step)}"


def _part(name: str, old: Mapping[str, Data], new: Mapping[str, Data]) -> str:
    if name not in ("body", "base"):
        return name
    sides = [_flatten(side[name] or {}) for side in (old, new)]
    places = sorted(
        pointer.dotted(at)
        for at in sides[0].keys() | sides[1].keys()
        if sides[0].get(at) != sides[1].get(at)
    )
    return f"`{places[0]}`" if places else name


def _flatten(body: Mapping[str, Data]) -> dict[pointer.Pointer, Data]:
    """Flatten a body by its pointers; an empty mapping gives nothing."""
    return {at: value for at, value in pointer.leaves(body) if value not in (None, {}, [])}


def _comparable(work: Work, *, saved: bool) -> dict[tuple[str, str], dict[str, Data]]:
    """Return what each step writes, by role and target; in a `saved` plan secrets are masked."""
    names = {step.id: (step.role.value, str(step.target)) for step in work.steps}

    def body(step: PlanStep, value: Mapping[str, Data] | None) -> Data:
        return value if saved or value is None else masked_body(step, value, work)

    return {
        names[step.id]: {
            "change": step.change,
            "body": body(step, step.body),
            "base": body(step, step.restoration.base),
            "restored fields": set(step.restoration.fields),
            "requests until then": step.restoration.routes_before,
            "fields that go": set(step.without),
            "order": {names[need] for need in step.needs},
            "secrets": {(secret.wire, secret.index, secret.at) for secret in step.secrets},
            "place": step.subsumed,
            "content": {(upload.target, upload.digest, upload.wire) for upload in step.uploads},
        }
        for step in work.steps
    }


def _other_remaining_steps(old: Work, new: Work, live: Mapping[Address, Live]) -> Iterator[str]:
    """Find steps in which the files' plan is not the rest of one that was begun."""
    written = {step.target: step for step in old.steps if not step.deletes}
    deleted = {step.target for step in old.steps if step.deletes}
    last = {step.target: step for step in new.steps if not step.deletes}
    for step in new.steps:
        if step.deletes and step.target not in deleted:
            yield f"{step.target}: delete by the files alone"
    for target, step in last.items():
        if target not in written:
            yield f"{target}: {step.role.value} by the files alone"
            continue
        body = live[target].body if target in live else None
        saved_body = masked_body(written[target], written[target].body_over(body), new)
        fresh_body = masked_body(step, step.body_over(body), new)
        if _flatten(saved_body) != _flatten(fresh_body):
            sides = {"body": saved_body}, {"body": fresh_body}
            yield f"{target}: {step.role.value} with another {_part('body', *sides)}; {_ALONE}"
    remaining = {step.target for step in new.steps}
    for step in old.steps:
        is_last = step.deletes or written[step.target] is step
        if step.target not in remaining and is_last and not _done(step, live, written, old):
            yield f"{step.target}: {step.role.value} in the plan alone"


def _done(
    step: PlanStep, live: Mapping[Address, Live], written: Mapping[Address, PlanStep], work: Work
) -> bool:
    if step.deletes and step.target in written:
        step = written[step.target]  # it was created again
    return as_planned(step, live.get(step.target), work.scope)


def _unexplained_steps(saved: SavedPlan) -> Iterator[str]:
    """Find steps that do what the changes of their own plan do not show."""
    shown = {
        Address.parse(change["address"]): change for change in saved.document["resource_changes"]
    }
    sources = {(change.get("source") or {}).get("filename") for change in shown.values()}
    for step in saved.work.steps:
        action = saved.actions.get(step.change)
        if action is None or step.target != step.change or step.role not in _ROLES[action]:
            yield f"{step.target}: {step.role.value}, which no change of the plan shows"
            continue
        for secret in step.secrets:
            if secret.file not in sources and not any(
                source and Path(secret.file) == Path(source).absolute() for source in sources
            ):
                yield f"{step.target}: a secret of `{secret.file}`, which is not a file of the plan"
        if step.role in (StepRole.CREATE, StepRole.UPDATE) and action is not Action.NO_OP:
            after = shown[step.change]["change"].get("after") or {}
            for at in _unexplained_fields(step, after, saved.work):
                yield f"{step.target}: another `{at}` than its change shows"
    stepped = {step.change for step in saved.work.steps}
    for address, action in saved.actions.items():
        if action is not Action.NO_OP and address not in stepped:
            yield f"{address}: {_word(action)}, for which there is no step"


def _unexplained_fields(step: PlanStep, after: Mapping[str, Data], work: Work) -> Iterator[str]:
    """Return the fields of a body that differ from the change of the step."""
    kind = kind_of(step.target)
    form = form_of_body(kind, step.body, work.scope)
    values = stored_values(step.body, form, work.scope, with_service_fields=False)
    fields = [
        field
        for field in form.writable
        if values.get(field.at) is not None and not field.secret and field not in kind.route_fields
    ]
    planned_values = {field.at: pointer.get(after, field.at) for field in fields}
    yield from (
        pointer.dotted(changed.at)
        for changed in differences(fields, values, planned_values, work.scope)
        if changed.before != changed.after
    )
