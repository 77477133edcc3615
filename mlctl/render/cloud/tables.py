"""The columns of `-o table` for data that is not a resource; kinds define their own."""

from __future__ import annotations

from mlctl import pointer
from mlctl.kinds.facts import Columns
from mlctl.pointer import Data

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
    """Return the columns of one item or a list of them."""
    items = data if isinstance(data, list) else [data]
    return [
        {
            name: _cell(at(item) if callable(at) else pointer.get(item, at))
            for name, at in columns.items()
        }
        for item in items
    ]


def _cell(value: Data) -> Data:
    """Return a cell's value; a map as flags accept it: `blue=90 green=10`."""
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return "" if value is None else value
