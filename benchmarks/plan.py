"""`plan`: which parallelism is best for a model, as one question with one certificate."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.arguments import check_flags, path_of
from boundmark.benchmarks.solving.model import load
from boundmark.bounds import checker
from boundmark.bounds.layers.parallel import (
    BOUND,
    LIMIT,
    MEMORY,
    Found,
    Part,
    Point,
    Row,
    answer,
    front,
    parts,
)
from boundmark.datasets.layers.language_models import public_name
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.layers import LayerModel
from boundmark.problems.layers.fleet import read_hosts
from boundmark.problems.layers.model import DECODE, TRAINING
from boundmark.problems.layers.parallel import Asked, Wish, ask
from boundmark.problems.layers.tools.formats import NO_RULES, TOOLS, write_as
from boundmark.problems.method import Budget
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.text import size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from boundmark.reports.plots import Plot

# What may be fixed, and what it is.
CHOICES = {
    "t": "devices that split layers (tensor parallelism)",
    "p": "stages (pipeline parallelism)",
    "d": "replicas (data parallelism)",
    "e": "devices that experts are divided among (expert parallelism)",
    "b": "sequences of a micro-batch",
}

# What tools offer beyond that; answers say nothing of it.
NOT_BUILT = {"v": "virtual stages (interleaved schedules)", "c": "context parallelism"}

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, repr=False, eq=False)
class PlanAnswer:
    """The best parallelism for a model, and a certified bound that covers all others.

    Attributes
    ----------
    model
        What it is called.
    found
        All configurations, the certificate and the question.
    """

    model: str
    found: Found

    @property
    def question(self) -> Asked:
        """The question that was asked, with the costs of all configurations."""
        return self.found.question

    @property
    def cost(self) -> int | None:
        """Cost of the best configuration, in nanoseconds; None if none is possible."""
        return self.found.best.cost if self.found.best else None

    @property
    def bound(self) -> int | None:
        """Certified lower bound of the cost of every configuration; None if none is possible."""
        return None if self.found.is_impossible else self.found.bound

    @property
    def gap(self) -> float | None:
        """The optimality gap, ``cost / bound - 1``; None unless both are known."""
        if self.cost is None or not self.bound:
            return None
        return self.cost / self.bound - 1

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves that no configuration costs less."""
        return self.cost is not None and self.cost == self.bound

    @property
    def configuration(self) -> dict[str, int] | None:
        """The best one: `t`, `p`, `d`, `e` and `b`, as `CHOICES` says, m micro-batches, and `r`.

        The last is 1 if layers run again in training.
        """
        return None if self.found.best is None else numbers(self.found.best)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens a second of the best configuration."""
        return None if self.cost is None else self.question.rate(self.cost)

    @cached_property
    def table(self) -> "pd.DataFrame":
        """All configurations, best first, with cost or bound, and why the others are none."""
        import pandas as pd

        rows = [
            {
                **numbers(row),
                "cost": row.cost,
                "bound": row.bound,
                "tokens_per_second": None if row.cost is None else self.question.rate(row.cost),
                "why": self.reason(row),
            }
            for row in self.found.rows
        ]
        frame = pd.DataFrame(rows)
        return frame.astype({"cost": "Int64", "bound": "Int64"})

    def reason(self, row: Row) -> str:
        """Return why a configuration is not among the best; empty for one with a cost."""
        if row.cost is not None:
            return ""
        if row.why == MEMORY:
            missing = self.question.missing(row.name)
            if missing <= 0:
                return "no cut fits into the memory"
            return f"does not fit: {size(missing)} missing"
        if row.why == LIMIT:
            return f"no cut gives a token every {self.question.wish.limit_seconds * 1e3:g} ms"
        if row.why == BOUND:
            return f"at most {rate_words(self.question.rate(row.bound or 1))} (bound)"
        return "not searched: the time was up"

    def explain(self, row: Row | None = None) -> tuple[Part, ...]:
        """Return where a configuration's time and memory go, stage by stage; the best by default.

        Raises
        ------
        Error
            If it has no cut.
        """
        chosen = row or self.found.best
        if chosen is None or chosen.cost is None:
            raise InvalidInputError(
                "the configuration has no cut to explain; expected one with a cost."
            )
        return parts(self.question, chosen)

    def row(self, given: str) -> Row:
        """Return the best configuration with some numbers, such as ``"t=8,d=2"``."""
        wanted = read_numbers("configuration", given, (*CHOICES, "m", "r"))
        for row in self.found.rows:
            if wanted.items() <= numbers(row).items():
                return row
        raise InvalidInputError(
            f"there is no configuration {given}; see --all for those there are."
        )

    def front(self, seconds: float = 60.0) -> "pd.DataFrame":
        """Return the configurations of which none is better in time between tokens and in rate.

        Columns are `configuration`, `milliseconds` between two tokens, `tokens_per_second`, and
        certified limits of both, `least_milliseconds` and `most_tokens_per_second`.

        Raises
        ------
        Error
            If the goal is not decode, or the time was up.
        """
        import pandas as pd

        frame = pd.DataFrame(front(self.question, Budget(seconds)), columns=list(Point._fields))
        words = [words_of(self.question, Row(name, None)) for name in frame["configuration"]]
        return frame.assign(configuration=words)

    def plot(self, ax: "Axes | None" = None, seconds: float = 60.0) -> "Axes":
        """Draw rate against time between tokens: the front, and the certified bound of it.

        Parameters
        ----------
        ax
            Where; None for new axes.
        seconds
            Wall time of the search for the front.
        """
        from boundmark.reports.frame_plots import drawn

        return drawn(front_plot(self.front(seconds), self.model), ax)

    def check(self) -> int:
        """Check question, solution and certificate again; return the bound.

        Raises
        ------
        Error
            If the checker rejects one of them.
        """
        try:
            if self.found.solution is not None:
                checker.check_solution(self.question.to_json(), self.found.solution)
            return checker.check_certificate(self.question.to_json(), self.found.certificate)
        except checker.Rejected as error:
            raise InvalidInputError(f"the checker rejects the answer: {error}.") from error

    def save(self, folder: str | Path) -> list[Path]:
        """Write question.json, certificate.json and solution.json; return their paths.

        ``python -m boundmark.bounds.checker question.json certificate.json solution.json`` checks
        them.
        """
        place = path_of("folder", folder)
        place.mkdir(parents=True, exist_ok=True)
        documents = {
            "question": self.question.to_json(),
            "certificate": self.found.certificate,
            "solution": self.found.solution,
        }
        written = []
        for name, document in documents.items():
            if document is not None:
                written.append(place / f"{name}.json")
                write_durably(written[-1], canonical_json(document).encode())
        return written

    def to_json(self) -> dict[str, Any]:
        """Return all there is to know, but the documents that `save` writes."""
        wish, best = self.question.wish, self.found.best
        return {
            "model": self.model,
            "goal": wish.goal,
            "sequences": wish.sequences or None,
            "context": wish.context,
            "devices": self.question.hosts.words(),
            "configuration": self.configuration,
            "tokens_per_second": self.tokens_per_second,
            "cost": self.cost,
            "certified_bound": self.bound,
            "gap": self.gap,
            "optimal": self.is_optimal,
            "stages": [part._asdict() for part in self.explain()] if best else None,
            "start": start_lines(self.model, self.question, best) if best else None,
            "configurations": [
                {**numbers(row), "cost": row.cost, "bound": row.bound, "why": self.reason(row)}
                for row in self.found.rows
            ],
            "instance_sha256": self.question.sha256,
            "notes": list(self.question.notes),
        }

    def __repr__(self) -> str:
        if self.cost is None:
            return f"<plan of {self.model}: no configuration is possible>"
        proof = "optimal" if self.is_optimal else f"gap {self.gap or 0:.1%}"
        words = words_of(self.question, self.found.rows[0])
        return (
            f"<plan of {self.model}: {words}, {rate_words(self.question.rate(self.cost))}, {proof}>"
        )


def plan(
    model: Any,
    devices: str,
    *,
    goal: str = DECODE,
    sequences: int = 0,
    context: int = 4096,
    tpot: str | float = 0.0,
    ttft: str | float = 0.0,
    fix: str | Mapping[str, int] = "",
    at_most: str | Mapping[str, int] = "",
    weight_bits: int = 0,
    cache_bits: int = 0,
    memory_percent: int = 90,
    overhead: str | float = 0.0,
    recompute: str = "any",
    overlap: bool = False,
    shard_optimizer: bool = False,
    rules: str = "none",
    seconds: float = 60.0,
    wanted: int = 10,
    quiet: bool = False,
) -> PlanAnswer:
    """Find the best parallelism for a language model, with a certificate over all configurations.

    Parameters
    ----------
    model
        What `load` returns or takes.
    devices
        Hosts: ``"16xH100"`` is one, ``"2x8xH100@50"`` are two with eight each and 50 GB/s for each
        device between them.
    goal
        ``"decode"``, ``"prefill"`` or ``"training"``.
    sequences
        Sequences that are decoded at a time, or those of a step of training; 0 for as many as is
        best.
    context
        Tokens of a sequence.
    tpot
        The longest time between two tokens of a sequence, in seconds or as ``"30ms"``.
    ttft
        The longest time to the first token of a prompt of as many tokens, if nothing else runs.
    fix, at_most
        Numbers of `t`, `p`, `d`, `e` and `b` that are given, or limits of them: ``"t=4,p=2"`` or a
        dict.
    weight_bits, cache_bits, memory_percent
        As of problem `layers`.
    overhead
        What an engine adds to each step of a stage, in seconds or as ``"2ms"``; nothing by default,
        since published steps show no one figure.
    recompute
        Whether training keeps no more of each layer than its input, and runs it again: ``"none"``,
        ``"full"`` or, as is best, ``"any"``.
    overlap
        Whether the gradients of replicas are summed up while others are computed.
    shard_optimizer
        Whether replicas divide the states of the optimiser among them.
    rules
        Tool whose rules cuts have to follow, such as ``"vllm"``.
    seconds
        Wall time of the search.
    wanted
        How many of the best configurations are searched for the optimum.
    quiet
        Whether to show no progress.

    Raises
    ------
    Error
        If something is not understood, or not built.

    Examples
    --------
    >>> import boundmark
    >>> found = boundmark.plan("language-models/llama-3-8b", "4xA10", sequences=16, quiet=True)
    >>> found.configuration, found.is_optimal
    ({'t': 4, 'p': 1, 'd': 1, 'e': 1, 'm': 1, 'b': 16, 'r': 0}, True)
    """
    check_flags(quiet=quiet, overlap=overlap, shard_optimizer=shard_optimizer)
    loaded = load(model)
    if not isinstance(loaded.source, LayerModel):
        raise InvalidInputError(
            f"{loaded.name} is a {type(loaded.source).__name__}; expected a language model's "
            "configuration, config.json or GGUF."
        )
    fixed = read_numbers("fix", fix)
    limits = read_numbers("at_most", at_most)
    wish = Wish(
        goal,
        _count("context", context, 1),
        _count("sequences", sequences, 0),
        read_seconds("tpot", tpot),
        read_seconds("ttft", ttft),
        _count("weight_bits", weight_bits, 0),
        _count("cache_bits", cache_bits, 0),
        _count("memory_percent", memory_percent, 1),
        read_seconds("overhead", overhead),
        recompute,
        overlap,
        shard_optimizer,
        rules,
        fixed,
        {**limits, **fixed},
    )
    with naming(loaded.name):
        question = ask(loaded.source, read_hosts(devices), wish)
    budget = Budget(read_seconds("seconds", seconds))
    wanted = _count("wanted", wanted, 1)
    if quiet:
        return PlanAnswer(loaded.name, answer(question, budget, wanted))
    from boundmark.benchmarks.running.progress import progress_console

    with progress_console(quiet).status("") as status:

        def tell(done: int, all_: int) -> None:
            status.update(f"{done} of {all_} configurations")

        return PlanAnswer(loaded.name, answer(question, budget, wanted, tell))


def numbers(row: Row) -> dict[str, int]:
    """Return a configuration's numbers; p is that of the stages that are used, if it is known."""
    t, d, e, m, b, r = row.name
    p = len(set(row.devices))
    return {"t": t, "p": p, "d": d, "e": e * t if e > 1 else 1, "m": m, "b": b, "r": r}


