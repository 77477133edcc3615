"""Hints for errors of the service."""

from __future__ import annotations

import re

from mlctl.service_errors import ServiceError, Transient

_QUOTA = (
    "lower `max_instances`, delete idle clusters, or request more quota;"
    " `mlctl compute list-usage` shows what is left"
)
_TAKEN = "such names are unique in the whole region: choose another one"
_LOCKED = (
    "`az lock list -g GROUP` shows the lock; one on the resource group also keeps clusters at"
    " resizing (0 -> 0): lock single resources instead"
)
# Patterns of error codes; the first match counts. The codes are those of the resource manager
# (https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors),
# of azure-ai-ml's issues, and mlctl's own.
_BY_CODE = {
    "LeaseStore": (
        "you need the datastore's key (role AzureML Data Scientist) or the role Storage Blob Data"
        " Contributor, and access through the account's firewall; --no-lock applies without a lease"
    ),
    "ScopeLocked": _LOCKED,
    "ClusterMinNodes": "use a smaller size, lower `min_instances`, or request more quota",
    "Quota|CoresExceed": _QUOTA,
    "NameUnavailable|NameAlready|NameTaken|OtherComputeType": _TAKEN,
    "LocationNotAvailable|NoRegisteredProvider|SkuNotAvailable|SizeNotAvailable|VmSize": (
        "it is not available in this region: check the name (eastus, westeurope);"
        " `mlctl compute list-sizes -l REGION` shows what is"
    ),
    "MissingSubscriptionRegistration|SubscriptionNotRegistered": (
        "register the provider: az provider register -n Microsoft.MachineLearningServices"
    ),
    "SubscriptionNotFound|InvalidSubscription|ResourceGroupNotFound|ParentResourceNotFound": (
        "check --subscription, --resource-group and --workspace-name: mlctl doctor"
    ),
    "RequestDisallowedByPolicy": "a policy of the organisation forbids it; the message names it",
    "ExpiredAuthenticationToken": "the token has expired; log in again: az login",
    "NoCredentials": "log in (az login), or choose where tokens come from (--auth)",
    "UntrustedCertificate": "set REQUESTS_CA_BUNDLE to the certificate of the authority that "
    "signed it",
    "ConnectionLost": "check the network and the proxy (HTTPS_PROXY): mlctl doctor",
    "TimedOut": "to see how far it got and what remains: mlctl plan",
}
_BY_STATUS = {
    401: "log in again: az login",
    403: (
        "request a role: AzureML Compute Operator for clusters, AzureML Data Scientist for"
        " endpoints and assets, Contributor for all; a new role takes effect after some minutes"
    ),
    429: "the service is throttling requests: try again later, with a lower --parallelism",
}
_LIMIT = r"limit of \d+ (computes|endpoints|deployments)"
_BY_MESSAGE = {r"\bquota\b": _QUOTA, "must be unique": _TAKEN, "is locked": _LOCKED}


def advice(error: ServiceError) -> str | None:
    """Return a one-sentence hint for an error; None if there is none."""
    if full := re.search(_LIMIT, error.message):
        return f"delete unused {full[1]}, or request a higher limit"
    for pattern, text in _BY_CODE.items():
        if re.search(pattern, error.code, re.IGNORECASE):
            return text
    if error.status in _BY_STATUS:
        return _BY_STATUS[error.status]
    for pattern, text in _BY_MESSAGE.items():
        if re.search(pattern, error.message, re.IGNORECASE):
            return text
    if isinstance(error, Transient):
        return "the request was retried several times; try again later"
    return None
