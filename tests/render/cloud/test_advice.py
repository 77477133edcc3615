"""What to do about a refusal."""

from __future__ import annotations

import pytest

from mlctl.render.cloud.advice import advice
from mlctl.service_errors import NotFound, Permanent, ServiceError, Transient


def said(code: str, status: int = 400, message: str = "no") -> str:
    return str(advice(Permanent(code, message, status=status)))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ScopeLocked", "resizing (0 -> 0)"),
        ("QuotaExceeded", "more quota"),
        ("ClusterMinNodesExceedCoreQuota", "more quota"),
        ("NameUnavailable", "unique in the whole region"),
        ("LocationNotAvailableForResourceType", "list-sizes"),
        ("NoRegisteredProviderFound", "list-sizes"),
        ("MissingSubscriptionRegistration", "az provider register"),
        ("SubscriptionNotFound", "--subscription"),
        ("RequestDisallowedByPolicy", "policy"),
        ("ExpiredAuthenticationToken", "has expired"),
        ("NoCredentials", "--auth"),
        ("UntrustedCertificate", "REQUESTS_CA_BUNDLE"),
        ("TimedOut", "mlctl plan"),
    ],
)
def test_a_common_code_has_its_advice(code: str, words: str) -> None:
    assert words in said(code)


@pytest.mark.parametrize(
    ("status", "words"), [(401, "az login"), (403, "Compute Operator"), (429, "--parallelism")]
)
def test_an_unknown_code_is_advised_on_by_its_status(status: int, words: str) -> None:
    assert words in said("Anything", status)


def test_an_old_service_says_quota_in_its_message_only() -> None:
    message = "The specified subscription has a Standard DSv2 family vCPU quota of 6"
    assert "more quota" in said("BadRequest", 400, message)


def test_too_many_endpoints_are_no_matter_of_nodes() -> None:
    message = "The subscription has reached its limit of 100 endpoints in region eastus."
    assert "delete unused endpoints" in said("QuotaExceeded", 400, message)


@pytest.mark.parametrize(
    "error", [Permanent("BadArgument", "no"), NotFound("ResourceNotFound", "no", status=404)]
)
def test_what_nobody_knows_has_none(error: ServiceError) -> None:
    assert advice(error) is None


def test_what_may_pass_may_be_tried_later() -> None:
    assert "try again later" in str(advice(Transient("Whatever", "no", status=500)))
