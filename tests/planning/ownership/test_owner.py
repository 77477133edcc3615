"""The tags by which a project says what it made: where they come from, and what leaves them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.ownership.owner import PROJECT, SPEC_HASH, Ownership, Protected, spec_hash, tags
from tests.builders.azure import azure, emulated
from tests.builders.generated import Declared, resources, workspace, worlds
from tests.builders.plans import actions, applied, fields, planned, writes
from tests.builders.resources import compute, deployment, endpoint, environment, model, pool
from tests.builders.workspace import SCOPE, cloud

OURS = Ownership("scoring")
HEART = (compute(), model(), endpoint(), deployment())


@pytest.fixture(params=["local", "azure"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """An empty workspace, here or behind the emulator."""
    made: Backend = cloud() if request.param == "local" else azure(emulated(), SCOPE).backend
    yield made
    if request.param != "local":
        made.close()


def live_tags(backend: Backend, text: str) -> dict[str, str]:
    """The tags of a live resource."""
    address = Address.parse(text)
    return {key: str(value) for key, value in tags(backend.read([address])[address]).items()}


def test_what_a_project_makes_is_tagged_and_then_there_is_nothing_to_do(backend: Backend) -> None:
    applied(backend, *HEART, ownership=OURS)
    for one in HEART:
        assert live_tags(backend, str(one.address))[PROJECT] == "scoring"
        assert live_tags(backend, str(one.address))[SPEC_HASH] == spec_hash(one, SCOPE)
    assert actions(planned(backend, *HEART, ownership=OURS).plan) == {}
    assert actions(planned(backend, *HEART).plan) == {}


def test_without_a_project_nothing_is_tagged() -> None:
    backend = cloud()
    applied(backend, *HEART)
    applied(cloud(), *HEART, ownership=Ownership())
    assert live_tags(backend, "compute/cpu-cluster") == {}
    tagless = cloud()
    applied(tagless, *HEART, ownership=Ownership("scoring", tagged=False))
    assert live_tags(tagless, "compute/cpu-cluster") == {}


def test_other_tags_in_a_file_do_not_remove_those_of_the_project(backend: Backend) -> None:
    applied(backend, compute(tags={"team": "a"}), ownership=OURS)
    retagged = planned(backend, compute(tags={"unit": "b"})).plan
    assert fields(retagged) == {"compute/cpu-cluster": ["tags.team", "tags.unit"]}
    applied(backend, compute(tags={}), ownership=OURS)
    assert live_tags(backend, "compute/cpu-cluster").keys() == {PROJECT, SPEC_HASH}


def test_documents_that_say_all_tags_can_remove_those_of_the_project() -> None:
    backend = cloud()
    applied(backend, compute(tags={"team": "a"}), ownership=OURS)
    edited = planned(backend, compute(tags={"team": "a"}), ownership=Ownership(all_tags=True)).plan
    assert fields(edited) == {"compute/cpu-cluster": ["tags.mlctl.project", "tags.mlctl.spec-hash"]}


def test_an_edit_renews_the_hash_and_a_change_outside_does_not(backend: Backend) -> None:
    applied(backend, compute(description="a"), ownership=OURS)
    edited = compute(description="b")
    changed = fields(planned(backend, edited, ownership=OURS).plan)
    assert changed == {"compute/cpu-cluster": ["description", "tags.mlctl.spec-hash"]}
    applied(backend, compute(description="x"))  # somebody else
    mended = fields(planned(backend, compute(description="a"), ownership=OURS).plan)
    assert mended == {"compute/cpu-cluster": ["description"]}


def test_a_new_scale_is_no_new_hash_because_its_patch_could_not_say_one() -> None:
    backend = cloud()
    applied(backend, compute(max_instances=2), ownership=OURS)
    made = planned(backend, compute(max_instances=3), ownership=OURS).plan
    assert fields(made) == {"compute/cpu-cluster": ["max_instances"]}


def test_what_others_made_is_changed_and_not_tagged() -> None:
    backend = cloud()
    applied(backend, endpoint(description="a"))
    applied(backend, endpoint(description="b"), ownership=OURS)
    assert live_tags(backend, "batch-endpoint/heart-batch") == {}


def test_what_is_made_anew_is_the_projects() -> None:
    backend = cloud()
    applied(backend, compute(size="STANDARD_DS3_V2"))
    anew = compute(size="STANDARD_DS4_V2")
    applied(backend, anew, ownership=OURS)
    assert live_tags(backend, "compute/cpu-cluster")[PROJECT] == "scoring"
    assert actions(planned(backend, anew, ownership=OURS).plan) == {}


@pytest.mark.parametrize("ownership", [OURS, Ownership()])
def test_what_is_made_anew_keeps_the_tags_of_others(backend: Backend, ownership: Ownership) -> None:
    applied(backend, compute(), ownership=ownership)
    cpu = compute().address
    body = backend.read([cpu])[cpu].body
    backend.put(cpu, {**body, "tags": {**body.get("tags", {}), "team": "ds"}}).wait()
    applied(backend, compute(tier="low_priority"), ownership=ownership)
    assert live_tags(backend, str(cpu))["team"] == "ds"


def test_a_new_version_of_an_asset_has_the_tags_and_the_old_one_keeps_its_own() -> None:
    backend = cloud()
    applied(backend, environment(version=None), ownership=OURS)
    applied(backend, environment(version=None, image="ubuntu:24.04"), ownership=Ownership("b"))
    assert live_tags(backend, "environment/torch:1")[PROJECT] == "scoring"
    assert live_tags(backend, "environment/torch:2")[PROJECT] == "b"


def test_what_is_written_inline_has_no_tags_of_its_own() -> None:
    backend = cloud()
    inline = deployment(environment={"image": "ubuntu:22.04"})
    applied(backend, *HEART[:3], inline, ownership=OURS)
    (found,) = backend.list("environment")
    assert tags(found) == {}
    assert actions(planned(backend, *HEART[:3], inline, ownership=OURS).plan) == {}


def test_every_kind_can_be_tagged() -> None:
    assert [one.name for one in KINDS.values() if one.forms[-1].field(("tags",)) is None] == []
    backend = cloud()
    applied(backend, pool(), ownership=OURS)
    assert live_tags(backend, "batch-pool/scoring-pool")[PROJECT] == "scoring"


def test_a_hash_follows_the_meaning_of_a_file_and_holds_no_secret() -> None:
    user = {"admin_username": "u", "ssh_key_value": "ssh-rsa AAAA"}
    secret, other = ({**user, "admin_password": word} for word in ("one", "two"))
    assert _hash(compute(size="standard_ds3_v2")) == _hash(compute(size="STANDARD_DS3_V2"))
    assert _hash(compute(min_instances=0)) == _hash(compute())
    assert _hash(compute(description="a")) != _hash(compute(description="b"))
    assert _hash(compute(ssh_settings=secret)) == _hash(compute(ssh_settings=other))
    assert _hash(compute(tags={"mlctl.protect": "true"})) == _hash(compute(tags={}))


def test_patterns_cover_addresses_and_all_versions_of_an_asset() -> None:
    assert Protected("compute/GPU").covers(Address("compute", "gpu"))
    assert Protected("compute/*").covers(Address("compute", "gpu"))
    assert not Protected("compute/*").covers(Address("batch-pool", "gpu"))
    assert Protected("model/heart").covers(Address("model", "heart", None, "3"))
    assert not Protected("model/heart:2").covers(Address("model", "heart", None, "3"))


@pytest.mark.slow
@given(worlds(), st.booleans())
@settings(max_examples=25)
def test_nothing_is_left_to_do_after_an_apply_with_tags(world: list[Declared], known: bool) -> None:
    backend: LocalBackend = workspace()
    if known:
        applied(backend, *resources(world), ownership=Ownership("others"))
    applied(backend, *resources(world), ownership=OURS)
    again = planned(backend, *resources(world), ownership=OURS)
    assert fields(again.plan) == {}
    assert writes(applied(backend, *resources(world), ownership=OURS)) == []


def _hash(resource: Resource) -> str:
    return spec_hash(resource, SCOPE)
