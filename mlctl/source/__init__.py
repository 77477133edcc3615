"""Reads YAML documents: plain data, and the position of every key and value."""

from mlctl.source.decode import MAX_BYTES
from mlctl.source.document import Document, dump, dump_inert, load, plain
from mlctl.source.files import SourceFile, discover, read
from mlctl.source.gaps import OddLayout
from mlctl.source.layout import lay_out
from mlctl.source.rules import SOURCE_RULES, UNREADABLE_RULES

__all__ = [
    "MAX_BYTES",
    "SOURCE_RULES",
    "UNREADABLE_RULES",
    "Document",
    "OddLayout",
    "SourceFile",
    "discover",
    "dump",
    "dump_inert",
    "lay_out",
    "load",
    "plain",
    "read",
]
