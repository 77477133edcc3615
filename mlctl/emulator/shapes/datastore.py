"""Datastores, as recorded in November 2025 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import Shape, if_set, otherwise, section, since, stored, until

# The ones that come with a workspace are by an application; later versions show less of it.
_MADE_BY_SERVICE: Shape = {
    **SYSTEM_DATA,
    "createdBy": until("2023", stored),
    "createdByType": until("2023", stored),
}


def _datastore(system_data: Shape) -> Shape:
    return {
        "id": stored,
        "name": stored,
        "type": stored,
        "properties": section(
            {
                "description": stored,
                "tags": stored,
                "properties": stored,
                "isDefault": otherwise(default=False),
                "credentials": otherwise({"credentialsType": "None"}),
                "subscriptionId": since("2023", stored),
                "resourceGroup": since("2023", stored),
                "datastoreType": stored,
                "accountName": if_set,
                "containerName": if_set,
                "fileShareName": if_set,
                "endpoint": stored,
                "protocol": stored,
                "serviceDataAccessAuthIdentity": otherwise("None"),
            }
        ),
        "systemData": section(system_data),
    }


DATASTORE = _datastore(SYSTEM_DATA)
OWN_DATASTORE = _datastore(_MADE_BY_SERVICE)
