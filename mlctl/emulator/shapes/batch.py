"""Batch endpoints, as recorded from 2023-12 on (api-versions 2023-10-01 and 2024-04-01).

And batch deployments, as recorded in July 2024 with api-version 2024-04-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from mlctl.emulator.shapes.shape import (
    Phase,
    ResponseField,
    Shape,
    if_set,
    keys,
    null,
    omitted,
    once_created,
    or_null,
    otherwise,
    section,
    state,
    stored,
    time,
    versions,
)
from mlctl.pointer import Data

SYSTEM_DATA: Shape = {  # of endpoints and deployments: by whom they were changed is not shown
    "createdAt": time,
    "createdBy": stored,
    "lastModifiedAt": time,
    **keys(omitted, "createdByType", "lastModifiedBy", "lastModifiedByType"),
}


def _scoring_uri(field: ResponseField) -> Data:
    # The service has a host for every endpoint. The SDK takes what stands before "/subscriptions/"
    # for the service's base URL, and an emulator has one host: a path at it stands for the host.
    occasion = field.occasion
    if occasion.address is None:
        return None
    return f"{occasion.call.request.base}{occasion.address.id(occasion.call.scope)}/jobs"


def identity(field: ResponseField) -> Data:
    """Where there are only identities of users, the principal of the endpoint's own is zeros."""
    if not isinstance(field.stored, Mapping) or field.stored.get("type") != "UserAssigned":
        return if_set(field)
    nobody = {"principalId": str(UUID(int=0)), "tenantId": field.occasion.call.guid("tenant")}
    return {**field.stored, **nobody}


BATCH_ENDPOINT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "description": stored,
            "properties": otherwise({}),
            "scoringUri": once_created(_scoring_uri),
            "swaggerUri": null,
            "authMode": stored,
            "defaults": section({"deploymentName": stored}),
            "provisioningState": state,
        }
    ),
    "systemData": section(SYSTEM_DATA),
    "tags": otherwise({}),
    "location": stored,
    "identity": identity,
}


def _configuration(field: ResponseField) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**field.stored, "settings": field.stored.get("settings", {})} if field.stored else None


def _state(field: ResponseField) -> Data:
    """A deployment that is being made is `Updating`, too."""
    return "Updating" if field.occasion.phase is Phase.CREATING else state(field)


BATCH_DEPLOYMENT: Shape = {
    **keys(stored, "id", "name", "type"),
    "properties": section(
        {
            "description": stored,
            "properties": otherwise({}),
            "codeConfiguration": stored,
            "environmentId": stored,
            "environmentVariables": otherwise({}),
            "compute": stored,
            "deploymentConfiguration": versions(
                _configuration, stable="2024-04-01", preview="2022-10-01"
            ),
            **keys(stored, "errorThreshold", "retrySettings", "miniBatchSize", "loggingLevel"),
            **keys(stored, "model", "maxConcurrencyPerInstance", "outputAction", "outputFileName"),
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
