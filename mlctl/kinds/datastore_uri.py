"""Paths in datastores, `azureml://...`, and the spellings that mean the same place.

The service stores data under the long form with `resourcegroups` and models under the one with
`resourceGroups`, whichever form was sent (recorded: cards data-put-create-short-uri and
model-put-create).
"""

from __future__ import annotations

import re

from mlctl.kinds.address import Address, Scope

_LONG = (  # a text: `re` compiles it where there is such a URI
    r"azureml://subscriptions/(?P<subscription>[^/]+)/resourcegroups/(?P<group>[^/]+)"
    r"(?:/providers/Microsoft\.MachineLearningServices)?/workspaces/(?P<workspace>[^/]+)/"
    r"(?P<rest>datastores/.*)"
)
_FLAGS = re.IGNORECASE | re.DOTALL


def canonical(text: str, scope: Scope) -> str:
    """Return the one form of a place: the short form, if it is in `scope`.

    The service may copy the files of a model: `ServiceReplicated/GUID/` then precedes the path that
    was sent (recorded: card model-put-service-replicated). Workspace names compare without case,
    paths with it. Other texts are returned unchanged.
    """
    text = re.sub(r"(/paths/)ServiceReplicated/[0-9a-fA-F-]{36}/", r"\1", text)
    long = re.fullmatch(_LONG, text, _FLAGS)
    if long is None:
        return text
    scope_of_uri = Scope(long["subscription"], long["group"], long["workspace"])
    if str(scope_of_uri).casefold() == str(scope).casefold():
        return f"azureml://{long['rest']}"
    above = f"{scope_of_uri.subscription}/resourcegroups/{scope_of_uri.resource_group}".casefold()
    return f"azureml://subscriptions/{above}/workspaces/{scope_of_uri.workspace.casefold()}/{long['rest']}"


def long(text: str, scope: Scope, groups: str = "resourceGroups") -> str:
    """Return the form in which the service stores a path; `groups` spells resource groups.

    Other texts are returned unchanged.
    """
    short = canonical(text, scope)
    if short.startswith("azureml://datastores/"):
        above = f"subscriptions/{scope.subscription}/{groups}/{scope.resource_group}"
        path = short.removeprefix("azureml://")
        return f"azureml://{above}/workspaces/{scope.workspace}/{path}"
    match = re.fullmatch(_LONG, text, _FLAGS)
    if match is None:
        return text
    above = f"subscriptions/{match['subscription']}/{groups}/{match['group']}"
    return f"azureml://{above}/workspaces/{match['workspace']}/{match['rest']}"


def datastore(text: str, scope: Scope | None) -> Address | None:
    """Return the datastore of a path; None for a default one, or one of another workspace."""
    from mlctl.kinds.records.datastore import KIND  # noqa: PLC0415 - few files have such paths

    short = canonical(text, scope) if scope else text
    match = re.match(r"azureml:(?://)?datastores/([A-Za-z0-9_-]+)(?:/|$)", short)
    if match is None or match[1].casefold() in KIND.arm.own_names:
        return None
    return Address(KIND.name, match[1])
