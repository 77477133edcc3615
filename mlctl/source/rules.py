"""The rules about the text of files (MLC0xx)."""

from mlctl.diagnostics import Rule, Severity

SYNTAX = Rule("MLC001", "yaml-syntax", Severity.ERROR)
REPEATED_KEY = Rule("MLC002", "repeated-key", Severity.WARNING)
ALIAS_LOOP = Rule("MLC003", "alias-loop", Severity.ERROR)
BAD_MERGE_KEY = Rule("MLC004", "bad-merge-key", Severity.ERROR)
YAML_1_1_VALUE = Rule("MLC005", "yaml-1.1-value", Severity.WARNING)
BAD_KEY = Rule("MLC006", "bad-key", Severity.ERROR)
UNKNOWN_TAG = Rule("MLC007", "unknown-tag", Severity.ERROR)
TOO_BIG = Rule("MLC008", "too-big", Severity.ERROR)
LESS = "split the file, or use fewer aliases"  # its hint
EMPTY = Rule("MLC009", "empty-document", Severity.ERROR)
NOT_A_MAPPING = Rule("MLC010", "not-a-mapping", Severity.ERROR)
UNREADABLE = Rule("MLC011", "unreadable-file", Severity.ERROR)
BAD_VALUE = Rule("MLC012", "bad-value", Severity.ERROR)

# After these findings the rest of the file is not read.
UNREADABLE_RULES = (SYNTAX, TOO_BIG, UNREADABLE, EMPTY)
SOURCE_RULES = tuple(value for value in dict(globals()).values() if isinstance(value, Rule))
