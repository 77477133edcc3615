"""Laws of meaning: what only looks different is no change, and what is different is one change."""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from mlctl import schema
from mlctl.kinds.field import Mutability
from tests.builders.generated import Declared, resources, workspace, worlds
from tests.builders.plans import actions, applied, codes, fields, planned
from tests.builders.rewritten import Changed, changed, respelt

RESPELT = worlds().flatmap(lambda world: st.tuples(st.just(world), respelt(world)))
CHANGED = worlds().flatmap(changed)


@pytest.mark.slow
@given(RESPELT)
def test_a_rewrite_that_keeps_the_meaning_plans_nothing(
    pair: tuple[list[Declared], list[Declared]],
) -> None:
    before, after = pair
    backend = workspace()
    applied(backend, *resources(before))
    for one in resources(after):
        assert [str(error) for error in schema.check(one.document, one.kind.schema)] == []
    assert fields(planned(backend, *resources(after)).plan) == {}


@pytest.mark.slow
@given(CHANGED)
def test_a_single_change_of_meaning_plans_that_field_and_what_stands_on_it(change: Changed) -> None:
    backend = workspace()
    applied(backend, *resources(change.before))
    made = planned(backend, *resources(change.after)).plan
    event(f"{change.kind} {'.'.join(map(str, change.field.at))}")
    for other in (one for one in made.pending if one.address.name != change.name):
        assert other.address.kind in ("batch-deployment", "online-deployment"), actions(made)
        assert other.because is not None or {one.note for one in other.fields} == {"@latest"}
    found = {one.address: one for one in made.pending if one.address.name == change.name}
    assert len(found) == 1, fields(made)
    (only,) = found.values()
    if change.versioned and change.field.mutability is Mutability.REPLACE:
        # a version never changes: another one is made, or the plan is refused
        assert only.action.name == "CREATE" or codes(made) == ["MLC403"]
        return
    touched = {one.at[: len(change.field.at)] for one in only.fields}
    if change.field.at[-1] == "output_action":  # rows have a file again, where a summary had none
        touched.discard((*change.field.at[:-1], "output_file_name"))
    assert touched == {change.field.at}
    in_place = change.field.mutability is Mutability.IN_PLACE
    assert only.action.name == ("UPDATE" if in_place else "REPLACE")
    assert all(one.forces_replacement is not in_place for one in only.fields)
