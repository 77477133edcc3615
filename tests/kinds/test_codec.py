"""Two spellings of one value: to the wire, back, and compared."""

from __future__ import annotations

import pytest

from mlctl.kinds import ALL, codec
from mlctl.kinds.field import Field
from mlctl.pointer import Data
from tests.builders.workspace import SCOPE

WS = SCOPE.id
NET = "/providers/Microsoft.Network/virtualNetworks"


def field(kind: str, *at: str, form: int = -1) -> Field:
    found = ALL[kind].forms[form].field(at)
    assert found is not None
    return found


def sent(value: Data, *at: str, kind: str = "compute") -> Data:
    return codec.encode(value, field(kind, *at), SCOPE)


def read(value: Data, *at: str, kind: str = "compute") -> Data:
    return codec.decode(value, field(kind, *at), SCOPE)


def same(one: Data, other: Data, *at: str, kind: str = "compute") -> bool:
    of = field(kind, *at)
    return bool(codec.canonical(one, of, SCOPE) == codec.canonical(other, of, SCOPE))


def test_an_unreadable_duration_of_the_service_is_shown_as_it_came() -> None:
    assert read("soon", "idle_time_before_scale_down") == "soon"
    assert read(120.0, "idle_time_before_scale_down") == 120.0


def test_words_of_yaml_are_words_of_rest_and_back() -> None:
    assert sent("low_priority", "tier") == "LowPriority"
    assert read("LowPriority", "tier") == read("lowpriority", "tier") == "low_priority"
    assert same("LOW_PRIORITY", "low_priority", "tier")
    assert not same("dedicated", "low_priority", "tier")


def test_a_word_that_the_schema_does_not_know_passes_through() -> None:
    assert (sent("spot", "tier"), read("Spot", "tier")) == ("spot", "Spot")


def test_settings_that_an_older_sdk_sent_as_texts_are_the_same() -> None:
    at = ("settings",)
    form = next(
        number
        for number, one in enumerate(ALL["batch-deployment"].forms)
        if (settings := one.field(at)) is not None and settings.codec == "settings"
    )
    settings = field("batch-deployment", *at, form=form)
    older, newer = ({"default_compute": "cpu", "force_rerun": no} for no in ("False", False))
    assert codec.decode(older, settings, SCOPE) == newer
    assert not codec.differ(older, newer, settings, SCOPE)
    assert codec.differ(older, {**newer, "force_rerun": True}, settings, SCOPE)


def test_both_identities_at_once_are_the_same_with_and_without_a_space() -> None:
    both = "system_assigned, user_assigned"
    assert same(both, "system_assigned,user_assigned", "identity", "type")
    assert sent(both, "identity", "type") == "SystemAssigned,UserAssigned"


def test_an_open_port_is_true_and_an_unspecified_one_is_unknown() -> None:
    at = "ssh_public_access_enabled"
    assert (sent(True, at), sent(False, at)) == ("Enabled", "Disabled")
    assert (read("Enabled", at), read("disabled", at), read("NotSpecified", at)) == (
        True,
        False,
        None,
    )


def test_a_type_without_a_word_on_the_wire_is_told_by_silence() -> None:
    assert sent("model", "type", kind="batch-deployment") is None
    assert read(None, "type", kind="batch-deployment") == "model"
    assert read("PipelineComponent", "type", kind="batch-deployment") == "pipeline"


def test_sizes_and_regions_compare_without_case_and_spaces() -> None:
    assert same("Standard_DS3_v2", "STANDARD_DS3_V2", "size")
    assert same("East US 2", "eastus2", "location")
    assert sent("Standard_DS3_v2", "size") == "Standard_DS3_v2"


def test_the_values_of_a_map_are_texts() -> None:
    told = {"a": 1, "b": True, "c": "x", "d": 0.5}
    assert sent(told, "tags") == {"a": "1", "b": "true", "c": "x", "d": "0.5"}
    assert same(told, sent(told, "tags"), "tags")
    assert same(None, {}, "tags")


REFERENCES = [
    "cpu",
    "azureml:cpu",
    f"{WS}/computes/cpu",
    f"azureml:{WS}/computes/cpu",
    f"azureml:{WS.upper().replace('/SUBSCRIPTIONS', '/subscriptions')}/computes/CPU",
]


@pytest.mark.parametrize("spelling", REFERENCES)
def test_a_cluster_is_the_same_in_every_spelling(spelling: str) -> None:
    assert same(spelling, "cpu", "compute", kind="batch-deployment")
    assert sent(spelling, "compute", kind="batch-deployment").casefold() == (
        f"{WS}/computes/cpu".casefold()
    )


def test_a_reference_comes_back_as_short_as_it_can_be() -> None:
    at = {"kind": "batch-deployment"}
    assert read(f"{WS}/computes/cpu", "compute", **at) == "azureml:cpu"
    other = WS.replace("/ws", "/other")
    assert read(f"{other}/computes/cpu", "compute", **at) == f"azureml:{other}/computes/cpu"
    model = {"assetId": f"{WS}/models/heart/versions/1:2", "referenceType": "Id"}
    assert read(model, "model", **at) == "azureml:heart:1:2"
    assert read(None, "model", **at) is None


