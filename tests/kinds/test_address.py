"""Names: addresses print and parse back, references are read as the SDK reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.kinds.address import Address, Reference, Scope, version_key
from mlctl.kinds.registry import ALL

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "rg", "ws")
OTHER = Scope(SCOPE.subscription, "rg", "other")
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,9}", fullmatch=True)
VERSIONS = st.none() | st.from_regex(r"[A-Za-z0-9.:-]{1,6}", fullmatch=True)


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    kind = draw(st.sampled_from(sorted(ALL)))
    parent, versioned = ALL[kind].parent, ALL[kind].versioned
    above = draw(NAMES) if parent else None
    return Address(kind, draw(NAMES), above, draw(VERSIONS) if versioned else None)


@given(addresses())
def test_an_address_prints_and_parses_back_to_itself(address: Address) -> None:
    assert Address.parse(str(address)) == address
    assert str(Address.parse(str(address))) == str(address)


@given(addresses())
def test_addresses_are_equal_without_case_and_hash_alike(one: Address) -> None:
    shouted = Address(one.kind, one.name.upper(), one.parent and one.parent.upper(), one.version)
    assert (shouted, hash(shouted)) == (one, hash(one))


def test_versions_are_told_apart_by_case_and_kinds_by_everything() -> None:
    assert Address("model", "m", None, "V1") != Address("model", "m", None, "v1")
    assert Address("model", "m") != Address("environment", "m")
    assert Address("compute", "m") != "compute/m"


def test_addresses_are_listed_by_kind_and_then_by_name() -> None:
    texts = ["compute/b", "compute/c", "batch-endpoint/a", "batch-deployment/a/x", "model/a:1"]
    assert [str(one) for one in sorted(map(Address.parse, reversed(texts)))] == texts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "compute",
        "compute/",
        "vm/x",
        "compute/a/b",
        "batch-deployment/x",
        "batch-deployment//x",
        "batch-deployment/e/",
        "model/",
        "model/m:",
    ],
)
def test_what_is_no_address_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Address.parse(text)


def test_an_id_is_spelt_as_the_sdk_needs_it() -> None:
    blue = Address("batch-deployment", "blue", "heart")
    assert blue.id(SCOPE) == f"{SCOPE.id}/batchEndpoints/heart/deployments/blue"
    assert Address("model", "m", None, "1").id(SCOPE) == f"{SCOPE.id}/models/m/versions/1"
    assert "/resourceGroups/rg/providers/Microsoft.MachineLearningServices/" in SCOPE.id


def test_a_deployment_lies_under_its_endpoint_and_nothing_else_does() -> None:
    assert Address("batch-deployment", "blue", "heart").up == Address("batch-endpoint", "heart")
    assert Address("compute", "cpu").up is None


@pytest.mark.parametrize(
    ("text", "kind", "address", "label"),
    [
        ("azureml:m:1", "model", "model/m:1", None),
        ("azureml:m:1:2", "model", "model/m:1:2", None),
        ("azureml:m@latest", "model", "model/m", "latest"),
        ("azureml:m", "model", "model/m", None),
        ("azureml:cpu", "compute", "compute/cpu", None),
        ("cpu", "compute", "compute/cpu", None),
        (f"{SCOPE.id}/computes/cpu", "compute", "compute/cpu", None),
        (f"azureml:{SCOPE.id}/models/m/versions/1", "model", "model/m:1", None),
        (f"azureml:{SCOPE.id}/models/m/labels/latest", "model", "model/m", "latest"),
        (f"azureml:{SCOPE.id.lower()}/MODELS/m/versions/1", "model", "model/m:1", None),
    ],
)
def test_references_are_read_as_the_sdk_reads_them(
    text: str, kind: str, address: str, label: str | None
) -> None:
    found = Reference.parse(text, kind)
    assert found is not None
    assert (str(found.address), found.label) == (address, label)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("m:1", "model"),
        ("./model", "model"),
        ("file:./model", "model"),
        ("azureml:", "model"),
        ("azureml:m:", "model"),
        ("azureml:m@", "model"),
        ("azureml:cpu:1", "compute"),
        ("azureml:cpu@latest", "compute"),
        ("", "compute"),
        ("a b", "compute"),
        (f"{SCOPE.id}/models/m/versions/1", "model"),
        (f"azureml:{SCOPE.id}/models/m/versions/1", "environment"),
        (f"azureml:{SCOPE.id}/models/m/versions/1/x", "model"),
    ],
)
def test_what_is_no_reference_is_none(text: str, kind: str) -> None:
    assert Reference.parse(text, kind) is None


def test_a_registry_uri_is_a_reference_without_an_address() -> None:
    found = Reference.parse("azureml://registries/r/models/m/versions/1", "model")
    assert found is not None
    assert (found.address, found.floating) == (None, False)


def test_a_reference_without_a_version_is_left_open_and_a_cluster_has_none() -> None:
    texts = (("azureml:m", "model"), ("azureml:m@latest", "model"), ("azureml:m:1", "model"))
    found = [Reference.parse(text, kind) for text, kind in (*texts, ("cpu", "compute"))]
    assert [one is not None and one.floating for one in found] == [True, True, False, False]


def test_an_id_of_this_workspace_has_no_scope_of_its_own_in_it() -> None:
    here, there = (
        Reference.parse(
            f"azureml:{scope.id.upper()}/models/m/versions/1".replace("AZUREML", "azureml"), "model"
        )
        for scope in (SCOPE, OTHER)
    )
    assert here is not None
    assert there is not None
    assert here.within(SCOPE).scope is None
    assert there.within(SCOPE).scope is not None


def test_versions_are_put_in_order_as_numbers_where_they_are_numbers() -> None:
    versions = ["10", "9", "b", None, "1", "a"]
    assert sorted(versions, key=version_key) == [None, "a", "b", "1", "9", "10"]
