"""Read YAML documents as plain data, with the position of every key and value."""

from mlctl.source.decode import MAX_BYTES
from mlctl.source.document import Document, dump, dump_inert, load, plain
from mlctl.source.files import SourceFile, discover, read

__all__ = [
    "MAX_BYTES",
    "Document",
    "SourceFile",
    "discover",
    "dump",
    "dump_inert",
    "load",
    "plain",
    "read",
]
