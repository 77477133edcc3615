"""The grammar of --set, --add and --remove, and values by the schema of their field."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.cli.az.documents import form_schema
from mlctl.cli.az.update import (
    GenericUpdate,
    ItemFilter,
    UpdateError,
    UpdateFlag,
    parse_path,
    split_assignment,
    update,
)
from mlctl.cli.parser.arguments import UsageError
from mlctl.kinds import KINDS
from mlctl.pointer import Data, dotted

CLUSTER: dict[str, Data] = {
    "name": "c",
    "type": "amlcompute",
    "max_instances": 4,
    "tags": {"team": "ds", "a.b": "1"},
    "identity": {
        "type": "user_assigned",
        "user_assigned_identities": [{"resource_id": "/one"}, {"resource_id": "/two"}],
    },
}
DEPLOYMENT = KINDS["batch-deployment"]
ENDPOINT: dict[str, Data] = {"name": "e", "tags": {"n": "1"}}


def changed(*updates: tuple[str, str], of: dict[str, Any] = CLUSTER, force: bool = False) -> Data:
    """The document after updates: ("set", "a=1 b=2"), ...; `\\s` is a space inside a word."""
    kind = KINDS["compute" if of is CLUSTER else "batch-endpoint"]
    data = copy.deepcopy(of)
    given = [
        GenericUpdate(
            UpdateFlag(f"--{verb}"), tuple(word.replace(r"\s", " ") for word in text.split())
        )
        for verb, text in updates
    ]
    update(data, given, form_schema(kind, data), force_string=force)
    return data


def refused(verb: str, text: str, of: dict[str, Any] = CLUSTER) -> str:
    """What is said of an update that makes no sense."""
    with pytest.raises((UpdateError, UsageError)) as caught:
        changed((verb, text), of=of)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a.b", ["a", "b"]),
        ("a[0].b", ["a", 0, "b"]),
        ("a[0][1]", ["a", 0, 1]),
        ("a[k=v].b", ["a", ItemFilter("k", "v"), "b"]),
        ('a."b.c"', ["a", "b.c"]),
        ('a["b.c"]', ["a", "b.c"]),
        ("a['b.c'].d", ["a", "b.c", "d"]),
        ("a[-1]", ["a", -1]),
    ],
)
def test_a_path_has_steps(text: str, steps: list[Any]) -> None:
    assert parse_path(text) == steps


@given(st.lists(st.text("ab.[]= ", min_size=1) | st.integers(0, 9), min_size=1))
def test_a_path_that_we_print_reads_back(steps: list[str | int]) -> None:
    whole = ("x", *steps)
    assert parse_path(dotted(whole)) == list(whole)


@pytest.mark.parametrize("text", ["a..b", "a[", "a]", 'a."b', ".", "a[b"])
def test_what_is_no_path_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a path"):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("a=b=c", ("a", "b=c")),
        ("a[k=v].b=c", ("a[k=v].b", "c")),
        ('a."x=y"=z', ('a."x=y"', "z")),
        ("a=", ("a", "")),
        ("a=[1]", ("a", "[1]")),
    ],
)
def test_key_and_value_part_at_the_first_equals_outside_of_brackets(
    text: str, pair: tuple[str, str]
) -> None:
    assert split_assignment(text) == pair


def test_az_words_for_an_empty_key() -> None:
    usage = "usage error: Empty key in --set. Correct syntax: --set KEY=VALUE [KEY=VALUE ...]"
    assert refused("set", "=1") == refused("set", r"\s=1") == usage


def test_a_pair_without_a_value_is_a_usage_error() -> None:
    assert "`max_instances` has no value" in refused("set", "max_instances")


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("max_instances=3", {"max_instances": 3}),
        ("description=123", {"description": "123"}),
        ("description=true", {"description": "true"}),
        ("enable_node_public_ip=false", {"enable_node_public_ip": False}),
        ("tier=LowPriority", {"tier": "low_priority"}),
        ("max_instances=many", {"max_instances": "many"}),
        ('tags={"x":"y"}', {"tags": {"x": "y"}}),
        (r"tags={x:\sy}", {"tags": {"x": "y"}}),
        ("maxInstances=3", {"max_instances": 3}),
    ],
)
def test_a_value_is_what_the_field_takes(pair: str, value: dict[str, Data]) -> None:
    assert changed(("set", pair)) == {**CLUSTER, **value}


def test_force_string_takes_everything_as_text() -> None:
    assert changed(("set", "max_instances=3"), force=True)["max_instances"] == "3"


def test_null_takes_a_field_away() -> None:
    assert "max_instances" not in changed(("set", "max_instances=null"))
    assert changed(("set", "description=null"), force=True)["description"] == "null"


def test_a_tag_keeps_its_case_and_may_have_a_dot() -> None:
    tags = changed(("set", 'tags.costCenter=1 tags."x.y"=2 tags["z.z"]=3'))["tags"]
    assert tags == {"team": "ds", "a.b": "1", "costCenter": "1", "x.y": "2", "z.z": "3"}


def test_objects_on_the_way_are_made() -> None:
    assert changed(("set", "network_settings.subnet=s"))["network_settings"] == {"subnet": "s"}
    assert changed(("set", "defaults.deployment_name=d"), of=ENDPOINT)["defaults"] == {
        "deployment_name": "d"
    }


def test_updates_are_carried_out_in_their_order() -> None:
    assert changed(("remove", "tags"), ("set", "tags.a=1"))["tags"] == {"a": "1"}
    assert "tags" not in changed(("set", "tags.a=1"), ("remove", "tags"))


def test_an_element_of_a_list_is_found_by_index_or_by_what_it_holds() -> None:
    ids = "identity.user_assigned_identities"
    for which in ("[1]", "[-1]", "[resource_id=/two]"):
        after = changed(("set", f"{ids}{which}.resource_id=/new"))
        assert [one["resource_id"] for one in after["identity"]["user_assigned_identities"]] == [
            *("/one", "/new")
        ]


def test_pairs_after_add_are_one_object() -> None:
    after = changed(("add", "identity.user_assigned_identities resource_id=/three"))
    assert after["identity"]["user_assigned_identities"][-1] == {"resource_id": "/three"}


def test_what_is_no_pair_ends_an_object() -> None:
    ids = "identity.user_assigned_identities"
    after = changed(("add", f'{ids} resource_id=/a {{"resource_id":"/b"}} resource_id=/c'))
    added = [one["resource_id"] for one in after["identity"]["user_assigned_identities"][2:]]
    assert added == ["/a", "/b", "/c"]


def test_a_list_that_is_not_there_is_made_by_add() -> None:
    after = changed(("add", "identity.user_assigned_identities resource_id=/a"), of=ENDPOINT)
    assert after["identity"] == {"user_assigned_identities": [{"resource_id": "/a"}]}


def test_remove_takes_a_key_a_list_or_an_element() -> None:
    ids = "identity.user_assigned_identities"
    assert changed(("remove", "tags.team"))["tags"] == {"a.b": "1"}
    assert changed(("remove", 'tags."a.b"'))["tags"] == {"team": "ds"}
    assert "user_assigned_identities" not in changed(("remove", ids))["identity"]
    for first in (f"{ids} 0", f"{ids}[0]"):
        assert changed(("remove", first))["identity"]["user_assigned_identities"] == [
            {"resource_id": "/two"}
        ]


@pytest.mark.parametrize(
    ("verb", "text", "said"),
    [
        ("set", "max_instance=3", "Couldn't find 'max_instance' in ''. Available options: ["),
        ("set", "max_instance=3", "Did you mean 'max_instances'?"),
        ("set", "vm_size=x", "write `size`"),
        ("set", "tags.a.b=x", "'tags.a' does not support further indexing."),
        ("set", "tags.a.b=x", 'A key with a dot is quoted: tags."a.b"'),
        ("set", "max_instances.x=3", "'max_instances' does not support further indexing."),
        ("set", "identity.typ=x", "Did you mean 'identity.type'?"),
        ("set", "identity.user_assigned_identities[9]=x", "index 9 doesn't exist on"),
        ("set", "identity.user_assigned_identities[9].resource_id=x", "index 9 doesn't exist on"),
        ("set", "identity.user_assigned_identities.x=1", "with [<index>] or [<key=value>]"),
        ("set", "identity.user_assigned_identities[a=b].c=1", "item with value 'b' doesn't exist"),
        ("set", "provisioning_state=x", "`provisioning_state` is only set by the service."),
        ("add", "tags x", "`tags` is not a list"),
        ("add", "tags", "usage error: --add property.listProperty"),
        ("remove", "tags.nope", "Couldn't find 'nope' in 'tags'. Available options: "),
        ("remove", "identity.user_assigned_identities 7", "index 7 doesn't exist on"),
        ("remove", "identity.user_assigned_identities x", "index x doesn't exist on"),
        ("remove", "nope.x", "Couldn't find 'nope' in ''."),
        ("remove", "tags x", "`tags` is not a list: --remove takes one path at a time."),
    ],
)
def test_az_words_for_what_makes_no_sense(verb: str, text: str, said: str) -> None:
    assert said in refused(verb, text)


def test_a_filter_that_fits_two_elements_is_refused() -> None:
    twice = copy.deepcopy(CLUSTER)
    twice["identity"]["user_assigned_identities"] = [{"resource_id": "/x"}, {"resource_id": "/x"}]
    given = [
        GenericUpdate(
            UpdateFlag.SET, ("identity.user_assigned_identities[resource_id=/x].client_id=1",)
        )
    ]
    with pytest.raises(UpdateError, match="found multiple matches on identity"):
        update(twice, given, form_schema(KINDS["compute"], twice))


def test_what_stands_under_settings_may_be_named_alone() -> None:
    data: dict[str, Data] = {"name": "d", "type": "model", "settings": {"mini_batch_size": 1}}
    known = form_schema(KINDS["batch-deployment"], data)
    update(
        data,
        [GenericUpdate(UpdateFlag.SET, ("miniBatchSize=7", "retry_settings.timeout=60"))],
        known,
    )
    assert data["settings"] == {"mini_batch_size": 7, "retry_settings": {"timeout": 60}}


def test_a_setting_goes_under_settings_where_the_top_level_takes_it_too() -> None:
    data: dict[str, Data] = {"name": "d", "type": "model", "settings": {}}
    update(
        data, [GenericUpdate(UpdateFlag.SET, ("error_threshold=5",))], form_schema(DEPLOYMENT, data)
    )
    assert data["settings"] == {"error_threshold": 5}


def test_a_flat_deployment_has_its_settings_at_the_top() -> None:
    data: dict[str, Data] = {"name": "d"}
    update(
        data, [GenericUpdate(UpdateFlag.SET, ("error_threshold=5",))], form_schema(DEPLOYMENT, data)
    )
    assert data["error_threshold"] == 5


def test_a_tag_that_looks_like_a_truth_stays_text() -> None:
    assert changed(("set", "tags.x=true tags.y=1"), of=ENDPOINT)["tags"] == {
        "n": "1",
        "x": "true",
        "y": "1",
    }


def test_settings_of_a_pipeline_are_free_and_read_as_json() -> None:
    data: dict[str, Data] = {"name": "d", "type": "pipeline"}
    known = form_schema(KINDS["batch-deployment"], data)
    update(data, [GenericUpdate(UpdateFlag.SET, ("settings.depth=3", "settings.mode=fast"))], known)
    assert data["settings"] == {"depth": 3, "mode": "fast"}
