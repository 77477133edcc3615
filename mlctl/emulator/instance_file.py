"""The instance file of a running emulator: its URL, certificates, token and process id."""

from __future__ import annotations

import json
import os
import shlex
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from mlctl import files
from mlctl.catalog.retail import URL_VARIABLE
from mlctl.dataclasses import asdict, dataclass, fields
from mlctl.emulator.identity.tokens import CLOUD
from mlctl.files import make_ignored_folder
from mlctl.kinds.address import Scope

FILE = Path(".mlctl", "emulator.json")
_SOON = 2.0  # seconds to wait for a running emulator to accept a connection
_MOST_PID = 2**31
_LARGEST = 2**16  # bytes of an instance file
# App Service's protocol needs a secret; where no token is set, any will do.
_ANY_SECRET = "emulator"  # noqa: S105


@dataclass(frozen=True, slots=True)
class EmulatorInstance:
    """A running emulator: URL, CA certificate (None: plain HTTP), CA bundle, home, token, pid.

    `folder` is where its instance file is.
    """

    url: str
    ca_file: str | None
    bundle: str | None
    subscription: str
    resource_group: str
    workspace: str
    token: str | None
    pid: int
    folder: str

    @property
    def scope(self) -> Scope:
        """The workspace that exists from the start."""
        return Scope(self.subscription, self.resource_group, self.workspace)

    def write(self, file: Path) -> None:
        """Write the instance file, readable by the user only.

        Raises:
            OSError: it cannot be written.
        """
        make_ignored_folder(file.parent)
        files.write(file, json.dumps(asdict(self), indent=2).encode(), private=True)

    def remove(self, file: Path, previous: EmulatorInstance | None = None) -> None:
        """Remove the instance file, unless it is another emulator's by now.

        That of the `previous` one is restored, if that one still runs.
        """
        if _read(file) != self:
            return
        if previous is not None and previous.is_running:
            previous.write(file)
        else:
            file.unlink(missing_ok=True)

    @property
    def is_running(self) -> bool:
        """Whether its process exists, and something listens at its address."""
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            pass
        except OSError:
            return False
        address = urlsplit(self.url)
        try:
            socket.create_connection((address.hostname or "", address.port or 0), _SOON).close()
        except (OSError, UnicodeError):  # the second one: no host name
            return False
        return True


def distrust(file: Path) -> str | None:
    """Why an instance file is not believed; None where it is, or is not there.

    What it says becomes the addresses and certificates that the user's programs trust, and a
    repository can bring a file of that name. That of an emulator is a private file of the user, in
    the folder that it was written to, and names an address of this machine.
    """
    try:
        status, folder = file.lstat(), file.parent.lstat()
    except OSError:
        return None
    running = _read(file)
    reasons = {
        "it, or its folder, is a link": not (
            stat.S_ISREG(status.st_mode) and stat.S_ISDIR(folder.st_mode)
        ),
        "it, or its folder, belongs to another user": {status.st_uid, folder.st_uid}
        != {os.geteuid()},
        "others can read it, and that of an emulator is private": bool(status.st_mode & 0o077),
        "it was not written here": running is not None
        and running.folder != str(file.parent.resolve()),
    }
    if running is not None and not any(reasons.values()):
        reasons["it names an address that is not this machine's"] = not _is_here(running.url)
    return next((why for why, holds in reasons.items() if holds), None)


def _is_here(url: str) -> bool:
    """Whether a URL leads to this machine: only its own addresses can be listened on."""
    host = urlsplit(url).hostname or ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.bind((host, 0))
    except (OSError, UnicodeError):
        return False
    return True


def find_running(file: Path) -> EmulatorInstance | None:
    """The emulator of an instance file, if that is believed and it runs."""
    running = None if distrust(file) else _read(file)
    return running if running is not None and running.is_running else None


def environment_variables(
    running: EmulatorInstance, environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The environment variables that lead az, the SDK and curl to this emulator."""
    url = running.url
    yield "ARM_CLOUD_METADATA_URL", f"{url}/metadata/endpoints?api-version=2019-05-01"
    yield "AZUREML_CURRENT_CLOUD", CLOUD
    yield "REGISTRY_DISCOVERY_ENDPOINT_URL", f"{url}/"
    yield "AZURE_ML_DISABLE_ON_DISK_CACHE", "True"  # or components of an earlier emulator are there
    yield "MLFLOW_TRACKING_URI", url
    if running.token:
        yield "MLFLOW_TRACKING_TOKEN", running.token
    yield URL_VARIABLE, f"{url}/api/retail/prices"
    if running.bundle:
        yield "REQUESTS_CA_BUNDLE", running.bundle
        yield "SSL_CERT_FILE", running.bundle
        yield "CURL_CA_BUNDLE", running.bundle
    yield "IDENTITY_ENDPOINT", f"{url}/msi/token"
    yield "IDENTITY_HEADER", running.token or _ANY_SECRET
    yield "AZURE_SUBSCRIPTION_ID", running.subscription
    yield "AZURE_DEFAULTS_GROUP", running.resource_group
    yield "AZURE_DEFAULTS_WORKSPACE", running.workspace
    host = url.partition("://")[2].rpartition(":")[0].strip("[]")
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host_name for host_name in environment.get(name, "").split(",") if host_name]
        yield name, ",".join(dict.fromkeys([*hosts, host, "127.0.0.1", "localhost"]))


def export_lines(pairs: Iterator[tuple[str, str]]) -> str:
    """`export NAME=VALUE` lines for a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in pairs)


def _read(file: Path) -> EmulatorInstance | None:
    """The content of an instance file; None where it is missing or malformed."""
    try:
        instance = EmulatorInstance(**json.loads(files.read(file, _LARGEST)))
        return instance if _is_sound(instance) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _is_sound(instance: EmulatorInstance) -> bool:
    """Whether every value is of its type, and the URL one with a port."""
    texts = [getattr(instance, slot.name) for slot in fields(instance) if slot.type == "str"]
    optional = (instance.ca_file, instance.bundle, instance.token)
    texts += [text for text in optional if text is not None]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        return False
    if type(instance.pid) is not int or not 0 < instance.pid < _MOST_PID:
        return False
    address = urlsplit(instance.url)
    return address.scheme in ("http", "https") and bool(address.hostname and address.port)
