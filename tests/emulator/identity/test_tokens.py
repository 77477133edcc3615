"""Metadata of the cloud, tokens, and who is let in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest

from mlctl.pointer import Data
from tests.builders.emulator import BASE, WS, Wall, World, world


def test_the_metadata_is_an_object_now_and_was_an_array_before() -> None:
    here = world()
    now = here.get("/metadata/endpoints?api-version=2022-09-01").data
    before = here.get("/metadata/endpoints?api-version=2019-05-01").data
    assert (now["resourceManager"], before) == (BASE, [now])


def token(here: World, headers: dict[str, str] | None = None) -> Data:
    url = "/msi/token?api-version=2019-08-01&resource=https://management.azure.com"
    return here.get(url, headers=headers or {"x-identity-header": "s3cret"}).data


def test_a_managed_identity_gets_a_token_of_three_parts() -> None:
    granted = token(world())
    head, claims, signature = granted["access_token"].split(".")
    read = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert (read["aud"], str(read["exp"])) == (
        "https://management.azure.com",
        granted["expires_on"],
    )
    assert "" not in (head, signature)


def test_a_virtual_machine_gets_a_token_when_it_says_that_it_is_one() -> None:
    here, url = world(), "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=r"
    assert here.get(url, headers={"metadata": "true"}).data["resource"] == "r"
    assert here.get(url).status == 400


def test_an_application_gets_a_token_for_its_secret() -> None:
    form = b"client_id=a&client_secret=s3cret&scope=r/.default"
    answer = world(token="s3cret").ask("POST", "/tenant/oauth2/v2.0/token", form)
    assert (answer.data["resource"], answer.data["expires_in"]) == ("r", 86400)


def test_an_application_with_another_secret_gets_none() -> None:
    form = b"client_id=a&client_secret=guess"
    assert world(token="s3cret").ask("POST", "/tenant/oauth2/token", form).status == 401


def test_the_authority_describes_itself() -> None:
    here = world()
    found = here.get("/common/discovery/instance?api-version=1.1").data["tenant_discovery_endpoint"]
    assert here.get(found).data["token_endpoint"].startswith(BASE)


def test_without_a_token_set_everybody_is_let_in() -> None:
    assert world().get(WS).status == 200


def test_with_a_token_set_nobody_else_is() -> None:
    answer = world(token="s3cret").get(WS)
    assert (answer.status, answer.code) == (401, "AuthenticationFailed")
    assert str(answer.header("www-authenticate")).startswith("Bearer ")


@pytest.mark.parametrize("given", ["guess", "a.b.c", "s3cre", "ü", ".", ""])
def test_another_token_is_refused(given: str) -> None:
    answer = world(token="s3cret").get(WS, headers={"authorization": f"Bearer {given}"})
    assert answer.status == 401


def test_the_token_and_what_it_signed_open_the_door() -> None:
    here = world(token="s3cret")
    for given in ("s3cret", token(here)["access_token"]):
        assert here.get(WS, headers={"authorization": f"bearer {given}"}).status == 200


def test_a_signed_token_ends() -> None:
    wall = Wall()
    here = world(token="s3cret", now=wall)
    given = token(here)["access_token"]
    wall.time += 86400
    assert here.get(WS, headers={"authorization": f"Bearer {given}"}).status == 401


def test_a_managed_identity_with_another_secret_gets_no_token() -> None:
    assert "error" in token(world(token="s3cret"), {"x-identity-header": "guess"})


def test_tokens_of_two_emulators_do_not_open_each_others_doors() -> None:
    given = token(world(token="s3cret"))["access_token"]
    answer = world(token="other").get(WS, headers={"authorization": f"Bearer {given}"})
    assert answer.status == 401


@pytest.mark.parametrize(
    "claims", [b"", b"[]", b"1", b"{}", b'{"exp": "later"}', b"\xff", b"[" * 9000]
)
def test_a_token_of_odd_claims_is_refused_although_its_signature_is_right(claims: bytes) -> None:
    signed = f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}"
    digest = hmac.new(b"s3cret", signed.encode(), hashlib.sha256).digest()
    given = f"{signed}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
    answer = world(token="s3cret").get(WS, headers={"authorization": f"Bearer {given}"})
    assert answer.status == 401
