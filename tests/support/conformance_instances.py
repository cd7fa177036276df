"""Make benchmarks/running/conformance.json anew: `python tests/support/conformance_instances.py`.

Tiny instances of each problem with their optimum, by brute force, and a larger one: what
`boundmark conformance` runs methods on where there is no checkout.
"""

import json
from pathlib import Path
from typing import Any

from tiny_instances import MODULES, larger, tiny

FILE = Path(__file__).parents[2] / "benchmarks" / "running" / "conformance.json"

# Of each problem, evenly over all.
FEW = 12


def documents() -> dict[str, Any]:
    """Return what the file holds."""
    found = {}
    for problem in MODULES:
        samples = tiny(problem)
        chosen = samples[:: max(1, len(samples) // FEW)][:FEW]
        found[problem] = {
            "tiny": [[sample.to_json(), best] for sample, best in chosen],
            "larger": larger(problem).to_json(),
        }
    return found


def text() -> str:
    """Return the file's content, a line for each instance."""
    lines = []
    for problem, found in documents().items():
        tiny_lines = ",\n".join(f"  {_json(one)}" for one in found["tiny"])
        larger_line = _json(found["larger"])
        lines.append(
            f'{_json(problem)}: {{"tiny": [\n{tiny_lines}\n ],\n "larger": {larger_line}}}'
        )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    FILE.write_text(text())
