"""`mlctl doctor` checks the setup; `mlctl configure` sets defaults, and never writes az's file."""

from __future__ import annotations

import configparser
import io
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, TypeAlias

from mlctl import files
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.monitor import (
    HealthCheck,
    HealthStatus,
    SupportsHealthChecks,
    SupportsReport,
)
from mlctl.cli.parser.arguments import TypedFlag, UsageError
from mlctl.cli.parser.declare import flag
from mlctl.cli.parser.tree import SWITCH
from mlctl.cli.shell.command import flag_values
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.cli.shell.scope import (
    LOCATION,
    PARTS,
    Configuration,
    ScopeError,
    ScopePart,
    own_file,
    project_file_of,
    read_ini,
)
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data
from mlctl.render.cloud import health
from mlctl.service_errors import ServiceError
from mlctl.source.files import PROJECT_FILE
from mlctl.version import __version__

_PACKAGES = ("azure-core", "azure-identity", "azure-mgmt-core", "azure-storage-blob", "azure-ai-ml")

DoctorFormat: TypeAlias = Literal["human", "json"]


def doctor(
    session: Session,
    output: DoctorFormat = flag("-o", default="human"),
    report: Path | None = flag(metavar="FILE"),
) -> Exit:
    """Check credentials, workspace, permissions, locks and quotas, and say how to fix problems."""
    checks = []
    for check in _checks(session, report):
        checks.append(check)
        if output == "human":
            session.out(health.line(check, color=session.color(sys.stdout)))
            sys.stdout.flush()  # the next one may take a while
    if output == "json":
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


_KNOWN = {part.default: part for part in (*PARTS.values(), LOCATION)}


def configure(
    session: Session,
    defaults: list[TypedFlag] | None = flag("-d", metavar="NAME=VALUE ..."),
    list_defaults: str | None = flag("-l", metavar=SWITCH),
    output: Output = "json",
    query: Query = None,
) -> None:
    """Set or list defaults: subscription, resource group, workspace and location."""
    if not defaults and list_defaults is None:
        raise UsageError("give --defaults NAME=VALUE ..., or --list-defaults.")
    if defaults:
        _write(own_file(session.environment), dict(_pairs(session, flag_values(defaults))))
    if list_defaults is not None:
        fresh = Configuration.read(project_file_of(()), session.environment)
        print_data(session, list(_list_defaults(fresh)), output, query)


def _pairs(session: Session, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values; scripts for az may set others, which are of no use here."""
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name in _KNOWN:
            yield name, value
            continue
        why = f"'{text}' is not a default: write NAME=VALUE, NAME one of {', '.join(_KNOWN)}."
        if not equals or not session.as_az:
            raise UsageError(why)
        session.say(f"WARNING: {why}")


def _write(path: Path, values: Mapping[str, str]) -> None:
    """Put the values into the file, in one atomic write."""
    sections = read_ini(path)
    defaults = {**sections.get("defaults", {}), **values}
    sections["defaults"] = {name: value for name, value in defaults.items() if value}
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(sections)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    parser.write(text)
    files.write(path, text.getvalue().encode(), private=True)


def _list_defaults(settings: Configuration) -> Iterator[Data]:
    for name, part in _KNOWN.items():
        value = settings.configured(part)
        if value is not None:
            yield {"name": name, "source": _origin(settings, part), "value": value}


def _origin(settings: Configuration, part: ScopePart) -> str:
    variable = next((name for name in part.variables if settings.environment.get(name)), None)
    if variable is not None:
        return f"${variable}"
    if settings.project.text(part.key):
        document = settings.project.document
        return document.source.name if document else PROJECT_FILE
    own_default = settings.own.get("defaults", {}).get(part.default)
    return str(own_file(settings.environment)) if own_default else "az configure"


COMMANDS = {"doctor": doctor, "configure": configure}
