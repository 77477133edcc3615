"""Documents of every kind, generated from what the schemas say of their fields.

A document has a random part of its form's fields, each with a value that its schema allows; the few
things that fields must agree on (a user name needs a key, an id a type) are put right at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from mlctl import pointer
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.kinds.field import Field, Form, Mutability
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data
from mlctl.schema.text import enumerated
from tests.builders.resources import declared
from tests.builders.workspace import REGIONS, SCOPE, cloud

# A declared thing: its kind and its document.
Declared: TypeAlias = tuple[str, dict[str, Data]]

LETTERS = st.characters(exclude_categories=("C", "Zl", "Zp"))
TEXTS = st.text(LETTERS, min_size=1, max_size=8)
KEYS = st.sampled_from(["team", "cost center", "a.b", 'a"b', "é", "#no", "~", "yes", "1"]) | TEXTS
SCALARS = (
    TEXTS | st.integers(-(2**40), 2**40) | st.booleans() | st.sampled_from([0.5, 1.5e30, -2.0])
)
SIZES = ("STANDARD_DS3_V2", "Standard_D4s_v3", "Standard_E4s_v3", "Standard_NC4as_T4_v3")
CODE = "azureml:0c0de:1"
REMOTE = ("azureml://jobs/train/outputs/model/", "https://example.org/context")
_VNET = "/providers/Microsoft.Network/virtualNetworks/net/subnets/default"
_IDENTITIES = "/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
_GROUP = f"/subscriptions/{SCOPE.subscription}/resourceGroups/{SCOPE.resource_group}"
SUBNETS = ({"vnet_name": "net", "subnet": "default"}, {"subnet": _GROUP + _VNET})
USERS = tuple({"resource_id": f"{_GROUP}{_IDENTITIES}/{name}"} for name in ("uai-1", "uai-2"))
# Every form that has anything on the wire, but schedules: their job has a form of its own, with
# which all its fields have to agree (tests/end_to_end/test_schedules.py goes through these).
FORMS = [
    (kind.name, form.name)
    for kind in KINDS.values()
    for form in kind.forms
    if form.fields and kind.name != "schedule"
]


def resources(world: list[Declared]) -> list[Resource]:
    """What the documents declare."""
    return [declared(kind, data) for kind, data in world]


def workspace() -> LocalBackend:
    """A workspace that has the code that generated deployments name."""
    backend = cloud()
    body = {"properties": {"codeUri": REMOTE[1], "properties": {}}}
    backend.put(Address("code", "0c0de", None, "1"), body).wait()
    return backend


@st.composite
def documents(draw: st.DrawFn, kind: str, name: str, form: str = "") -> dict[str, Data]:
    """One document of a kind; what it names is one of the things that `worlds` declares.

    A version of an asset that is given has the same content in all documents.
    """
    shape = next(one for one in KINDS[kind].forms if one.name == form or not form)
    data: dict[str, Data] = {"name": name}
    if KINDS[kind].versioned and draw(st.booleans()):
        data["version"] = draw(st.sampled_from(["1", 1]))
    for field in shape.fields:
        said = field.mutability is not Mutability.READ_ONLY
        fixed = "version" in data and field.mutability is Mutability.REPLACE
        needed = field.at[0] in shape.schema.get("required", ()) and len(field.at) == 1
        if said and not fixed and (needed or draw(st.booleans())):
            pointer.put(data, field.at, draw(values(field)))
    match kind:
        case "compute":
            _agree_compute(draw, data)
        case "batch-deployment":
            _agree_deployment(draw, data, shape)
        case "online-deployment":
            data["endpoint_name"] = "risk"
            _agree_code(data)
        case "datastore":
            data["type"] = enumerated(shape.schema["properties"]["type"])[0]
        case "environment":
            _agree_environment(data)
        case "model":
            data.setdefault("path", REMOTE[0])
        case "batch-endpoint" if data.get("identity"):
            data["identity"] = {"type": "system_assigned"}  # it takes no other
        case _:
            pass
    _agree_identity(data)
    return data


@st.composite
def worlds(draw: st.DrawFn) -> list[Declared]:
    """Some clusters, assets, endpoints and deployments that name each other, and nothing else."""
    made: list[Declared] = [("compute", draw(documents("compute", "cpu-a")))]
    if draw(st.booleans()):
        made.append(("compute", draw(documents("compute", "cpu-b"))))
    for kind, name in (("model", "heart"), ("environment", "torch")):
        made.append((kind, draw(documents(kind, name))))
    names = draw(st.sampled_from([(), ("blue",), ("blue", "green")]))
    endpoint = draw(documents("batch-endpoint", "scores"))
    default = draw(st.sampled_from([None, *names]))
    endpoint["defaults"] = {"deployment_name": default} if default else {}
    made.append(("batch-endpoint", endpoint))
    clusters = [data["name"] for kind, data in made if kind == "compute"]
    for name in names:
        form = draw(st.sampled_from([one.name for one in KINDS["batch-deployment"].forms]))
        data = draw(documents("batch-deployment", name, form))
        if "compute" in data:
            cluster = draw(st.sampled_from(clusters))
            data["compute"] = draw(st.sampled_from(spellings("compute", cluster)))
        made.append(("batch-deployment", data))
    return [*made, *draw(online())]


@st.composite
def online(draw: st.DrawFn) -> list[Declared]:
    """At times an online endpoint, with deployments that share its traffic."""
    if draw(st.integers(0, 3)):
        return []
    endpoint = draw(documents("online-endpoint", "risk"))
    split = draw(st.sampled_from(SPLITS))
    endpoint |= {"traffic": split, "mirror_traffic": {}}
    names = dict.fromkeys(("blue", *split))
    deployments = [
        ("online-deployment", draw(documents("online-deployment", one))) for one in names
    ]
    return [("online-endpoint", endpoint), *deployments]


def values(field: Field) -> st.SearchStrategy[Data]:
    """Values that the field's schema allows."""
    if field.path:
        return _PATHS.get(field.codec, st.sampled_from(REMOTE))
    if field.codec in _BY_CODEC:
        return _BY_CODEC[field.codec](field)
    return _BY_NAME.get(str(field.at[-1]), _plain(field.schema))


