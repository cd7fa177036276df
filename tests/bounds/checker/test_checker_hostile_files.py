"""Files made to keep the checker busy, to fill the memory or to make it fail.

Each is given to a copy of the checker that runs alone, in the memory that the documentation
promises. What is refused is refused with a sentence, before the time or the memory is spent.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standalone_checker import run_alone

Document = dict[str, Any]
Case = Callable[[Path], tuple[Path, Path]]

ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")
EMPTY_LEAF = dict.fromkeys(ROWS, ())


def canonical(document: Any) -> bytes:
    """Return the text of which an instance's hash is taken."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def pipeline(nodes: int, edges: list[list[Any]], **given: Any) -> Document:
    """Return an instance whose costs are 1."""
    return {
        "format": "boundmark-instance/1", "problem": "pipeline", "k": 4, "work": [1] * nodes,
        "transfer": [1] * nodes, "param_load": [0] * nodes, "cache": 0, "edges": edges, **given,
    }  # fmt: skip


def chain(nodes: int, **given: Any) -> Document:
    """Return an instance in which each node waits for the one before."""
    return pipeline(nodes, [[v, v + 1] for v in range(nodes - 1)], **given)


def microbatch(blocks: int, **given: Any) -> Document:
    """Return an instance of blocks that take a tick on one device."""
    return {
        "format": "boundmark-instance/1", "problem": "microbatch", "micro_batches": 0,
        "capacity": [0], "duration": [1] * blocks, "memory": [0] * blocks,
        "device_sets": [[0]] * blocks, "kinds": ["forward"] * blocks, "edges": [], **given,
    }  # fmt: skip


def certificate(instance: Document, kind: str, payload: Any, **given: Any) -> Document:
    """Return a certificate of an instance."""
    return {
        "format": "boundmark-certificate/1", "problem": instance["problem"], "kind": kind,
        "instance_sha256": hashlib.sha256(canonical(instance)).hexdigest(), "bound": 1,
        "producer": "nobody", "payload": payload, **given,
    }  # fmt: skip


def schedule(instance: Document, starts: list[list[int]], period: int) -> Document:
    """Return a solution that repeats."""
    members = [0] * len(starts[0])
    return {
        "format": "boundmark-solution/1", "problem": "microbatch", "objective": period,
        "instance_sha256": hashlib.sha256(canonical(instance)).hexdigest(), "starts": starts,
        "repetend": {"period": period, "members": members},
    }  # fmt: skip


def stored(folder: Path, instance: Document, document: Document) -> tuple[Path, Path]:
    """Write an instance and a document about it."""
    paths = folder / "instance.json", folder / "document.json"
    for path, content in zip(paths, (instance, document), strict=True):
        path.write_bytes(canonical(content))
    return paths


def with_payload(folder: Path, instance: Document, kind: str, payload: bytes) -> tuple[Path, Path]:
    """Write an instance and a certificate whose payload is compressed beside it."""
    digest = hashlib.sha256(payload).hexdigest()
    (folder / f"{digest}.json.gz").write_bytes(gzip.compress(payload, 6))
    document = certificate(instance, kind, None)
    del document["payload"]
    beside = {"payload_file": f"{digest}.json.gz", "payload_sha256": digest}
    return stored(folder, instance, document | beside)


def tree(folder: Path, instance: Document, nodes: str) -> tuple[Path, Path]:
    """Write a tree without flows."""
    payload = f'{{"threshold":1000000,"flows":[],"nodes":[{nodes}]}}'.encode()
    return with_payload(folder, instance, "mip-tree/1", payload)


def later(make: Callable[[], Case]) -> Case:
    """Return a case of a large instance, which is made when the test runs."""
    return lambda folder: make()(folder)


def special(path: str) -> Case:
    """Return a case of a file that is there already."""
    return lambda folder: (stored(folder, chain(2), {})[0], Path(path))


def pipe(folder: Path) -> tuple[Path, Path]:
    """Make a pipe into which nobody writes."""
    os.mkfifo(folder / "pipe.json")
    return stored(folder, chain(2), {})[0], folder / "pipe.json"


def sparse(folder: Path) -> tuple[Path, Path]:
    """Make a file of 8 GB that takes no space."""
    with (folder / "sparse.json").open("wb") as file:
        file.truncate(2**33)
    return stored(folder, chain(2), {})[0], folder / "sparse.json"


def bomb(unit: bytes, times: int) -> Case:
    """Return a case of a payload that is much larger than its file."""
    return lambda folder: with_payload(
        folder, chain(2), "fractional-load/1", b"[" + unit * times + b"1]"
    )


def down_sets(instance: Document, threshold: int) -> Case:
    """Return a case of a search of down-sets."""
    payload = {"threshold": threshold, "ignored": []}
    return lambda folder: stored(folder, instance, certificate(instance, "ideal-dp/1", payload))