def test_a_registry_uri_is_sent_and_read_verbatim() -> None:
    uri = "azureml://registries/azureml/models/heart/labels/latest"
    wire = sent(uri, "model", kind="batch-deployment")
    assert wire == {"assetId": uri, "referenceType": "Id"}
    assert read(wire, "model", kind="batch-deployment") == uri


def test_versions_compare_with_case_and_names_without() -> None:
    at = {"kind": "batch-deployment"}
    assert same("azureml:Heart:v1", "azureml:heart:v1", "model", **at)
    assert not same("azureml:heart:V1", "azureml:heart:v1", "model", **at)
    assert not same("azureml:heart:1", "azureml:heart:10", "model", **at)


def test_a_subnet_is_the_same_by_name_and_by_id() -> None:
    named = {"vnet_name": "net", "subnet": "default"}
    wire = {"id": f"/subscriptions/{SCOPE.subscription}/resourceGroups/rg{NET}/net/subnets/default"}
    assert sent(named, "network_settings") == wire
    assert read(wire, "network_settings") == {"subnet": wire["id"]}
    assert same(named, {"subnet": wire["id"].upper()}, "network_settings")
    assert (sent({}, "network_settings"), read({}, "network_settings")) == (None, None)


def test_identities_are_a_set_without_case() -> None:
    one, two = ({"resource_id": f"/x/{name}"} for name in ("A", "b"))
    at = ("identity", "user_assigned_identities")
    assert sent([one, two], *at) == {"/x/A": {}, "/x/b": {}}
    assert same([one, two], [two, {"resource_id": "/X/a"}], *at)
    assert read({"/x/A": {"clientId": "c"}}, *at) == [one]
    assert (read({}, *at), same([one], [two], *at)) == (None, False)


def test_a_conda_specification_compares_as_data() -> None:
    spec = {"name": "e", "dependencies": ["python=3.11"]}
    text = "dependencies: [python=3.11]\nname: e\n"
    assert same(spec, text, "conda_file", kind="environment")
    assert sent(text, "conda_file", kind="environment") == text
    assert read(text, "conda_file", kind="environment") == spec


def test_free_settings_compare_as_json_does() -> None:
    at = ("resources", "properties")
    kind = "batch-deployment"
    assert same({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, *at, kind=kind)
    assert not same({"a": 1}, {"a": True}, *at, kind=kind)
    assert not same({"a": "1"}, {"a": 1}, *at, kind=kind)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("", ("description",)),
        ({}, ("tags",)),
        ({}, ("network_settings",)),
        ({"vnet_name": "net"}, ("network_settings",)),
        ("none", ("identity", "type")),
        ("NONE", ("identity", "type")),
        ([], ("identity", "user_assigned_identities")),
    ],
)
def test_some_values_say_nothing(value: Data, at: tuple[str, ...]) -> None:
    assert codec.says_nothing(value, field("compute", *at))


@pytest.mark.parametrize(("value", "at"), [(0, "min_instances"), (False, "enable_node_public_ip")])
def test_zero_and_false_say_something(value: Data, at: str) -> None:
    assert not codec.says_nothing(value, field("compute", at))


def test_what_is_absent_on_the_wire_is_absent_in_files_but_for_words_of_an_enum() -> None:
    fields = [field for kind in ALL.values() for form in kind.forms for field in form.fields]
    assert {field.codec for field in fields if field.enum} == {"enum", "switch"}
    for field in fields:
        if not field.enum:
            assert codec.CODECS[field.codec].decode(None, field, SCOPE) is None


def test_every_field_has_a_codec_that_there_is() -> None:
    forms = [form for kind in ALL.values() for form in kind.forms]
    assert all(codec.CODECS[one.codec] for form in forms for one in form.fields)


@pytest.mark.parametrize(("kind", "at"), [("model", "path"), ("data", "path"), ("job", "inputs")])
def test_the_short_and_the_long_uri_of_a_path_in_a_datastore_are_the_same(
    kind: str, at: str
) -> None:
    def spelt(uri: str) -> Data:
        return {"x": {"type": "uri_file", "path": uri}} if at == "inputs" else uri

    group, rest = SCOPE.resource_group, "datastores/blobs/paths/Model/v1"
    long = f"azureml://subscriptions/{SCOPE.subscription}/{{}}/{group}/workspaces/{{}}/{rest}"
    short = spelt(f"azureml://{rest}")
    for groups in ("resourcegroups", "resourceGroups"):
        assert same(short, spelt(long.format(groups, SCOPE.workspace.upper())), at, kind=kind)
        assert not same(short, spelt(long.format(groups, "other")), at, kind=kind)
    other = [spelt(long.format(groups, "Other")) for groups in ("resourcegroups", "resourceGroups")]
    assert same(*other, at, kind=kind)
    assert not same(short, spelt(f"azureml://{rest.lower()}"), at, kind=kind)


def test_a_public_key_is_the_same_with_another_remark_or_line_end() -> None:
    at = ("ssh_settings", "ssh_key_value")
    assert same("ssh-rsa AAAA kim@here", "ssh-rsa  AAAA\n", *at)
    assert not same("ssh-rsa AAAA kim@here", "ssh-rsa BBBB kim@here", *at)
    assert sent("ssh-rsa AAAA kim@here", *at) == "ssh-rsa AAAA kim@here"
