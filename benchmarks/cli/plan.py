"""`boundmark plan`: which parallelism is best for a model on some hosts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import FILE, FOLDER, SECONDS

if TYPE_CHECKING:
    from boundmark.benchmarks.plan import PlanAnswer

# No configuration is possible.
NOTHING_FOUND = 3

LABEL_WIDTH = 17

# Lines that start more hosts are shortened.
MOST_HOSTS = 4


@click.command()
@click.argument("model")
@click.option(
    "--devices", required=True, metavar="HOSTS",
    help="Hosts: 16xH100 is one, 2x8xH100@50 are two with eight each and 50 GB/s (400 Gbit/s) for "
    "each device between them; 1x8xH100,2x4xA100@25 have different ones.",
)  # fmt: skip
@click.option(
    "--goal", default="decode", show_default=True, metavar="GOAL",
    help="What is to be fast: decode or prefill, in tokens a second, or a step of training.",
)  # fmt: skip
@click.option(
    "--sequences", type=click.IntRange(min=1), metavar="N",
    help="Sequences that are decoded at a time; as many as is best if not given.",
)  # fmt: skip
@click.option(
    "--global-batch", type=click.IntRange(min=1), metavar="N", help="Sequences of a training step.",
)  # fmt: skip
@click.option(
    "--context", type=click.IntRange(min=1), default=4096, show_default=True, metavar="TOKENS",
    help="Tokens of a sequence.",
)  # fmt: skip
@click.option(
    "--tpot", default="", metavar="TIME",
    help="Longest time between two tokens of a sequence, such as 30ms.",
)  # fmt: skip
@click.option(
    "--ttft", default="", metavar="TIME",
    help="Longest time to the first token of a prompt of as many tokens, if nothing else runs.",
)  # fmt: skip
@click.option(
    "--fix", default="", metavar="t=4,p=2",
    help="Numbers that are given: t devices split layers, p stages, d replicas, experts divided "
    "among e devices, b sequences of a micro-batch.",
)  # fmt: skip
@click.option("--at-most", default="", metavar="t=4", help="Limits of these numbers.")
@click.option("--weight-bits", type=click.IntRange(min=0), default=0, metavar="BITS",
    help="Bits of each parameter; those of the model's file by default.")  # fmt: skip
@click.option("--cache-bits", type=click.IntRange(min=0), default=0, metavar="BITS",
    help="Bits of each number in the key-value cache; 16 by default.")  # fmt: skip
@click.option(
    "--memory-percent", type=click.IntRange(1, 100), default=90, show_default=True,
    metavar="PERCENT", help="Percent of each device's memory that layers may take.",
)  # fmt: skip
@click.option(
    "--overhead", default="0", metavar="TIME",
    help="What an engine adds to each step of a stage, such as 2ms; nothing by default, since 14 "
    "published steps take 2.9 to 52 ms more than the roofline says, which is no one figure.",
)  # fmt: skip
@click.option(
    "--recompute", default="any", show_default=True, metavar="none|full|any",
    help="Whether training keeps no more of each layer than its input, and runs it again.",
)  # fmt: skip
@click.option("--overlap", is_flag=True,
    help="Gradients of replicas are summed up while others are computed, and take no time.",
)  # fmt: skip
@click.option("--shard-optimizer", is_flag=True,
    help="Replicas divide the states of the optimiser among them.")  # fmt: skip
@click.option("--rules", default="none", metavar="TOOL",
    help="Tool whose rules cuts have to follow, such as vllm or megatron.")  # fmt: skip
@click.option(
    "--explain", metavar="t=8,d=2",
    help="Print where the time and memory of this configuration go; of the best by default.",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
    help="How many of the best configurations are searched and shown.",
)  # fmt: skip
@click.option("--all", "shows_all", is_flag=True, help="Show all configurations.")
@click.option(
    "--time-limit", type=SECONDS, default=60.0, show_default=True, metavar="SECONDS",
    help="Wall-clock limit of the search.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", type=FOLDER,
    help="Write question, certificate and solution for the checker into this folder.",
)  # fmt: skip
@click.option(
    "--plot", metavar="FILE", type=FILE,
    help="Draw tokens a second against the time between two tokens into this file (.svg, .png).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def plan(
    model: str, devices: str, explain: str | None, top: int, shows_all: bool, time_limit: float,
    out: Path | None, plot: Path | None, as_json: bool, quiet: bool, sequences: int | None,
    global_batch: int | None, **given: Any,
) -> None:  # fmt: skip
    """Find and prove the best parallelism for a language model.

    MODEL is a configuration (config.json, GGUF) or a member of a data set, such as
    language-models/llama-3-70b. Tensor, pipeline and data parallelism, micro-batches and the cut of
    the layers are chosen together; the certified bound is for all configurations.
    """
    import json

    from boundmark.benchmarks.plan import plan as plan_model

    is_training = given["goal"] == "training"
    if (sequences if is_training else global_batch) is not None:
        wrong, right = ("--sequences", "--global-batch")[:: 1 if is_training else -1]
        raise click.UsageError(f"{wrong} is given, and the goal is {given['goal']}; see {right}.")
    given |= {name: given[name] or 0.0 for name in ("tpot", "ttft")}
    count = (global_batch if is_training else sequences) or 0
    found = plan_model(
        model, devices, sequences=count, wanted=top, seconds=time_limit, quiet=quiet or as_json,
        **given,
    )  # fmt: skip
    written = [] if out is None else found.save(out)
    if plot is not None:
        found.plot(seconds=time_limit)
        from matplotlib import pyplot as plt

        plt.savefig(plot)
        written.append(plot)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1))
    else:
        _print_answer(found, len(found.found.rows) if shows_all else top, explain)
        for path in written:
            click.echo(f"{'written':{LABEL_WIDTH}}{path}")
    if found.cost is None:
        sys.exit(NOTHING_FOUND)


def _print_answer(found: "PlanAnswer", top: int, explain: str | None) -> None:
    """Print the best configuration, the table, and where the time goes."""
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.plan import start_lines, words_of

    question, best = found.question, found.found.best

    def line(label: str, text: str) -> None:
        echo(f"{label:{LABEL_WIDTH}}{text}")

    line("question", _question(found))
    if best is None or best.cost is None:
        line("best", "none: no configuration is possible (certified)" if found.bound is None
             else "none was found")  # fmt: skip
    else:
        line("best", f"{words_of(question, best)}: {_speed(found, best.cost)}")
        line("certified bound", _bound(found))
        first, *lines = start_lines(found.model, question, best).splitlines()
        line("start", first.removeprefix("# "))
        for text in _shortened(lines):
            click.echo(text)
    _print_rows(found, top)
    if best is not None or explain:
        _print_parts(found, explain)
    for note in question.notes:
        line("note", note)


def _shortened(lines: list[str]) -> list[str]:
    """Return lines for each host without those of many alike, of which two are enough."""
    hosts = [at for at, text in enumerate(lines) if text.startswith("# host ")]
    if len(hosts) <= MOST_HOSTS:
        return lines
    last = lines[hosts[-1]].split()[2].rstrip(":")
    return [*lines[: hosts[2]], f"# hosts 2 to {last} likewise (--json has their lines)"]


def _question(found: "PlanAnswer") -> str:
    question, wish = found.question, found.question.wish
    count = f"{wish.sequences:,} sequences" if wish.sequences else "as many sequences as is best"
    between = question.hosts.between
    link = f", {between.bandwidth / 1e9:g} GB/s a device between them" if between else ""
    return (
        f"{wish.goal} {count} of {wish.context:,} tokens on {question.hosts.words()}{link}, by the "
        "roofline model"
    )


def _speed(found: "PlanAnswer", cost: int) -> str:
    """Return what a cost means for users."""
    from boundmark.benchmarks.plan import rate_words

    question, wish = found.question, found.question.wish
    text = rate_words(question.rate(cost))
    if wish.goal == "training":
        return f"{cost / 1e9:,.4g} s a step, {text}"
    if wish.goal == "decode" and wish.sequences:
        return f"{text}, a token of each sequence every {cost / 1e6:,.4g} ms"
    return text


def _bound(found: "PlanAnswer") -> str:
    from boundmark.benchmarks.plan import rate_words

    count = len(found.found.rows)
    most = rate_words(found.question.rate(found.bound or 1))
    if found.is_optimal:
        return f"none of {count:,} configurations is faster (optimal, checked)"
    return f"none of {count:,} configurations has more than {most} (checked)"


def _print_rows(found: "PlanAnswer", top: int) -> None:
    from collections import Counter

    from rich.table import Table

    from boundmark.benchmarks.cli.terminal import print_table
    from boundmark.benchmarks.plan import numbers
    from boundmark.reports.text import integer

    table = Table(box=None, header_style="bold", pad_edge=False)
    has_experts = any(row.name[2] > 1 for row in found.found.rows)
    is_training = found.question.wish.goal == "training"
    columns = ["TP", "PP", "DP", *["EP"] * has_experts, "micro-batches", "of", "tokens/s", "gap"]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    if is_training:
        table.add_column("recompute")
    table.add_column("why not")
    rows = found.found.rows
    for row in rows[:top]:
        one, best = numbers(row), found.cost or 1
        rate = integer(round(found.question.rate(row.cost))) if row.cost is not None else ""
        slower = f"{row.cost / best - 1:.1%} slower" if row.cost is not None else found.reason(row)
        table.add_row(
            str(one["t"]), str(one["p"] or "?"), str(one["d"]), *[str(one["e"])] * has_experts,
            integer(one["m"]), integer(one["b"]), rate,
            "" if row.cost is None or not row.bound else f"{row.cost / row.bound - 1:.1%}",
            *[("none", "full")[one["r"]]] * is_training,
            "" if row.cost == best else slower,
        )  # fmt: skip
    print_table(table)
    if left := Counter(row.why for row in rows[top:]):
        words = {"bound": "cost more by their bounds", "memory": "do not fit into the memory",
                 "limit": "are too slow for the limit", "time": "were not searched in time",
                 "": "cost more"}  # fmt: skip
        listed = ", ".join(f"{count:,} {words[why]}" for why, count in left.most_common())
        click.echo(f"others: {listed} (--all shows them)")


def _print_parts(found: "PlanAnswer", explain: str | None) -> None:
    """Print a line for each stage."""
    from rich.table import Table

    from boundmark.benchmarks.cli.terminal import print_table
    from boundmark.benchmarks.plan import words_of
    from boundmark.reports.text import integer, size

    row = found.row(explain) if explain else None
    stages = found.explain(row)
    chosen = row or found.found.rows[0]
    click.echo(f"\nstages of {words_of(found.question, chosen)}, times of a micro-batch in ns:")
    table = Table(box=None, header_style="bold", pad_edge=False)
    times = {
        "computing": [part.computing for part in stages],
        "all-reduces": [part.reducing for part in stages],
        "all-to-all": [part.exchanging for part in stages],
        "sending": [part.sending for part in stages],
        "overhead": [part.overhead for part in stages],
    }
    columns = {
        "layers": [str(part.layers) for part in stages],
        **{name: [*map(integer, values)] for name, values in times.items() if any(values)},
        "weights": [size(part.weights) for part in stages],
        "in flight": [size(part.cache) for part in stages],
        "full": [f"{(one.weights + one.cache) / max(1, one.capacity):.0%}" for one in stages],
    }
    table.add_column("devices", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for part, *values in zip(stages, *columns.values(), strict=True):
        table.add_row(part.devices, *values)
    print_table(table)
