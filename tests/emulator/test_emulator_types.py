"""Bodies of wrong types: refused, or shown as they are; never an error of the emulator's own."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from mlctl.pointer import Data
from tests.builders.emulator import CLUSTER, GROUP, WS, World, with_deployment

JOB: Data = {"jobType": "Command", "command": "x", "environmentId": "e", "computeId": "c"}
INSTANCE: Data = {"computeType": "ComputeInstance", "properties": {"vmSize": "STANDARD_DS3_V2"}}
COMPONENT: Data = {"type": "command", "resources": {"instance_count": "2"}}
BODIES: dict[str, Data] = {
    f"{WS}/computes/cpu": CLUSTER,
    f"{WS}/computes/mine": {"location": "eastus", "properties": INSTANCE},
    f"{WS}/components/step/versions/1": {"properties": {"componentSpec": COMPONENT}},
    f"{WS}/batchEndpoints/scoring/deployments/blue": {},
    f"{WS}/onlineEndpoints/live": {"location": "eastus", "properties": {"authMode": "Key"}},
    f"{WS}/jobs/training": {"properties": JOB},
    f"{GROUP}/providers/Microsoft.MachineLearningServices/registries/team": {
        "location": "eastus",
        "properties": {
            "regionDetails": [
                {
                    "location": "eastus",
                    "acrDetails": [{"systemCreatedAcrAccount": {"sku": "Basic"}}],
                }
            ],
        },
    },
    f"{WS}/schedules/nightly": {
        "properties": {
            "trigger": {"triggerType": "Cron", "expression": "* * * * *"},
            "action": {"actionType": "CreateJob", "jobDefinition": JOB},
        }
    },
}
WRONG: tuple[Data, ...] = ("x", 5, ["x"], {"x": 1})


def pointers(body: Data, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places in a body, without the body itself."""
    for key, value in body.items() if isinstance(body, dict) else ():
        yield (*at, key)
        yield from pointers(value, (*at, key))


def changed(body: Data, at: tuple[str, ...], value: Data) -> Data:
    """A copy of a body with another value at a place."""
    copied = copy.deepcopy(body)
    holder = copied
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = value
    return copied


def statuses(cloud: World, path: str, body: Data) -> list[int]:
    """Of a write, and of what is read of it afterwards."""
    answer = cloud.put(path, body)
    collection = path.rpartition("/")[0]
    return [answer.status, *(cloud.get(read).status for read in (path, path, collection))]


@pytest.mark.slow
@pytest.mark.parametrize("path", BODIES)
def test_no_value_of_a_wrong_type_breaks_what_is_read_afterwards(path: str) -> None:
    cloud = with_deployment()
    if BODIES[path]:
        cloud.done(cloud.put(path, BODIES[path]))
    shown = cloud.get(path).data
    broken = [
        (at, value)
        for at in pointers(shown)
        for value in WRONG
        if max(statuses(cloud, path, changed(shown, at, value))) >= 500
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{WS}/schedules/s", {"properties": {"action": "x"}}),
        (
            f"{WS}/computes/mine",
            changed(
                BODIES[f"{WS}/computes/mine"], ("properties", "properties", "sshSettings"), "x"
            ),
        ),
    ],
)
def test_a_text_in_place_of_an_object_is_shown_as_it_is(path: str, body: Data) -> None:
    cloud = with_deployment()
    assert max(statuses(cloud, path, body)) < 500
