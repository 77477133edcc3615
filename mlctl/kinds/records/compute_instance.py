"""Compute instances: virtual machines for development, in the same collection as clusters."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.catalog import limits
from mlctl.kinds.facts import (
    DESCRIPTION,
    TAGS,
    ArmFacts,
    AzFacts,
    Claim,
    Claims,
    Effective,
    NodeRange,
    PlanFacts,
    QuotaFacts,
    flag,
)
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data


def _claims(value: Effective, region: str) -> Claims:
    """An instance counts as one dedicated node, stopped or not."""
    claims: Claims = {(region, limits.COMPUTES_QUOTA): Claim()}
    size = catalog.size_of(str(value("size")))
    if size is None:
        return claims
    cores = Claim(size.vcpus, size.vcpus, size.vcpus)
    return {**claims, (region, size.family): cores, (region, limits.DEDICATED_QUOTA): cores}


def _nodes(value: Effective) -> NodeRange:
    return NodeRange(str(value("size")), low_priority=False, least=1, most=1)


def _inferred(data: Mapping[str, Data]) -> bool:
    return str(data.get("type", "")).casefold() == "computeinstance"


KIND = Kind(
    name="compute-instance",
    schema_name="computeInstance",
    collection="computes",
    inferred=_inferred,
    arm=ArmFacts(
        within="compute",
        tracked=True,
        unique_in_region=True,
        live_type=(("properties", "computeType"), "ComputeInstance"),
        # how-to-create-compute-instance, "Configure idle shutdown"
        posted=(
            (("properties", "properties", "idleTimeBeforeShutdown"), "updateIdleShutdownSetting"),
        ),
        delete_query={"underlyingResourceAction": "Delete"},
        delay="compute",
    ),
    quota=QuotaFacts(claims=_claims, nodes=_nodes, vm_size=("size",)),
    plan=PlanFacts(
        named_in_jobs=("computeId",),
        ends_jobs=True,
        loss="its disk is deleted with it, including users' files",
    ),
    az=AzFacts(
        present=False,
        columns={
            "Name": ("name",),
            "State": ("provisioning_state",),
            "Power": ("state",),
            "Size": ("size",),
            "Location": ("location",),
        },
        create_flags=(
            flag("--type -t", "type"),
            flag("--size", "size"),
            DESCRIPTION,
            TAGS,
            flag("--ssh-key-value", "ssh_settings.ssh_key_value"),
            flag("--ssh-public-access-enabled -p", "ssh_public_access_enabled"),
            flag("--vnet-name", "network_settings.vnet_name"),
            flag("--subnet", "network_settings.subnet"),
            flag("--identity-type", "identity.type"),
            flag("--user-assigned-identities -i", "identity.user_assigned_identities"),
            flag("--enable-node-public-ip", "enable_node_public_ip"),
            flag("--location -l", "location"),
            flag("--user-object-id", "create_on_behalf_of.user_object_id"),
            flag("--user-tenant-id", "create_on_behalf_of.user_tenant_id"),
        ),
        update_flags=(TAGS,),
        required_flags=("name", "type"),
        sample=("samples/compute-instances/workstation.yml", "workstation"),
    ),
)
