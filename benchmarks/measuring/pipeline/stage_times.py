"""Runs the stages of a cut model as a pipeline of processes with onnxruntime, and times them.

Each stage has a process and processors of its own, as far as there are any. Inputs go in at the
first stage; each stage takes what it needs, and hands on what it and those before it made for those
behind. What a stage computes is timed alone, while all others wait, and together, while all run.
"""

import itertools
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from boundmark.benchmarks.measuring.measured import TURN, clock_of, random_input
from boundmark.problems.errors import BoundmarkError

# Seconds to wait for a stage; whoever is silent for longer hangs.
PATIENCE = 600.0

# Where Linux says which processors are hyperthreads of one core.
TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class MeasurementSettings:
    """Settings of how stages are run and timed.

    Attributes
    ----------
    threads
        Threads of each stage.
    warm_up
        Inputs before the first that counts.
    repeats
        Inputs that count.
    is_profiled
        Whether onnxruntime times every operator, unfused, which makes stages slower.
    """

    threads: int = 1
    warm_up: int = 5
    repeats: int = 30
    is_profiled: bool = False


@dataclass(frozen=True)
class StageTimes:
    """Measured times of stages and transfers: medians in nanoseconds.

    Attributes
    ----------
    processors
        Numbers of those that each stage may use.
    alone
        What each stage computes while the others wait.
    together
        The same while all stages run.
    handing
        Until the next stage has taken the results, while all stages run; waiting for it included.
    period
        Between two results of the pipeline in steady state.
    operators
        Times of each stage's operators by name, while all stages run; empty unless asked for.
    load
        How many other processes wanted a processor in the minute before.
    waited
        Largest wall time of a stage over the time that counts, which is the thread's on the
        processor where a stage has one thread.
    """

    processors: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]
    together: tuple[int, ...]
    handing: tuple[int, ...]
    period: int
    operators: tuple[Mapping[str, int], ...]
    load: float
    waited: float = 1.0


def measure_stages(
    stages: Sequence[Path], settings: MeasurementSettings = MeasurementSettings()
) -> StageTimes:
    """Run the stages' models, in the order in which data flows, and time them."""
    processors = assigned(len(stages), settings.threads)
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        _pipeline(stages, processors, settings, Path(folder)) as pipeline,
    ):
        inputs = pipeline.inputs()
        first = settings.warm_up + settings.repeats
        for _ in range(first):
            pipeline.put(inputs)
            pipeline.get()
        # Until the pipeline is full, stages wait for one another.
        count = settings.warm_up + len(stages) + settings.repeats
        feeder = threading.Thread(target=pipeline.put_many, args=(inputs, count), daemon=True)
        feeder.start()
        finished = [pipeline.get() for _ in range(count)]
        reports = pipeline.reports()
    kept = settings.repeats
    between = [after - before for before, after in itertools.pairwise(finished[-kept - 1 :])]
    return StageTimes(
        processors=processors,
        alone=tuple(_median(one["run"][:first][-kept:]) for one in reports),
        together=tuple(_median(one["run"][-kept:]) for one in reports),
        handing=tuple(_median(one["hand"][-kept:]) for one in reports),
        period=_median(between),
        operators=tuple(one["operators"] for one in reports),
        load=load,
        waited=max(_median(one["wall"]) / max(1, _median(one["run"])) for one in reports),
    )


