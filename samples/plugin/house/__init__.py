"""A plug-in of mlctl: rules, policies and a backend."""

from pathlib import Path

POLICIES = Path(__file__).with_name("policies.yml")
