"""The rules about the text of files (MLC0xx)."""

from mlctl.diagnostics import Rule, Severity

_YAML_1_1 = "https://yaml.org/spec/1.1/"
_YAML_1_2 = "https://yaml.org/spec/1.2.2/"

SYNTAX = Rule(
    "MLC001",
    "yaml-syntax",
    Severity.ERROR,
    "the text is not YAML",
    why="A file that cannot be parsed says nothing, so nothing after it is checked.",
    fix="Correct the text at the place shown. Common causes: a quote or bracket that is not "
    "closed, a tab in the indentation, keys that do not line up, a `: ` inside a value "
    "without quotes, a file that is not UTF-8.",
    origin=_YAML_1_2,
)
REPEATED_KEY = Rule(
    "MLC002",
    "repeated-key",
    Severity.ERROR,
    "a mapping has the same key twice",
    why="YAML forbids it, yet most parsers keep the last value in silence: one of the two lines "
    "has no effect.",
    fix="Keep one of the two.",
    origin=_YAML_1_2 + "#3213-node-comparison",
)
ALIAS_LOOP = Rule(
    "MLC003",
    "alias-loop",
    Severity.ERROR,
    "an alias stands inside its own anchor",
    why="`a: &a [*a]` is a list that contains itself: no resource can be described so.",
    fix="Write the value out, or move the anchor to what is meant to be repeated.",
    origin=_YAML_1_2 + "#3222-anchors-and-aliases",
)
BAD_MERGE_KEY = Rule(
    "MLC004",
    "bad-merge-key",
    Severity.ERROR,
    "a `<<` has no mapping to merge",
    why="`<<: *base` copies the keys of a mapping, or of each mapping of a list; it cannot copy "
    "anything else.",
    fix='Let `<<` name an anchor of a mapping, or write `"<<"` in quotes if the key itself is '
    "meant.",
    origin="https://yaml.org/type/merge.html",
)
YAML_1_1_VALUE = Rule(
    "MLC005",
    "yaml-1.1-value",
    Severity.WARNING,
    "a plain value is not read as it looks",
    why="Azure's tools read YAML 1.1, where `yes`, `no`, `on` and `off` are booleans, `12:30` is "
    "750, `012` is 10 and `1e3` is text. YAML 1.2, editors and most people read them "
    "otherwise.",
    fix="Put it in quotes if the text is meant; write `true`, `false` or the plain decimal number"
    " if that is meant.",
    origin=_YAML_1_1 + "#id864510",
)
BAD_KEY = Rule(
    "MLC006",
    "bad-key",
    Severity.ERROR,
    "a key is not text",
    why="Resources are JSON objects in the end, and their keys are text. `1:`, `true:`, `on:` and"
    " `null:` are not.",
    fix="Put the key in quotes.",
    origin="https://www.rfc-editor.org/rfc/rfc8259#section-4",
)
UNKNOWN_TAG = Rule(
    "MLC007",
    "unknown-tag",
    Severity.ERROR,
    "a tag is not one of YAML's plain types",
    why="Tags such as `!!python/object` or `!Ref` ask the reader to build something: Azure's "
    "tools refuse them, and so does mlctl. `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, "
    "`!!map` and `!!seq` are understood.",
    fix="Remove the tag and write the value itself.",
    origin=_YAML_1_2 + "#10-recommended-schemas",
)
TOO_BIG = Rule(
    "MLC008",
    "too-big",
    Severity.ERROR,
    "the text is too big, too deep, or grows too much through its aliases",
    why="A file is read up to 8 MiB and 500 000 values, a document up to 100 000 values (each "
    "alias counted as what it stands for) and 100 levels; variables (`${{ env.NAME }}`) put no more"
    " than 100 million characters into documents. No resource comes near; a file that does would"
    " only exhaust memory.",
    fix="Split the file, or write less through aliases.",
)
EMPTY = Rule(
    "MLC009",
    "empty-document",
    Severity.ERROR,
    "the file has no document",
    why="A file that was named explicitly and holds only comments or nothing at all is most "
    "likely a mistake: saved too early, or the wrong one.",
    fix="Describe a resource in it, or leave the file out. Empty files inside a folder are passed"
    " over.",
)
NOT_A_MAPPING = Rule(
    "MLC010",
    "not-a-mapping",
    Severity.ERROR,
    "a document is a list or a single value",
    why="A resource is a mapping of fields: `name: ...`, `type: ...`.",
    fix="Write `key: value` lines. Several resources in one file are parted by `---`, not listed "
    "with `-`.",
)
UNREADABLE = Rule(
    "MLC011",
    "unreadable-file",
    Severity.ERROR,
    "a path cannot be read, or matches nothing",
    why="What was asked for cannot be checked.",
    fix="Check the spelling, the working directory and the file's permissions. Folders are "
    "searched for `*.yml` and `*.yaml`; hidden folders are passed over.",
)
BAD_VALUE = Rule(
    "MLC012",
    "bad-value",
    Severity.ERROR,
    "a value has no place in JSON",
    why="Resources are JSON in the end: it has no `.nan` and no `.inf`, and a number of a "
    "thousand digits, `!!int abc`, and the lone `=` and `<<` of YAML 1.1 have no meaning "
    "there either.",
    fix="Write a finite number, or put the value in quotes if its text is meant.",
    origin="https://www.rfc-editor.org/rfc/rfc8259#section-6",
)

# After such a finding the rest of the file is not read.
UNREADABLE_RULES = (SYNTAX, TOO_BIG, UNREADABLE, EMPTY)
SOURCE_RULES = (
    SYNTAX,
    REPEATED_KEY,
    ALIAS_LOOP,
    BAD_MERGE_KEY,
    YAML_1_1_VALUE,
    BAD_KEY,
    UNKNOWN_TAG,
    TOO_BIG,
    EMPTY,
    NOT_A_MAPPING,
    UNREADABLE,
    BAD_VALUE,
)
