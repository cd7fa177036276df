"""Run papers' suites again: `python docs/tables/paper_runs.py RESULTS [PART...] [-- OPTION...]`.

A part is a paper, such as `moirai`, or a suite of it, such as `moirai/placeto`; without any, all
run: about 16 hours on an idle machine with two cores. Each suite has a folder below RESULTS, goes
on where it was interrupted, and puts its rows into the tables as soon as it has ended; then
`page.py` fills the pages. Options are those of `boundmark run`, such as `--filter`: rows that did
not run again stay.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import page
import tessel

BY_K = ("hierarchy_by_k", "gap_by_k", "runtime_by_k")

# Which tables of their reports pages show: by number of stages, or none, where they show rows.
PARTS = {
    "mtpp/worst-orders": (), "mtpp/models-small": (), "mtpp/solvers": (), "mtpp/sparse": BY_K,
    "memorianova/ordering": (), "memorianova/slicing-short": (), "memorianova/slicing": (),
    "tessel/repetends": (), "tessel/models": (), "tessel/micro-batch-sizes": (),
    "tessel/phases": (), "tessel/small": (), "tessel/full": (), "tessel/time-optimal": (),
    "hsdag/small": (), "hsdag/ablations": (), "hsdag/curves": (), "hsdag/three-devices": (),
    "hsdag/zoo": (), "hsdag/scaled": (), "moirai/cells-short": (),
    "moirai/cells-per-edge": (), "moirai/placeto": (), "moirai/whole": (),
    "mtpp/heuristics": ("solutions_by_k",), "mtpp/models": BY_K,
}  # fmt: skip

# What pages show of these parts: only bounds, and one model.
FILTERS = {
    "memorianova/slicing": ("--filter", "slice-potentials"),
    "mtpp/models-small": ("--filter", "segformer-b0 k=4 "),
}


def boundmark(*words: str) -> None:
    """Run a command, and end with its status if it fails or is interrupted."""
    done = subprocess.run([sys.executable, "-m", "boundmark", *words], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def run(part: str, folder: Path, options: Sequence[str]) -> None:
    """Run a part, and put what pages show of it in the place of its older rows."""
    if part == "tessel/phases":
        # Phases are timed within searches, of which tasks have the whole time only.
        tessel.search_phases()
        return
    paper = part.partition("/")[0]
    words = (*(options or FILTERS.get(part, ())), "--out", str(folder))
    boundmark("run", f"paper-{part}", "--workers", "2", *words)
    if PARTS[part]:
        boundmark("report", str(folder))
        page.keep(paper, str(folder), *PARTS[part])
    elif paper == "tessel":
        tessel.save(folder)
    else:
        page.save(paper, [str(folder)])


def main(words: Sequence[str]) -> None:
    """Run parts one after the other, the shortest first, and fill the pages."""
    end = words.index("--") if "--" in words else len(words)
    results, *parts = words[:end] or ["--help"]
    chosen = [one for one in PARTS if not parts or {one, one.partition("/")[0]} & set(parts)]
    unknown = set(parts) - {*chosen, *(one.partition("/")[0] for one in chosen)}
    if results.startswith("-") or unknown:
        wrong = f"There is no part {min(unknown)!r}." if unknown else __doc__
        sys.exit(f"{wrong}\nParts: {', '.join(PARTS)}.")
    for part in chosen:
        run(part, Path(results) / part, words[end + 1 :])
    page.fill()


if __name__ == "__main__":
    main(sys.argv[1:])
