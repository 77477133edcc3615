"""Components, the reusable steps of pipelines."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import schema
from mlctl.kinds import component_hash
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.kinds.facts import ContentFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_SCHEMA = "component"
_FORMS = ("command", "pipeline", "parallel", "spark")
# What components of these types have, and what only jobs have.
_PROGRAMS = {
    "parallel": ({"task"}, {"compute"}),
    "spark": ({"entry"}, {"compute", "resources"}),
    "pipeline": ({"name", "version", "jobs"}, {"compute", "settings"}),
}


def _inferred(data: Mapping[str, Data]) -> bool:
    """Whether a command or program is a component's: a job also names its compute and its data."""
    kind = str(data.get("type", "")).casefold()
    if kind in _PROGRAMS:
        needed, of_jobs = _PROGRAMS[kind]
        return needed <= data.keys() and not data.keys() & of_jobs
    if not {"name", "command", "environment"} <= data.keys():
        return False  # few others get as far as the schema
    properties = schema.load(_SCHEMA)["$defs"]["command"]["properties"].keys()
    inputs = data.get("inputs", {})
    typed = isinstance(inputs, dict) and all(
        isinstance(port, dict) and "type" in port and "path" not in port for port in inputs.values()
    )
    return data.keys() <= properties and typed


KIND = Kind(
    name="component",
    schema_name=_SCHEMA,
    collection="components",
    versioned=True,
    steps=("jobs",),
    inferred=_inferred,
    content=ContentFacts(
        named_by_path=True,
        names_inline=False,
        anonymous_name=ANONYMOUS,
        complete=component_hash.with_hash,
        default_version="azureml_default",  # azure-ai-ml 1.35.2, DEFAULT_COMPONENT_VERSION
    ),
)
