"""Datastores, as recorded in November 2025 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import Shape, held, if_set, otherwise, section, since, until

# The ones that come with a workspace are by an application; later versions tell less of it.
_MADE_BY_SERVICE: Shape = {
    **SYSTEM_DATA,
    "createdBy": until("2023", held),
    "createdByType": until("2023", held),
}


def _datastore(system_data: Shape) -> Shape:
    return {
        "id": held,
        "name": held,
        "type": held,
        "properties": section(
            {
                "description": held,
                "tags": held,
                "properties": held,
                "isDefault": otherwise(default=False),
                "credentials": otherwise({"credentialsType": "None"}),
                "subscriptionId": since("2023", held),
                "resourceGroup": since("2023", held),
                "datastoreType": held,
                "accountName": if_set,
                "containerName": if_set,
                "fileShareName": if_set,
                "endpoint": held,
                "protocol": held,
                "serviceDataAccessAuthIdentity": otherwise("None"),
            }
        ),
        "systemData": section(system_data),
    }


DATASTORE = _datastore(SYSTEM_DATA)
OWN_DATASTORE = _datastore(_MADE_BY_SERVICE)
