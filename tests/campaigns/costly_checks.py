"""Checks certificates of every kind, and solutions, at the largest sizes: time and memory.

    python tests/campaigns/costly_checks.py [--part 1.0] [--only TEXT] [--building 300]

Prints one row per shape of `tests/support/costly_documents.py`, each in a process of its own:
seconds of processor time to check the instance and the document, MiB of memory that the process had
at most (those that the document was built with included), and the verdict. Exit code 1 means that
one took longer, or more memory, than runs give to a check.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from costly_documents import SHAPES, documents

from boundmark.bounds import checker

# What `boundmark.benchmarks.running.execution.verification` gives to a check.
MOST_SECONDS = 120.0
MOST_MIB = 4096.0


def check(name: str, part: float, results: Connection) -> None:
    """Build a shape's document, and send its size; check it, and send time, memory and verdict."""
    shape = SHAPES[name]
    size = max(4, int(shape.largest * part))
    instance, document = documents(shape, size)
    results.send(size)
    checked = checker.check_solution if shape.kind == "solution" else checker.check_certificate
    begun = time.process_time()
    try:
        verdict = f"accepted, {checked(instance, document)}"
    except checker.Rejected as reason:
        verdict = f"rejected, {reason}"
    seconds = time.process_time() - begun
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results.send((seconds, largest / 1024, verdict))


def main() -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="Of the largest sizes.")
    parser.add_argument("--only", default="", help="Shapes whose kind or name has this in it.")
    parser.add_argument(
        "--building", type=float, default=300.0, help="Seconds to build a shape's document."
    )
    given = parser.parse_args()
    is_over = False
    print(f"{'kind':26} {'shape':38} {'size':>9} {'seconds':>8} {'MiB':>7}  verdict")
    for name, shape in SHAPES.items():
        if given.only not in f"{shape.kind} {name}":
            continue
        kind = f"{shape.problem} solution" if shape.kind == "solution" else shape.kind
        results, end = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=check, args=(name, given.part, end), daemon=True)
        process.start()
        end.close()
        try:
            if not results.poll(given.building):
                print(f"{kind:26} {name:38} not built in {given.building:g} s", flush=True)
                continue
            size = results.recv()
            seconds, mib, verdict = results.recv()
        except EOFError:
            is_over = True
            print(f"{kind:26} {name:38} the process died", flush=True)
            continue
        finally:
            process.kill()
            process.join()
        is_over = is_over or seconds > MOST_SECONDS or mib > MOST_MIB
        print(f"{kind:26} {name:38} {size:9,} {seconds:8.1f} {mib:7.0f}  {verdict}", flush=True)
    return 1 if is_over else 0


if __name__ == "__main__":
    sys.exit(main())
