"""`mlctl workspace`: shown on any backend, created on the simulated cloud alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

from mlctl.backends.ports.backend import Backend, SupportsWorkspaces, WritesWorkspaces
from mlctl.cli.az.args import SetFlag
from mlctl.cli.az.registry_commands import read_document
from mlctl.cli.shell import Exit, Group, Session, TypedFlag, UsageError, flag
from mlctl.cli.shell.command import flag_values
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data, get, put
from mlctl.schema.text import nearest
from mlctl.service_errors import NotFound, Permanent


class WritableBackend(Backend, WritesWorkspaces, Protocol):
    """A backend that creates workspaces."""


_IN_BICEP = """\
mlctl manages what is in a workspace of Azure; make one by Bicep, `resource ws \
'Microsoft.MachineLearningServices/workspaces@2024-04-01'` with `location`, `identity` and \
`properties: {storageAccount, keyVault, applicationInsights}`, or by Terraform's \
`azurerm_machine_learning_workspace`; `--backend local` makes one of the simulated cloud at once"""
_COLUMNS: Columns = {
    "Name": ("name",),
    "ResourceGroup": ("resource_group",),
    "Location": ("location",),
}
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_PROPERTIES: Mapping[str, str] = _TABLES["properties"]
# What a file can also have: for the command, or for resources of Azure.
_BESIDES = frozenset(("$schema", "id", "name", "location", "resource_group", "tags", "identity"))
_BESIDES |= {"kind", "provision_network_now", "allow_roleassignment_on_rg"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{2,32}")  # azure-ai-ml 1.35.2, `workspace` in its ARM
_OBJECTS = frozenset(
    ("encryption", "managedNetwork", "networkAcls", "serverlessComputeSettings")
)  # whose keys are in the words of files in one, of ARM in the other
# Flags that are not fields of a file, or that add to one.
_NOT_FIELDS = ("file", "tags", "managed_network", "set_", "update_dependent_resources", "no_wait")
_KEYS = {"keyVault": "keyVaultArmId", "keyUri": "keyIdentifier"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceArgs:
    """What flags set of a workspace, over its file; names are those of the fields of files."""

    file: str | None = flag("-f", metavar="FILE")
    name: str | None = flag("-n", metavar="NAME")
    location: str | None = flag("-l", metavar="REGION")
    display_name: str | None = flag("-d", metavar="TEXT")
    description: str | None = flag(metavar="TEXT")
    tags: list[TypedFlag] | None = flag(metavar="KEY=VALUE ...")
    storage_account: str | None = flag("-s", metavar="ID")
    key_vault: str | None = flag("-k", metavar="ID")
    application_insights: str | None = flag("-a", metavar="ID")
    container_registry: str | None = flag("-c", metavar="ID")
    image_build_compute: str | None = flag("-i", metavar="NAME")
    managed_network: str | None = flag("-m", metavar="MODE")
    public_network_access: str | None = flag(metavar="WORD")
    primary_user_assigned_identity: str | None = flag("-p", metavar="ID")
    system_datastores_auth_mode: str | None = flag(metavar="WORD")
    hub_id: str | None = flag(metavar="ID")
    kind: str | None = flag(metavar="WORD")
    enable_data_isolation: bool = flag("-e", default=False)
    set_: SetFlag = None
    update_dependent_resources: bool = flag("-u", default=False)
    provision_network_now: bool = flag(default=False)
    allow_roleassignment_on_rg: bool = flag(default=False)
    no_wait: bool = flag(default=False)


def create(session: Session, printing: OutputArgs, args: WorkspaceArgs) -> None:
    """Create a workspace in the simulated cloud and print it."""
    _write(session, args, printing, is_new=True)


def update(session: Session, printing: OutputArgs, args: WorkspaceArgs) -> None:
    """Change a workspace in the simulated cloud. Settings that are not given stay the same."""
    _write(session, args, printing, is_new=False)


def delete(
    session: Session,
    name: str | None = flag("-n", metavar="NAME"),
    *,
    yes: bool = flag("-y", default=False),
    all_resources: bool = flag(default=False),
    permanently_delete: bool = flag("-p", default=False),
    no_wait: bool = flag(default=False),
) -> Exit:
    """Delete a workspace in the simulated cloud and everything in it."""
    del all_resources, permanently_delete, no_wait
    with _writing(session) as backend:
        workspace = name or backend.scope.workspace
        agreed = yes or session.settings.truth("disable_confirm_prompt")
        if not agreed and not session.confirmed(f"Delete workspace {workspace} and all in it?"):
            return Exit.ERROR
        try:
            backend.delete_workspace(workspace)
        except NotFound as error:
            session.note(f"{error.message} There is nothing to delete.")
    return Exit.OK


def provision_network(
    session: Session,
    printing: OutputArgs,
    name: str | None = flag("-n", metavar="NAME"),
    *,
    include_spark: bool = flag(default=False),
    no_wait: bool = flag(default=False),
) -> None:
    """Provision the managed network of a workspace in the simulated cloud."""
    del no_wait
    with _writing(session) as backend:
        status = backend.provision_network(name or backend.scope.workspace)["status"]
    if status == "Inactive":
        session.note(
            "the workspace has no managed network: there is nothing to provision; `workspace update"
            " --managed-network allow_internet_outbound` gives it one"
        )
    data = {"spark_ready": include_spark and status == "Active", "status": status}
    printing.print(session, data)


def _write(session: Session, args: WorkspaceArgs, printing: OutputArgs, *, is_new: bool) -> None:
    with _writing(session) as backend:
        data = _data(session, args)
        name = str(data.get("name") or backend.scope.workspace)
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"`{name}` is not a workspace name: 3 to 33 letters, digits, `-` and `_`, and it"
                " starts with a letter or digit"
            )
        if not is_new:
            backend.workspace(name)  # refused if there is none
        backend.write_workspace(name, data.get("location"), _body(data))
        if data.get("provision_network_now"):
            backend.provision_network(name)
        printing.print(session, _printed(backend.workspace(name)), _COLUMNS)


def _data(session: Session, args: WorkspaceArgs) -> dict[str, Data]:
    """Return the document of a workspace: its file, and the flags over it."""
    data = dict(read_document(session, args.file, "workspace")) if args.file else {}
    if args.update_dependent_resources:
        session.note("the simulated cloud keeps only the ids of dependent resources")
    typed = {name: getattr(args, name) for name in args.__slots__ if name not in _NOT_FIELDS}
    data |= {name: value for name, value in typed.items() if value}
    if args.managed_network:
        data["managed_network"] = {"isolation_mode": args.managed_network}
    pairs = [pair.partition("=") for pair in flag_values(args.tags or ())]
    if pairs:
        data["tags"] = {**(data.get("tags") or {}), **{key: value for key, _, value in pairs}}
    for text in flag_values(args.set_ or ()):
        path, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"`{text}`: write KEY=VALUE.")
        put(data, tuple(path.split(".")), value)
    unknown = sorted(data.keys() - {*_PROPERTIES, *_BESIDES})
    if unknown:
        near = nearest(unknown[0], [*_PROPERTIES, *_BESIDES])
        hint = f"; did you mean `{near}`?" if near else ""
        raise UsageError(f"a workspace has no field `{unknown[0]}`{hint}")
    return data


