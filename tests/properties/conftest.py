"""How many examples the laws are tried on: the same ones every time, unless a person asks."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

# A law that fails elsewhere must fail here too: nothing is random, nothing is kept between runs.
# Making a failing example small takes minutes; that is for those who look for its cause.
settings.register_profile(
    "laws",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# `pytest tests/properties --hypothesis-profile=search`: other examples every time, many, and small.
settings.register_profile(
    "search",
    parent=settings.get_profile("laws"),
    derandomize=False,
    max_examples=2000,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
settings.load_profile("laws")
