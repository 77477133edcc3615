"""The cloud's metadata, the endpoints that issue tokens, and authentication by them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from urllib.parse import parse_qsl

from mlctl.digests import uuid_of
from mlctl.emulator.http.messages import HttpError, Request, Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import TENANT, EmulatorSettings
from mlctl.emulator.shapes import views
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

CLOUD = "EmulatorCloud"
_LIFE = 24 * 3600  # seconds that a token lasts
_USER = uuid_of("mlctl/user")
_FIRST_OBJECT = "2022-09-01"  # older versions of the metadata are an array of clouds


def authenticate(request: Request, settings: EmulatorSettings) -> None:
    """Allow requests with the token, or one signed with it; without a token set, all."""
    if settings.token is None:
        return
    scheme, _, token = request.header("authorization").partition(" ")
    if scheme.casefold() == "bearer" and _is_valid(token, settings):
        return
    problem = (
        "is missing" if not token else "is not one that this emulator gave out, or has expired"
    )
    text = f"Authentication failed. The access token {problem}."
    challenge = f'Bearer authorization_uri="{request.base}/{TENANT}", error="invalid_token"'
    raise HttpError(
        "AuthenticationFailed", text, status=401, headers={"www-authenticate": challenge}
    )


def clouds(call: Call) -> Response:
    """GET /metadata/endpoints: an object since 2022-09-01, before that an array."""
    base = call.request.base
    names = {"name": CLOUD, "microsoftGraphResourceId": base + "/"}
    cloud = views.body(
        call, {**names, "authentication": {"audiences": [base, base + "/"]}}, "cloud"
    )
    single = call.request.query_value("api-version") >= _FIRST_OBJECT
    return json_response(cloud if single else [cloud])


def app_service(call: Call) -> Response:
    """GET of a token as App Service's managed identity endpoint gives it: `expires_on` is text."""
    secret = call.request.header("x-identity-header")
    expected = call.settings.token
    if not secret or (expected is not None and not _are_equal(secret, expected)):
        raise Permanent(
            "Unauthorized", "The header X-IDENTITY-HEADER is missing or wrong.", status=401
        )
    return json_response(_grant_token(call, call.request.query_value("resource")))


def imds(call: Call) -> Response:
    """GET of a token as a virtual machine's metadata service gives it."""
    if call.request.header("metadata").casefold() != "true":
        raise Permanent("invalid_request", "Required metadata header not specified")
    authenticate(call.request, call.settings)
    return json_response(_grant_token(call, call.request.query_value("resource")))


def entra(call: Call) -> Response:
    """POST of a client's credentials for a token (OAuth 2.0, v1 and v2)."""
    form = dict(parse_qsl(call.request.body.decode(errors="replace")))
    expected = call.settings.token
    if expected is not None and not _are_equal(form.get("client_secret", ""), expected):
        raise Permanent(
            "invalid_client", "The client's secret is not the emulator's token.", status=401
        )
    resource = form.get("resource") or form.get("scope", "").removesuffix("/.default")
    granted = _grant_token(call, resource)
    return json_response({**granted, "expires_in": _LIFE, "ext_expires_in": _LIFE})


def openid(call: Call) -> Response:
    """GET of the OpenID configuration of a tenant."""
    tenant_url = f"{call.request.base}/{call.names['tenant']}"
    return json_response(
        {
            "issuer": f"{call.request.base}/{TENANT}/v2.0",
            "token_endpoint": f"{tenant_url}/oauth2/v2.0/token",
            "authorization_endpoint": f"{tenant_url}/oauth2/v2.0/authorize",
            "device_authorization_endpoint": f"{tenant_url}/oauth2/v2.0/devicecode",
            "jwks_uri": f"{tenant_url}/discovery/v2.0/keys",
            "tenant_region_scope": "WW",
        }
    )


def instances(call: Call) -> Response:
    """GET of the instance discovery: only this authority."""
    host = call.request.base.partition("://")[2]
    aliases = {"preferred_network": host, "preferred_cache": host, "aliases": [host]}
    openid_url = f"{call.request.base}/{TENANT}/v2.0/.well-known/openid-configuration"
    return json_response(
        {"tenant_discovery_endpoint": openid_url, "api-version": "1.1", "metadata": [aliases]}
    )


def _grant_token(call: Call, resource: str) -> dict[str, Data]:
    expires = int(call.settings.now()) + _LIFE
    return {
        "access_token": _token(call, resource, expires),
        "expires_on": str(expires),
        "resource": resource,
        "token_type": "Bearer",
        "client_id": _USER,
    }


def _token(call: Call, resource: str, expires: int) -> str:
    """A JSON web token like the service's, signed with the emulator's token."""
    began = expires - _LIFE
    claims = {
        "aud": resource,
        "iss": f"https://sts.windows.net/{TENANT}/",
        "iat": began,
        "nbf": began,
        "exp": expires,
        "appid": _USER,
        "oid": _USER,
        "sub": _USER,
        "tid": TENANT,
        "idtyp": "app",
        "ver": "1.0",
        "xms_mirid": f"/subscriptions/{call.settings.home.subscription}/resourcegroups/mlctl/"
        "providers/Microsoft.ManagedIdentity/userAssignedIdentities/emulator",
    }
    head = {"typ": "JWT", "alg": "HS256"}
    signed = f"{_base64url(json.dumps(head).encode())}.{_base64url(json.dumps(claims).encode())}"
    return f"{signed}.{_signature(signed, call.settings)}"


def _is_valid(token: str, settings: EmulatorSettings) -> bool:
    if _are_equal(token, settings.token or ""):
        return True
    signed, _, signature = token.rpartition(".")
    if not _are_equal(signature, _signature(signed, settings)):
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
        return bool(claims["exp"] > settings.now())
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _are_equal(left_text: str, right_text: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(left_text.encode(), right_text.encode())


def _signature(signed: str, settings: EmulatorSettings) -> str:
    key = (settings.token or CLOUD).encode()
    return _base64url(hmac.new(key, signed.encode(), hashlib.sha256).digest())


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