def shares(folder: Path) -> tuple[Path, Path]:
    """Write more flows than fit into memory."""
    flow = b'{"node":0,"io_weight":2,"edges":[],"amounts":[]}'
    flows = b",".join([flow] * 1_500_000)
    return with_payload(
        folder, chain(9), "fractional-load/1", b'{"threshold":9,"flows":[' + flows + b"]}"
    )


def branchings(folder: Path) -> tuple[Path, Path]:
    """Write a tree of 200,000 branchings in two kilobytes."""
    return tree(folder, chain(4096, k=4096), ",".join(["[0,0]"] * 200_000))


def full_leaf(folder: Path) -> tuple[Path, Path]:
    """Write a leaf with 16 million columns."""
    cost = [number for stage in range(4096) for number in (stage, 1)]
    leaf = json.dumps({**EMPTY_LEAF, "cost": cost})
    return tree(folder, chain(4096, k=4096), leaf)


def empty_leaves(folder: Path) -> tuple[Path, Path]:
    """Write leaves that prove nothing, of a graph with 16 million columns."""
    leaf = json.dumps(EMPTY_LEAF)
    return tree(folder, chain(4096, k=4096), f"[0,0],{leaf},{leaf}")


def reach(folder: Path, instance: Document, steps: bytes) -> tuple[Path, Path]:
    """Write steps about weights of 1."""
    weights = b",".join([b"1"] * len(instance["work"]))
    payload = b'{"threshold":1000000,"flows":[],"moves":[],"weights":[' + weights + b'],"steps":['
    return with_payload(folder, instance, "prefix-bound/1", payload + steps + b"]}")


def long_steps(folder: Path) -> tuple[Path, Path]:
    """Write steps that prove nothing, of as many stages and nodes as there can be."""
    leaf = json.dumps({**EMPTY_LEAF, "at_least": [], "at_most": []}).encode()
    step = b'{"first":0,"last":4095,"side":"upper","limit":-1,"nodes":[' + leaf + b"]}"
    return reach(folder, chain(4096, k=4096), b",".join([step] * 100))


def full_step(folder: Path) -> tuple[Path, Path]:
    """Write a leaf with a multiplier for each of 8,192 rows of 4,096 weights."""
    every = [number for row in range(4096) for number in (row, 1)]
    leaf = json.dumps({**EMPTY_LEAF, "at_least": every, "at_most": every}).encode()
    step = b'{"first":0,"last":4095,"side":"upper","limit":0,"nodes":[' + leaf + b"]}"
    return reach(folder, chain(4096, k=4096), step)


def many_steps(folder: Path) -> tuple[Path, Path]:
    """Write 100,000 steps of one stage whose trees are empty but for a branching."""
    step = b'{"first":1,"last":1,"side":"lower","limit":0,"nodes":[[0,0],[0,0]]}'
    return reach(folder, chain(4096, k=4096), b",".join([step] * 100_000))


def idle_cuts(folder: Path) -> tuple[Path, Path]:
    """Write 100,000 flows of nothing, each of which leaves all 1,024 nodes undecided."""
    payload = {
        "threshold": 10**6, "loaded": 0, "scale": 1, "weights": [1] * 1024,
        "nodes": [[0]] * 100_000, "ends": [],
    }  # fmt: skip
    instance = chain(1024)
    return stored(folder, instance, certificate(instance, "cut-tree/2", payload))


def packing(instance: Document, threshold: int, **given: Any) -> Case:
    """Return a case of weights of 1, and a front that lets sets weigh what they cost."""
    nodes = range(len(instance["work"]))
    payload = {
        "threshold": threshold, "loaded": 0, "unit": 1, "weights": [1 for _ in nodes],
        "front": list(range(threshold + 1)), "order": list(nodes), "plan": [0 for _ in nodes],
        "ends": [], "flows": [{"price": 0, "edges": [], "amounts": []}], **given,
    }  # fmt: skip
    return lambda folder: stored(folder, instance, certificate(instance, "packing/2", payload))


def complete(nodes: int) -> Document:
    """Return an instance in which each node waits for all before, whose tensors cost nothing."""
    edges = [[u, v] for u in range(nodes) for v in range(u + 1, nodes)]
    return pipeline(nodes, edges, transfer=[0] * nodes, k=1)


STAR = pipeline(61, [[0, v] for v in range(1, 61)], k=1)
TWO_FLOWS = [{"price": price, "edges": [], "amounts": []} for price in range(2)]


def long_makespan(folder: Path) -> tuple[Path, Path]:
    """Write a schedule of 4,096 blocks and 65,536 micro-batches."""
    instance = microbatch(4096, micro_batches=65536)
    return stored(folder, instance, schedule(instance, [list(range(4096))], 4096))


