"""Gives damaged files to every reader, and counts what is no refusal.

    python tests/campaigns/readers.py --minutes 10 --seed 1

Each reader has a process of its own, in which atheris (if it is installed) steers what is changed
by the code that is reached; without it, bytes are changed at random. Prints a row per reader; exit
code 1 means that a reader failed, hung or ran out of memory. What made it fail is printed.
"""

import argparse
import base64
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parents[1] / "support"

# A reader that takes longer, or more memory, for one file of at most so many bytes has failed.
SECONDS_PER_FILE = 60
MEBIBYTES = 4096
LARGEST_FILE = 20_000

# Every input becomes a file, and a file that is written anew waits for most disks.
IN_MEMORY = Path("/dev/shm")


def main() -> int:
    """Run the campaign, or the part of one reader in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader")
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.corpus is not None:
        return attack(given.reader, given.corpus, 60 * given.minutes, given.seed)
    sys.path.insert(0, str(SUPPORT))
    from readers import READERS

    names = [name for name in READERS if given.reader in (None, name)]
    print(f"{'reader':16} {'files':>12} {'accepted':>12} {'refused':>12} {'failures':>10}  ended")
    failures = 0
    for name in names:
        with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
            corpus = Path(folder) / "corpus"
            corpus.mkdir()
            for number, seed in enumerate(READERS[name].seeds()):
                (corpus / f"seed-{number}").write_bytes(seed)
            command = [sys.executable, __file__, "--reader", name, "--corpus", str(corpus)]
            command += ["--minutes", str(given.minutes / len(names)), "--seed", str(given.seed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            failures += _report(name, Path(folder) / "counts.json", done)
    return 1 if failures else 0


def _report(name: str, path: Path, done: "subprocess.CompletedProcess[str]") -> int:
    """Print the row of a reader and what made it fail; return how often it did."""
    counts = json.loads(path.read_text()) if path.exists() else {"found": {}}
    columns = [counts.get(key, 0) for key in ("files", "accepted", "refused")]
    cells = "".join(f" {count:12,}" for count in columns)
    ended = "in time" if done.returncode == 0 else f"with exit code {done.returncode}"
    print(f"{name:16}{cells} {len(counts['found']):10}  {ended}", flush=True)
    for words, content in counts["found"].items():
        print(f"{words}\n  {content}", flush=True)
    if done.returncode:
        print(done.stderr[-4000:], flush=True)
    return len(counts["found"]) + (done.returncode != 0)


def attack(name: str, corpus: Path, seconds: float, seed: int) -> int:
    """Give a reader damaged files until the time is up; leave counts beside the corpus."""
    sys.path.insert(0, str(SUPPORT))
    if importlib.util.find_spec("atheris") is None:
        from readers import Attempt

        tried = _Tried(Attempt(name, corpus.parent), corpus.parent / "counts.json")
        _change_at_random(tried, corpus, seconds, random.Random(seed))
        return 0
    import atheris

    with atheris.instrument_imports(include=["boundmark"]):
        from readers import Attempt
    tried = _Tried(Attempt(name, corpus.parent), corpus.parent / "counts.json")
    options = [f"-max_total_time={round(seconds)}", f"-seed={seed}", f"-max_len={LARGEST_FILE}"]
    options += [f"-timeout={SECONDS_PER_FILE}", f"-rss_limit_mb={MEBIBYTES}"]
    options.append(f"-artifact_prefix={corpus.parent}/")
    atheris.Setup([sys.argv[0], *options, str(corpus)], tried)
    atheris.Fuzz()
    return 0


class _Tried:
    """Counts what comes of contents, and keeps the first one of each failure."""

    def __init__(self, attempt: Callable[[bytes], str], path: Path) -> None:
        self._attempt = attempt
        self._path = path
        self._counts: dict[str, Any] = {"files": 0, "accepted": 0, "refused": 0, "found": {}}

    def __call__(self, content: bytes) -> None:
        counts = self._counts
        counts["files"] += 1
        try:
            counts[self._attempt(content)] += 1
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {error}"
            where = f"{type(error).__name__} in {last.filename}:{last.lineno}"
            if not any(known.startswith(where) for known in counts["found"]):
                text = base64.b64encode(content).decode()
                counts["found"][f"{where}: {words[-300:]}"] = text
                self._save()
        if counts["files"] % 200 == 0:
            self._save()

    def _save(self) -> None:
        self._path.write_text(json.dumps(self._counts))


def _change_at_random(
    tried: Callable[[bytes], None], corpus: Path, seconds: float, dice: random.Random
) -> None:
    seeds = [path.read_bytes() for path in sorted(corpus.iterdir())]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        content = bytearray(dice.choice(seeds))
        for _ in range(dice.choice([1, 1, 2, 4])):
            start = dice.randrange(len(content) + 1)
            end = start + dice.choice([0, 1, 1, 4, 20])
            other = dice.choice(seeds)
            place = dice.randrange(len(other) + 1)
            size = dice.choice([0, 1, 1, 4, 20])
            replacement = dice.choice([other[place : place + size], dice.randbytes(size)])
            content[start:end] = replacement
        tried(bytes(content[:LARGEST_FILE]))


if __name__ == "__main__":
    sys.exit(main())
