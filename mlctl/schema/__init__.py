"""The schemas of the kinds, and what is wrong with a document by them; alone uses `jsonschema`."""

from mlctl.schema.check import check
from mlctl.schema.fields import forms
from mlctl.schema.files import load, names, resolved, texts
from mlctl.schema.rules import SCHEMA_RULES
from mlctl.schema.violation import Schema

__all__ = ["SCHEMA_RULES", "Schema", "check", "forms", "load", "names", "resolved", "texts"]
