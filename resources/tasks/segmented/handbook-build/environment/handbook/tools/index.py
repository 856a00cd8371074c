"""index.py CHAPTER...: print each *marked* term of the chapters with the chapter's title, separated by a tab."""

import re
import sys

for path in sys.argv[1:]:
    print("indexing", path, file=sys.stderr)
    with open(path, encoding="utf-8") as file:
        title, *lines = file.read().splitlines()
    if not title.startswith("= "):
        sys.exit(f"{path}: the first line is no title")
    for term in sorted(set(re.findall(r"\*(\w+)\*", "\n".join(lines)))):
        print(f"{term}\t{title[2:]}", flush=True)
