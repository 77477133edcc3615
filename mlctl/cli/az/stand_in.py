"""The executable `az` of `mlctl az-shim`, which runs `az ml` commands with mlctl.

`az ml` verbs that mlctl has go to mlctl. On the local backend, nothing else reaches Azure: the
commands by which scripts choose a subscription and a group are answered here, the rest is refused.
On the azure backend, and with `--pass-through`, the rest goes to the real az.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast, get_args

from mlctl import catalog
from mlctl.cli.app import VERBS, build
from mlctl.cli.az.compatibility import compatibility
from mlctl.cli.shell import Exit, Session, UsageError
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.output import OutputFormat, output_format, print_data
from mlctl.kinds import DOCUMENTS
from mlctl.pointer import Data
from mlctl.schema.text import nearest
from mlctl.service_errors import Permanent
from mlctl.version import __version__

if TYPE_CHECKING:
    from mlctl.backends.local.backend import LocalBackend


MARK = "mlctl az-shim"  # how the file `az` identifies itself in its first lines
CURL = "--curl"  # not a command of az: the following arguments are for the curl of the shim
PASS_THROUGH = "MLCTL_AZ_PASS_THROUGH"  # noqa: S105  # the name of a variable
_OF_SIMULATION = frozenset(
    f"workspace {verb}" for verb in ("create", "update", "delete", "provision-network")
)
_NOT_FOUND = 127
_HEAD = 300  # bytes of a file that are searched for the mark
_HELP = frozenset({"-h", "--help"})


def run(args: Sequence[str], mlctl: Callable[[Sequence[str]], int]) -> int:
    """Run the arguments of `az`; `mlctl` runs a command line of mlctl's own."""
    first, arguments = (args[0] if args else ""), list(args[1:])
    if first == "ml" and _is_ours(arguments) and not _is_for_azure(arguments):
        reads_one_value = (
            any(word.startswith("--query") for word in arguments) and not sys.stderr.isatty()
        )
        return mlctl([*arguments, *["--only-show-errors"] * reads_one_value])
    if first == CURL:
        return run_curl(Session(GlobalArgs()), arguments)
    session = Session(GlobalArgs())
    local = session.backend_name == "local"
    if first == "configure" and not (local and _LISTS_DEFAULTS & {*arguments}):
        return mlctl(args)
    if not local or session.environment.get(PASS_THROUGH):
        return _real(session, args)
    if first == "ml":
        raise UsageError(_lacking(arguments))
    if " ".join(args[:2]) in ("config set", "config unset"):
        return mlctl(["configure", "--defaults", *_configured(arguments[1:])])
    answer = next(filter(None, (_ANSWERS.get(" ".join(args[:n])) for n in (3, 2, 1))), None)
    if answer is None:
        raise UsageError(_refused(" ".join(word for word in args[:2] if not word.startswith("-"))))
    return _print(session, answer(session, _flags(args)), _flags(args), args[:2])


def _configured(args: Sequence[str]) -> list[str]:
    """Return what `az config set` and `unset` change, as `az configure --defaults` has it."""
    changed = [word.partition("=") for word in args if not word.startswith("-")]
    return [f"{name.removeprefix('defaults.')}={value}" for name, _, value in changed]


def _is_ours(args: Sequence[str]) -> bool:
    """Whether mlctl has the verb, or the line only asks for help."""
    group = args[0] if args else ""
    groups = {kind.name for kind in DOCUMENTS.values() if kind.az.present}
    groups |= {"workspace", "registry"}
    if group not in groups:
        return not args or group in _HELP
    verb = next((word for word in args[1:] if not word.startswith("-")), None)
    if verb is None:
        return True
    return verb in build(group).children[group].children


def _is_for_azure(args: Sequence[str]) -> bool:
    """Whether only the simulated cloud answers the line here, and the backend is another."""
    return " ".join(args[:2]) in _OF_SIMULATION and Session(GlobalArgs()).backend_name != "local"


def _lacking(args: Sequence[str]) -> str:
    name = " ".join(word for word in args[:2] if not word.startswith("-"))
    group = name.partition(" ")[0]
    why = compatibility().absent.get(name) or compatibility().absent.get(group)
    if why is None:
        verbs = build(group).children[group].children if group in VERBS else {}
        near = nearest(name.removeprefix(f"{group} "), verbs)
        command = (near and f"{group} {near}") or nearest(group, VERBS)
        why = "mlctl has no such command" + (f"; it has `{command}`" if command else "")
    return (
        f"az ml {name}: {why}. It is not given to the real az, as the backend is local and that"
        " would work on Azure; `mlctl az-shim --pass-through` allows it."
    )


