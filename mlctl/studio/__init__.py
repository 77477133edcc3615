"""The studio: a local web page of a workspace, which shows what goes on in it as it happens."""

from pathlib import Path

FILE = Path(".mlctl", "studio.json")  # where a running one says where it is
