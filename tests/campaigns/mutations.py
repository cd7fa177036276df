"""Damages certificates of every kind many times over, and compares what is accepted with optima.

    python tests/campaigns/mutations.py --minutes 10 --seed 1

Prints a row per kind; exit code 1 means that something false was accepted, or that the checker
failed. What is wrong is printed when it is found.
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from certified import NAMES, PROBLEMS
from random_mutations import WRONG, run, table


def main() -> int:
    """Run the campaign, print a table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--problem", choices=PROBLEMS)
    given = parser.parse_args()
    names = [name for name in NAMES if given.problem in (None, name[0])]
    counts = run(names, random.Random(given.seed), 60 * given.minutes)
    print("\n".join(table(counts)))
    return 1 if any(outcome in WRONG for _, _, outcome in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
