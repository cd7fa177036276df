"""What `nvidia-smi` says of a GPU."""

import subprocess
from typing import NamedTuple

FIELDS = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit"


class Gpu(NamedTuple):
    """A GPU's name, the version of its driver, and its clocks in words; None if nobody knows."""

    name: str
    driver: str | None
    clocks: str | None


def gpu(uuid: str | None = None) -> Gpu | None:
    """Return what is known of a GPU; None if nothing is.

    Parameters
    ----------
    uuid
        Of the GPU; None for the first one.
    """
    chosen = [] if uuid is None else ["-i", uuid]
    try:
        done = subprocess.run(
            ["nvidia-smi", *chosen, f"--query-gpu={FIELDS}", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
        name, driver, now, most, memory, power = done.stdout.splitlines()[0].split(", ")
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    clocks = f"SM {now} after the runs, at most {most}; memory {memory}; power limit {power}"
    return Gpu(name, driver, clocks)
