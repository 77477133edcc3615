"""Batch deployments: settings that contradict each other or have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding, has_key, lacks_key
from mlctl.config.rules.base import deployments as of_all_sorts
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.schema.text import listed, nearest

COUNT_TWICE = Rule("MLC320", "instance-count-twice", Severity.ERROR)
FILE_NAME = Rule("MLC321", "file-name-with-summary-only", Severity.ERROR)
DROPPED = Rule("MLC322", "dropped-setting", Severity.WARNING)
SHORT_TIMEOUT = Rule("MLC323", "short-timeout", Severity.WARNING)
NO_ENVIRONMENT = Rule("MLC324", "script-without-environment", Severity.WARNING)
UNKNOWN_SETTING = Rule("MLC325", "unknown-pipeline-setting", Severity.WARNING)
IGNORED_JOB = Rule("MLC326", "ignored-job-definition", Severity.WARNING)

_DEFAULT_TIMEOUT = 30
_PIPELINE_SETTINGS = (
    "default_compute",
    "default_datastore",
    "continue_on_step_failure",
    "force_rerun",
)


def count_twice(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC320."""
    for deployment in declared(graph, "batch-deployment"):
        if has_key(deployment, "settings", "instance_count") and has_key(deployment, "resources"):
            in_resources = has_key(deployment, "resources", "instance_count")
            yield finding(
                COUNT_TWICE,
                deployment,
                ("settings", "instance_count"),
                "`settings.instance_count` cannot be combined with `resources`",
                "remove it: `resources.instance_count` applies"
                if in_resources
                else "move it to `resources.instance_count`",
                deployment.label(("resources",), "because of this", key=True),
                key=True,
            )


def file_name(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC321."""
    for deployment in declared(graph, "batch-deployment"):
        for above in _SETTINGS:
            action = deployment.text(*above, "output_action")
            name = deployment.text(*above, "output_file_name")
            if name and action and action.casefold() == "summary_only":
                yield finding(
                    FILE_NAME,
                    deployment,
                    (*above, "output_file_name"),
                    "`output_file_name` only works with `output_action: append_row`",
                    "remove it, or write `output_action: append_row`",
                    deployment.label(
                        (*above, "output_action"), "no file of predictions is written"
                    ),
                    key=True,
                )


def dropped(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC322."""
    for deployment in declared(graph, "batch-deployment"):
        if deployment.form.name != "model" or not has_key(deployment, "settings"):
            continue
        for name in ("environment_variables", "error_threshold"):
            if has_key(deployment, name):
                twice = has_key(deployment, "settings", name)
                yield finding(
                    DROPPED,
                    deployment,
                    (name,),
                    f"`{name}` beside `settings` is not sent",
                    f"remove it: `settings.{name}` applies"
                    if twice
                    else "move it under `settings`",
                    deployment.label(("settings",), "only what is in here is sent", key=True),
                    key=True,
                )


def short_timeout(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC323: 30 as written, or by default in `retry_settings`."""
    for deployment in declared(graph, "batch-deployment"):
        for above in _SETTINGS:
            at = (*above, "retry_settings", "timeout")
            left_out = lacks_key(deployment, *at)
            if left_out or deployment.number(*at) == _DEFAULT_TIMEOUT:
                yield finding(
                    SHORT_TIMEOUT,
                    deployment,
                    at,
                    f"a mini-batch has {_DEFAULT_TIMEOUT} seconds"
                    f"{' by default' if left_out else ''}, too few for most models",
                    "measure one mini-batch and allow several times as long: `timeout: 300`",
                )


def no_environment(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC324."""
    script = ("code_configuration", "scoring_script")
    for deployment in of_all_sorts(graph):
        if deployment.text(*script) and lacks_key(deployment, "environment"):
            if _is_mlflow(deployment, graph):
                continue
            message = "the scoring script has no environment; only an MLflow model brings its own"
            hint = "add `environment: azureml:NAME@latest`"
            yield finding(NO_ENVIRONMENT, deployment, script, message, hint)


def pipeline_settings(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC325 and MLC326."""
    for deployment in declared(graph, "batch-deployment"):
        if deployment.form.name != "pipeline":
            continue
        settings = deployment.get("settings")
        for name in settings if isinstance(settings, dict) else ():
            near = nearest(name, _PIPELINE_SETTINGS)
            if name not in _PIPELINE_SETTINGS and near:
                message = f"`{name}` is not a known setting of pipelines"
                hint = f"did you mean `{near}`? There are {listed(_PIPELINE_SETTINGS, 'and')}"
                yield finding(
                    UNKNOWN_SETTING, deployment, ("settings", name), message, hint, key=True
                )
        if has_key(deployment, "component") and has_key(deployment, "job_definition"):
            yield finding(
                IGNORED_JOB,
                deployment,
                ("job_definition",),
                "`job_definition` is ignored because there is a `component`",
                "remove one of the two",
                deployment.label(("component",), "this is what runs", key=True),
                key=True,
            )


# The settings of a model are at the top, or under `settings` with `type: model`.
_SETTINGS: tuple[tuple[str, ...], ...] = ((), ("settings",))


def _is_mlflow(deployment: Resource, graph: Graph) -> bool:
    inline = deployment.text("model", "type")
    if inline is not None:
        return inline.casefold() == "mlflow_model"
    models = [
        graph.resources[address]
        for edge in graph.edges_of(deployment.address)
        if edge.at == ("model",)
        for address in graph.declared(edge.target)
    ]
    return bool(models) and all(
        (model.text("type") or "").casefold() == "mlflow_model" for model in models
    )


CHECKS = (count_twice, file_name, dropped, short_timeout, no_environment, pipeline_settings)
