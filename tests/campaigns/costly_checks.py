"""Checks certificates of every kind, and solutions, at the largest sizes, and measures the time.

    python tests/campaigns/costly_checks.py [--part 1.0] [--only TEXT]

Prints a row per shape of `tests/support/costly_documents.py`: seconds of processor time to check
the instance and the document, the steps that the latter spent, and the verdict. Exit code 1 means
that one took longer than the documentation promises.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from costly_documents import SHAPES, documents

from boundmark.bounds import checker

# What the documentation promises.
MOST_SECONDS = 120.0


def main() -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="Of the largest sizes.")
    parser.add_argument("--only", default="", help="Shapes whose kind or name has this in it.")
    given = parser.parse_args()
    longest = 0.0
    print(f"{'kind':26} {'shape':38} {'size':>9} {'seconds':>8}  verdict")
    for name, shape in SHAPES.items():
        if given.only not in f"{shape.kind} {name}":
            continue
        size = max(4, int(shape.largest * given.part))
        instance, document = documents(shape, size)
        is_solution = shape.kind == "solution"
        check = checker.check_solution if is_solution else checker.check_certificate
        begun = time.process_time()
        try:
            verdict = f"accepted, {check(instance, document)}"
        except checker.Rejected as reason:
            verdict = f"rejected, {reason}"
        seconds = time.process_time() - begun
        longest = max(longest, seconds)
        kind = f"{shape.problem} solution" if is_solution else shape.kind
        print(f"{kind:26} {name:38} {size:9,} {seconds:8.1f}  {verdict}", flush=True)
    return 1 if longest > MOST_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
