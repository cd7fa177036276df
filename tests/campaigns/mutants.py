"""Changes the checker's code in one place at a time, and sees whether its own tests notice.

    python tests/campaigns/mutants.py --jobs 2
    python tests/campaigns/mutants.py --only pipeline --part 1/4

Results are kept, by a hash of the module's code and the change: a pass can be stopped and goes on
where it was, and only survivors are tried again after the tests have changed. Prints the mutants
that survived and are not in `weaker_mutants.toml`, which lists those that accept nothing false,
with the reason, and which are not tried. Exit code 1 means that there are such, or entries there
that no mutant has.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import other_process
from code_mutants import Mutant, code_alone, mutants
from listed_mutants import CLASSES, LISTED, class_by_name, read_list, unused
from mutant_trials import Trial, Trials

from boundmark.bounds import checker

TESTS = Path(__file__).parents[1]
FOLDER = Path(str(checker.__file__)).parent
OWN_TESTS = TESTS / "bounds/checker"

# These run a copy of the folder.
STANDALONE = ("test_command.py", "test_checker_hostile_files.py", "test_third_party.py")

# How much they do depends on the clock; the others say the same each time.
LEFT_OUT = ("test_checker_random_mutations.py",)


def main() -> int:
    """Try the mutants that are asked for, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th mutant, from the I-th")
    parser.add_argument("--only", nargs="+", help="modules whose paths begin with one of these")
    parser.add_argument("--kind", choices=["operators", "constants"], help="only these")
    parser.add_argument("--tests", nargs="+", type=Path, help="instead of all of the checker's")
    parser.add_argument("--out", type=Path, default=Path("results/mutants.jsonl"))
    parser.add_argument("--listed", action="store_true", help="try those that are listed, too")
    parser.add_argument("--score", action="store_true", help="print what is known, try nothing")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    every = [
        mutant
        for mutant in all_mutants()
        if mutant.module.startswith(tuple(given.only or [""])) and given.kind in (None, mutant.kind)
    ]
    every = every[part - 1 :: parts]
    groups = read_list()
    listed = class_by_name(groups, every)
    tests = given.tests or tests_of({mutant.module.rpartition("/")[0] for mutant in every})
    store = Store(given.out, tests)
    if not given.score:
        waiting = [
            mutant
            for mutant in every
            if store.trial(mutant) is None and (given.listed or mutant.name not in listed)
        ]
        print(f"{len(every)} mutants, {len(waiting)} to be tried", flush=True)
        if waiting and try_all(waiting, store, given.jobs, tests):
            return 1
    wrong = show(every, store, listed)
    missing = unused(groups, {mutant.name for mutant in all_mutants()})
    for name in missing:
        print(f"{LISTED.name} lists what is no mutant: {name}")
    return 1 if wrong or missing else 0


def all_mutants() -> Iterator[Mutant]:
    """Return the mutants of all modules of the checker."""
    for path in sorted(FOLDER.rglob("*.py")):
        yield from mutants(path.relative_to(FOLDER).as_posix(), path.read_text())


def tests_of(folders: set[str]) -> list[Path]:
    """Return the tests to collect for modules of some folders, all of them for the top folder."""
    if "" in folders:
        return [OWN_TESTS]
    return [*sorted(OWN_TESTS.glob("test_*.py")), *(OWN_TESTS / name for name in sorted(folders))]


class Store:
    """Results of trials in a file, a line each."""

    def __init__(self, path: Path, tests: list[Path]) -> None:
        self._path = path
        digest = hashlib.sha256()
        for folder in [*tests, TESTS / "support"]:
            for test in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
                digest.update(test.read_bytes())
        self._tests = digest.hexdigest()
        self._codes: dict[str, bytes] = {}
        self._known: dict[str, Trial] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        try:
            row = json.loads(line)
        except ValueError:
            # Cut short by whoever stopped the pass.
            return
        if row["killed_by"] or row["tests_sha256"] == self._tests:
            self._known[row["key"]] = Trial(row["killed_by"], row["tests"], row["seconds"])

    def _key(self, mutant: Mutant) -> str:
        if mutant.module not in self._codes:
            self._codes[mutant.module] = code_alone(mutant.original())
        return hashlib.sha256(self._codes[mutant.module] + mutant.name.encode()).hexdigest()

    def trial(self, mutant: Mutant) -> Trial | None:
        """Return what is known of a mutant of the text as it is."""
        return self._known.get(self._key(mutant))

    def note(self, mutant: Mutant, trial: Trial) -> None:
        """Keep what came of a mutant."""
        key = self._key(mutant)
        self._known[key] = trial
        if not trial.killed_by:
            print(f"survived {trial.tests} tests, {trial.seconds} s: {mutant.name}", flush=True)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        row = {
            "key": key, "mutant": mutant.name, "killed_by": trial.killed_by,
            "tests": trial.tests, "seconds": trial.seconds, "tests_sha256": self._tests,
        }  # fmt: skip
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def try_all(waiting: list[Mutant], store: Store, jobs: int, tests: list[Path]) -> int:
    """Run the tests once, and then for each mutant; return whether they failed without any."""
    # A failure is enough: no smaller example and no explanation is wanted.
    settings.register_profile(
        "mutants", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
    )
    trials = Trials(
        checker,
        waiting,
        standalone=STANDALONE,
        note=store.note,
        before=other_process.leave,
        jobs=jobs,
    )
    options = [
        "-q",
        "-W",
        "ignore:Module already imported",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--hypothesis-profile=mutants",
    ]
    # Copies of the folder take long, and matter for what all problems have in common.
    needs_copies = any("/" not in mutant.module for mutant in waiting)
    left_out = LEFT_OUT if needs_copies else (*LEFT_OUT, *STANDALONE)
    ignored = [f"--ignore-glob=*/{name}" for name in left_out]
    # Samples are made here once, so that no trial has to.
    from certified import NAMES, certified

    for name in NAMES:
        certified(*name)
    status = pytest.main([*options, *ignored, *map(str, tests)], plugins=[trials])
    return int(trials.failed or status in (2, 3, 4))


def show(every: list[Mutant], store: Store, listed: dict[str, str]) -> bool:
    """Print a row per folder, and survivors that are not listed; return whether there are any."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for mutant in every:
        trial = store.trial(mutant)
        if trial is not None and trial.killed_by:
            outcome = "killed"
        else:
            outcome = listed.get(mutant.name, "untried" if trial is None else "survived")
        if outcome == "survived":
            wrong.append(mutant)
        folder = mutant.module.partition("/")[0] if "/" in mutant.module else "(all problems)"
        counts[folder, outcome] += 1
        counts["total", outcome] += 1
    for mutant in wrong:
        print(f"survived: {mutant.module}:{mutant.lines[0]} {mutant.name}")
    outcomes = ["killed", *CLASSES, "survived", "untried"]
    print("| folder | mutants |" + "".join(f" {name} |" for name in outcomes))
    print("| --- |" + " ---: |" * (1 + len(outcomes)))
    for folder in [*sorted({folder for folder, _ in counts} - {"total"}), "total"]:
        row = [counts[folder, name] for name in outcomes]
        print(f"| {folder} | {sum(row)} |" + "".join(f" {count} |" for count in row))
    return bool(wrong)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Libraries that were loaded for samples may have threads of their own.
    os._exit(code)
