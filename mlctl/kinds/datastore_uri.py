"""URIs of paths in datastores, `azureml://...`: the spellings that name the same place.

The service keeps data under the long form with `resourcegroups` and models under the one with
`resourceGroups`, whichever form was sent (recorded: cards data-put-create-short-uri and
model-put-create).
"""

from __future__ import annotations

import re

from mlctl.kinds.address import Scope

_LONG = re.compile(
    r"azureml://subscriptions/(?P<subscription>[^/]+)/resourcegroups/(?P<group>[^/]+)"
    r"(?:/providers/Microsoft\.MachineLearningServices)?/workspaces/(?P<workspace>[^/]+)/"
    r"(?P<rest>datastores/.*)",
    re.IGNORECASE | re.DOTALL,
)


def canonical(text: str, scope: Scope) -> str:
    """What the spellings of one place have in common: the short form where it is of `scope`.

    Names of workspaces compare without case, paths with it. Other texts stay as they are.
    """
    long = _LONG.fullmatch(text)
    if long is None:
        return text
    named = Scope(long["subscription"], long["group"], long["workspace"])
    if str(named).casefold() == str(scope).casefold():
        return f"azureml://{long['rest']}"
    above = f"{named.subscription}/resourcegroups/{named.resource_group}".casefold()
    return f"azureml://subscriptions/{above}/workspaces/{named.workspace.casefold()}/{long['rest']}"
