"""The rules that the schemas check (MLC1xx)."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

_FACTS = "learn.microsoft.com/azure/machine-learning/reference-yaml-overview"

UNKNOWN_FIELD = Rule(
    "MLC101",
    "unknown-field",
    Severity.ERROR,
    "a field that the kind does not have",
    "Azure ML refuses fields that it does not know, at every level. A typo must never be ignored:"
    " the value that you meant to set would silently stay at its default.",
    "Correct the spelling, move the field to where it belongs, or remove it. `mlctl explain KIND`"
    " lists the fields.",
    _FACTS,
)
MISSING_FIELD = Rule(
    "MLC102",
    "missing-field",
    Severity.ERROR,
    "a field that the kind needs is missing",
    "Without it the resource cannot be made.",
    "Add the field. `az ml` may have taken it from `--name`, `--endpoint-name` or `--set`: give"
    " the same to mlctl, or write it in the file.",
    _FACTS,
)
WRONG_TYPE = Rule(
    "MLC103",
    "wrong-type",
    Severity.ERROR,
    "a value of the wrong type",
    "YAML decides from the spelling whether a value is text, a number or a boolean: `yes` is"
    ' true, `12:30` is 750, `1.10` is 1.1, and `"3"` is text.',
    "Quote what is text; take the quotes off what is a number.",
    _FACTS,
)
VALUE_NOT_ALLOWED = Rule(
    "MLC104",
    "value-not-allowed",
    Severity.ERROR,
    "a value that the field does not take",
    "The field takes a few words only, in any letter case.",
    "Write one of the words that the hint lists. What REST or the Python SDK call it may differ:"
    " YAML has `low_priority` where REST has `LowPriority`.",
    _FACTS,
)
OUT_OF_BOUNDS = Rule(
    "MLC105",
    "out-of-bounds",
    Severity.ERROR,
    "a number below or above what the field takes, or too many entries",
    "The service refuses it, or does something else than it says.",
    "Choose a number within the bounds.",
    _FACTS,
)
BAD_NAME = Rule(
    "MLC106",
    "bad-name",
    Severity.ERROR,
    "a name that the service refuses",
    "Names have a length and an alphabet, and each kind its own. A compute's name has 3 to 24"
    " characters by its documentation; the service has been seen to take up to 32.",
    "Rename the resource before it exists: a name cannot be changed later. Where you know better,"
    " waive the rule with `--ignore MLC106`, `# mlctl:ignore=MLC106` or `ignore:` in `mlctl.yml`.",
    "learn.microsoft.com/azure/machine-learning/how-to-create-attach-compute-cluster and"
    " how-to-manage-quotas",
)
BAD_REFERENCE = Rule(
    "MLC107",
    "bad-reference",
    Severity.ERROR,
    "a value that should name another resource, and does not",
    "Resources name each other as `azureml:NAME:VERSION`, `azureml:NAME@latest`, by ARM id, or by"
    " the URI of a registry. Paths and bare names are something else.",
    "Write the reference in one of the forms that the hint lists, or the asset itself, inline.",
    "azure-ai-ml 1.35.2, fields ArmStr, ArmVersionedStr and RegistryStr",
)
EMPTY_VALUE = Rule(
    "MLC108",
    "empty-value",
    Severity.ERROR,
    "a field without a value",
    "A key with nothing after it is null, and the service refuses null and empty text:"
    " `Tags.Values must not be null or empty`.",
    "Give the field a value, or remove its key.",
    _FACTS,
)
WRONG_FORM = Rule(
    "MLC109",
    "wrong-form",
    Severity.ERROR,
    "a field that stands at another place, or needs another `type`",
    "A batch deployment has three forms: `type: model` with its settings under `settings`, `type:"
    " pipeline` with a component, and the older one without a `type` and with all settings at the"
    " top level. They do not mix.",
    "Move the field to where the hint says, or set the `type` that has it.",
    "learn.microsoft.com/azure/machine-learning/reference-yaml-deployment-batch",
)
EXCLUDING_FIELDS = Rule(
    "MLC110",
    "excluding-fields",
    Severity.ERROR,
    "two fields that exclude each other",
    "They say the same thing in two ways; the service takes one.",
    "Remove one of them.",
    "azure-ai-ml 1.35.2, class Environment",
)
NOT_AS_THE_SCHEMA = Rule(
    "MLC199",
    "not-as-the-schema",
    Severity.ERROR,
    "a value that the schema refuses",
    "The kind's JSON Schema refuses it for a reason that has no words of its own here.",
    "See what `mlctl explain` says about the field.",
    "schemas/",
)

SCHEMA_RULES: tuple[Rule, ...] = (
    UNKNOWN_FIELD,
    MISSING_FIELD,
    WRONG_TYPE,
    VALUE_NOT_ALLOWED,
    OUT_OF_BOUNDS,
    BAD_NAME,
    BAD_REFERENCE,
    EMPTY_VALUE,
    WRONG_FORM,
    EXCLUDING_FIELDS,
    NOT_AS_THE_SCHEMA,
)
