"""Convert a table to one file with the user's pandas: `table.py SPECIFICATION`.

The specification is a JSON object: `files`, `format` (delimited, parquet, json_lines), `options` of
pandas' reader, `header_once` (only the first file has one), `keep` and `drop` (columns), `keys`
(columns whose values form groups), `to` (the pickle). The answer is a JSON object, too: `rows` and
`groups` (row numbers and keys), or `error` and `message`.
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(specification: dict[str, Any]) -> dict[str, Any]:
    """Read the files, choose columns, and write the pickle."""
    import pandas  # the user's

    readers = {
        "delimited": pandas.read_csv,
        "parquet": pandas.read_parquet,
        "json_lines": pandas.read_json,
    }
    frames = []
    for number, file in enumerate(specification["files"]):
        options = dict(specification["options"])
        if number and specification["header_once"]:
            options["header"] = None
        frames.append(readers[specification["format"]](file, **options))
        if options.get("header", 0) is None:
            count = len(frames[-1].columns)
            first = frames[0].columns if number else [f"Column{at + 1}" for at in range(count)]
            frames[-1].columns = first
    frame = pandas.concat(frames, ignore_index=True)
    if specification["keep"]:
        frame = frame[specification["keep"]]
    frame = frame.drop(columns=specification["drop"])
    frame.to_pickle(specification["to"])
    groups: list[dict[str, Any]] = []
    if specification["keys"]:
        for rows in frame.groupby(specification["keys"]).groups.values():
            first = frame.iloc[[rows[0]]]
            keys = {column: str(next(iter(first[column]))) for column in specification["keys"]}
            groups.append({"rows": [int(row) for row in rows], "keys": keys})
    return {"rows": len(frame), "groups": groups}


def main() -> None:
    try:
        answer = read(json.loads(sys.argv[1]))
    except Exception as error:
        answer = {"error": type(error).__name__, "message": str(error)[:500]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
