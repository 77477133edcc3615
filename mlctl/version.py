"""The version of mlctl."""

__version__ = "0.1.0"