def _body(data: Mapping[str, Data]) -> dict[str, Data]:
    """Build the body of ARM for a document, without ids and fields of the service."""
    values = {wire: data[ours] for ours, wire in _PROPERTIES.items() if data.get(ours) is not None}
    for name in _OBJECTS & values.keys():
        if not isinstance(values[name], dict):
            raise UsageError(f"{name}: it must be an object, not `{values[name]}`")
        values[name] = _respell(values[name], _camel)
    key = values.get("encryption")
    if key is not None:
        identified = {_KEYS.get(name, name): text for name, text in key.items()}
        values["encryption"] = {"status": "Enabled", "keyVaultProperties": identified}
    network = values.get("managedNetwork")
    if network is not None:
        text = str(network.get("isolationMode", "disabled"))
        mode = _TABLES["isolation"].get(text.replace("_", "").casefold())
        if mode is None:
            raise UsageError(
                f"managed_network: `{text}` is none of disabled, allow_internet_outbound and"
                " allow_only_approved_outbound"
            )
        network["isolationMode"] = mode
    access = values.get("publicNetworkAccess")
    if access is not None:
        if str(access).casefold() not in ("enabled", "disabled"):
            raise UsageError(f"public_network_access: `{access}` is neither Enabled nor Disabled")
        values["publicNetworkAccess"] = str(access).capitalize()
    tags = data.get("tags")
    if tags is not None and not isinstance(tags, dict):
        raise UsageError("tags: they must be pairs of a key and a value")
    body: dict[str, Data] = {"properties": values}
    if tags is not None:
        body["tags"] = {str(key): str(value) for key, value in tags.items()}
    if data.get("kind"):
        body["kind"] = str(data["kind"]).capitalize()
    return body


