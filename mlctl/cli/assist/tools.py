"""The tools of `mlctl mcp`: what an agent may ask of mlctl. Each reads, and none writes.

A tool is a command of mlctl in a process of its own, so that one that takes too long can be ended.
"""

from __future__ import annotations

import subprocess
import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

from mlctl.version import __version__

_INSTRUCTIONS = (
    "mlctl validates, plans and forecasts the YAML of Azure Machine Learning. These tools only"
    " read. To change a workspace, show the plan to a person and let them run `mlctl apply`."
)
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
_SECONDS = 300
_MOST = 200_000  # characters of an answer


def server() -> MCPServer:
    """A server with the tools validate, plan, explain, simulate and drift."""
    serving = MCPServer("mlctl", version=__version__, instructions=_INSTRUCTIONS)
    for tool in (validate, plan, explain, simulate, drift):
        serving.tool(annotations=_READS)(tool)
    return serving


def validate(paths: list[str], env: str = "") -> str:
    """Check YAML files or folders offline: findings as JSON, each with file, line, column, hint."""
    return _mlctl("validate", paths, "-o", "json", *_env(env))


def plan(paths: list[str], env: str = "", backend: str = "") -> str:
    """What `apply` would change, as JSON. The backend is the project's; `local` simulates one."""
    return _mlctl("plan", paths, "-o", "json", *_env(env), *_backend(backend))


def explain(what: str) -> str:
    """Explain a rule (MLC405), a kind (compute), a field (compute.tier) or an error of Azure."""
    return _mlctl("explain", [what])


def simulate(paths: list[str], files: int, seconds_per_file: float, env: str = "") -> str:
    """Forecast a batch job on low-priority nodes as JSON: its time, cost and chances."""
    work = ["--files", str(files), "--seconds-per-file", str(seconds_per_file)]
    return _mlctl("simulate", paths, *work, "-o", "json", *_env(env))


def drift(paths: list[str], env: str = "", backend: str = "") -> str:
    """What differs between files and the workspace, as JSON."""
    return _mlctl("drift", paths, "-o", "json", *_env(env), *_backend(backend))


def _env(name: str) -> list[str]:
    return [f"--env={name}"] if name else []


def _backend(name: str) -> list[str]:
    return [f"--backend={name}"] if name else []


def _mlctl(verb: str, positional: list[str], *flags: str) -> str:
    """What a command prints; its errors where it prints nothing."""
    if any(word.startswith("-") for word in positional):
        return "a path or word does not begin with `-`"
    words = [sys.executable, "-P", "-m", "mlctl", verb, *positional, *flags, "--only-show-errors"]
    try:
        process = subprocess.run(  # noqa: S603 - mlctl itself
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"mlctl {verb} took longer than {_SECONDS} s"
    return (process.stdout or process.stderr)[:_MOST]