def spellings(kind: str, name: str, version: str | None = None) -> list[str]:
    """The ways to name one thing of the workspace."""
    collection = {"compute": "computes", "model": "models", "environment": "environments"}[kind]
    end = f"/versions/{version}" if version else ""
    shouted = SCOPE.id.replace("/rg/", "/RG/")
    ids = [f"azureml:{scope}/{collection}/{name}{end}" for scope in (SCOPE.id, shouted)]
    if kind == "compute":
        return [name, f"azureml:{name}", f"{SCOPE.id}/{collection}/{name}", *ids]
    return [f"azureml:{name}:{version}", *ids]


_REGISTRY = "azureml://registries/azureml"
NAMED: dict[str, list[Data]] = {
    "compute": ["cpu-a"],
    "model": [
        *spellings("model", "heart", "1"),
        "azureml:heart",
        "azureml:heart@latest",
        f"{_REGISTRY}/models/heart/versions/3",
        {"path": "azureml://jobs/other/outputs/model/", "type": "mlflow_model"},
    ],
    "environment": [
        *spellings("environment", "torch", "1"),
        "azureml:torch",
        "azureml:torch@latest",
        f"{_REGISTRY}/environments/sklearn-1.5/labels/latest",
        {"image": "ubuntu:22.04", "conda_file": {"dependencies": ["python=3.11"]}},
    ],
    "code": [CODE],
    "component": [f"{_REGISTRY}/components/words/versions/1"],
    "batch-deployment": ["nobody"],  # `worlds` says which
}


