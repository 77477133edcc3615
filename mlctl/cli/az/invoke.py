"""`mlctl batch-endpoint invoke`, and the jobs of endpoints and deployments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from mlctl.cli.az import common_flags as flags
from mlctl.cli.az import invocation, jobs
from mlctl.cli.exits import Exit
from mlctl.cli.local import workload_flags
from mlctl.cli.output import checked
from mlctl.cli.parser.command import add, option
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.session import Session
from mlctl.kinds import Kind
from mlctl.workload import DEFAULT_NAME


class InputType(StrEnum):
    """What `--input` is."""

    FOLDER = "uri_folder"
    FILE = "uri_file"


_ENDPOINT = option(
    "name", "--name", "-n", metavar="NAME", help="Name of the batch endpoint.", default=...
)
_OF_ENDPOINT = option(
    "endpoint_name",
    "--endpoint-name",
    "-e",
    metavar="NAME",
    help="Name of the batch endpoint.",
    default=...,
)
_DEPLOYMENT = option(
    "name", "--name", "-n", metavar="NAME", help="Name of the batch deployment.", default=...
)
_PRINTING = (flags.OUTPUT, flags.QUERY)
_INVOKE = (
    _ENDPOINT,
    option(
        "deployment_name",
        "--deployment-name",
        "-d",
        metavar="NAME",
        help="Name of the deployment; the endpoint's default one unless given.",
    ),
    option(
        "input", "--input", metavar="URI", help="What to score: a local folder or file, or a URI."
    ),
    option(
        "input_type",
        "--input-type",
        type_=InputType | None,
        help="What --input is; a folder, unless it is a local file.",
    ),
    option(
        "inputs",
        "--inputs",
        type_=list[str] | None,
        metavar="NAME=URI ...",
        help="Named inputs: NAME=URI, or an object in JSON.",
    ),
    option(
        "outputs",
        "--outputs",
        type_=list[str] | None,
        metavar="NAME=URI ...",
        help="Named outputs: NAME=URI, or an object in JSON.",
    ),
    option("output_path", "--output-path", metavar="URI", help="Where the predictions go."),
    option(
        "mini_batch_size",
        "--mini-batch-size",
        "-m",
        type_=int | None,
        metavar="N",
        help="Files in a mini-batch; the deployment's number unless given.",
    ),
    option(
        "instance_count",
        "--instance-count",
        "-c",
        type_=int | None,
        metavar="N",
        help="Nodes to work on it; the deployment's number unless given.",
    ),
    option("job_name", "--job-name", metavar="NAME", help="Name of the job; made up unless given."),
    option("experiment_name", "--experiment-name", metavar="NAME", help="Experiment of the job."),
    option(
        "file",
        "--file",
        "-f",
        type_=Path | None,
        metavar="FILE",
        help="YAML file that says the inputs, outputs and settings of the job.",
    ),
    flags.SET,
    *flags.POLICY,
    option(
        "workload",
        "--workload",
        metavar="NAME",
        help="What `mlctl local workload set NAME` said of the work.",
        panel=SIMULATED,
        default=DEFAULT_NAME,
    ),
    *workload_flags.BATCH,
)


def register(app: typer.Typer, kind: Kind) -> None:
    """Add to the commands of a kind those about its jobs and its metrics."""
    more = _OF_KIND.get(kind.name)
    if more is not None:
        more(app)


def invoke(session: Session, **words: Any) -> Exit:
    """Submit a batch job, and print it."""
    checked(words["query"])
    load = workload_flags.load(words)
    data = invocation.document(words)
    counted = invocation.files(data)
    with jobs.opened(session) as runs:
        workload_flags.check(runs, words)
        if runs.simulated and load.files is None and counted is None:
            session.note(
                "the files of the input cannot be counted from here: there are as many as the"
                " workload says; --files N says otherwise"
            )
        load = replace(load, files=counted) if load.files is None else load
        asked = (words["name"], words["deployment_name"], invocation.body(data))
        job = runs.invoke(*asked, load, words["workload"])
        notice = job.body["properties"].get("run", {}).get("notice")
        if notice:
            session.note(notice)
        jobs.print_job(session, job, words["output"], words["query"])
    return Exit.OK


def of_endpoint(session: Session, **words: Any) -> Exit:
    """Print the jobs of an endpoint."""
    return _list(session, words, words["name"], None)


def of_deployment(session: Session, **words: Any) -> Exit:
    """Print the jobs of a deployment."""
    return _list(session, words, words["endpoint_name"], words["name"])


def _list(
    session: Session, words: Mapping[str, Any], endpoint: str, deployment: str | None
) -> Exit:
    checked(words["query"])
    with jobs.opened(session) as runs:
        found = runs.list(endpoint, deployment)
        jobs.print_jobs(session, found, words["output"], words["query"])
    return Exit.OK


def _of_endpoints(app: typer.Typer) -> None:
    text = (
        "Invoke a batch endpoint: submit a job that scores the files of an input.\n\n"
        "Prints the job; `mlctl job stream` shows how it goes. On the simulated cloud the files of"
        " a local folder are counted, and what they take is said by flags or by a workload."
    )
    add(app, "invoke", invoke, [*_INVOKE, *_PRINTING], text)
    listing = [_ENDPOINT, *flags.POLICY, *_PRINTING]
    add(app, "list-jobs", of_endpoint, listing, "List the jobs of a batch endpoint.")


def _of_deployments(app: typer.Typer) -> None:
    listing = [_OF_ENDPOINT, _DEPLOYMENT, *flags.POLICY, *_PRINTING]
    add(app, "list-jobs", of_deployment, listing, "List the jobs of a batch deployment.")


def _of_clusters(app: typer.Typer) -> None:
    from mlctl.cli.az import metrics

    metrics.register(app)


def _of_pools(app: typer.Typer) -> None:
    from mlctl.cli.az import submit

    submit.register_pool(app)


# What a kind has beyond the commands that all kinds have; most have nothing.
_OF_KIND: Mapping[str, Callable[[typer.Typer], None]] = {
    "compute": _of_clusters,
    "batch-endpoint": _of_endpoints,
    "batch-deployment": _of_deployments,
    "batch-pool": _of_pools,
}
