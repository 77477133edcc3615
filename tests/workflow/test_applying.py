"""What the service says of properties, at the places where files say them."""

from __future__ import annotations

import pytest

from mlctl.applying.events import StepEvent, StepState
from mlctl.kinds.address import Address
from mlctl.planning.steps.work import PlanStep, StepRole
from mlctl.render.apply.outcome import error_lines
from mlctl.service_errors import Permanent, PropertyError
from mlctl.workflow.applying import with_places
from tests.builders.resources import parsed

FILE = """\
$schema: https://x/batchDeployment.schema.json
name: blue
endpoint_name: scores
model: azureml:heart:1
compute: azureml:cpu
retry_settings:
  max_retries: 3
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ModelConfiguration.ModelReference", "main.yml:4:8: `model`: no"),
        ("RetrySettings.MaxRetries", "main.yml:7:16: `retry_settings.max_retries`: no"),
        ("RetrySettings.Timeout", "main.yml:6:1: `retry_settings.timeout`: no"),
        ("EnvironmentId", "main.yml:1:1: `environment`: no"),
        ("Nobody.Knows", "`Nobody.Knows`: no"),
    ],
)
def test_a_refused_property_is_told_at_the_place_of_its_field(name: str, line: str) -> None:
    (resource,) = parsed(FILE)
    error = Permanent("UserError", "It is not valid.")
    error.properties = (PropertyError(name, "no"),)
    step = PlanStep(0, resource.address, StepRole.CREATE, resource.address)
    (event,) = with_places([StepEvent(step, StepState.FAILED, error)], {resource.address: resource})
    assert event.error is not None
    assert list(error_lines(event.error)) == ["(UserError) It is not valid.", line]


def test_what_no_file_declares_has_no_place() -> None:
    error = Permanent("UserError", "It is not valid.")
    error.properties = (PropertyError("Model", "no"),)
    step = PlanStep(0, Address("model", "a"), StepRole.DELETE, Address("model", "a"))
    (event,) = with_places([StepEvent(step, StepState.FAILED, error)], {})
    assert event.error is not None
    assert str(event.error.properties[0]) == "`Model`: no"
