"""Batch deployments, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.batch_endpoint import SYSTEM_DATA
from mlctl.emulator.shapes.shape import (
    Phase,
    Place,
    Shape,
    held,
    if_set,
    or_null,
    otherwise,
    section,
    since,
    state,
)
from mlctl.pointer import Data

_CONFIGURED = "2022-10-01"  # the first api-version with deploymentConfiguration


def _configuration(place: Place) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**place.stored, "settings": place.stored.get("settings", {})} if place.stored else None


def _state(place: Place) -> Data:
    """A deployment that is being made is `Updating`, too."""
    return "Updating" if place.occasion.phase is Phase.CREATING else state(place)


BATCH_DEPLOYMENT: Shape = {
    "id": held,
    "name": held,
    "type": held,
    "properties": section(
        {
            "description": held,
            "properties": otherwise({}),
            "codeConfiguration": held,
            "environmentId": held,
            "environmentVariables": otherwise({}),
            "compute": held,
            "deploymentConfiguration": since(_CONFIGURED, _configuration),
            "errorThreshold": held,
            "retrySettings": held,
            "miniBatchSize": held,
            "loggingLevel": held,
            "model": held,
            "maxConcurrencyPerInstance": held,
            "outputAction": held,
            "outputFileName": held,
            "resources": section(
                {"instanceCount": held, "instanceType": held, "properties": or_null}
            ),
            "provisioningState": _state,
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": held,
    "identity": if_set,
}
