"""Access to a cluster: login, identity, network."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import (
    RuleContext,
    declared,
    finding,
    has_key,
    lacks_key,
)
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.kinds import Resource
from mlctl.schema.text import is_placeholder

_COMPUTE = "learn.microsoft.com/azure/machine-learning/reference-yaml-compute-aml"

NO_CREDENTIALS = Rule(
    "MLC310",
    "ssh-without-credentials",
    Severity.ERROR,
    "`ssh_settings` with neither a key nor a password",
    "The user that `admin_username` names is made on every node and must be able to log in; the"
    " service refuses a user without credentials. SSH settings cannot be changed after the"
    " cluster is made.",
    "Write `ssh_key_value` with a public key (better), or `admin_password`.",
    _COMPUTE,
)
NO_LOGIN = Rule(
    "MLC311",
    "ssh-access-without-login",
    Severity.WARNING,
    "an SSH port that is open to the internet, and no user to log in with",
    "`ssh_public_access_enabled: true` opens the port. Without `ssh_settings` there is no user on"
    " the nodes: the port is open for nothing, and neither of the two can be changed later.",
    "Add `ssh_settings`, or remove `ssh_public_access_enabled`.",
    _COMPUTE,
)
PASSWORD = Rule(
    "MLC312",
    "password-in-file",
    Severity.WARNING,
    "a password that stands in the file as plain text",
    "Everyone who can read the repository, now or later, can log in to the nodes.",
    "Use `ssh_key_value` with a public key, which is no secret; or put a placeholder in the file"
    " and set the password when the file is applied. A password that was committed once has to be"
    " changed.",
    _COMPUTE,
)
PRIVATE_KEY = Rule(
    "MLC313",
    "private-key-in-file",
    Severity.ERROR,
    "an `ssh_key_value` that holds the private half of a key",
    "The nodes need the public half, which begins with `ssh-rsa`, or with `ssh-ed25519`. The"
    " private half would be sent to the service and stored with the file, and does not work"
    " either.",
    "Write the content of the `.pub` file. Throw the key away if the file was shared.",
    "learn.microsoft.com/azure/machine-learning/how-to-create-attach-compute-cluster, section"
    " Enable SSH access",
)
NO_IDS = Rule(
    "MLC314",
    "identity-without-ids",
    Severity.ERROR,
    "a user-assigned identity that is asked for and not named",
    "`type: user_assigned` says that identities made elsewhere are given to the resource; the"
    " service refuses it without their ids.",
    "List them in `user_assigned_identities`, each as `resource_id: /subscriptions/...`; or write"
    " `type: system_assigned`.",
    _COMPUTE,
)
STRAY_IDS = Rule(
    "MLC315",
    "ids-without-identity",
    Severity.ERROR,
    "user-assigned identities that are listed, and not asked for by `type`",
    "The list counts only with a `type` that has `user_assigned` in it; otherwise the service"
    " refuses the resource.",
    "Write `type: user_assigned`, or remove the list.",
    _COMPUTE,
)
SUBNET = Rule(
    "MLC316",
    "incomplete-subnet",
    Severity.ERROR,
    "a virtual network without a subnet, or the name of a subnet without its network",
    "Nodes stand in a subnet. It is given by its name together with `vnet_name` (the network is"
    " looked for in the workspace's resource group), or by its full ARM id alone.",
    "Write both `vnet_name` and `subnet`, or the subnet's ARM id.",
    _COMPUTE,
)
NO_PUBLIC_IP = Rule(
    "MLC317",
    "no-public-ip-without-subnet",
    Severity.WARNING,
    "nodes without public addresses and without a subnet",
    "Nodes without public addresses reach the service through a virtual network: one that the"
    " cluster names, or the managed network of the workspace. Whether the workspace has one, the"
    " file does not say; without it the cluster cannot be made.",
    "Name the subnet in `network_settings`. In a workspace with a managed network all is well:"
    " waive the rule with `# mlctl:ignore=MLC317`.",
    f"{_COMPUTE}; hashicorp/terraform-provider-azurerm,"
    " machine_learning_compute_cluster_resource.go, check at creation",
)
_SECRETS = ("admin_password", "ssh_key_value")
RULES = (
    NO_CREDENTIALS,
    NO_LOGIN,
    PASSWORD,
    PRIVATE_KEY,
    NO_IDS,
    STRAY_IDS,
    SUBNET,
    NO_PUBLIC_IP,
)


def login(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC310 and MLC311."""
    for cluster in declared(graph, "compute"):
        # What `show` printed has no secrets, and can be applied again all the same.
        is_printed = cluster.get("provisioning_state") is not None
        if not is_printed and all(
            lacks_key(cluster, "ssh_settings", secret) for secret in _SECRETS
        ):
            yield finding(
                NO_CREDENTIALS,
                cluster,
                cluster.label(("ssh_settings",), key=True),
                "`ssh_settings` needs `ssh_key_value` or `admin_password`",
                "write `ssh_key_value: ssh-rsa ...` with your public key",
            )
        if cluster.get("ssh_public_access_enabled") is True and not has_key(
            cluster, "ssh_settings"
        ):
            yield finding(
                NO_LOGIN,
                cluster,
                cluster.label(("ssh_public_access_enabled",)),
                "the SSH port is opened, and there is no user to log in with",
                "add `ssh_settings`, or remove `ssh_public_access_enabled`",
            )