def long_repetition(folder: Path) -> tuple[Path, Path]:
    """Write a schedule that has to be checked for thousands of numbers of micro-batches."""
    instance = microbatch(64)
    starts = [[64 * row + block for block in range(64)] for row in range(4000)]
    return stored(folder, instance, schedule(instance, starts, 64))


def many_devices(folder: Path) -> tuple[Path, Path]:
    """Write 245 blocks that occupy 245 devices, and pairs for each of them."""
    half = 122
    everywhere = [list(range(2 * half))] * (2 * half)
    instance = microbatch(
        2 * half,
        capacity=[half] * (2 * half),
        memory=[1] * half + [-1] * half,
        device_sets=everywhere,
        edges=[[block, half + block] for block in range(half)],
    )
    pairs = [[[block, half + block, 1] for block in range(half)]] * (2 * half)
    payload = {"bound": 1000, "order": list(range(2 * half)), "pairs": pairs}
    return stored(folder, instance, certificate(instance, "modulo-tree/1", payload))


def many_paths(folder: Path) -> tuple[Path, Path]:
    """Write pairs of 1,024 allocations in a graph of 100,000 edges."""
    half = 1024
    instance = microbatch(
        2 * half,
        capacity=[half],
        memory=[1] * half + [-1] * half,
        edges=[[first, half + last] for first in range(100) for last in range(half)],
    )
    payload = {"device": 0, "pairs": [[block, half + block, 1] for block in range(half)]}
    return stored(folder, instance, certificate(instance, "memory-latency/1", payload))


def repeated_pairs(folder: Path) -> tuple[Path, Path]:
    """Write a pair a quarter of a million times, once for each unit of memory."""
    amount = 2**18
    instance = microbatch(2, capacity=[amount], memory=[amount, -amount], edges=[[0, 1]])
    pairs = [[[0, 1, 1]] * amount]
    payload = {"bound": 1000, "order": [0, 1], "pairs": pairs}
    return stored(folder, instance, certificate(instance, "modulo-tree/1", payload))


def devices(sets: Any) -> Case:
    """Return a case of blocks on devices that are no integers."""
    instance = microbatch(2, device_sets=sets)
    document = schedule(instance, [[0, 1]], 2)
    return lambda folder: stored(folder, instance, document)


REFUSED: dict[str, tuple[Case, str]] = {
    "device without end": (special("/dev/zero"), "the file is not a regular file"),
    "empty device": (special("/dev/null"), "the file is not a regular file"),
    "folder": (special("/tmp"), "the file is not a regular file"),
    "missing": (special("/nowhere/at/all.json"), "the file cannot be read"),
    "pipe": (pipe, "the file is not a regular file"),
    "8 GB": (sparse, "the file has more than 128 MiB"),
    "gzip of spaces": (bomb(b" ", 2**28), "the payload file has more than 128 MiB, decompressed"),
    "gzip of brackets": (bomb(b"[", 10**6), "the payload file is nested too deeply"),
    "gzip of lists": (bomb(b"[],", 3 * 10**7), "the payload file takes more than 1024 MiB"),
    "gzip of objects": (bomb(b'{"":1},', 3 * 10**6), "the payload file takes more than 1024 MiB"),
    "flows": (shares, "the payload file takes more than 1024 MiB of memory"),
    "down-sets of a long chain": (
        later(lambda: down_sets(chain(200_000), 10**6)),
        "too many down-sets to check",
    ),
    "pairs of down-sets": (
        later(lambda: down_sets(chain(46_000, k=46_000), 30_000)),
        "too many pairs of down-sets to check",
    ),
    "down-sets of a wide graph": (
        later(lambda: down_sets(pipeline(1070, []), 10**6)),
        "1,048,576 steps",
    ),
    "branchings": (branchings, "the check takes more than 1,048,576 steps"),
    "full leaf": (full_leaf, "the check takes more than 512 MiB of memory"),
    "empty leaves": (empty_leaves, "the certificate's bound is more than it proves, 0"),
    "long steps": (long_steps, "the check takes more than 1,048,576 steps"),
    "full step": (full_step, "the check takes more than 1,048,576 steps"),
    "many steps": (many_steps, "has fewer entries than the tree"),
    "cuts that decide nothing": (idle_cuts, "the check takes more than 1,048,576 steps"),
    "sets of a star": (
        packing(STAR, 40, front=[0, *range(40)]),
        "the check takes more than 1,048,576 steps",
    ),
    "sets of a long chain": (
        later(lambda: packing(chain(4096, k=1), 4000)),
        "1,048,576 steps",
    ),
    "sets of a complete graph": (
        later(lambda: packing(complete(700), 690)),
        "1,048,576 steps",
    ),
    "flows in turn": (
        later(lambda: packing(complete(700), 690, flows=TWO_FLOWS, plan=[0, 1] * 350)),
        "1,048,576 steps",
    ),
    "steep front": (
        packing(chain(2, work=[10**6] * 2, k=1), 8191),
        "the weights do not refute the threshold",
    ),
    "long front": (packing(chain(2), 10**6), "front of the payload is too long"),
    "sets of a long graph": (
        later(lambda: packing(chain(4097), 9)),
        "the instance is too large for a packing",
    ),
    "long makespan": (long_makespan, "the check takes more than 512 MiB of memory"),
    "long repetition": (long_repetition, "the check takes more than 1,048,576 steps"),
    "many devices": (many_devices, "the check takes more than 1,048,576 steps"),
    "many paths": (many_paths, "the check takes more than 1,048,576 steps"),
    "repeated pairs": (repeated_pairs, "the tree does not refute a period"),
}

