"""What the executable `curl` of `mlctl az-shim` does: requests to Azure go to the emulator.

Scripts that begin with `az ml` go on with curl: to the scoring URI of an endpoint, to the resource
manager. On the local backend these hosts are the simulated cloud's, as the emulator serves it: one
that runs in this folder, else one for this call alone. Any other request is curl's own affair, and
so is every one on the azure backend.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlctl.cli.shell import Session
from mlctl.service_errors import Permanent

REAL = "MLCTL_CURL"  # names curl itself, which `az-shim` has found
_MANAGEMENT = "management.azure.com"
# Hosts of Azure, and where the emulator has what they serve.
_HOSTS = (
    (r"(?P<name>[\w-]+)\.[\w-]+\.inference\.ml\.azure\.com", r"/inference/\g<name>"),
    (r"management\.azure\.com", ""),
    (r"[\w-]+\.api\.azureml\.ms", ""),
    (r"login\.microsoftonline\.com", ""),
)


def run(session: Session, args: Sequence[str]) -> int:
    """Run curl with these arguments; its exit code."""
    program = session.environment.get(REAL, "curl")
    if session.backend_name != "local" or not any(map(_is_azures, args)):
        os.execvp(program, [program, *args])  # noqa: S606  # it is what the user asked for
    with _emulator() as (url, options):
        urls = [led(argument, url) for argument in args]
        line = [program, *urls, "--noproxy", "*", *options]
        return subprocess.run(line, check=False).returncode  # noqa: S603


def _is_azures(argument: str) -> bool:
    return led(argument, "") != argument


def led(argument: str, url: str) -> str:
    """An argument with the URL of Azure in it as the emulator's."""
    for host, place in _HOSTS:
        at = rf"^(?P<flag>(?:--url=)?)https?://{host}(?::443)?(?=[/?]|$)"
        changed = re.sub(at, rf"\g<flag>{url}{place}", argument)
        if changed != argument:
            return changed
    return argument


@contextmanager
def _emulator() -> Iterator[tuple[str, list[str]]]:
    """The URL of the emulator that runs here, else of one for this call, and options of curl's.

    One for this call has no lasting port: the links that it answers with have the host of Azure,
    which the next call leads to the next one.
    """
    from mlctl.emulator import instance_file

    running = instance_file.find_running(instance_file.FILE)
    if running is not None:
        yield running.url, ["--cacert", running.ca_file] if running.ca_file else []
        return
    command = [sys.executable, "-P", "-m", "mlctl", "emulator", "start", "--http", "--json"]
    command += ["--allow-host", _MANAGEMENT]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own
    try:
        line = server.stdout.readline() if server.stdout else ""
        if not line:
            raise Permanent("NoEmulator", "no emulator could be started; see what it says above")
        yield str(json.loads(line)["url"]), ["--header", f"Host: {_MANAGEMENT}"]
    finally:
        server.terminate()
        server.wait()
