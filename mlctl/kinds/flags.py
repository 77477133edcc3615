"""The flags by which az-style commands give fields of a kind their values.

A flag is a pointer to a field of the schema; what it means and takes is read off the schema. The
names, short forms and groups are az's: docs-ref-autogen/latest/ml of MicrosoftDocs/azure-docs-cli.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlctl.pointer import Pointer


@dataclass(frozen=True, slots=True)
class Flag:
    """The names of a flag, the field that it gives a value, and its group in help ("": the first).

    `help` takes the place of the field's description.
    """

    names: tuple[str, ...]
    at: Pointer
    panel: str = ""
    help: str = ""

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return self.names[0].removeprefix("--").replace("-", "_")


def flag(names: str, at: str, panel: str = "", text: str = "") -> Flag:
    """The flag of names (`--type -t`) for a field (`identity.type`)."""
    return Flag(tuple(names.split()), tuple(at.split(".")), panel, text)


TAGS = flag("--tags", "tags")
DESCRIPTION = flag("--description", "description")
