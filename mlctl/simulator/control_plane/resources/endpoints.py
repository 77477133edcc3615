"""What all endpoints, and their deployments, have in common."""

from __future__ import annotations

import re

from mlctl.kinds.address import Address, kind_of
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state.context import RequestContext, StoredResource
from mlctl.simulator.control_plane.state.errors import bad, busy

# "begin with letter, 3-32, letters+numbers, single dashes ok" (how-to-manage-quotas).
_NAME = r"(?=.{3,32}$)[a-zA-Z][a-zA-Z0-9]*(?:-[a-zA-Z0-9]+)*"


def check_name(address: Address, old: StoredResource | None) -> None:
    """Check the name of a new endpoint or deployment.

    Raises:
        ServiceError: it breaks the rules.
    """
    if old is None and not re.fullmatch(_NAME, address.name):
        role = "deployment" if address.parent else "endpoint"
        raise bad(
            f"The {role} name `{address.name}` is invalid: 3 to 32 letters, digits and single "
            "dashes, starting with a letter.",
            "BadRequest",
        )


def check_parent(context: RequestContext, address: Address) -> None:
    """Check that the endpoint of a deployment exists, and is not being created or deleted.

    Raises:
        ServiceError: it is not (404), or is busy.
    """
    above = address.up
    parent = context.find(above, None) if above else None
    if above is None or parent is None:
        title = kind_of(above).title if above else "endpoint"
        raise NotFound(
            "ParentResourceNotFound",
            f"The {title} `{address.parent}` of deployment `{address.name}` does not exist.",
        )
    if parent.state in ("Creating", "Deleting"):
        raise busy(parent.address, parent.state, 5.0)