def alone_in_turns(
    partitions: Sequence[Sequence[Path]], settings: MeasurementSettings
) -> list[list[Sequence[int]]]:
    """Return what each stage of each partition computes while all others wait, in each run."""
    with ExitStack() as opened:
        pipelines, inputs = [], []
        for stages in partitions:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            processors = assigned(len(stages), settings.threads)
            pipelines.append(opened.enter_context(_pipeline(stages, processors, settings, folder)))
            inputs.append(pipelines[-1].inputs())
        for turn in [settings.warm_up] + [TURN] * -(-settings.repeats // TURN):
            for pipeline, given in zip(pipelines, inputs, strict=True):
                for _ in range(turn):
                    pipeline.put(given)
                    pipeline.get()
        return [
            [one["run"][settings.warm_up :] for one in pipeline.reports()] for pipeline in pipelines
        ]


def assigned(stages: int, threads: int) -> tuple[tuple[int, ...], ...]:
    """Return the processors of each stage, different ones as long as there are enough."""
    known = sorted(os.sched_getaffinity(0))
    own = [
        tuple(known[(stage * threads + at) % len(known)] for at in range(threads))
        for stage in range(stages)
    ]
    return tuple(tuple(dict.fromkeys(one)) for one in own)


def cores_of(processors: Sequence[int], topology: Path = TOPOLOGY) -> dict[int, str]:
    """Return which core each processor is a thread of, by the list of the core's threads."""
    found = {}
    for processor in processors:
        path = topology / f"cpu{processor}" / "topology" / "thread_siblings_list"
        try:
            found[processor] = path.read_text().strip()
        except OSError:
            found[processor] = str(processor)
    return found


def sharing(
    numbers: Sequence[int], processors: Sequence[Sequence[int]], topology: Path = TOPOLOGY
) -> list[str]:
    """Return sentences about stages, by their numbers, that share a processor or a core."""
    cores = cores_of([one for own in processors for one in own], topology)
    found = []
    for one, own in enumerate(processors):
        for other in range(one + 1, len(processors)):
            if set(own) & set(processors[other]):
                found.append(
                    f"stages {numbers[one]} and {numbers[other]} share processor "
                    f"{min(set(own) & set(processors[other]))}: they take turns"
                )
            elif {cores[x] for x in own} & {cores[x] for x in processors[other]}:
                found.append(
                    f"stages {numbers[one]} and {numbers[other]} run on two hyperthreads of one "
                    "core, on which each may be half as fast as alone"
                )
    return found


def _median(values: Sequence[int]) -> int:
    return round(statistics.median(values))


@dataclass(frozen=True)
class _Pipeline:
    """The processes of a pipeline, as the caller uses them: inputs go in, outputs come out.

    Attributes
    ----------
    first, last
        Where inputs go in, and results come out.
    lines
        To each stage: what it reads, and in the end what it has timed.
    """

    stages: Sequence[Path]
    first: Connection
    last: Connection
    lines: Sequence[Connection]

    def inputs(self) -> dict[str, Any]:
        """Draw random inputs of the model, once all stages are ready."""
        made: set[str] = set()
        found: dict[str, Any] = {}
        for at in range(len(self.stages)):
            ready = self._hear(at)
            for name, extents, kind in ready["reads"]:
                if name not in made and name not in found:
                    found[name] = random_input(name, extents, kind)
            made.update(ready["makes"])
        return found

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Send an input to the first stage."""
        with suppress(BrokenPipeError, ConnectionError):
            # Why a stage is gone, whoever waits for results will say.
            self.first.send(inputs)

    def put_many(self, inputs: Mapping[str, Any], count: int) -> None:
        """Send a number of inputs to the first stage, as fast as it takes them."""
        for _ in range(count):
            self.put(inputs)

    def get(self) -> int:
        """Wait for a result, and return when it came, in nanoseconds."""
        try:
            if not self.last.poll(PATIENCE):
                raise BoundmarkError(
                    f"the stages gave no result for {PATIENCE:g} seconds; one of them hangs."
                )
            self.last.recv()
        except (EOFError, ConnectionError) as error:
            self._tell_what_failed()
            raise BoundmarkError("a stage ended by itself; memory may be short.") from error
        return time.perf_counter_ns()

    def reports(self) -> list[dict[str, Any]]:
        """End the stages and return what each has timed."""
        self.first.send(None)
        return [self._hear(at) for at in range(len(self.stages))]

    def _hear(self, at: int) -> dict[str, Any]:
        line, path = self.lines[at], self.stages[at]
        try:
            told: Any = line.recv() if line.poll(PATIENCE) else "it does not answer"
        except (EOFError, ConnectionError):
            told = "its process ended by itself; memory may be short"
        if isinstance(told, str):
            raise BoundmarkError(f"{path}: onnxruntime cannot run it: {told.rstrip('.')}.")
        found: dict[str, Any] = told
        return found

    def _tell_what_failed(self) -> None:
        for at, line in enumerate(self.lines):
            if line.poll(0):
                self._hear(at)


@contextmanager
def _pipeline(
    stages: Sequence[Path],
    processors: Sequence[Sequence[int]],
    settings: MeasurementSettings,
    folder: Path,
) -> Iterator[_Pipeline]:
    """Start a process for each stage, and kill those that are left at the end."""
    context = multiprocessing.get_context("spawn")
    links = [context.Pipe(duplex=False) for _ in range(len(stages) + 1)]
    lines = [context.Pipe(duplex=False) for _ in stages]
    needed = _needed_behind(stages)
    processes = []
    for at, (path, own) in enumerate(zip(stages, processors, strict=True)):
        stage = _Stage(path, tuple(own), settings, str(folder / f"times-{at}"), needed[at])
        ends = (links[at][0], links[at + 1][1], lines[at][1])
        processes.append(context.Process(target=_run, args=(stage, *ends), daemon=True))
    try:
        for process in processes:
            process.start()
        # Only a stage itself keeps its ends open: if it dies, nobody waits for it.
        for end in (*(one for one, _ in links[:-1]), *(one for _, one in links[1:])):
            end.close()
        for _, theirs in lines:
            theirs.close()
        yield _Pipeline(stages, links[0][1], links[-1][0], [ours for ours, _ in lines])
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def _needed_behind(stages: Sequence[Path]) -> list[frozenset[str]]:
    """Return for each stage the tensors that later stages read."""
    import onnx

    found: list[frozenset[str]] = []
    needed: frozenset[str] = frozenset()
    for path in reversed(stages):
        found.append(needed)
        graph = onnx.load_model(str(path), load_external_data=False).graph
        needed |= {value.name for value in graph.input}
    return found[::-1]


@dataclass(frozen=True)
class _Stage:
    """The arguments of a stage's process: paths, processors, and the tensors that it hands on."""

    path: Path
    processors: tuple[int, ...]
    settings: MeasurementSettings
    profile: str
    needed: frozenset[str]


def _run(stage: _Stage, receive: Connection, send: Connection, line: Connection) -> None:
    """Run a stage's model on all tensors that come, until nothing comes."""
    try:
        line.send(_timed(stage, receive, send, line))
    except (KeyboardInterrupt, EOFError, BrokenPipeError):
        return
    except Exception as error:
        # Whatever another library raises; its own words say why.
        line.send(" ".join(str(error).split()))


def _timed(
    stage: _Stage, receive: Connection, send: Connection, line: Connection
) -> dict[str, Any]:
    from boundmark.benchmarks.measuring.onnx_times import medians_of, read_by, session_of

    os.sched_setaffinity(0, stage.processors)
    settings = stage.settings
    profile = stage.profile if settings.is_profiled else ""
    session = session_of(stage.path, settings.threads, profile)
    names = [one.name for one in session.get_outputs()]
    reads = read_by(session)
    line.send({"reads": reads, "makes": names})
    run: list[int] = []
    wall: list[int] = []
    clock = clock_of(settings.threads)
    hand: list[int] = []
    while (known := receive.recv()) is not None:
        begin, started = time.perf_counter_ns(), clock()
        results = session.run(names, {name: known[name] for name, _, _ in reads})
        took, done = clock() - started, time.perf_counter_ns()
        known.update(zip(names, results, strict=True))
        send.send({name: value for name, value in known.items() if name in stage.needed})
        run.append(took)
        wall.append(done - begin)
        hand.append(time.perf_counter_ns() - done)
    send.send(None)
    operators = medians_of(Path(session.end_profiling()), settings.repeats) if profile else {}
    return {"run": run, "wall": wall, "hand": hand, "operators": operators}
