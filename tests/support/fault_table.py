"""What methods may do wrong, and the status that each has to end with."""

import json
import signal
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


def _sent(label: str, header: Any) -> Fault:
    text = header if isinstance(header, str) else json.dumps(header)
    return Fault(f"sends {label}", "error", "sends", {"header": text, "body": ""})


def _kept(where: str) -> Fault:
    params = {"where": where, "mebibytes": 300}
    return Fault(f"fills {where}", "oom", "keeps-in-memory", params, memory_bytes=200 * MIB)


def _attack(whom: str, how: signal.Signals, then: str, status: str) -> Fault:
    params = {"whom": whom, "how": int(how), "then": then}
    return Fault(f"{how.name} to its {whom}, then {then}s", status, "attacks", params)


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
    *map(_kept, ("memfd", "mapped memfd", "System V")),
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
    Fault("a million reports", "error", "reports-a-million-times", seconds=120.0),
    Fault("claim of kind 5", "error", "claims", {"kind": 5, "surrogate": False}),
    Fault("claim of a lone surrogate", "error", "claims", {"kind": "", "surrogate": True}),
    Fault("deep document", "error", "sends-deep-document"),
    Fault("two write at once", "error", "reports-from-two-processes"),
    Fault("frame of 2 GiB", "error", "sends-without-end", {"announced": 2**31}),
    Fault("endless garbage", "error", "sends-without-end", {"announced": 2**20}),
    _sent("no kind", {}),
    _sent("a list", [1]),
    _sent("deep JSON", "[" * 10_000),
    _sent("an unknown kind", {"kind": "song"}),
    _sent("no value", {"kind": "solution"}),
    _sent("text for a number", {"kind": "solution", "value": "3"}),
    _sent("2**63", {"kind": "bound_certified", "value": 2**63}),
    _sent("NaN", '{"kind": "bound_claimed", "bound_kind": "x", "value": NaN}'),
    _sent("infinity", '{"kind": "bound_claimed", "bound_kind": "x", "value": Infinity}'),
    _sent("an unknown end", {"kind": "end", "status": "great"}),
    _sent("an end that is a list", {"kind": "end", "status": []}),
    Fault("lies about time", "ok", "lies-about-time"),
    Fault("breaks the clock", "timeout", "breaks-the-clock", seconds=1.0),
    *(
        _attack(whom, how, then, "error" if how == signal.SIGSTOP else "crashed")
        for whom in ("server", "guard", "guard and server")
        for how in (signal.SIGSTOP, signal.SIGKILL)
        for then in ("print", "sleep")
    ),
)
