"""Solves instances of every problem beside busy processes, and counts answers without a bound.

    python tests/campaigns/under_load.py --busy 8 --repeats 10 --seconds 20

Each solve should have a solution and a certified bound, whatever else the machine does, and should
end at its limit. A row has the number of solves, how many had a certified bound, the worst gap, and
the longest time of the search and of the whole command, imports included. Several solves can run at
once: each is then one of the busy processes beside the others. Exit code 1 means that a solution or
bound was missing.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

# Of each problem, a small instance and a larger one.
CASES = (
    ("onnx-light/squeezenet", "-k", "4"),
    ("onnx-light/inception-v1", "-k", "8"),
    ("regal-style/erdos-renyi-3", "-k", "8"),
    ("shapes/nn-4-train",),
    ("shapes/zb_v-8-train", "--memory", "16"),
    ("shapes/zb_v-8-train", "--memory", "16", "--micro-batches", "24"),
    ("shapes/interleaved-8-train",),
    ("tessel-models/mt5-nn-4-train",),
    ("onnx-light/squeezenet", "--problem", "placement"),
    ("zoo/bert-base", "--problem", "placement"),
    ("onnx-light/inception-v1", "--problem", "ordering"),
    ("zoo/bert-base", "--problem", "ordering"),
    ("onnx-light/squeezenet", "--problem", "slicing"),
    ("zoo/resnet-50", "--problem", "slicing"),
    ("language-models/llama-3-8b", "--devices", "2xA100"),
    ("language-models/llama-3-70b", "--devices", "2x4xH100"),
)


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep as many processes busy while the block runs."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for one in others:
        one.start()
    try:
        yield
    finally:
        for one in others:
            one.kill()


def solve(case: tuple[str, ...], seconds: float) -> tuple[dict[str, object], float]:
    """Return the answer about one case as JSON values, and the command's wall time."""
    began = time.monotonic()
    command = [sys.executable, "-m", "boundmark", "solve", *case]
    done = subprocess.run(
        [*command, "--time-limit", str(seconds), "--json", "--quiet"],
        capture_output=True,
        text=True,
        env={**os.environ, "BOUNDMARK_LIBRARY": ""},
    )
    took = time.monotonic() - began
    if not done.stdout:
        print(f"{' '.join(case)}: {done.stderr.strip()[-500:]}", flush=True)
        return {}, took
    answer: dict[str, object] = json.loads(done.stdout)
    return answer, took


def main() -> int:
    """Run all cases and print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=8, help="processes beside")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=1, help="solves that run at the same time")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each solve")
    parser.add_argument("--only", default="", help="cases with this text")
    given = parser.parse_args()
    print(f"{'case':48} solves  bounds  worst gap  longest search  longest command")
    missing = 0
    with busy(given.busy + 1 - given.at_once), ThreadPoolExecutor(given.at_once) as pool:
        for case in CASES:
            name = " ".join(case)
            if given.only not in name:
                continue
            found = list(pool.map(solve, [case] * given.repeats, [given.seconds] * given.repeats))
            whole = [one for one, _ in found if one.get("objective") and one.get("certified_bound")]
            missing += given.repeats - len(whole)
            gap = max((float(str(one["gap"])) for one in whole), default=float("nan"))
            searched = max((float(str(one["seconds"])) for one, _ in found if one), default=0.0)
            took = max(seconds for _, seconds in found)
            print(
                f"{name:48} {given.repeats:6} {len(whole):7} {100 * gap:8.2f} % "
                f"{searched:12.1f} s {took:14.1f} s",
                flush=True,
            )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
