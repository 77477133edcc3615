"""`mlctl init`: a new project from a sample."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlctl import files, schema, source
from mlctl.cli.files.fmt import canonical
from mlctl.cli.shell import Exit, Session, UsageError, argument, flag, streams
from mlctl.diagnostics import Report
from mlctl.schema.text import nearest
from mlctl.source.files import PROJECT_FILE

_OVERLAY = "env/prod.yml"
_MOST = 1 << 20  # bytes of a file of a template
_LEFT = ("README.md",)  # of samples: it describes their place


_PROJECT = """\
# Settings for all files in this folder.
project: {project}
backend: local # a simulated workspace; azure also needs subscription and resource_group
variables:
  stage: dev # part of cluster and endpoint names, which must be unique in a region
{elsewhere}environments: # --env dev, --env prod
  dev:
    workspace: ml-dev
  prod:
    workspace: ml-prod
    variables: {{stage: prod{there}}}
    overlays: [{overlay}]
    protect: [{protected}]
"""
_PROD = """\
# Differences in production.
{address}:
  {said}
"""


def init(
    session: Session,
    template: str | None = argument(default=None, metavar="TEMPLATE"),
    to: Path = flag(default=Path(), metavar="DIR"),
    project: str | None = flag(metavar="NAME"),
) -> Exit:
    """Create a project from a template: resource files, and mlctl.yml with dev and prod."""
    chosen = _template(template)
    name = _project(project, to)
    texts = {to / path: content for path, content in _contents(chosen, name).items()}
    existing = next((path for path in texts if path.exists() or path.is_symlink()), None)
    if existing is not None:
        raise UsageError(f"{existing} already exists: choose another folder with --to")
    for path, content in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, content)
        except OSError as error:
            session.say(f"ERROR: cannot write {path}: {error.strerror or error}")
            return Exit.ERROR
    session.out("\n".join(map(str, texts)))
    enter = "" if to == Path() else f"cd {shlex.quote(str(to))} && "
    session.note(f"{len(texts)} files written. Next: {enter}mlctl plan . --env dev")
    return Exit.OK


def _templates() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _template(choice: str | None) -> str:
    """Return the name of the template, asking on a terminal if it is absent."""
    templates = _templates()
    names = list(templates)
    if choice is None and sys.stdin.isatty():
        for number, (name, template) in enumerate(templates.items(), 1):
            streams.say(f"{number}. {name}: {template['title']}")
        choice = _ask(f"Template (1-{len(names)}) [1]: ") or "1"
        if choice.isdecimal() and 1 <= int(choice) <= len(names):
            return names[int(choice) - 1]
    if choice is None:
        raise UsageError(
            f"name a template, for example: mlctl init {names[0]} (or {', '.join(names[1:])})"
        )
    if choice in templates:
        return choice
    near = nearest(choice, names)
    suggestion = f"did you mean `{near}`?" if near else f"choose one of {', '.join(names)}"
    raise UsageError(f"unknown template `{choice}`: {suggestion}")


def _project(given: str | None, to: Path) -> str:
    """Return the name of the project, asking on a terminal if it is absent."""
    pattern = schema.load("project")["properties"]["project"]["pattern"]
    folder = re.sub(r"[^A-Za-z0-9._-]+", "-", to.resolve().name).strip("._-")[:63]
    default = folder if re.search(pattern, folder) else "ml"
    name = given
    if name is None and sys.stdin.isatty():
        name = _ask(f"Project [{default}]: ")
    name = name or default
    if not re.search(pattern, name):
        raise UsageError(
            f"`{name}` cannot name a project: letters, digits, `.`, `_` and `-`, at most 63"
        )
    return name


def _ask(prompt: str) -> str:
    streams.ask(prompt)
    return sys.stdin.readline().strip()


def _contents(template: str, project: str) -> dict[Path, bytes]:
    """Return the files of a project by path, formatted as `mlctl fmt` does."""
    package = Path(__file__).parents[2] / "samples"
    folder = (package if package.is_dir() else Path(__file__).parents[3] / "samples") / template
    contents = {
        file.relative_to(folder): files.read(file, _MOST)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in _LEFT and file.parent.name != "__pycache__"
    }
    chosen = _templates()[template]
    contents |= {
        path: _fill(content, chosen) for path, content in contents.items() if path.suffix == ".yml"
    }
    values = chosen.get("variables", {}).items()
    contents[Path(PROJECT_FILE)] = _PROJECT.format(
        project=project,
        overlay=_OVERLAY,
        protected=chosen["protected"],
        elsewhere="".join(f"  {name}: {value}\n" for name, (value, _) in values),
        there="".join(f", {name}: {value}" for name, (_, value) in values),
    ).encode()
    address, bigger = chosen["bigger"]
    contents[Path(_OVERLAY)] = _PROD.format(address=address, said=bigger).encode()
    return {path: _format(path, content) for path, content in contents.items()}


def _fill(content: bytes, template: Mapping[str, Any]) -> bytes:
    """Add the stage to unique names of a document, and insert the variables."""
    names = "|".join(map(re.escape, template["unique"]))
    text = re.sub(rf"(?<![\w-])({names})(?![\w-])", r"\1-${{ var.stage }}", content.decode())
    for name in template.get("variables", ()):
        text = re.sub(rf"(?m)^( +{name}:) \d+$", rf"\1 ${{{{ var.{name} }}}}", text)
    return text.encode()


def _format(path: Path, content: bytes) -> bytes:
    if path.suffix != ".yml":
        return content
    text = canonical(str(path), source.load(str(path), content, Report()))
    return content if text is None else text.encode()


COMMANDS = {"init": init}
