"""Laws of plans, over declarations of every kind and the states that they leave behind."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from mlctl import schema
from mlctl.kinds.address import Address
from mlctl.kinds.values import decode
from mlctl.planning.diff import differences
from tests.builders.generated import Declared, resources, workspace, worlds
from tests.builders.plans import actions, applied, carried_out, fields, planned
from tests.builders.simulated import finish_operations
from tests.builders.workspace import SCOPE, Watched, bodies

# For laws whose examples are applied twice; `test_kill` cuts short at every single write.
fewer = settings(max_examples=settings().max_examples // 2)


@given(worlds())
def test_what_is_generated_is_valid(world: list[Declared]) -> None:
    for one in resources(world):
        found = [error.message for error in schema.check(one.document, one.kind.schema)]
        assert found == [], one.document.data


@pytest.mark.slow
@given(worlds(), worlds())
def test_applying_a_plan_to_any_earlier_state_gives_what_it_promised_and_leaves_nothing_to_do(
    before: list[Declared], after: list[Declared]
) -> None:
    backend = workspace()
    applied(backend, *resources(before))
    made = planned(backend, *resources(after))
    for code in {found.rule.name for found in made.plan.rejections}:
        event(f"rejected: {code}")
    event(f"planned: {sorted(set(actions(made.plan).values()))}")
    assume(not made.plan.rejections)
    events = carried_out(made.work, backend)
    assert [str(one.error) for one in events if one.error] == []
    for change in made.plan.pending:
        assert change.resource is not None
        form = change.resource.form
        had = decode(backend.read([change.address])[change.address].body, form, SCOPE)
        assert differences(form.fields, change.values, had, SCOPE) == []
    assert actions(planned(backend, *resources(after)).plan) == {}


@pytest.mark.slow
@given(worlds())
def test_applying_a_plan_leaves_nothing_to_do_and_a_second_apply_writes_nothing(
    world: list[Declared],
) -> None:
    backend = workspace()
    made = planned(backend, *resources(world))
    carried_out(made.work, backend)
    again = planned(backend, *resources(world))
    assert actions(again.plan) == {}
    watched = Watched(backend)
    carried_out(again.work, watched)
    events = carried_out(made.work, watched)  # as a saved plan would be, a second time
    assert [str(one.error) for one in events if one.error] == []
    assert watched.told == []


@pytest.mark.slow
@fewer
@given(worlds(), worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_files_never_changes_a_plan(
    before: list[Declared], after: list[Declared], chance: Random
) -> None:
    backend = workspace()
    applied(backend, *resources(before))
    one, other = list(after), list(after)
    chance.shuffle(other)
    plans = [planned(backend, *resources(world)) for world in (one, other)]
    assert actions(plans[0].plan) == actions(plans[1].plan)
    assert fields(plans[0].plan) == fields(plans[1].plan)
    steps = [
        [(step.role.value, step.target, step.body) for step in made.work.steps] for made in plans
    ]
    assert sorted(steps[0], key=str) == sorted(steps[1], key=str)


class Cut(Exception):
    """The end of a process, as far as its backend can tell."""


class Cutting(Watched):
    """A backend that cuts the apply short at its nth write, before it or right after it."""

    nth = 0
    late = False

    def before(self, verb: str, address: Address) -> None:
        super().before(verb, address)
        if not self.late and len(self.told) == self.nth:
            raise Cut

    def after(self, verb: str, address: Address) -> None:
        if self.late and len(self.told) == self.nth:
            raise Cut


@pytest.mark.slow
@fewer
@given(worlds(), worlds(), st.integers(1, 12), st.booleans())
def test_cut_short_at_any_write_the_next_apply_ends_with_the_same_resources(
    before: list[Declared], after: list[Declared], nth: int, late: bool
) -> None:
    whole, broken = workspace(), workspace()
    for backend in (whole, broken):
        applied(backend, *resources(before))
    work = planned(whole, *resources(after))
    assume(not work.plan.rejections)
    carried_out(work.work, whole, parallelism=1)
    cutting = Cutting(broken)
    cutting.nth, cutting.late = nth, late
    with suppress(Cut):
        carried_out(planned(broken, *resources(after)).work, cutting, parallelism=1)
    finish_operations(broken)  # an apply waits for what is in motion before it plans
    applied(broken, *resources(after))
    assert bodies(broken).keys() == bodies(whole).keys()
    assert actions(planned(broken, *resources(after)).plan) == {}


@pytest.mark.slow
@fewer
@given(worlds(), st.integers(1, 12), st.booleans())
def test_cut_short_at_any_write_a_new_workspace_ends_in_the_same_state(
    world: list[Declared], nth: int, late: bool
) -> None:
    whole, broken = workspace(), workspace()
    applied(whole, *resources(world))
    cutting = Cutting(broken)
    cutting.nth, cutting.late = nth, late
    with suppress(Cut):
        carried_out(planned(broken, *resources(world)).work, cutting, parallelism=1)
    finish_operations(broken)
    applied(broken, *resources(world))
    for backend in (whole, broken):
        finish_operations(backend)
    assert bodies(broken) == bodies(whole)


@pytest.mark.slow
@given(worlds())
def test_destroying_what_was_applied_leaves_only_the_versions_of_code(
    world: list[Declared],
) -> None:
    backend = workspace()
    applied(backend, *resources(world))
    made = planned(backend, *resources(world), destroying=True)
    assert made.plan.rejections == ()
    events = carried_out(made.work, backend)
    assert [str(one.error) for one in events if one.error] == []
    left = {name.partition(":")[0] for name in bodies(backend)}
    anonymous = {"environment/CliV2AnonymousEnvironment", "model/azureml_anonymous"}
    assert left <= {"code/0c0de"} | anonymous
