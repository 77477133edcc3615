"""`mlctl doctor`: checks of credentials, workspace, permissions, locks and quotas."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mlctl import files
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.monitor import (
    HealthCheck,
    HealthStatus,
    SupportsHealthChecks,
    SupportsReport,
)
from mlctl.cli.parser.declare import flag
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.scope import ScopeError
from mlctl.cli.shell.session import Session
from mlctl.render.cloud import health
from mlctl.service_errors import ServiceError
from mlctl.version import __version__

_PACKAGES = ("azure-core", "azure-identity", "azure-mgmt-core", "azure-storage-blob", "azure-ai-ml")


class DoctorFormat(StrEnum):
    """How findings are written."""

    HUMAN = "human"
    JSON = "json"


def doctor(
    session: Session,
    output: DoctorFormat = flag("Output format of the findings.", "-o", default=DoctorFormat.HUMAN),
    report: Path | None = flag(
        "Record the form of the service's responses: status codes, header names and body "
        "keys. The file contains no values, ids or names, so you can send it to the authors.",
        metavar="FILE",
    ),
) -> Exit:
    """Check credentials, workspace, permissions, locks and quotas, and say how to fix problems.

    Changes nothing. Exits with 1 if there is an error, and with 0 otherwise, even with warnings.
    """
    checks = []
    for check in _checks(session, report):
        checks.append(check)
        if output is DoctorFormat.HUMAN:
            session.out(health.line(check, color=session.color(sys.stdout)))
            sys.stdout.flush()  # the next one may take a while
    if output is DoctorFormat.JSON:
        session.out_data(health.document(checks))
    else:
        session.out("\n" + health.summary(checks))
    return Exit.ERROR if any(check.status is HealthStatus.FAILED for check in checks) else Exit.OK


def _checks(session: Session, report: Path | None) -> Iterator[HealthCheck]:
    yield HealthCheck(
        "mlctl", HealthStatus.OK, f"{__version__}, Python {platform.python_version()}"
    )
    yield _facts(session)
    try:
        name, scope = session.backend_name, session.scope
    except ScopeError as error:
        yield from (
            HealthCheck("scope", HealthStatus.FAILED, line) for line in str(error).splitlines()
        )
        return
    except ServiceError as error:  # there is no such backend
        yield HealthCheck("backend", HealthStatus.FAILED, str(error), error=error)
        return
    yield HealthCheck("scope", HealthStatus.OK, f"the {name} backend, workspace {scope}")
    if name == "azure":
        yield HealthCheck("packages", HealthStatus.OK, _packages())
    try:
        backend, _ = session.open()
    except ServiceError as error:
        yield HealthCheck("backend", HealthStatus.FAILED, str(error), error=error)
        return
    with closing(backend):
        if isinstance(backend, SupportsHealthChecks):
            yield from backend.check_health(time.time())
        else:
            yield _opened(backend)
        if report is not None:
            yield _write_report(backend, report)


def _facts(session: Session) -> HealthCheck:
    """Check the age of the oldest table of dated facts, and of the price list in use."""
    from mlctl.catalog.tables import Table, every_table

    tables = [table for table in every_table() if table.name != "prices.csv"]
    price_list = session.price_list
    prices = Table("the price list", price_list.as_of, price_list.source)
    oldest = min([prices, *tables], key=lambda table: table.as_of)
    text = f"the oldest is {oldest.name}, of {oldest.as_of.isoformat()} ({oldest.source})"
    if not oldest.is_old(session.today):
        return HealthCheck("facts", HealthStatus.OK, text)
    cure = "`mlctl catalog refresh` asks Azure for prices" if oldest is prices else "upgrade mlctl"
    return HealthCheck("facts", HealthStatus.INFO, text, cure)


def _write_report(backend: Backend, path: Path) -> HealthCheck:
    """Write the report; the check describes its content."""
    if not isinstance(backend, SupportsReport):
        text = f"the {backend.name} backend has no service to report on"
        return HealthCheck("report", HealthStatus.SKIPPED, text, "use --backend azure")
    try:
        answers = list(backend.report())
    except ServiceError as error:
        return HealthCheck("report", HealthStatus.FAILED, str(error), error=error)
    try:
        files.write(path, (health.report(answers) + "\n").encode(), private=True)
    except OSError as error:
        text = f"cannot write `{path}`: {error.strerror or error}"
        return HealthCheck("report", HealthStatus.FAILED, text, "name another --report")
    text = f"the form of {len(answers)} answers is in {path}; it holds no value, id or name"
    return HealthCheck("report", HealthStatus.OK, text)


def _opened(backend: Backend) -> HealthCheck:
    try:
        return HealthCheck("backend", HealthStatus.OK, f"open, in {backend.location}")
    except ServiceError as error:
        return HealthCheck("backend", HealthStatus.FAILED, str(error), error=error)


def _packages() -> str:
    return ", ".join(f"{name} {_installed(name)}" for name in _PACKAGES)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(missing)"


COMMANDS = {"doctor": doctor}
