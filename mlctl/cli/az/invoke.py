"""`mlctl batch-endpoint invoke`, and the jobs of endpoints and deployments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated

from mlctl.cli.az import input_files, invocation, jobs
from mlctl.cli.az.common_flags import PolicyArgs
from mlctl.cli.az.invocation import BatchJobArgs
from mlctl.cli.local import workload_flags
from mlctl.cli.local.workload_flags import BatchFlags, WorkloadName
from mlctl.cli.shell import Exit, OptionSpec, Session, flag
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import OutputArgs
from mlctl.diagnostics import Report
from mlctl.workload import DEFAULT_NAME

EndpointName = Annotated[
    str, OptionSpec("--name", "-n", metavar="NAME", help="Name of the batch endpoint.")
]


def invoke(
    session: Session,
    name: EndpointName,
    *,
    deployment_name: str | None = flag(
        "Name of the deployment; the endpoint's default one unless given.", "-d", metavar="NAME"
    ),
    job: BatchJobArgs,
    _policy: PolicyArgs,
    workload: WorkloadName = DEFAULT_NAME,
    work: BatchFlags,
    printing: OutputArgs,
) -> Exit:
    """Invoke a batch endpoint: submit a job that scores the files of an input.

    Prints the job; `mlctl job stream` shows how it goes. On the simulated cloud the files of a
    local folder are counted, and what they take is said by flags or by a workload.
    """
    workload_ = workload_flags.workload_of(work)
    data = invocation.document(job, session.loader(Report()).variables)
    counted = input_files.count_files(data)
    with jobs.opened(session) as runs:
        workload_flags.check(runs, workload, work)
        if workload_.files is None:
            if runs.simulated and counted is None:
                session.note(
                    "the files of the input cannot be counted from here: there are as many as the"
                    " workload says; --files N says otherwise"
                )
            workload_ = replace(workload_, files=counted)
        made = runs.invoke(name, deployment_name, invocation.body(data), workload_, workload)
        notice = made.body["properties"].get("run", {}).get("notice")
        if notice:
            session.note(notice)
        jobs.print_job(session, made, printing.output, printing.query)
    return Exit.OK


def of_endpoint(
    session: Session, name: EndpointName, _policy: PolicyArgs, printing: OutputArgs
) -> Exit:
    """List the jobs of a batch endpoint."""
    return _list(session, name, None, printing)


def of_deployment(
    session: Session,
    endpoint_name: Annotated[
        str,
        OptionSpec("--endpoint-name", "-e", metavar="NAME", help="Name of the batch endpoint."),
    ],
    name: Annotated[
        str, OptionSpec("--name", "-n", metavar="NAME", help="Name of the batch deployment.")
    ],
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> Exit:
    """List the jobs of a batch deployment."""
    return _list(session, endpoint_name, name, printing)


def _list(session: Session, endpoint: str, deployment: str | None, printing: OutputArgs) -> Exit:
    with jobs.opened(session) as runs:
        found = runs.list(endpoint, deployment)
        jobs.print_jobs(session, found, printing.output, printing.query)
    return Exit.OK


def _of_clusters() -> Commands:
    from mlctl.cli.az import metrics

    return {"metrics": metrics.metrics}


def _of_pools() -> Commands:
    from mlctl.cli.az import submit

    return {"submit": submit.submit}


# What a kind has beyond the commands that all kinds have; most have nothing.
MORE: Mapping[str, Callable[[], Commands]] = {
    "compute": _of_clusters,
    "batch-endpoint": lambda: {"invoke": invoke, "list-jobs": of_endpoint},
    "batch-deployment": lambda: {"list-jobs": of_deployment},
    "batch-pool": _of_pools,
}
