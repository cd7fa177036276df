"""Alters a results folder many times over and counts what verification does not notice.

    python tests/campaigns/altered_folders.py FOLDER --count 10000 --seed 1

FOLDER is a finished run; it is not changed. Exit code 1 means that an altered folder was accepted.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from altered_folders import alter, copy_folder

from boundmark.benchmarks.running.folder_check import check_folder


def main() -> int:
    """Run the campaign, print a table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    noticed: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(given.count):
            copy = Path(scratch) / str(number)
            copy_folder(given.folder, copy)
            done = alter(copy, dice)
            is_noticed = any(verdict.reason is not None for verdict in check_folder(copy))
            name = done.partition(":")[0]
            (noticed if is_noticed else missed)[name] += 1
            if not is_noticed:
                print(f"accepted: {done}", flush=True)
            _remove(copy)
    print(f"{'alteration':34} {'noticed':>8} {'accepted':>8}")
    for name in sorted({*noticed, *missed}):
        print(f"{name:34} {noticed[name]:8} {missed[name]:8}")
    print(f"{'all':34} {noticed.total():8} {missed.total():8}")
    return 1 if missed else 0


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


if __name__ == "__main__":
    sys.exit(main())
