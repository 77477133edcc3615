"""Add up a folder of word counts."""

import json
import sys
from collections import Counter
from pathlib import Path

counts, totals = (Path(argument) for argument in sys.argv[1:])
words: Counter[str] = Counter()
for part in sorted(counts.glob("*.json")):
    words.update(json.loads(part.read_text(encoding="utf-8")))
(totals / "totals.json").write_text(json.dumps(words.most_common(), indent=2), encoding="utf-8")
