"""Credentials, by the name of `--auth`."""

from __future__ import annotations

import logging
from enum import Enum
from typing import Any

from mlctl.backends.azure.clouds import Cloud
from mlctl.service_errors import Permanent


class AuthMethod(Enum):
    """Ways to log in; `default` tries them in turn, as azure-identity does."""

    DEFAULT = "default"
    CLI = "cli"
    ENV = "env"
    MANAGED_IDENTITY = "managed-identity"
    WORKLOAD_IDENTITY = "workload-identity"
    BROWSER = "browser"


def auth_method(name: str | None) -> AuthMethod:
    """The way to log in of that name.

    Raises:
        Permanent: there is none.
    """
    try:
        return AuthMethod(name or AuthMethod.DEFAULT.value)
    except ValueError:
        methods = ", ".join(method.value for method in AuthMethod)
        raise Permanent(
            "UnknownAuth", f"there is no --auth `{name}`; there is: {methods}"
        ) from None


def credential(method: AuthMethod, cloud: Cloud, client_id: str | None) -> Any:
    """A credential of azure-identity; it sends nothing before its first token is needed.

    `client_id` is that of a user-assigned managed identity.

    Raises:
        Permanent: it cannot be used here.
    """
    from azure import identity

    logging.getLogger("msal").addHandler(logging.NullHandler())  # as in `arm`
    authority = {"authority": cloud.authority} if cloud.authority.startswith("https://") else {}
    try:
        match method:
            case AuthMethod.DEFAULT:
                return identity.DefaultAzureCredential(**authority)
            case AuthMethod.CLI:
                return identity.AzureCliCredential()
            case AuthMethod.ENV:
                return identity.EnvironmentCredential(**authority)
            case AuthMethod.MANAGED_IDENTITY:
                return identity.ManagedIdentityCredential(client_id=client_id)
            case AuthMethod.WORKLOAD_IDENTITY:
                return identity.WorkloadIdentityCredential(**authority)
            case AuthMethod.BROWSER:
                return identity.InteractiveBrowserCredential(**authority)
    except ValueError as error:
        raise Permanent("NoCredentials", f"--auth {method.value}: {error}", status=401) from None
