"""The semantic rules: checks of the graph that a schema cannot express.

They are pure: the date and the file system are in the `RuleContext`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules import (
    access,
    clusters,
    commands,
    deployments,
    documents,
    environments,
    jobs,
    low_priority,
    names,
    online,
    paths,
    plain_secrets,
    pools,
    scripts,
    sizes,
    step_values,
    steps,
)
from mlctl.config.rules.base import RuleCheck, RuleContext
from mlctl.diagnostics import Diagnostic, Rule

__all__ = ["RULES", "RuleContext", "check"]

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *names.NAME_RULES,
            *paths.PATH_RULES,
            *clusters.CLUSTER_RULES,
            *sizes.SIZE_RULES,
            *low_priority.LOW_PRIORITY_RULES,
            *access.ACCESS_RULES,
            *plain_secrets.PLAIN_SECRET_RULES,
            *deployments.DEPLOYMENT_RULES,
            *online.ONLINE_RULES,
            *documents.DOCUMENT_RULES,
            *pools.POOL_RULES,
            *jobs.JOB_RULES,
            *commands.COMMAND_RULES,
            *steps.STEP_RULES,
            *step_values.STEP_VALUE_RULES,
            *scripts.SCRIPT_RULES,
            *environments.ENVIRONMENT_RULES,
        ),
        key=lambda rule: rule.code,
    )
)

_CHECKS: tuple[RuleCheck, ...] = (
    names.duplicates,
    names.conflicts,
    paths.missing_paths,
    paths.left_expressions,
    clusters.min_over_max,
    clusters.no_max,
    clusters.zero_idle_time,
    clusters.unknown_region,
    sizes.retired_size,
    sizes.unknown_size,
    sizes.not_low_priority,
    low_priority.single_node,
    low_priority.over_max,
    low_priority.few_tries,
    access.login,
    access.secrets,
    access.identity,
    access.network,
    plain_secrets.plain_secrets,
    plain_secrets.masked_values,
    deployments.count_twice,
    deployments.file_name,
    deployments.dropped,
    deployments.short_timeout,
    deployments.no_environment,
    deployments.pipeline_settings,
    scripts.broken_script,
    environments.no_driver,
    online.wrong_sum,
    online.mirrored_too,
    documents.read_only,
    documents.old_schema,
    pools.classic_service,
    jobs.spot_on_cluster,
    commands.undeclared,
    commands.broken_expressions,
    jobs.over_max,
    jobs.over_lifetime,
    jobs.late_checkpoints,
    jobs.type_ignored,
    steps.unknown_bindings,
    steps.cycles,
    steps.missing_inputs,
    steps.unknown_ports,
    step_values.wrong_values,
    step_values.other_components,
    steps.no_compute,
    steps.unknown_fields,
)


def check(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """The findings of all rules, in no order. Values may have wrong types (the schema says so)."""
    for one in _CHECKS:
        yield from one(graph, context)
