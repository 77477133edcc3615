"""What a plan says of quotas is what the service will say: no more, and no less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlctl.applying.events import StepState
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.resource import Resource
from tests.builders.plans import applied, carried_out, planned
from tests.builders.resources import compute
from tests.builders.workspace import cloud

LIMITS = st.sampled_from([0, 4, 8, 16, 1000])
COUNTS = st.sampled_from([1, 2, 3, 100])
SHAPES = st.builds(
    lambda bounds, size, tier: {
        "min_instances": min(bounds),
        "max_instances": max(bounds),
        "size": size,
        "tier": tier,
    },
    st.lists(st.integers(0, 4), min_size=1, max_size=2),
    st.sampled_from(["Standard_DS3_v2", "Standard_D2s_v3", "Standard_D96ads_v7"]),
    st.sampled_from(["low_priority", "dedicated"]),
)
NEWER = "standardDADSv7Family"  # of a size that no list has
WORLDS = st.dictionaries(st.sampled_from(["first", "second", "third"]), SHAPES)


def clusters(shapes: dict[str, dict[str, object]]) -> list[Resource]:
    return [compute(name, **values) for name, values in shapes.items()]


@given(
    WORLDS,
    WORLDS,
    st.tuples(LIMITS, LIMITS),
    COUNTS,
    st.integers(1, 4),
    st.sampled_from(QuotaRefusal),
)
def test_a_plan_is_refused_where_its_apply_would_be_and_nowhere_else(
    before: dict[str, dict[str, object]],
    after: dict[str, dict[str, object]],
    cores: tuple[int, int],
    computes: int,
    parallelism: int,
    refuses: QuotaRefusal,
) -> None:
    backend = cloud(refuses=refuses)
    backend.set_quota(low_priority=2000, dedicated=2000, families={NEWER: 2000})
    applied(backend, *clusters(before))
    backend.set_quota(low_priority=cores[0], dedicated=cores[1], computes=computes)
    made = planned(backend, *clusters(after))
    events = carried_out(made.work, backend, parallelism=parallelism)
    refused = [str(one.error) for one in events if one.state is StepState.FAILED]
    told = [found.message for found in made.plan.rejections]
    assert bool(told) == bool(refused), (told, refused)
