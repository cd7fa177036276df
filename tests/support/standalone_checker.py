"""Runs a copy of the checker in an isolated interpreter."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

from boundmark.bounds import checker

# What the documentation promises.
MOST_BYTES = 2**31
MOST_SECONDS = 120.0


# A 64th of what a check may do, for tests that would else take half a minute each.
SMALLER = {
    "budget.py": ("MOST_STEPS = 2**26", "MOST_STEPS = 2**20"),
    "pipeline/limits.py": ("MOST_IDEAL_PAIRS = 20_000_000", "MOST_IDEAL_PAIRS = 20_000_000 // 64"),
}


def run_alone(
    directory: Path, *files: Path | str, is_smaller: bool = False
) -> subprocess.CompletedProcess[str]:
    """Check files with a copy of the checker, within the memory and the time that it promises.

    Parameters
    ----------
    is_smaller
        Whether the copy does a 64th of what the checker does at most.
    """
    copied = directory / "checker_copy"
    shutil.copytree(
        Path(checker.__file__).parent,
        copied,
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    for name, (limit, smaller) in SMALLER.items() if is_smaller else ():
        text = (copied / name).read_text()
        assert limit in text
        (copied / name).write_text(text.replace(limit, smaller))
    return subprocess.run(
        [sys.executable, "-I", "-S", str(copied), *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        timeout=MOST_SECONDS,
        preexec_fn=_limit_memory,
    )


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
