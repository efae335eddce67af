#!/usr/bin/env python3
"""Compare figures/ with those of another commit: which cells differ, in their numbers or in their words only.

    tools/same_numbers.py 08360ed

Rows are compared in their order, by the columns that both have; figures by their digests in the manifest. Exits with 1
where a number differs.
"""

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "figures"
TABLES = sorted(path.name for path in FIGURES.glob("*.csv"))
_NUMBER = re.compile(r"\d[\d,.]*")
_DRAWN = (".svg", ".pdf", ".png")


def committed(commit: str, name: str) -> str:
    shown = subprocess.run(["git", "show", f"{commit}:figures/{name}"], cwd=FIGURES, capture_output=True, text=True)
    if shown.returncode:
        sys.exit(f"{commit} has no figures/{name}: {shown.stderr.strip()}")
    return shown.stdout


def compare_table(commit: str, name: str) -> int:
    """Print what differs; return how many cells differ in a number."""
    old = list(csv.DictReader(io.StringIO(committed(commit, name))))
    new = list(csv.DictReader((FIGURES / name).open(encoding="utf-8", newline="")))
    if len(old) != len(new):
        print(f"{name}: {len(old)} rows before, {len(new)} now")
        return abs(len(old) - len(new))
    numbers, words, cells = Counter[str](), Counter[str](), 0
    for before, now in zip(old, new, strict=True):
        for column in before.keys() & now.keys():
            cells += 1
            if before[column] != now[column]:
                alike = sorted(_NUMBER.findall(before[column])) == sorted(_NUMBER.findall(now[column]))
                (words if alike else numbers)[column] += 1
                if not alike:
                    print(f"    {column}: {before[column]!r} -> {now[column]!r}")
    added = sorted(new[0].keys() - old[0].keys()) if new and old else []
    print(f"{name}: {cells} cells; numbers differ in {dict(numbers) or 'none'}, words alone in {dict(words) or 'none'}")
    if added:
        print(f"    new columns: {', '.join(added)}")
    return numbers.total()


def digests(text: str) -> dict[str, str]:
    return {one["file"]: one["sha256"] for one in json.loads(text)["files"] if one["file"].endswith(_DRAWN)}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    commit = sys.argv[1]
    unlike = sum(compare_table(commit, name) for name in TABLES)
    old = digests(committed(commit, "MANIFEST.json"))
    new = digests((FIGURES / "MANIFEST.json").read_text(encoding="utf-8"))
    redrawn = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    print(f"{len(new)} drawings; not the same to the byte: {', '.join(redrawn) or 'none'}")
    sys.exit(1 if unlike else 0)


if __name__ == "__main__":
    main()
