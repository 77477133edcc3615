"""What `show` prints has what `az ml` prints: every key of the SDK's `_to_dict`, for each kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from mlctl.kinds.address import Address
from mlctl.render.cloud import resources
from tests.builders.azure import SCOPE, azure
from tests.builders.paths import LOW_PRIORITY, SAMPLES
from tests.builders.sdk import Sdk, lead_here, sdk

pytestmark = pytest.mark.filterwarnings("ignore")  # the SDK's own
NAMES = {
    "compute": Address("compute", "low-pri-cluster"),
    "batch-endpoint": Address("batch-endpoint", "heart-classifier-batch"),
    "batch-deployment": Address("batch-deployment", "classifier-xgboost", "heart-classifier-batch"),
    "model": Address("model", "heart-classifier", None, "1"),
    "environment": Address("environment", "sklearn", None, "1"),
    "data": Address("data", "heart-patients", None, "1"),
}


@pytest.fixture(scope="module")
def made() -> Iterator[Sdk]:
    """A workspace in which the SDK has made one resource of each kind."""
    here = sdk(home=SCOPE)
    with pytest.MonkeyPatch.context() as patch:
        lead_here(patch)
        patch.chdir(LOW_PRIORITY)
        make(here.ml)
        yield here


def make(ml: Any) -> None:
    """Let the SDK make one resource of each kind."""
    from azure.ai.ml.entities import Environment
    from azure.ai.ml.entities import _load_functions as load

    ml.compute.begin_create_or_update(load.load_compute("low-pri-cluster.yml")).result()
    endpoint = load.load_batch_endpoint("endpoint.yml")
    endpoint.defaults = None
    ml.batch_endpoints.begin_create_or_update(endpoint).result()
    ml.models.create_or_update(load.load_model("model.yml"))
    ml.environments.create_or_update(Environment(name="sklearn", version="1", image="ubuntu"))
    deployment = load.load_model_batch_deployment("deployment.yml")
    ml.batch_deployments.begin_create_or_update(deployment).result()
    ml.data.create_or_update(load.load_data(SAMPLES / "data" / "patients.yml"))


def read(ml: Any, address: Address) -> Any:
    """What the SDK reads."""
    match address.kind:
        case "compute":
            return ml.compute.get(address.name)
        case "batch-endpoint":
            return ml.batch_endpoints.get(address.name)
        case "batch-deployment":
            return ml.batch_deployments.get(address.name, address.parent)
        case "model":
            return ml.models.get(address.name, address.version)
        case "environment":
            return ml.environments.get(address.name, address.version)
        case _:
            return ml.data.get(address.name, address.version)


@pytest.mark.parametrize("kind", NAMES)
def test_every_key_that_az_prints_is_printed(made: Sdk, kind: str) -> None:
    address = NAMES[kind]
    theirs = read(made.ml, address)._to_dict()
    backend = azure(made.world.emulator, SCOPE).backend
    ours = resources.printed(backend.read([address])[address], SCOPE)
    assert set(theirs) - set(ours) == set()
    assert ours["resourceGroup"] == SCOPE.resource_group
    same = ("id", "name", "version", "description", "creation_context")
    for key in (key for key in same if key in theirs):
        assert str(ours[key]) == str(_plain(theirs[key])), key


def _plain(value: Any) -> Any:
    """The words of enums as the service spells them: `CreatedByType.USER` is `User`."""
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    return re.sub(r"^[A-Z]\w+\.([A-Z]+)$", lambda found: found[1].title(), str(value))
