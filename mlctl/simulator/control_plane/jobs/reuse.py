"""Reuse of steps: one that ran before, with the same component and inputs, does not run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from mlctl.dataclasses import dataclass, replace
from mlctl.pointer import Data
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs.pipeline_nodes import PipelineNode
from mlctl.simulator.control_plane.jobs.records import JobRow
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.engine import ended_jobs
from mlctl.simulator.engine.jobs import JobStatus


@dataclass(frozen=True, slots=True)
class Reused:
    """The step that ran, and the pipeline job that it is of."""

    run: str
    pipeline: str


def is_forced(settings: Mapping[str, Data]) -> bool:
    """Whether a pipeline job says that every step is to run again."""
    return str(settings.get("force_rerun", False)).casefold() == "true"


def is_allowed(state: WorkspaceState, settings: Mapping[str, Data]) -> bool:
    """Whether steps of a pipeline job may be reused."""
    return state.settings.reuse_steps and not is_forced(settings)


def key(node: PipelineNode, inputs: Mapping[str, str]) -> str:
    """What a step is the same by: its component, what it says itself, and its inputs.

    In `inputs` the outputs of other steps are named by the keys of those. A component that is not
    deterministic is never the same: the key is empty.
    """
    if str(node.component.get("is_deterministic", True)).casefold() == "false":
        return ""
    identity = [node.component_id, node.own_fields, dict(inputs)]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def note_reuse(row: JobRow, key: str, reused: Reused | None) -> JobRow:
    """The row of a step with its key, and with what it reuses (keys of properties as recorded)."""
    recorded = {}
    if reused is not None:
        recorded = {
            "azureml.isreused": "true",
            "azureml.reusedrunid": reused.run,
            "azureml.reusedpipelinerunid": reused.pipeline,
        }
    properties = {**recorded, **row.note["properties"]}
    return replace(row, note={**row.note, "properties": properties, "reuseKey": key})


def find(transaction: replay.EngineTransaction, state: WorkspaceState, key: str) -> Reused | None:
    """The newest step with that key that has completed, and ran itself."""
    query = (
        "SELECT name, parent FROM jobs WHERE workspace = ? AND parent IS NOT NULL"
        " AND json_extract(note, '$.reuseKey') = ?"
        " AND json_extract(note, '$.properties.\"azureml.isreused\"') IS NULL ORDER BY id DESC"
    )
    for name, parent in transaction.db.execute(query, (state.id, key)) if key else ():
        job = ended_jobs.find(transaction.world, command_log.engine_name(state.id, str(name)))
        if job is not None and job.status is JobStatus.COMPLETED:
            return Reused(str(name), str(parent))
    return None
