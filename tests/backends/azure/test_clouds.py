"""Which cloud of Azure is meant."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("azure.identity", reason="the azure extra is not installed")

from mlctl.backends.azure.clouds import METADATA_URL_VARIABLE as METADATA_URL
from mlctl.backends.azure.clouds import choose_cloud
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent

URL = "https://stack.test:8443/metadata/endpoints?api-version=2022-09-01"


METADATA = {METADATA_URL: URL}


def cloud(name: str, manager: str = "https://stack.test:8443/") -> dict[str, Data]:
    login = {"loginEndpoint": "https://login.stack.test/"}
    suffixes = {"storage": "stack.test"}
    return {"name": name, "resourceManager": manager, "authentication": login, "suffixes": suffixes}


def chosen(name: str | None, environment: Mapping[str, str], data: Data = None) -> tuple[str, str]:
    """The name and the resource manager of the cloud that is chosen."""
    found = choose_cloud(name, environment, lambda _: data)
    return found.name, found.manager


def test_without_a_word_it_is_the_public_cloud() -> None:
    assert chosen(None, {}) == ("AzureCloud", "https://management.azure.com")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("AzureUSGovernment", "management.usgovcloudapi.net"),
        ("azurechinacloud", "management.chinacloudapi.cn"),
    ],
)
def test_a_sovereign_cloud_is_chosen_by_its_name(name: str, host: str) -> None:
    assert chosen(name, {})[1] == f"https://{host}"


def test_metadata_that_cannot_be_had_name_the_variable_that_leads_there() -> None:
    def fetch(_: str) -> Data:
        raise NotFound("InvalidResourceType", "There is no resource type at '/'.")

    with pytest.raises(Permanent, match=f"{METADATA_URL}.*no resource type") as caught:
        choose_cloud(None, METADATA, fetch)
    assert not isinstance(caught.value, NotFound)  # it is not what was asked for that is missing


def test_an_unknown_cloud_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Permanent, match="AzureUSGovernment"):
        chosen("Mars", {})


@pytest.mark.parametrize("data", [cloud("Stack"), [cloud("Stack")]], ids=["object", "array"])
def test_the_metadata_of_a_cloud_lead_to_it(data: Data) -> None:
    assert chosen(None, METADATA, data) == ("Stack", "https://stack.test:8443")


def test_of_several_clouds_it_is_the_one_that_was_asked() -> None:
    other = cloud("Other", "https://other.test")
    assert chosen(None, METADATA, [other, cloud("Stack")])[0] == "Stack"
    assert chosen("other", METADATA, [other, cloud("Stack")])[0] == "Other"
    with pytest.raises(Permanent, match="--cloud"):
        chosen(None, METADATA, [other, cloud("Third", "https://third.test")])


@pytest.mark.parametrize("data", [None, {}, [], [1], "text", {"resourceManager": 5}])
def test_metadata_that_say_nothing_are_refused(data: Data) -> None:
    with pytest.raises(Permanent, match="describes no cloud"):
        chosen(None, METADATA, data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        1,
        [],
        [1],
        {"resourceManager": 1},
        cloud("Stack", "x"),
        cloud("Stack", "http://["),
        cloud("Stack", "https://stack.test:port"),
        cloud("Stack", "https://evil.test\\.azure.test"),
    ],
)
def test_metadata_of_another_shape_are_refused_by_the_name_of_their_variable(data: Data) -> None:
    with pytest.raises(Permanent, match=METADATA_URL):
        chosen(None, METADATA, data)


def test_a_cloud_without_a_login_or_suffixes_of_the_right_shape_is_one() -> None:
    odd = {**cloud("Stack"), "authentication": [1], "suffixes": "x"}
    found = choose_cloud(None, METADATA, lambda _: odd)
    assert (found.authority, found.storage) == ("", "core.windows.net")


@pytest.mark.parametrize("url", ["x", "http://[", "https://", "https://a:b", "file:///etc/passwd"])
def test_a_metadata_url_that_is_none_is_said_to_be(url: str) -> None:
    from mlctl.backends.azure.arm import fetch

    with pytest.raises(Permanent, match=f"{METADATA_URL}.*not a URL"):
        choose_cloud(None, {METADATA_URL: url}, fetch)