def rate_words(rate: float) -> str:
    """Return a number of tokens a second in words."""
    return f"{rate:,.{0 if rate >= 1000 else 1}f} tokens a second"


def words_of(question: Asked, row: Row) -> str:
    """Return a configuration in words."""
    one = numbers(row)
    found = f"TP {one['t']}" + (f" x PP {one['p']}" if one["p"] else "") + f" x DP {one['d']}"
    found += f", EP {one['e']}" * (one["e"] > 1)
    if question.wish.goal != DECODE or one["m"] > 1 or not question.wish.sequences:
        found += f", {one['m']} micro-batch{'es' * (one['m'] > 1)} of {one['b']}"
    return found + ", full recomputation" * one["r"]


def start_lines(model: str, question: Asked, row: Row) -> str:
    """Return what starts a configuration, as the tool of the rules takes it, or why that cannot.

    Without rules, that is Megatron-LM for training, SGLang if experts are on some of the devices,
    and vLLM.
    """
    _, d, e, m, b, again = row.name
    wish, further, tool = question.wish, "", question.wish.rules
    if tool == NO_RULES:
        tool = "sglang" if 1 < e < d else "vllm"
        tool = "megatron" if wish.goal == TRAINING else tool
    if wish.goal == TRAINING:
        recomputing = "--recompute-granularity full --recompute-method uniform"
        further = f"--micro-batch-size {b} --global-batch-size {d * m * b}"
        further += f" {recomputing} --recompute-num-layers 1" * again
        further += " --overlap-grad-reduce" * wish.overlaps
        further += " --use-distributed-optimizer" * wish.shards
    name = shlex.quote(public_name(model))
    try:
        return write_as(tool, question.launch(row.name, row.devices, name, further))
    except InvalidInputError as error:
        return f"# No line of {TOOLS[tool].title} starts this split: {error}"


