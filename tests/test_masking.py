"""What looks like a secret, what does not, and that neither takes long."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import masking

KEY = base64.b64encode(b"y" * 64).decode()
SECRETS = {
    "a password in a URL": ("https://build:{}@example.org/simple", "hunter2hunter2"),
    "a signature": ("https://a.blob.core.windows.net/c?sv=2022&sig={}&se=2026", "Zm9v%2Fmy%3D"),
    "an account key": ("AccountName=a;AccountKey={};EndpointSuffix=x", "Zm9vYmFy=="),
    "a bus": ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={}", "c2VjcmV0="),
    "a database": ("Server=x;Uid=me;Pwd={};", "hunter2hunter2"),
    "a bearer": ("Authorization: Bearer {}", "abcdef0123456789"),
    "a JWT": ("the token {} is old", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"),
    "GitHub": ("git clone with {}", "ghp_" + "a1B2" * 9),
    "Hugging Face": ("login {}", "hf_" + "a1B2" * 9),
    "Databricks": ("{}", "dapi" + "0a1b2c3d" * 4),
    "storage": ("key {}", KEY),
    "Entra": ("use {} now", "abc8Q~" + "a1B2" * 8 + "ab"),
    "a variable": ("export DB_PASSWORD={} && run", "hunter2"),
    "JSON": ('{{"API_KEY": "{}"}}', "hunter2"),
    "PEM": ("x {}", "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"),
}
HARMLESS = [
    "registry.azurecr.io/x@sha256:" + "0f" * 32,
    "2d3b5c7e-1111-2222-3333-444455556666",
    "azureml:classifier@latest",
    "azureml://subscriptions/s/resourcegroups/g/workspaces/w/datastores/d/paths/p",
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/x/y",
    "sha512-" + KEY,
    "d41d8cd98f00b204e9800998ecf8427e",
    "git+https://github.com/a/b.git@v1.2",
    "ssh://git@github.com:22/a/b",
    "https://build:${PAT}@example.org",
    "AccountKey=$(storage-key)",
    "DB_PASSWORD=${{ env.DB_PASSWORD }}",
    "--token SECRET|@FILE : what callers must know",
    "the bearer of this password: nobody",
    "https://x.vault.azure.net/secrets/db",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS.values(), ids=SECRETS.keys())
def test_what_looks_like_a_secret_is_masked_and_nothing_around_it(text: str, secret: str) -> None:
    assert masking.mask(text.format(secret)) == text.format("***")
    assert list(masking.text_secrets(text.format(secret))) == [secret]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_does_not_is_left_as_it_is(text: str) -> None:
    assert masking.mask(text) == text
    assert masking.masked({"API_KEY": {"x": text}}) == {"API_KEY": {"x": text}}


@pytest.mark.parametrize(
    "name", ["API_KEY", "KEY", "HF_TOKEN", "CLIENT_SECRET", "dbPassword", "accountKey", "sas_token"]
)
def test_a_secret_is_told_by_the_name_of_its_key(name: str) -> None:
    assert masking.masked([{name: "hunter2"}]) == [{name: "***"}]
    assert list(masking.find({"a": {name: "hunter2"}})) == [(("a", name), "hunter2")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id_key", "id"),
        ("SORT_KEY", "id"),
        ("PAD_TOKEN", "[PAD]"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("API_KEY", "${{ env.API_KEY }}"),
        ("CONNECTION_STRING", "InstrumentationKey=${KEY};IngestionEndpoint=https://a.org/"),
        ("API_KEY", "2d3b5c7e-1111-2222-3333-444455556666"),
        ("KEY_FILE", "a.pem"),
        ("SSH_KEY", "/run/secrets/key"),
        ("MAX_TOKEN", "512"),
        ("API_KEY", None),
    ],
)
def test_a_name_is_not_all(name: str, value: str | None) -> None:
    assert masking.masked({name: value}) == {name: value}


def test_what_is_remembered_is_masked_wherever_it_stands() -> None:
    masking.hidden.add(["hunter2hunter2", "abc", "12345678"])
    assert masking.mask("is hunter2hunter2 not abc 12345678?") == "is *** not abc 12345678?"
    masking.hidden.clear()
    assert masking.mask("hunter2hunter2") == "hunter2hunter2"


@given(st.text(max_size=80))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = masking.mask(text)
    assert masking.mask(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "eyJ-",
        "://",
        "://a:",
        "bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "a.b~Q~",
        "PASSWORD=",
        "hf_",
        "A/",
        "key= ",
        "sig=",
        "https://a:",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    masking.mask(text)
    assert time.process_time() - began < 2


def test_a_text_of_six_characters_is_a_secret_wherever_it_stands_and_a_shorter_one_is_not() -> None:
    secrets = masking.Secrets()
    secrets.add(["five5", "sixsix"])
    assert secrets.known == {"sixsix"}
    assert [at for at, _ in masking.find({"a": "of sixsix", "b": "five5"}, (), secrets.known)] == [
        ("a",)
    ]
