"""Parts that many ARM bodies share: checked, and normalized as the service does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from mlctl import catalog, pointer
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import PROVIDER, Address, kind_of
from mlctl.kinds.registry import RECORDS, arm_type
from mlctl.pointer import Data, Pointer
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad, busy
from mlctl.simulator.control_plane.state.settings import ImmutablePolicy

_MOST_CHARACTERS = 80  # characters of a value in a message
# Of endpoints and deployments: "begin with letter, 3-32, letters+numbers, single dashes ok"
# (how-to-manage-quotas).
NAME = r"(?=.{3,32}$)[a-zA-Z][a-zA-Z0-9]*(?:-[a-zA-Z0-9]+)*"
_READ_ONLY = frozenset({"id", "name", "type", "systemData", "etag"})


def read_body(request: PutRequest, *read_only: str) -> tuple[dict[str, Data], dict[str, Data]]:
    """Return a copy of the body without read-only keys and nulls, and its `properties`.

    `read_only` are the properties that only the service writes.

    Raises:
        ServiceError: it is not a JSON object with `properties`.
    """
    try:
        copy = json.loads(json.dumps(request.body, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise bad(f"The body is not JSON: {error}.", "InvalidRequestContent") from None
    top = {key: value for key, value in copy.items() if key not in _READ_ONLY and value is not None}
    properties = top["properties"] = section(top, "properties")
    for name in read_only:
        properties.pop(name, None)
    return top, properties


def section(holder: Mapping[str, Data], name: str) -> dict[str, Data]:
    """Return the object called `name`, without nulls; empty if it is missing.

    Raises:
        ServiceError: it is not an object.
    """
    value = holder.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad(f"`{name}` must be an object.", "InvalidRequestContent")
    return {key: field for key, field in value.items() if field is not None}


def stored_body(request: PutRequest, top: dict[str, Data]) -> dict[str, Data]:
    """Return the body to store; equal to the old one, with its times, if nothing changed."""
    address, old = request.address, request.old
    kind, name = f"{PROVIDER}/workspaces/{arm_type(address.kind)}", address.name
    if address.version is not None:
        kind, name = f"{kind}/versions", address.version
    head = {"id": address.id(request.scope), "name": name, "type": kind}
    order = ("location", "tags", "identity", "kind", "sku")
    body = head | {key: top.pop(key) for key in order if key in top}
    properties = top.pop("properties")
    body |= dict(sorted(top.items()))
    body["systemData"] = old.body["systemData"] if old else {}
    body["properties"] = properties
    if old is None or body != old.body:
        author = request.guid("user")
        now = clock.iso(request.now)
        previous = old.body["systemData"] if old else {}
        body["systemData"] = {
            "createdBy": previous.get("createdBy", author),
            "createdByType": "User",
            "createdAt": previous.get("createdAt", now),
            "lastModifiedBy": author,
            "lastModifiedByType": "User",
            "lastModifiedAt": now,
        }
    return body


def enum_value(value: Data, words: Iterable[str], name: str) -> str:
    """Return the service's spelling of an enum value, which may come in any letter case.

    Raises:
        ServiceError: it is not one of `words`.
    """
    for spelling in words:
        if isinstance(value, str) and value.casefold() == spelling.casefold():
            return spelling
    raise bad(f"`{value}` is not a valid {name}: it must be one of {', '.join(words)}.")


def set_enum(holder: dict[str, Data], name: str, words: Iterable[str], default: Data) -> None:
    """Set the field called `name` to the service's spelling of its value, or of the default."""
    holder[name] = enum_value(holder.get(name, default), words, name)


