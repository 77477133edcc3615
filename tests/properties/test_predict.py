"""What a plan says of quotas is what the service will say: no more, and no less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlctl.applying.events import StepState
from mlctl.kinds.resource import Resource
from tests.builders.plans import applied, carried_out, planned
from tests.builders.resources import compute
from tests.builders.workspace import cloud

LIMITS = st.sampled_from([0, 4, 8, 16, 1000])
COUNTS = st.sampled_from([1, 2, 3, 100])
SHAPES = st.fixed_dictionaries(
    {
        "max_instances": st.integers(0, 4),
        "size": st.sampled_from(["Standard_DS3_v2", "Standard_D2s_v3"]),
        "tier": st.sampled_from(["low_priority", "dedicated"]),
    }
)
WORLDS = st.dictionaries(st.sampled_from(["first", "second", "third"]), SHAPES)


def clusters(shapes: dict[str, dict[str, object]]) -> list[Resource]:
    return [compute(name, **values) for name, values in shapes.items()]


@given(WORLDS, WORLDS, LIMITS, LIMITS, COUNTS, st.integers(1, 4))
def test_a_plan_is_refused_where_its_apply_would_be_and_nowhere_else(
    before: dict[str, dict[str, object]],
    after: dict[str, dict[str, object]],
    low_priority: int,
    dedicated: int,
    computes: int,
    parallelism: int,
) -> None:
    backend = cloud()
    backend.set_quota(low_priority=1000, dedicated=1000)
    applied(backend, *clusters(before))
    backend.set_quota(low_priority=low_priority, dedicated=dedicated, computes=computes)
    made = planned(backend, *clusters(after))
    events = carried_out(made.work, backend, parallelism=parallelism)
    refused = [str(one.error) for one in events if one.state is StepState.FAILED]
    told = [found.message for found in made.plan.rejections]
    assert bool(told) == bool(refused), (told, refused)
