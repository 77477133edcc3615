"""CloudSettings of the simulated cloud."""

from __future__ import annotations

from mlctl.kinds import KINDS
from mlctl.kinds.facts import QuotaRefusal
from mlctl.simulator.control_plane.state import settings
from mlctl.simulator.control_plane.state.settings import (
    CloudSettings,
    Delays,
    ImmutablePolicy,
    InUsePolicy,
)


def test_settings_are_read_as_they_were_written() -> None:
    given = CloudSettings(
        Delays(compute_create=1.5), ImmutablePolicy.IGNORE, InUsePolicy.REFUSE, QuotaRefusal.MAX
    )
    assert settings.load(settings.dump(given)) == given
    assert settings.load("{}") == CloudSettings()


def test_assets_take_no_time() -> None:
    assert not KINDS["model"].takes_time
    assert Delays(endpoint_delete=7).of(KINDS["batch-endpoint"].arm.delay, "delete") == 7