def _maps(field: Field) -> st.SearchStrategy[Data]:
    allowed = field.schema.get("additionalProperties", {}).get("type", "string")
    inner = TEXTS if allowed == "string" else SCALARS
    if field.additive:  # the values of a key never change
        return st.sets(st.sampled_from(["one", "two"])).map(lambda keys: dict.fromkeys(keys, "set"))
    return st.dictionaries(KEYS, inner, max_size=3)


def _identities(field: Field) -> st.SearchStrategy[Data]:
    one, both = list(USERS[:1]), [list(USERS), list(USERS[::-1])]
    return st.sampled_from([one] if field.schema.get("maxItems") == 1 else [one, *both])


KEPT = (
    "azureml://datastores/workspaceblobstore/paths/kept"  # of both deployments that collect there
)
COLLECTED: list[Data] = [
    {"collections": {"model_inputs": {"enabled": "true"}}},
    {
        "collections": {"request": {"enabled": "True", "data": {"name": "kept", "path": KEPT}}},
        "sampling_rate": 0.5,
        "rolling_rate": "day",
        "request_logging": {"capture_headers": ["x-request-id"]},
    },
]
_SCRIPT = st.fixed_dictionaries(
    {"path": TEXTS}, optional={"command": TEXTS, "timeout_minutes": st.integers(1, 60)}
)
_CRON = {"type": "cron", "time_zone": "UTC", "expression": "0 18 * * *"}
_WEEKLY = {"frequency": "week", "interval": 1, "schedule": {"hours": [9], "minutes": [0]}}
_START_STOP = [
    {"action": "stop", "state": "enabled", "trigger": _CRON},
    {
        "action": "start",
        "state": "disabled",
        "trigger": {"type": "recurrence", "time_zone": "UTC", **_WEEKLY},
    },
]
_APPLICATIONS: list[dict[str, Data]] = [
    {
        "name": "rstudio",
        "type": "docker",
        "image": {"reference": "rocker/rstudio"},
        "endpoints": [{"target": 8787, "published": 8787}],
        "environment_variables": {"A": "b"},
        "bind_mounts": [{"source": "/home", "target": "/home"}],
    }
]
SPLITS: list[dict[str, int]] = [
    {},
    {"blue": 100},
    {"blue": 90, "green": 10},
    {"blue": 34, "green": 33, "red": 33},
]
_BY_CODEC: dict[str, Callable[[Field], st.SearchStrategy[Data]]] = {
    "enum": lambda field: st.sampled_from(sorted(map(str, field.enum))),
    "minutes": lambda _: st.integers(15, 5000),
    "start_stop": lambda _: st.lists(st.sampled_from(_START_STOP), min_size=1, max_size=2),
    "setup_scripts": lambda _: st.dictionaries(
        st.sampled_from(["startup_script", "creation_script"]), _SCRIPT, min_size=1
    ),
    "applications": lambda _: st.just(_APPLICATIONS),
    "switch": lambda _: st.booleans(),
    "duration": lambda _: st.integers(1, 200_000),
    "region": lambda _: st.sampled_from(REGIONS),
    "milliseconds": lambda _: st.integers(1, 300_000),
    "map": _maps,
    "variables": _maps,
    "shares": lambda _: st.just({}),  # `online` says which
    "data_collector": lambda _: st.sampled_from(COLLECTED),
    "reference": lambda field: st.sampled_from(NAMED[field.refers_to or ""]),
    "asset": lambda field: st.sampled_from(NAMED[field.refers_to or ""]),
    "subnet": lambda _: st.sampled_from(SUBNETS),
    "identities": _identities,
}
_PATHS: dict[str, st.SearchStrategy[Data]] = {
    "conda": st.fixed_dictionaries({"dependencies": st.lists(TEXTS, max_size=2)}),
    "reference": st.just(CODE),
    "asset": st.sampled_from(NAMED["component"]),
}
_BY_NAME: dict[str, st.SearchStrategy[Data]] = {
    "size": st.sampled_from(SIZES),
    "scoring_script": st.sampled_from(["score.py", "other.py"]),
    "deployment_name": st.just("nobody"),
    "shm_size": st.sampled_from(["2g", "512M"]),
    "swagger_url": st.sampled_from([f"https://host/services/{one}/swagger.json" for one in "ab"]),
    "instance_type": st.sampled_from(SIZES),
    "locations": st.lists(st.sampled_from(REGIONS), max_size=2),
    "docker_args": TEXTS | st.lists(TEXTS, max_size=2),
    "flavors": st.dictionaries(TEXTS, st.dictionaries(TEXTS, SCALARS, max_size=1), max_size=2),
    "properties": st.dictionaries(TEXTS, SCALARS | st.none(), max_size=2),
    "settings": st.fixed_dictionaries(
        {},
        optional={
            "default_compute": st.sampled_from(["cpu-a", "azureml:cpu-a", "serverless"]),
            "continue_on_step_failure": st.booleans(),
            "of my own": SCALARS,
        },
    ),
}