def secrets(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC312 and MLC313. Labels are never on the line of a secret, as their lines are printed."""
    for cluster in declared(graph, "compute"):
        at = ("ssh_settings", "admin_password")
        password = cluster.text(*at)
        outside = cluster.document.from_environment(at)
        if password and not outside and not is_placeholder(password):
            yield finding(
                PASSWORD,
                cluster,
                _beside(cluster, "admin_password"),
                "`admin_password` is in the file as plain text",
                "use `ssh_key_value` with a public key, or put a placeholder in the file",
            )
        if "PRIVATE KEY" in (cluster.text("ssh_settings", "ssh_key_value") or ""):
            yield finding(
                PRIVATE_KEY,
                cluster,
                _beside(cluster, "ssh_key_value"),
                "`ssh_key_value` holds a private key",
                "write the public key instead: the content of the `.pub` file",
            )


def identity(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC314 and MLC315."""
    ids = ("identity", "user_assigned_identities")
    for resource in declared(graph):
        kind = resource.text("identity", "type")
        if kind is None:
            continue
        is_user_assigned = "userassigned" in kind.replace("_", "").casefold()
        if is_user_assigned and lacks_key(resource, *ids):
            yield finding(
                NO_IDS,
                resource,
                resource.label(("identity", "type")),
                f"`type: {kind}` needs `user_assigned_identities`",
                "list them, each as `resource_id: /subscriptions/...`",
            )
        if not is_user_assigned and resource.get(*ids):
            yield finding(
                STRAY_IDS,
                resource,
                resource.label(ids, key=True),
                f"`user_assigned_identities` do not go with `type: {kind}`",
                "write `type: user_assigned`, or remove the list",
                resource.label(("identity", "type"), "this does not ask for them"),
            )


def network(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC316 and MLC317."""
    for cluster in declared(graph, "compute"):
        vnet, subnet = (cluster.text("network_settings", key) for key in ("vnet_name", "subnet"))
        if vnet and lacks_key(cluster, "network_settings", "subnet"):
            yield finding(
                SUBNET,
                cluster,
                cluster.label(("network_settings", "vnet_name"), key=True),
                f"the network `{vnet}` is named without a subnet",
                "add `subnet`",
            )
        if (
            subnet
            and not subnet.startswith("/")
            and lacks_key(cluster, "network_settings", "vnet_name")
        ):
            yield finding(
                SUBNET,
                cluster,
                cluster.label(("network_settings", "subnet")),
                f"the subnet `{subnet}` is named without its network",
                "add `vnet_name`, or write the subnet's full ARM id",
            )
        if cluster.get("enable_node_public_ip") is False and not (vnet or subnet):
            yield finding(
                NO_PUBLIC_IP,
                cluster,
                cluster.label(("enable_node_public_ip",)),
                "nodes without public addresses need a subnet, or a managed network",
                "name the subnet in `network_settings`",
            )


def _beside(cluster: Resource, secret: str) -> Label | None:
    """A key near a secret, but on another line; None if there is none."""
    hidden = cluster.label(("ssh_settings", secret)).span
    for at in (("ssh_settings",), ("name",)):
        label = cluster.label(at, key=True)
        if not hidden.line <= label.span.line <= hidden.end_line:
            return label
    return None


CHECKS = (login, secrets, identity, network)
