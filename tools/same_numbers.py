#!/usr/bin/env python3
"""Compare figures/ with those of another commit: which cells differ, in their numbers or in their words only.

    tools/same_numbers.py 08360ed

Rows are compared in their order, by the columns that both have; drawings, and tables that the commit does not keep, by
their digests in its manifest. Exits with 1 where a number differs.
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


def committed(commit: str, name: str) -> str | None:
    """None where the commit does not keep that file."""
    shown = subprocess.run(["git", "show", f"{commit}:figures/{name}"], cwd=FIGURES, capture_output=True, text=True)
    return None if shown.returncode else shown.stdout


def compare_table(name: str, before: str) -> int:
    """Print what differs; return how many cells differ in a number."""
    old = list(csv.DictReader(io.StringIO(before)))
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
    return {one["file"]: one["sha256"] for one in json.loads(text)["files"]}


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    commit = sys.argv[1]
    manifest = committed(commit, "MANIFEST.json")
    if manifest is None:
        sys.exit(f"{commit} has no figures/MANIFEST.json")
    old, new = digests(manifest), digests((FIGURES / "MANIFEST.json").read_text(encoding="utf-8"))
    unlike = 0
    for name in TABLES:
        before = committed(commit, name)
        if before is not None:
            unlike += compare_table(name, before)
        elif old.get(name) != new.get(name):
            unlike += 1
            print(f"{name}: not the same to the byte, and {commit} does not keep it: check it out, and `make figures`")
    drawn = [name for name in old.keys() | new.keys() if name.endswith(_DRAWN)]
    redrawn = sorted(name for name in drawn if old.get(name) != new.get(name))
    print(f"{len(drawn)} drawings; not the same to the byte: {', '.join(redrawn) or 'none'}")
    sys.exit(1 if unlike else 0)


if __name__ == "__main__":
    main()
