"""A checker that is right about trivial documents, and breaks when it is told to."""

import ctypes
import os
import signal
import time
from typing import Any


class Rejected(Exception):  # noqa: D101, N818
    pass


def check_solution(instance: dict[str, Any], solution: dict[str, Any]) -> int:
    """Accept what puts everything into one stage."""
    cost = sum(instance["work"])
    if set(solution["stages"]) != {0} or cost != solution["objective"]:
        raise Rejected(f"the objective is {cost}")
    return cost


def check_certificate(instance: dict[str, Any], certificate: dict[str, Any]) -> int:
    """Accept a node whose work is the bound."""
    match certificate["kind"]:
        case "err":
            raise KeyError("flow")
        case "crash":
            ctypes.string_at(0)
        case "hang":
            time.sleep(1000)
        case "allocate":
            kept = []
            while True:
                kept.append(bytearray(b"x") * 2**22)
        case "kill-parent":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
    bound = int(instance["work"][certificate["payload"]["node"]])
    if certificate["bound"] > bound:
        raise Rejected(f"the payload proves {bound}")
    return bound
