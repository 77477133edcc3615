"""Connections, as recorded in July 2024 with api-version 2024-04-01."""

from __future__ import annotations

from mlctl.emulator.shapes.assets import SYSTEM_DATA
from mlctl.emulator.shapes.shape import Shape, null, otherwise, section, stored

CONNECTION: Shape = {
    "tags": stored,
    "location": null,
    "id": stored,
    "name": stored,
    "type": stored,
    "properties": section(
        {
            "authType": stored,
            "group": otherwise("Azure"),
            "category": stored,
            "expiryTime": stored,
            "target": stored,
            "createdByWorkspaceArmId": lambda field: field.occasion.call.scope.id,
            "useWorkspaceManagedIdentity": otherwise(default=False),
            "isSharedToAll": otherwise(default=False),
            "sharedUserList": otherwise([]),
            "peRequirement": otherwise("NotRequired"),
            "peStatus": otherwise("NotApplicable"),
            "error": null,
            "metadata": otherwise({}),
        }
    ),
    "systemData": section(dict.fromkeys(SYSTEM_DATA, stored)),
}
