"""A client in a process of its own, which can be killed or stopped: JSON lines in, JSON lines out.

Run as `python -m bench.conformance.actor`.
"""

import json
import sys

from bench.conformance.script import Script


def main() -> None:
    """Answer one line at a time until the input ends."""
    script = Script()
    for line in sys.stdin:
        try:
            answer = script.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - reported to the parent, which fails the check with it
            answer = {"outcome": "raised", "reason": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