@contextmanager
def _writing(session: Session) -> Iterator[WritableBackend]:
    """Return the open backend, if it creates workspaces."""
    if session.backend_name != "local":
        raise UsageError(_IN_BICEP)
    with session.backend() as backend:
        yield cast("WritableBackend", backend)


def show(
    session: Session, printing: OutputArgs, name: str | None = flag("-n", metavar="NAME")
) -> None:
    """Print a workspace. Exits with 3 if it does not exist."""
    with session.backend() as backend:
        body = _reader(backend).workspace(name or backend.scope.workspace)
        printing.print(session, _printed(body), _COLUMNS)


def list_(session: Session, printing: OutputArgs) -> None:
    """Print the workspaces of the subscription, or of the resource group of -g."""
    with session.backend() as backend:
        bodies = _reader(backend).workspaces(session.flags.resource_group)
        printing.print(session, [_printed(body) for body in bodies], _COLUMNS)


def _reader(backend: Backend) -> SupportsWorkspaces:
    if not isinstance(backend, SupportsWorkspaces):
        raise Permanent("NoWorkspaces", f"the {backend.name} backend cannot read workspaces")
    return backend


def _group(body: Mapping[str, Data]) -> str:
    return str(body.get("id")).partition("/resourceGroups/")[2].partition("/")[0]


def _respell(value: Data, spell: Callable[[str], str]) -> Data:
    """Return a value with all keys respelled."""
    if isinstance(value, dict):
        return {spell(key): _respell(item, spell) for key, item in value.items()}
    return [_respell(item, spell) for item in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _printed(body: Mapping[str, Data]) -> dict[str, Data]:
    """Return the workspace as `az ml` prints it."""
    values = {ours: get(body, ("properties", wire)) for ours, wire in _PROPERTIES.items()}
    key = get(values, ("customer_managed_key", "keyVaultProperties"))
    if isinstance(key, dict):
        names = {wire: ours for ours, wire in _KEYS.items()}
        values["customer_managed_key"] = {names.get(wire, wire): key[wire] for wire in key}
    objects = {ours for ours, wire in _PROPERTIES.items() if wire in _OBJECTS}
    values |= {ours: _respell(values[ours], _snake) for ours in objects}
    if isinstance(values["managed_network"], dict):
        mode = str(values["managed_network"].get("isolation_mode"))
        values["managed_network"]["isolation_mode"] = _snake(mode)
    return {
        "id": body.get("id"),
        "name": body.get("name"),
        "location": body.get("location"),
        "resource_group": _group(body),
        "resourceGroup": _group(body),
        "tags": body.get("tags") or {},
        **{key: value for key, value in values.items() if value is not None},
    }


COMMANDS = {
    "workspace": Group(
        "Manage workspaces.",
        {
            "create": create,
            "update": update,
            "show": show,
            "list": list_,
            "delete": delete,
            "provision-network": provision_network,
        },
    )
}
