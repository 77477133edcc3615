"""Count the words of every text of a folder: one JSON file of counts per text."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

texts, counts = (Path(argument) for argument in sys.argv[1:])
for text in sorted(texts.glob("*.txt")):
    words = Counter(re.findall(r"\w+", text.read_text(encoding="utf-8").casefold()))
    (counts / f"{text.stem}.json").write_text(json.dumps(words), encoding="utf-8")