def _refused(name: str) -> str:
    return (
        f"az {name}: the local cloud of mlctl stands for `az ml` only. It is not given to the real"
        " az, as that would work on Azure; `mlctl az-shim --pass-through` allows it."
    )


def _real(session: Session, args: Sequence[str]) -> int:
    """Become the real az, the first on the path that is not ours."""
    for folder in session.environment.get("PATH", os.defpath).split(os.pathsep):
        program = shutil.which("az", path=folder or ".")
        if program and not is_shim(Path(program)):
            _become(program, args)
    session.say(f"az {args[0] if args else ''}: the only az on the path is that of mlctl.")
    return _NOT_FOUND


def _become(program: str, args: Sequence[str]) -> NoReturn:
    os.execv(program, [program, *args])  # noqa: S606  # it is what the user asked for


def is_shim(path: Path) -> bool:
    """Whether a program is one that `mlctl az-shim` has written."""
    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(_HEAD)
    except OSError:
        return False


def _flags(args: Sequence[str]) -> dict[str, str]:
    """Return the flags of a line and the value after each; `_WORD` has what follows no flag."""
    flags: dict[str, str] = {}
    for index, argument in enumerate(args):
        if argument.startswith("-"):
            name, equals, value = argument.partition("=")
            following = args[index + 1] if index + 1 < len(args) else ""
            flags[name] = value if equals else following
    words = [word for word in args[2:] if not word.startswith("-") and word not in flags.values()]
    return {**flags, _WORD: words[0] if words else ""}


def _print(session: Session, data: Data, flags: Mapping[str, str], verb: Sequence[str]) -> int:
    text = flags.get("--output") or flags.get("-o") or "json"
    output = output_format(text)
    if output is None:
        choices = ", ".join(get_args(OutputFormat))
        raise UsageError(f"argument --output/-o: '{text}' is none of {choices}.")
    if data is not None:
        is_token = [*verb] == ["account", "get-access-token"]
        print_data(session, data, output, flags.get("--query"), secret=is_token)
    return Exit.OK


def _account(session: Session, _flags: Mapping[str, str]) -> Data:
    return {**_FIXED["account"], "id": session.scope.subscription}


def _token(session: Session, flags: Mapping[str, str]) -> Data:
    """Return a token that the emulator of this folder accepts."""
    from mlctl.emulator import instance_file

    running = instance_file.find_running(instance_file.FILE)
    expires = datetime.now(UTC) + _TOKEN_LIFE
    emulator = (
        f"the emulator at {running.url}"
        if running
        else "an emulator (the curl of the shim has one for each call; to have one that stays:"
        " mlctl emulator start)"
    )
    session.note(f"a token for {emulator}; Azure itself accepts none of mlctl's")
    return {
        "accessToken": running.token if running and running.token else "emulator",
        "expiresOn": expires.strftime("%Y-%m-%d %H:%M:%S.%f"),
        "expires_on": int(expires.timestamp()),
        "subscription": flags.get("--subscription") or session.scope.subscription,
        "tenant": _NOBODY,
        "tokenType": "Bearer",
    }


def _provider(_session: Session, flags: Mapping[str, str]) -> Data:
    name = flags.get("--namespace") or flags.get("-n") or "Microsoft.MachineLearningServices"
    return {**_FIXED["provider"], "namespace": name}


def _defaults(session: Session, _flags: Mapping[str, str]) -> list[dict[str, Data]]:
    scope = session.scope
    defaults = {"group": scope.resource_group, "workspace": scope.workspace}
    return [{"name": name, "source": "mlctl", "value": text} for name, text in defaults.items()]


def _config(session: Session, flags: Mapping[str, str]) -> Data:
    rows = _defaults(session, flags)
    section, _, key = flags[_WORD].partition(".")
    if not section:
        return {"defaults": rows}
    of_section = rows if section == "defaults" else []
    if not key:
        return of_section
    for row in of_section:
        if row["name"] == key:
            return row
    raise UsageError(f"Configuration '{flags[_WORD]}' is not set.")


def _group(session: Session, flags: Mapping[str, str]) -> Data:
    scope = session.scope
    name = next((flags[flag] for flag in _GROUP_FLAGS if flags.get(flag)), scope.resource_group)
    place = flags.get("--location") or flags.get("-l") or "eastus"
    whole_id = f"/subscriptions/{scope.subscription}/resourceGroups/{name}"
    return {**_FIXED["group"], "id": whole_id, "location": place, "name": name}


def _group_delete(session: Session, flags: Mapping[str, str]) -> Data:
    """Delete the workspaces of a group, at once."""
    group = str(_group(session, flags)["name"])
    if not {"--yes", "-y"} & flags.keys() and not session.confirmed(f"Delete group {group}?"):
        raise UsageError(f"the group {group} stays: pass --yes when there is no terminal.")
    with session.backend() as backend:
        cast("LocalBackend", backend).delete_group(group)


