"""Compares default answers of `solve` with those of each heuristic in a tenth of the time.

    python tests/campaigns/default_answers.py --seconds 30

A row has the cost of the default answer, and that of each heuristic which beats it. Exit code 1
means that one does: then it has to be among the default methods, or earlier among them.
"""

import argparse
import sys

from under_load import CASES, busy, solve

from boundmark.problems.catalog import methods


def main() -> int:
    """Run all cases and print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=0, help="processes beside")
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of the default methods")
    parser.add_argument("--only", default="", help="cases with this text")
    given = parser.parse_args()
    failed = False
    with busy(given.busy):
        for case in CASES:
            name = " ".join(case)
            if given.only not in name:
                continue
            answer, _ = solve(case, given.seconds)
            better = []
            for method in methods(str(answer.get("problem"))).values():
                # Nothing beats an optimum.
                if method.kind == "heuristic" and not answer["optimal"]:
                    alone, _ = solve((*case, "--method", method.name), given.seconds / 10)
                    cost = alone.get("objective")
                    if cost is not None and int(str(cost)) < int(str(answer["objective"])):
                        better.append(f"{method.name} {cost}")
            is_missing = answer.get("objective") is None
            failed |= is_missing or bool(better)
            print(f"{name:56} {answer.get('objective')}  {', '.join(better)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
