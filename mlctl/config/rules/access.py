"""Access to a cluster: login, identity, network."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding, has_key, lacks_key
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.kinds import Resource
from mlctl.schema.text import is_placeholder

NO_CREDENTIALS = Rule("MLC310", "ssh-without-credentials", Severity.ERROR)
NO_LOGIN = Rule("MLC311", "ssh-access-without-login", Severity.WARNING)
PASSWORD = Rule("MLC312", "password-in-file", Severity.WARNING)
PRIVATE_KEY = Rule("MLC313", "private-key-in-file", Severity.ERROR)
NO_IDS = Rule("MLC314", "identity-without-ids", Severity.ERROR)
STRAY_IDS = Rule("MLC315", "ids-without-identity", Severity.ERROR)
NOT_OF_BATCH = Rule("MLC360", "identity-of-a-batch-endpoint", Severity.ERROR)
SUBNET = Rule("MLC316", "incomplete-subnet", Severity.ERROR)
NO_PUBLIC_IP = Rule("MLC317", "no-public-ip-without-subnet", Severity.WARNING)
_SECRETS = ("admin_password", "ssh_key_value")


def login(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC310 and MLC311."""
    for cluster in declared(graph, "compute"):
        # Output of `show` has no secrets, but can still be applied.
        is_printed = cluster.get("provisioning_state") is not None
        if not is_printed and all(
            lacks_key(cluster, "ssh_settings", secret) for secret in _SECRETS
        ):
            message = "`ssh_settings` needs `ssh_key_value` or `admin_password`"
            hint = "write `ssh_key_value: ssh-rsa ...` with your public key"
            yield finding(NO_CREDENTIALS, cluster, ("ssh_settings",), message, hint, key=True)
        if cluster.get("ssh_public_access_enabled") is True and not has_key(
            cluster, "ssh_settings"
        ):
            message = "the SSH port is open, but there is no user to log in as"
            hint = "add `ssh_settings`, or remove `ssh_public_access_enabled`"
            yield finding(NO_LOGIN, cluster, ("ssh_public_access_enabled",), message, hint)


def secrets(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC312 and MLC313. Labels are never on a secret's line, since lines are printed."""
    for cluster in declared(graph, "compute"):
        at = ("ssh_settings", "admin_password")
        password = cluster.text(*at)
        outside = cluster.document.from_environment(at)
        if password and not outside and not is_placeholder(password):
            message = "`admin_password` is in the file as plain text"
            hint = "use `ssh_key_value` with a public key, or put a placeholder in the file"
            yield finding(
                PASSWORD, cluster, _find_key_nearby(cluster, "admin_password"), message, hint
            )
        if "PRIVATE KEY" in (cluster.text("ssh_settings", "ssh_key_value") or ""):
            message = "`ssh_key_value` holds a private key"
            hint = "write the public key instead: the content of the `.pub` file"
            yield finding(
                PRIVATE_KEY, cluster, _find_key_nearby(cluster, "ssh_key_value"), message, hint
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
            message = f"`type: {kind}` needs `user_assigned_identities`"
            hint = "list them, each as `resource_id: /subscriptions/...`"
            yield finding(NO_IDS, resource, ("identity", "type"), message, hint)
        if not is_user_assigned and resource.get(*ids):
            yield finding(
                STRAY_IDS,
                resource,
                ids,
                f"`user_assigned_identities` cannot be combined with `type: {kind}`",
                "write `type: user_assigned`, or remove the list",
                resource.label(("identity", "type"), "this type has none"),
                key=True,
            )


def identity_of_batch(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC360."""
    for endpoint in declared(graph, "batch-endpoint"):
        kind = endpoint.text("identity", "type")
        if kind is not None and "userassigned" in kind.replace("_", "").casefold():
            message = f"a batch endpoint cannot have an identity of `type: {kind}`"
            hint = "write `type: system_assigned`; jobs run as the identity of their cluster"
            yield finding(NOT_OF_BATCH, endpoint, ("identity", "type"), message, hint)


def network(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC316 and MLC317."""
    for cluster in declared(graph, "compute"):
        vnet, subnet = (cluster.text("network_settings", key) for key in ("vnet_name", "subnet"))
        if vnet and lacks_key(cluster, "network_settings", "subnet"):
            yield finding(
                SUBNET,
                cluster,
                ("network_settings", "vnet_name"),
                f"the network `{vnet}` is named without a subnet",
                "add `subnet`",
                key=True,
            )
        if (
            subnet
            and not subnet.startswith("/")
            and lacks_key(cluster, "network_settings", "vnet_name")
        ):
            message = f"the subnet `{subnet}` is named without its network"
            hint = "add `vnet_name`, or write the subnet's full ARM id"
            yield finding(SUBNET, cluster, ("network_settings", "subnet"), message, hint)
        if cluster.get("enable_node_public_ip") is False and not (vnet or subnet):
            message = "nodes without public addresses need a subnet, or a managed network"
            hint = "name the subnet in `network_settings`"
            yield finding(NO_PUBLIC_IP, cluster, ("enable_node_public_ip",), message, hint)


def _find_key_nearby(cluster: Resource, secret: str) -> Label | None:
    """Return a key near a secret, but on another line; None if there is none."""
    hidden = cluster.label(("ssh_settings", secret)).span
    for at in (("ssh_settings",), ("name",)):
        label = cluster.label(at, key=True)
        if not hidden.line <= label.span.line <= hidden.end_line:
            return label
    return None


CHECKS = (login, secrets, identity, identity_of_batch, network)