def _nothing(session: Session, _flags: Mapping[str, str]) -> Data:
    session.note("the local cloud of mlctl needs none of this; nothing was done")


def _extension(_session: Session, flags: Mapping[str, str]) -> Data:
    name = flags.get("--name") or flags.get("-n") or flags[_WORD]
    if name != "ml":
        raise UsageError(f"The extension {name} is not installed.")
    return _FIXED["extension"]


_Answer: TypeAlias = Callable[[Session, Mapping[str, str]], Data]


def _fixed(answer: Data) -> _Answer:
    return lambda _session, _flags: answer


def _listed(answer: _Answer) -> _Answer:
    return lambda session, flags: [answer(session, flags)]


# What answers have of fixed fields, in az's order; the version of the extension is its major one.
_FIXED: Mapping[str, dict[str, Data]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
_AZ_VERSION = "2.91.0"  # of November 2026
_VERSIONS: Data = {
    "azure-cli": _AZ_VERSION,
    "azure-cli-core": _AZ_VERSION,
    "extensions": {"ml": _FIXED["extension"]["version"], "mlctl": __version__},
}
_WORD = ""  # among the flags: what follows no flag
_TOKEN_LIFE = timedelta(hours=1)
_NOBODY = "00000000-0000-0000-0000-000000000000"
_LISTS_DEFAULTS = {"-l", "--list-defaults"}
_GROUP_FLAGS = ("--name", "-n", "--resource-group", "-g")
_NEEDLESS = (
    "account set",
    "cloud set",
    "feature register",
    "logout",
    "provider register",
    "upgrade",
    *(f"extension {verb}" for verb in ("add", "remove", "update")),
    "role assignment create",
    "role assignment delete",
)
_ANSWERS: Mapping[str, _Answer] = {
    **dict.fromkeys(_NEEDLESS, _nothing),
    "account show": _account,
    "account list": _listed(_account),
    "account list-locations": lambda _session, _flags: [
        {"name": name, "displayName": name} for name in sorted(catalog.regions())
    ],
    "account get-access-token": _token,
    "ad signed-in-user show": _fixed(_FIXED["user"]),
    "config get": _config,
    "configure": _defaults,
    "cloud show": _fixed(_FIXED["cloud"]),
    "provider list": _listed(_provider),
    "provider show": _provider,
    "group list": _listed(_group),
    "group show": _group,
    "group create": _group,
    "group delete": _group_delete,
    "group exists": _fixed(True),
    "extension list": _fixed([_FIXED["extension"]]),
    "extension list-available": _fixed([_FIXED["extension"]]),
    "extension show": _extension,
    "version": _fixed(_VERSIONS),
    "--version": _fixed(_VERSIONS),
    "login": _listed(_account),
}


REAL = "MLCTL_CURL"  # names the real curl, which `az-shim` has found
_MANAGEMENT = "management.azure.com"
# Hosts of Azure, and the emulator's path for each.
_HOSTS = (
    (r"(?P<name>[\w-]+)\.[\w-]+\.inference\.ml\.azure\.com", r"/inference/\g<name>"),
    (r"management\.azure\.com", ""),
    (r"[\w-]+\.api\.azureml\.ms", ""),
    (r"login\.microsoftonline\.com", ""),
)


def run_curl(session: Session, args: Sequence[str]) -> int:
    """Run curl with these arguments; return its exit code."""
    program = session.environment.get(REAL, "curl")
    is_azures = any(redirect(argument, "") != argument for argument in args)
    if session.backend_name != "local" or not is_azures:
        os.execvp(program, [program, *args])  # noqa: S606  # it is what the user asked for
    with _emulator() as (url, options):
        urls = [redirect(argument, url) for argument in args]
        line = [program, *urls, "--noproxy", "*", *options]
        return subprocess.run(line, check=False).returncode  # noqa: S603


def redirect(argument: str, url: str) -> str:
    """Replace an Azure URL in an argument by the emulator's."""
    for host, place in _HOSTS:
        at = rf"^(?P<flag>(?:--url=)?)https?://{host}(?::443)?(?=[/?]|$)"
        changed = re.sub(at, rf"\g<flag>{url}{place}", argument)
        if changed != argument:
            return changed
    return argument


@contextmanager
def _emulator() -> Iterator[tuple[str, list[str]]]:
    """Return the URL of a running emulator, or one for this call, and options of curl.

    An emulator for one call has no lasting port: its answers contain links to the host of Azure,
    which the next call sends to the next emulator.
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
            raise Permanent("NoEmulator", "no emulator could be started; see its message above")
        yield str(json.loads(line)["url"]), ["--header", f"Host: {_MANAGEMENT}"]
    finally:
        server.terminate()
        server.wait()