def whole_number(value: Data, least: int, name: str, greatest: int = 2**31 - 1) -> int:
    """Return `value` as a whole number between two bounds.

    Raises:
        ServiceError: it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
        raise bad(f"`{name}` must be a whole number, not `{value}`.")
    if not least <= value <= greatest:
        raise bad(f"`{name}` must be between {least} and {greatest}, not {value}.")
    return int(value)


def duration(value: Data, name: str) -> str:
    """Return an ISO 8601 duration as .NET writes it: `PT120S` becomes `PT2M`.

    Raises:
        ServiceError: it is not a duration.
    """
    try:
        return format_iso(parse_iso(value if isinstance(value, str) else ""))
    except ValueError:
        text = f"`{name}` must be an ISO 8601 duration such as PT2M, not `{value}`."
        raise bad(text) from None


def text_map(holder: Mapping[str, Data], name: str, *, empty: bool = True) -> dict[str, str]:
    """Return the map of strings called `name`, ordered by key as the service does.

    Raises:
        ServiceError: it is not a map, or has a null or (unless `empty`) an empty value.
    """
    texts = holder.get(name, {})
    if not isinstance(texts, dict):
        raise bad(f"`{name}` must be an object.", "InvalidRequestContent")
    out: dict[str, str] = {}
    for at, key in enumerate(sorted(texts)):
        text = texts[key]
        if text is None or (text == "" and not empty):
            raise bad(f"{name.capitalize()}.Values[{at}] must not be null or empty.", "UserError")
        out[key] = text if isinstance(text, str) else json.dumps(text)
    return out


def normalize_tags(top: dict[str, Data], *, empty: bool = True) -> None:
    """Normalize the tags of a body; batch endpoints take no `empty` values.

    Source: "Tag values must not be null or empty" (Azure/azure-sdk-for-python#41586, #44114).
    """
    top["tags"] = text_map(top, "tags", empty=empty)


def region_name(text: Data) -> str:
    """Return the name of a region: `East US 2` -> `eastus2`."""
    return re.sub(r"\s", "", str(text)).lower()


def normalize_location(request: PutRequest, top: dict[str, Data]) -> None:
    """Normalize the region of a body; by default that of the old one, else of the workspace.

    Raises:
        ServiceError: there is no such region.
    """
    default = request.old.body["location"] if request.old else request.location
    top["location"] = region_name(top.get("location") or default)
    if top["location"] not in catalog.regions() and top["location"] != request.location:
        raise bad(
            f"The provided location `{top['location']}` is not available for resource type "
            f"`{PROVIDER}/workspaces`.",
            "LocationNotAvailableForResourceType",
        )


_SPELLINGS = (
    ("/resourcegroups/", "/resourceGroups/"),
    ("/subscriptions/", "/subscriptions/"),
    (
        r"/providers/microsoft\.network/virtualnetworks/",
        "/providers/Microsoft.Network/virtualNetworks/",
    ),
    (
        r"/providers/microsoft\.managedidentity/userassignedidentities/",
        "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/",
    ),
)


def arm_id(text: str) -> str:
    """Return an ARM id with its fixed parts in the usual letter case."""
    for pattern, spelling in _SPELLINGS:
        text = re.sub(pattern, spelling, text, flags=re.IGNORECASE)
    return text


_IDENTITIES = ("None", "SystemAssigned", "UserAssigned", "SystemAssigned,UserAssigned")


def normalize_identity(request: PutRequest, top: dict[str, Data]) -> None:
    """Normalize the managed identity of a body, and add the ids that the service assigns.

    Raises:
        ServiceError: the type is unknown, or does not fit the identities given.
    """
    identity = section(top, "identity")
    kind = enum_value(
        str(identity.get("type", "None")).replace(" ", ""), _IDENTITIES, "identity type"
    )
    identities = identity.get("userAssignedIdentities", {})
    if not isinstance(identities, dict) or ("UserAssigned" in kind.split(",")) != bool(identities):
        text = f"The identity type {kind} does not fit the user assigned identities given."
        raise bad(text, "InvalidIdentityValues")
    if kind == "None":
        top.pop("identity", None)
        return
    top["identity"] = {"type": kind}
    if kind.startswith("System"):
        resource_id = request.address.id(request.scope).casefold()
        top["identity"] |= {
            "principalId": request.guid(f"principal{resource_id}"),
            "tenantId": request.guid("tenant"),
        }
    if identities:
        users = {user.casefold(): arm_id(user) for user in identities}
        top["identity"]["userAssignedIdentities"] = {
            users[folded]: {
                "principalId": request.guid(f"principal{folded}"),
                "clientId": request.guid(f"client{folded}"),
            }
            for folded in sorted(users)
        }


def keep_immutable(request: PutRequest, top: dict[str, Data], pointers: Iterable[Pointer]) -> None:
    """Keep create-only fields as they were; leaving one out is no change.

    Raises:
        ServiceError: one was changed, and the settings say to refuse that (the code is unverified).
    """
    if request.old is None:
        return
    for at in pointers:
        was, now = pointer.get(request.old.body, at), pointer.get(top, at)
        if not _same(was, now) and request.settings.immutable is ImmutablePolicy.REFUSE:
            why = f"it is `{_brief(was)}`, the request says `{_brief(now)}`"
            name = f"`{pointer.dotted(at)}` of `{request.address}`"
            raise bad(f"The property {name} cannot be changed after creation ({why}).")
        if was is None:
            pointer.drop(top, at)
        else:
            pointer.put(top, at, was)


def _same(was: Data, now: Data) -> bool:
    if now in (None, {}, was) or (was is None and now == ""):
        return type(was) is type(now) or now in (None, {}, "")  # 1 is not True
    if isinstance(was, str) and isinstance(now, str) and was.startswith("/subscriptions/"):
        return was.casefold() == now.casefold()
    if isinstance(was, dict) and isinstance(now, dict) and set(was) == set(now) == {"id"}:
        return _same(was["id"], now["id"])
    return False


def _brief(value: Data) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def merge_properties(
    request: PutRequest, properties: dict[str, Data], service_properties: Mapping[str, str]
) -> None:
    """Normalize the free `properties.properties`, and add the service's own keys.

    Source: REST reference, "properties can be added, but not removed or altered".

    Raises:
        ServiceError: one was altered, and the settings say to refuse that.
    """
    service_fields = RECORDS[
        request.address.kind
    ].arm.service_fields  # sent back by who has read them
    declared = {
        key: text
        for key, text in text_map(properties, "properties").items()
        if ("properties", "properties", key) not in service_fields
    }
    old = request.old
    stored: Mapping[str, str] = old.body["properties"].get("properties", {}) if old else {}
    for key, was in stored.items():
        now = declared.get(key, was)
        if (
            now != was
            and key not in service_properties
            and request.settings.immutable is ImmutablePolicy.REFUSE
        ):
            raise bad(f"The property `{key}` of `{request.address}` can be added, but not altered.")
    properties["properties"] = dict(sorted({**declared, **service_properties, **stored}.items()))


def refuse_own(address: Address) -> None:
    """Refuse to change or delete what belongs to the workspace.

    Raises:
        ServiceError: 400, it does.
    """
    kind = RECORDS[address.kind]
    if address.name.casefold() in kind.arm.own_names:
        text = f"The {kind.title} `{address.name}` belongs to the workspace."
        raise Permanent("UserError", text)


def check_endpoint_name(request: PutRequest) -> None:
    """Check the name of a new endpoint or deployment.

    Raises:
        ServiceError: it breaks the rules.
    """
    name = request.address.name
    if request.old is None and not re.fullmatch(NAME, name):
        role = "deployment" if request.address.parent else "endpoint"
        rule = "3 to 32 letters, digits and single dashes, starting with a letter"
        raise bad(f"The {role} name `{name}` is invalid: {rule}.", "BadRequest")


def check_parent(request: PutRequest) -> None:
    """Check that the endpoint of a deployment exists, and is not being created or deleted.

    Raises:
        ServiceError: it is not (404), or is busy.
    """
    address, above = request.address, request.address.up
    parent = request.find(above, None) if above else None
    if above is None or parent is None:
        title = kind_of(above).title if above else "endpoint"
        text = f"The {title} `{address.parent}` of deployment `{address.name}` does not exist."
        raise NotFound("ParentResourceNotFound", text)
    if parent.state in ("Creating", "Deleting"):
        raise busy(parent.address, parent.state, 5.0)
