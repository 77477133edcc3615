"""`mlctl studio`: a local web page of a workspace."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.dataclasses import replace
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent, ServiceError

if TYPE_CHECKING:
    import socket

    from mlctl.backends.ports.backend import Backend
    from mlctl.emulator.instance_file import EmulatorInstance

_HOST = "127.0.0.1"
_ROOM = 60_000  # bytes of a plan's changes


def studio(
    session: Session,
    paths: list[str] | None = argument(default=None, metavar="PATH"),
    port: int = flag(default=0, min=0, max=65535),
    no_browser: bool = flag(default=False),
) -> Exit:
    """Show a workspace in the browser: clusters, jobs, endpoints, and the plan of the files."""
    _require_extra()
    from mlctl.emulator.http import host_check, server
    from mlctl.emulator.instance_file import find_running
    from mlctl.studio import FILE
    from mlctl.studio.site import Site
    from mlctl.studio.watch import Watch

    token, folders = secrets.token_urlsafe(24), paths or ["."]
    with session.backend() as backend, _listener(port) as listener:
        watch = Watch(backend, folders)
        mine = _instance(backend, listener, token)
        previous = find_running(FILE)

        def started() -> None:
            mine.write(FILE)
            watch.start()
            _announce(session, mine, browser=sys.stdout.isatty() and not no_browser)

        hint = "The studio only serves this machine: open the address that it printed."
        site = Site(watch, token, lambda: _plan(session, watch.backend, folders))
        answer = host_check.with_host_check(site, _HOST, (), hint)
        try:
            server.serve(answer, listener, None, started, threads=True)
        finally:
            watch.stop()
            mine.remove(FILE, previous)
    return Exit.OK


def _instance(backend: Backend, listener: socket.socket, token: str) -> EmulatorInstance:
    from mlctl.emulator.instance_file import EmulatorInstance
    from mlctl.studio import FILE

    scope, url = backend.scope, f"http://{_HOST}:{listener.getsockname()[1]}"
    workspace = scope.subscription, scope.resource_group, scope.workspace
    folder = str(FILE.parent.resolve())
    return EmulatorInstance(url, None, None, *workspace, token, os.getpid(), folder)


def _announce(session: Session, instance: EmulatorInstance, *, browser: bool) -> None:
    address = f"{instance.url}/{instance.token}/"
    session.out(f"the studio of {instance.workspace}: {address}")
    session.note("Ctrl-C ends it; anyone with this address can use it")
    if browser:
        import webbrowser

        webbrowser.open(address)


def _require_extra() -> None:
    missing = [name for name in ("uvicorn", "jinja2") if find_spec(name) is None]
    if missing:
        why = f"the studio needs {' and '.join(missing)}: pip install 'mlctl-azure[studio]'"
        raise Permanent("MissingExtra", why)


def _listener(port: int) -> socket.socket:
    from mlctl.emulator.http.server import listen

    try:
        return listen(_HOST, port)
    except OSError as error:
        why = f"cannot listen on {_HOST}, port {port}: {error.strerror}; --port 0 takes a free port"
        raise Permanent("NoSite", why) from None


def _plan(session: Session, backend: Backend, paths: Sequence[str]) -> Mapping[str, object]:
    """Return the current plan of the files as text, or why there is none."""
    from mlctl.cli.shell.workflow import plan_context
    from mlctl.diagnostics import Report
    from mlctl.planning.blue_green.successors import CannotRename
    from mlctl.project.file import ProjectError
    from mlctl.render.findings import diagnostics
    from mlctl.render.plan import blocks
    from mlctl.workflow.model import InvalidFiles, InvalidOption, PlanOptions, UnreadableFolder
    from mlctl.workflow.planning import plan_files

    report = Report()
    fresh = Session(session.flags, session.environment, session.paths)
    plan: dict[str, object] = {"error": "", "summary": None, "findings": "", "text": ""}
    try:
        context = replace(plan_context(fresh), note=lambda _text: None, show=lambda _loaded: None)
        result = plan_files(paths, backend, context, report, PlanOptions()).plan
        summary = result.summary
        plan["summary"] = {
            "to add": summary.add,
            "to change": summary.change,
            "to destroy": summary.destroy,
        }
        report.extend((*result.errors, *result.warnings))
        plan["text"] = blocks.human(result, color=False, width=110, room=_ROOM)
    except InvalidFiles:
        plan["error"] = "The files have errors: there is no plan."
    except ProjectError as error:
        report = error.report
        plan["error"] = "The files have errors: there is no plan."
    except (ServiceError, CannotRename, InvalidOption, UnreadableFolder) as error:
        plan["error"] = clean(str(error))
    plan["findings"] = diagnostics.report(report, color=False, width=110)
    return plan


COMMANDS = {"studio": studio}
