"""What methods may do wrong, and the status that each has to end with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MIB = 2**20


@dataclass(frozen=True)
class Fault:
    """One way to misbehave: a method of `faulty_methods`, and what comes of it."""

    label: str
    status: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 20.0
    memory_bytes: int = 1024 * MIB


FAULTS = (
    Fault("nothing wrong", "ok", "good"),
    Fault("hangs in native code", "timeout", "hangs", seconds=1.0),
    Fault("busy for ever", "timeout", "works", {"seconds": 1000.0}, seconds=1.0),
    Fault("hangs with grandchildren", "timeout", "hangs-with-grandchildren", seconds=1.0),
    Fault("leaves grandchildren", "ok", "leaves-grandchildren"),
    Fault("allocates without end", "oom", "allocates-bytes", memory_bytes=200 * MIB),
    Fault("allocates one array", "oom", "allocates-array", memory_bytes=200 * MIB),
    Fault("grandchildren allocate", "oom", "allocates-in-grandchild", memory_bytes=200 * MIB),
    Fault("allocates in C++", "oom", "allocates-in-cpp"),
    Fault(
        *("fills mapped memory", "oom", "keeps-in-memory"),
        {"where": "mapped memfd", "mebibytes": 300},
        memory_bytes=200 * MIB,
    ),
    Fault("segmentation fault", "crashed", "segfaults"),
    Fault("kills itself", "crashed", "kills-itself"),
    Fault("exits", "crashed", "exits"),
    Fault("raises", "error", "raises"),
    Fault("raises garbage", "error", "raises-garbage"),
    Fault("prints 1 GB", "ok", "floods", {"megabytes": 1000}, seconds=120.0),
    Fault("wrong objective", "error", "believes-its-objective"),
    Fault("infeasible solution", "error", "breaks-a-constraint"),
    Fault("false bound", "error", "certifies-falsely", {"after": 2}),
    Fault("false bounds only", "error", "certifies-falsely", {"after": 9}),
    Fault("certificate of another instance", "error", "certifies-another-instance"),
    Fault("claim of kind 5", "error", "claims", {"kind": 5, "surrogate": False}),
    Fault("claim of a lone surrogate", "error", "claims", {"kind": "", "surrogate": True}),
    Fault("bound of 2**63", "error", "certifies-the-incredible"),
)
