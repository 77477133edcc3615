"""Connections, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import Shape, held, null, otherwise, section

CONNECTION: Shape = {
    "tags": held,
    "location": null,
    "id": held,
    "name": held,
    "type": held,
    "properties": section(
        {
            "authType": held,
            "group": otherwise("Azure"),
            "category": held,
            "expiryTime": held,
            "target": held,
            "createdByWorkspaceArmId": lambda place: place.occasion.call.scope.id,
            "useWorkspaceManagedIdentity": otherwise(default=False),
            "isSharedToAll": otherwise(default=False),
            "sharedUserList": otherwise([]),
            "peRequirement": otherwise("NotRequired"),
            "peStatus": otherwise("NotApplicable"),
            "error": null,
            "metadata": otherwise({}),
        }
    ),
    "systemData": section(dict.fromkeys(SYSTEM_DATA, held)),
}
