"""What importing reports costs."""

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "jinja2")


@pytest.mark.parametrize("name", ["pipeline", "microbatch.drawings", "stored.store"])
def test_only_who_draws_or_renders_waits_for_it(name: str) -> None:
    """Commands that show a solution or store results start without libraries for pages."""
    code = (
        f"import sys, boundmark.reports.{name}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
