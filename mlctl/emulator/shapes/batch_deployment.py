"""Batch deployments, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.batch_endpoint import SYSTEM_DATA
from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Shape,
    if_set,
    or_null,
    otherwise,
    section,
    since,
    state,
    stored,
)
from mlctl.pointer import Data

_CONFIGURED = "2022-10-01"  # the first api-version with deploymentConfiguration


def _configuration(field: ResponseField) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**field.stored, "settings": field.stored.get("settings", {})} if field.stored else None


def _state(field: ResponseField) -> Data:
    """A deployment that is being made is `Updating`, too."""
    return "Updating" if field.occasion.phase is Phase.CREATING else state(field)


BATCH_DEPLOYMENT: Shape = {
    "id": stored,
    "name": stored,
    "type": stored,
    "properties": section(
        {
            "description": stored,
            "properties": otherwise({}),
            "codeConfiguration": stored,
            "environmentId": stored,
            "environmentVariables": otherwise({}),
            "compute": stored,
            "deploymentConfiguration": since(_CONFIGURED, _configuration),
            "errorThreshold": stored,
            "retrySettings": stored,
            "miniBatchSize": stored,
            "loggingLevel": stored,
            "model": stored,
            "maxConcurrencyPerInstance": stored,
            "outputAction": stored,
            "outputFileName": stored,
            "resources": section(
                {"instanceCount": stored, "instanceType": stored, "properties": or_null}
            ),
            "provisioningState": _state,
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "identity": if_set,
}
