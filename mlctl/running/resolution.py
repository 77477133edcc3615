"""What a package index has for an environment, resolved by uv or pip.

Nothing is installed, and no code of a package or of the folder at hand is run: what is asked for
are wheels, by names and versions alone, in an empty folder. What is published as source alone is
taken as given, as an image build compiles it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from mlctl.config.rules.environments import PackageLine
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Diagnostic, Severity
from mlctl.running.environments import as_pip
from mlctl.running.model import RunError
from mlctl.running.rules import UNRESOLVED

_UV = "pip compile -q --no-header --no-annotate --only-binary :all: --python-platform"
_PIP = "install --dry-run --ignore-installed -q --report - --only-binary=:all:"
_PLATFORMS = ("_2_28", "_2_27", "_2_26", "_2_24", "_2_17", "2014")  # of a glibc, as uv has it
_LONGEST = 300  # characters of a resolver's sentence
_MOST = 40  # packages of sources alone
_SECONDS = 600
_HINT = "name other versions, or another Python"
_ANY = "3.11"  # a Python for which what has wheels at all has some
_NO_INDEX = re.compile(
    r"(?i)failed to fetch|error sending request|NewConnectionError|ConnectTimeout"
)
_NO_WHEEL = re.compile(
    r"(?:all versions of )?([A-Za-z0-9][\w.-]*)(?:[=<>,!\w.]*)? ha(?:s|ve) no usable wheels"
)
_SENTENCE = re.compile(
    r"(?:Because|ERROR: (?:Cannot|Could)|error: ).*?"
    r"(?=,? we can conclude that your requirements| ERROR: | hint: | \(from |$)"
)
# What is no path, no address, and no option that lets a resolver build something.
_NAMED = re.compile(r"[A-Za-z0-9][\w.-]* *(?:\[[\w., -]*\])? *(?:[(=<>!~;,](?:(?! -|[/@]).)*)?")
_OPTION = re.compile(
    r"--no-index|--pre|(-i|--index-url|--extra-index-url|-f|--find-links|--trusted-host)[ =]+(\S+)"
)


@dataclass(frozen=True, slots=True)
class Resolver:
    """A resolver for one Python on Linux, x86-64; options of pip are passed on."""

    python: str
    options: tuple[str, ...] = ()
    left_out: set[str] = field(default_factory=set)

    def resolve(self, packages: Iterable[str]) -> tuple[Mapping[str, str], str]:
        """Return the version of each package, or the resolver's reason for failing.

        Raises:
            RunError: there is no resolver, or no index.
        """
        uv = shutil.which("uv")
        with tempfile.TemporaryDirectory() as scratch:
            listing, overrides = Path(scratch, "listing.txt"), Path(scratch, "overrides.txt")
            listing.write_text("\n".join((*self.options, *(packages if uv else ()))), "utf-8")
            lines = (f"{name}; sys_platform == 'nowhere'" for name in sorted(self.left_out))
            overrides.write_text("\n".join(lines), "utf-8")
            if uv:
                words = [uv, *_UV.split(), "x86_64-unknown-linux-gnu", str(listing)]
                words += ["--python-version", self.python, "--overrides", str(overrides)]
            else:  # packages as arguments, as pip calls others by the line of a file
                words = [*_pip(), *_PIP.split(), "-r", str(listing)]
                words += [f"--platform=manylinux{glibc}_x86_64" for glibc in _PLATFORMS]
                words += ["--python-version", self.python, "--target", scratch, *packages]
            try:
                process = subprocess.run(  # noqa: S603 - uv or pip
                    words,
                    cwd=scratch,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=_SECONDS,
                    env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"},
                )
            except subprocess.TimeoutExpired:
                raise RunError(f"the resolver was not done after {_SECONDS} s") from None
        answer = " ".join(process.stderr.decode(errors="replace").split())
        if process.returncode and _NO_INDEX.search(answer):
            raise RunError(f"the package index does not answer: {short(answer)}")
        return ({}, answer) if process.returncode else (_versions(process.stdout.decode()), "")


def _pip() -> list[str]:
    program = shutil.which("pip")
    if program is None and not find_spec("pip"):
        raise RunError("there is no resolver here: install uv, or pip")
    return [sys.executable, "-P", "-m", "pip"] if find_spec("pip") else [str(program)]


def _versions(out: str) -> Mapping[str, str]:
    """Return the versions that uv lists, or those of pip's report."""
    if out.lstrip().startswith("{"):
        installed = (entry["metadata"] for entry in json.loads(out)["install"])
        return {_name(data["name"]): data["version"] for data in installed}
    return {_name(line): line.partition("==")[2].split(" ")[0] for line in out.splitlines()}


def short(answer: str) -> str:
    """Return the sentence of a resolver's output that says what is wrong, on one line."""
    start = max(answer.find("Because "), 0)
    match = _SENTENCE.search(answer, start)
    text = re.sub(r"^(?:ERROR|error): |`", "", match[0] if match else answer).strip(" .")
    return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition(" ")[0] + "..."