def _plain(schema: Mapping[str, Any]) -> st.SearchStrategy[Data]:
    match schema.get("type"):
        case "integer":
            low = schema.get("minimum", 0)
            return st.integers(low, min(schema.get("maximum", low + 1000), low + 1000))
        case "boolean":
            return st.booleans()
        case "object":
            return st.dictionaries(TEXTS, SCALARS, max_size=2)
        case _:
            return TEXTS


def _agree_compute(draw: st.DrawFn, data: dict[str, Data]) -> None:
    data["type"] = draw(st.sampled_from(["amlcompute", "AmlCompute"]))
    least, most = data.get("min_instances", 0), data.get("max_instances", 4)
    if least > most:
        data["min_instances"], data["max_instances"] = most, least
    if "ssh_settings" in data:
        data["ssh_settings"].setdefault("admin_username", "azureuser")
        if len(data["ssh_settings"]) == 1:
            data["ssh_settings"]["ssh_key_value"] = "ssh-rsa AAAA"


def _agree_deployment(draw: st.DrawFn, data: dict[str, Data], form: Form) -> None:
    data["endpoint_name"] = "scores"
    data.pop("type", None)
    if form.name == "pipeline":
        data["type"] = draw(st.sampled_from(["pipeline", "Pipeline"]))
        data.setdefault("component", NAMED["component"][0])
        return
    if form.name == "model":
        data["type"] = draw(st.sampled_from(["model", "MODEL"]))
    data.setdefault("model", NAMED["model"][0])
    data.setdefault("compute", NAMED["compute"][0])
    if "code_configuration" in data:
        script = data["code_configuration"].get("scoring_script", "score.py")
        data["code_configuration"] = {"code": CODE, "scoring_script": script}
    holder = data.get("settings", {}) if form.name == "model" else data
    if holder.get("output_action") == "summary_only":
        holder.pop("output_file_name", None)


def _agree_environment(data: dict[str, Data]) -> None:
    if "path" in data.get("build", {}):
        data.pop("image", None)
        data.pop("conda_file", None)
    else:
        data.pop("build", None)
        data.setdefault("image", "ubuntu:22.04")
    routes = data.get("inference_config")
    if routes:
        for name in ("liveness_route", "readiness_route", "scoring_route"):
            routes[name] = {"path": "/", "port": 5001} | routes.get(name, {})


def _agree_code(data: dict[str, Data]) -> None:
    code = data.get("code_configuration")
    if code is not None:
        code.setdefault("code", CODE)
        code.setdefault("scoring_script", "score.py")


def _agree_identity(data: dict[str, Data]) -> None:
    identity = data.get("identity")
    if not identity:
        return
    kind = identity.setdefault("type", "system_assigned")
    if "user_assigned" in kind:
        identity.setdefault("user_assigned_identities", list(USERS[:1]))
    else:
        identity.pop("user_assigned_identities", None)
