"""The studio: a local web page that shows a workspace as it changes."""

from pathlib import Path

FILE = Path(".mlctl", "studio.json")  # where a running studio records its address