# Those that end where the steps do.
COSTLY = {name for name, (_, reason) in REFUSED.items() if "steps" in reason or "pairs" in reason}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_bounded_time_and_memory(name: str, tmp_path: Path) -> None:
    """The verdict is a sentence, whatever the file."""
    make, reason = REFUSED[name]
    instance, document = make(tmp_path)
    done = run_alone(tmp_path, instance, document, is_smaller=name in COSTLY)
    assert done.stderr == ""
    assert done.returncode == 1
    assert f"{document}: rejected, " in done.stdout
    assert reason in done.stdout


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        (chain(3, cache=2**53), "the costs of the instance add up to more than 2^53"),
        (chain(3, work=[2**53, 0, 0]), "the costs of the instance add up to more than 2^53"),
        (chain(3, k=10**200), "k of the instance is not an integer from 1 to 1048576"),
        (chain(3, k="\x1b[31mred\n"), r"but '\x1b[31mred\n'"),
        (pipeline(3, [[0, 1], [1, "x" * 9999]]), "but a text"),
        (microbatch(33, duration=[2**32] * 33, micro_batches=2**16),
         "the blocks of all micro-batches of the instance take more than 2^53 ticks"),
        (microbatch(1, device_sets=[[0.0]]), "the number '0.0', which is not an integer"),
        (microbatch(1, device_sets=[[True]]), "device_sets of the instance is not an integer"),
        (microbatch(1, device_sets=[[None]]), "device_sets of the instance is not an integer"),
        (microbatch(1, device_sets=["0"]), "device_sets of the instance is not a list, but '0'"),
        (microbatch(1, kinds=[["forward"]]), "kinds of the instance are not from forward"),
    ],
    ids=range(11),
)  # fmt: skip
def test_hostile_instances(instance: Document, reason: str, tmp_path: Path) -> None:
    """Nothing is said about other files if the instance is not one."""
    refuse_instance(instance, reason, tmp_path)


@pytest.mark.slow
def test_cycle_of_a_large_graph(tmp_path: Path) -> None:
    """A graph of a million edges, of which the last closes a cycle."""
    edges = [[u, v] for u in range(1000) for v in range(1000, 2000)]
    instance = pipeline(2000, [*edges, [1999, 0]])
    refuse_instance(instance, "the instance's graph has a cycle", tmp_path)


@pytest.mark.slow
def test_more_nodes_than_memory_holds(tmp_path: Path) -> None:
    """An instance of few megabytes whose check would take much more."""
    reason = "the check takes more than 512 MiB of memory"
    refuse_instance(pipeline(1_100_000, []), reason, tmp_path)


def refuse_instance(instance: Document, reason: str, tmp_path: Path) -> None:
    """Check that the checker says in one line why an instance is none."""
    path, document = stored(tmp_path, instance, {})
    done = run_alone(tmp_path, path, document)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_devices_written_as_texts(tmp_path: Path) -> None:
    """Integers of an instance may be no decimal texts, as they may elsewhere."""
    instance = microbatch(2, device_sets=[["0"], ["0"]])
    refuse_instance(instance, "an entry of device_sets of the instance is not", tmp_path)


@pytest.mark.parametrize("name", ["\x1b[31m.json", "\n.json", "caf\u00e9.json", b"\xff.json"])
def test_names_of_files_are_data(name: str | bytes, tmp_path: Path) -> None:
    """A name that moves the cursor, or is no text, is printed in one line and without effect."""
    instance = chain(2)
    first, _ = stored(tmp_path, instance, {})
    folder = os.fsencode(tmp_path)
    path = os.path.join(folder, name if isinstance(name, bytes) else name.encode())
    with open(path, "wb") as file:
        file.write(canonical(certificate(instance, "max-work/1", {"node": 0})))
    done = run_alone(tmp_path, first, os.fsdecode(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(".json: accepted, OPT >= 1\n")
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 1