def front_plot(front: "pd.DataFrame", title: str) -> "Plot":
    """Return the plot of a front, which has a step for each configuration, and of its bound."""
    from boundmark.reports.plots import COLOURS, GREY, Plot, plain_log_ticks

    def draw(data: "pd.DataFrame", axes: "Axes") -> None:
        right = 1.15 * data["milliseconds"].max()
        lines = (
            ("certified bound", "least_milliseconds", "most_tokens_per_second", GREY, "--"),
            ("best found", "milliseconds", "tokens_per_second", COLOURS[0], "-"),
        )
        for label, x, y, colour, style in lines:
            axes.step([*data[x], right], [*data[y], data[y].iloc[-1]], style, where="post",
                      label=label, color=colour)  # fmt: skip
        axes.plot(data["milliseconds"], data["tokens_per_second"], "o", color=COLOURS[0])
        for words, x, y in data.iloc[:, :3].to_numpy().tolist():
            axes.annotate(words, (x, y), (4, -9), textcoords="offset points", fontsize=7)
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
        axes.set_xlabel("ms between two tokens of a sequence")
        axes.set_ylabel("tokens a second")
        axes.set_ylim(bottom=0)

    return Plot("front", title, "", front, draw)


def read_seconds(name: str, given: object) -> float:
    """Return a time that is written as seconds, or as ``30ms``."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(ns|us|ms|s)?", str(given))
    if match is None or float(match[1]) * _UNITS[match[2] or "s"] > 1e6:
        raise InvalidInputError(f"{name} is {quoted(given)}; expected a time such as 30ms.")
    return float(match[1]) * _UNITS[match[2] or "s"]


def read_numbers(
    name: str, given: str | Mapping[str, int], known: tuple[str, ...] = tuple(CHOICES)
) -> dict[str, int]:
    """Return numbers by what they are of, from ``t=4,p=2`` or a dict."""
    if isinstance(given, Mapping):
        pairs = [(str(key), str(value)) for key, value in given.items()]
    else:
        parts_ = [part.partition("=") for part in str(given).split(",") if part.strip()]
        pairs = [(key.strip(), value.strip()) for key, _, value in parts_]
    found: dict[str, int] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInputError(f"{name} has {key!r} twice; expected it once.")
        if key in NOT_BUILT:
            raise InvalidInputError(
                f"{name} has {key!r}: {NOT_BUILT[key]} cannot be planned yet; "
                f"expected numbers of {', '.join(known)}."
            )
        if key not in known or not re.fullmatch(r"[1-9]\d{0,6}" if key != "r" else "[01]", value):
            raise InvalidInputError(
                f"{name} has {quoted(f'{key}={value}')}; expected numbers of {', '.join(known)}, "
                "such as t=4,p=2."
            )
        found[key] = int(value)
    return found


def _count(name: str, value: object, least: int) -> int:
    if type(value) is not int or not least <= value <= 2**30:
        raise InvalidInputError(f"{name} is {quoted(value)}; expected {least} to 2^30.")
    return value
