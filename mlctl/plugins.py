"""Plug-ins of other packages: their entry points, found and loaded in one place.

Only what is installed for this interpreter counts, and not what lies in the folder at hand or on
`PYTHONPATH`: a checkout may hold the metadata of a package, too.
Nothing is looked for until a name is asked for: to search all installed packages takes time.
"""

from __future__ import annotations

import site
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BACKENDS, RULES, POLICIES = "mlctl.backends", "mlctl.rules", "mlctl.policies"


class BrokenPlugin(Exception):
    """A plug-in cannot be used. The message is a sentence that names it and its package."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded entry point; `package` is the name and version of its package."""

    name: str
    package: str
    value: Any

    def broken(self, why: str) -> BrokenPlugin:
        """Return the error that it cannot be used."""
        return BrokenPlugin(_sentence(self.name, self.package, why))

    def failed(self, error: Exception) -> BrokenPlugin:
        """Return the error that it raised an unexpected exception."""
        return self.broken(f"has a bug: {describe(error)}")


def names(group: str) -> list[str]:
    """Return the names of the plug-ins in a group."""
    return sorted({entry_point.name for entry_point in _installed(group)})


def load(group: str, name: str) -> Plugin | None:
    """Load the plug-in of this name in a group; None if none is installed.

    Raises:
        BrokenPlugin: it cannot be imported.
    """
    entry_point = next((entry for entry in _installed(group) if entry.name == name), None)
    if entry_point is None:
        return None
    package = (
        f"{entry_point.dist.name} {entry_point.dist.version}"
        if entry_point.dist
        else entry_point.value
    )
    try:
        return Plugin(name, package, entry_point.load())
    except Exception as error:
        why = f"cannot be imported: {describe(error)}"
        raise BrokenPlugin(_sentence(name, package, why)) from error


def _installed(group: str) -> Iterator[EntryPoint]:
    """Return a group's entry points in the site-packages of this interpreter and this user."""
    from importlib.metadata import distributions  # noqa: PLC0415 - brings `email` and `zipfile`

    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    for distribution in distributions(path=folders):
        yield from distribution.entry_points.select(group=group)


def describe(error: Exception) -> str:
    """Describe an error of foreign code in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _sentence(name: str, package: str, why: str) -> str:
    return f"the plug-in `{name}` of the package {package} {why}"