def failures(
    lines: Sequence[PackageLine], python: str, folder: Path, notes: list[str]
) -> Iterator[Diagnostic]:
    """Find the packages of an environment that an index lacks; note which are not checked.

    conda's packages are asked for by their names on the index. It may lack what conda has: what
    resolves without them is a warning.
    """
    line_of, options = _read(lines, folder, notes)
    packages = [*line_of]
    resolver = Resolver(python, tuple(options))
    versions, answer = _settled(resolver, packages)
    of_pip = [text for text in packages if not line_of[text].of_conda]
    severity = Severity.ERROR
    if answer and len(of_pip) < len(packages):
        _, of_pip_answer = _settled(resolver, of_pip) if of_pip else ({}, "")
        severity = Severity.ERROR if of_pip_answer else Severity.WARNING
        packages, answer = (of_pip, of_pip_answer) if of_pip_answer else (packages, answer)
    problems: list[tuple[str, list[str]]] = []
    while answer:
        suspects = _suspects(answer, packages)
        problems.append((answer, suspects))
        relaxed = [_unbound(text) if text in suspects else text for text in packages]
        if relaxed == packages:
            break
        line_of |= {_unbound(text): line_of[text] for text in suspects}
        packages = relaxed
        versions, answer = _settled(resolver, packages)
    if resolver.left_out:
        names = ", ".join(sorted(resolver.left_out))
        notes.append(f"{names}: published as source alone, which the image build compiles")
    for problem, suspects in problems:
        culprits = [line_of[text] for text in suspects] or [*line_of.values()][:1]
        solved = [text for text in suspects if _name(text) in versions]
        resolving = [f"`{_unbound(text)}=={versions[_name(text)]}`" for text in solved]
        is_none = "(from versions: none)" in problem  # to pip, or published as source alone
        message = f"for Python {python} on Linux: {short(problem)}"
        hint = f"what resolves: {', '.join(dict.fromkeys(resolving))}" if resolving else _HINT
        related = tuple(replace(line.label, text="named too") for line in culprits[1:])
        severity_ = Severity.WARNING if is_none else severity
        yield Diagnostic(UNRESOLVED, message, culprits[0].label, hint, related, severity=severity_)


def _read(
    lines: Sequence[PackageLine], folder: Path, notes: list[str]
) -> tuple[dict[str, PackageLine], list[str]]:
    """Return the lines of packages by pip's text, and pip's options; note what is not checked."""
    line_of: dict[str, PackageLine] = {}
    options: list[str] = []
    for line in lines:
        text = as_pip(line.text) if line.of_conda else line.text.partition(" #")[0].strip()
        option = _option(text, folder) if text else None
        if option is not None:
            options.append(option)
        elif text and _NAMED.fullmatch(text) and text.isprintable():
            line_of[text] = line
        elif text != "":
            notes.append(f"`{line.text}` is not on the package index, and left out")
    return line_of, options


def _suspects(answer: str, packages: Iterable[str]) -> list[str]:
    """Return the packages that an objection names."""
    words = {_name(word) for word in re.findall(r"[A-Za-z0-9][^\s`',;]*", answer)}
    return [text for text in packages if _name(text) in words]


def _settled(resolver: Resolver, packages: Sequence[str]) -> tuple[Mapping[str, str], str]:
    """Return the versions of packages, or the resolver's objection.

    What no Python has wheels of is left out from then on.
    """
    for _ in range(_MOST):
        versions, answer = resolver.resolve(packages)
        new = {_name(name) for name in _NO_WHEEL.findall(answer)} - resolver.left_out
        sources = {name for name in new if _is_source(resolver, name)}
        resolver.left_out.update(sources)
        if not sources:
            break
    return versions, answer


def _is_source(resolver: Resolver, name: str) -> bool:
    """Whether an index has sources of a package, and never a wheel."""
    alone = (replace(resolver, python=python, left_out=set()) for python in (resolver.python, _ANY))
    return all("no usable wheels" in by_python.resolve([name])[1] for by_python in alone)


def _option(text: str, folder: Path) -> str | None:
    """Return an option that names wheels, with the absolute path of a folder."""
    match = _OPTION.fullmatch(text) if text.isprintable() else None
    if match is None or match[1] is None:
        return match and match[0]
    is_folder = match[1] in ("-f", "--find-links") and "://" not in match[2]
    return f"{match[1]} {(folder / match[2]).absolute() if is_folder else match[2]}"


def _name(text: str) -> str:
    """Return the package that a text begins with, spelt as in the index."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[=<>!~;@ ]", text, maxsplit=1)[0]).casefold()


def _unbound(text: str) -> str:
    """Return a package without its versions, extras kept."""
    return re.split(r"[=<>!~;@ ]", text, maxsplit=1)[0]
