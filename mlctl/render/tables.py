"""The columns of `-o table`: what people look for in each kind of resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mlctl import pointer
from mlctl.pointer import Data, Pointer

Columns: TypeAlias = Mapping[str, Pointer]

OF_KIND: Mapping[str, Columns] = {
    "compute": {
        "Name": ("name",),
        "State": ("provisioning_state",),
        "Size": ("size",),
        "Tier": ("tier",),
        "Nodes": ("current_node_count",),
        "Min": ("min_instances",),
        "Max": ("max_instances",),
        "Preempted": ("node_counts", "preempted"),
        "Location": ("location",),
    },
    "batch-endpoint": {
        "Name": ("name",),
        "State": ("provisioning_state",),
        "DefaultDeployment": ("defaults", "deployment_name"),
        "AuthMode": ("auth_mode",),
        "Location": ("location",),
    },
    "batch-deployment": {
        "Name": ("name",),
        "Endpoint": ("endpoint_name",),
        "State": ("provisioning_state",),
        "Type": ("type",),
        "Model": ("model",),
        "Compute": ("compute",),
        "Instances": ("resources", "instance_count"),
        "MiniBatch": ("settings", "mini_batch_size"),
    },
    "model": {
        "Name": ("name",),
        "Version": ("version",),
        "Type": ("type",),
        "Stage": ("stage",),
        "Archived": ("is_archived",),
        "Created": ("creation_context", "createdAt"),
    },
    "environment": {
        "Name": ("name",),
        "Version": ("version",),
        "Image": ("image",),
        "OsType": ("os_type",),
        "Archived": ("is_archived",),
        "Created": ("creation_context", "createdAt"),
    },
    "batch-pool": {
        "Name": ("name",),
        "State": ("provisioning_state",),
        "VMs": ("vm_count",),
        "Provisioned": ("provisioned_vms",),
        "PoolId": ("pool_id",),
        "BillingPlan": ("billing_plan",),
    },
}
SIZES: Columns = {
    "Name": ("name",),
    "Family": ("family",),
    "VCPUs": ("vCPUs",),
    "GPUs": ("gpus",),
    "MemoryGB": ("memoryGB",),
    "LowPriority": ("lowPriorityCapable",),
    "UsdPerHour": ("estimatedVMPrices", "values", 0, "retailPrice"),
}
USAGE: Columns = {"Name": ("name", "value"), "Used": ("currentValue",), "Limit": ("limit",)}
NODES: Columns = {
    "NodeId": ("node_id",),
    "State": ("node_state",),
    "PrivateIp": ("private_ip_address",),
    "Port": ("port",),
    "Job": ("current_job_name",),
}


def rows(data: Data, columns: Columns) -> list[dict[str, Data]]:
    """What stands in the columns, for one resource or a list of them."""
    items = data if isinstance(data, list) else [data]
    return [
        {
            name: "" if (cell := pointer.get(one, at)) is None else cell
            for name, at in columns.items()
        }
        for one in items
    ]
