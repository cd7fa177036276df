"""Damages certificates at random, and compares what the checker accepts with optima.

Of each sample, the payload, the instance, the bound, the kind or the head is changed. The optimum
of the instance is found by exhaustion.
"""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from certified import PROBLEMS, Certified, certified
from mutation import mutated

from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError

Document = dict[str, Any]

# The last two are wrong.
OUTCOMES = ("rejected", "accepted true", "not compared", "accepted false", "failed")
WRONG = OUTCOMES[3:]


def run(
    names: Sequence[tuple[str, str]],
    dice: random.Random,
    seconds: float,
    sought: str | None = None,
) -> Counter[tuple[str, str, str]]:
    """Return how often there was each outcome, by problem and kind; print what is wrong.

    Parameters
    ----------
    sought
        An outcome after which it ends early.
    """
    samples = {name: certified(*name) for name in names}
    until = time.monotonic() + seconds
    passes = itertools.cycle(samples.items())
    counts: Counter[tuple[str, str, str]] = Counter()
    while time.monotonic() < until and not any(key[2] == sought for key in counts):
        name, sample = next(passes)
        others = [other for (problem, _), other in samples.items() if problem == name[0]]
        donors = [0, 1, [], {}, None, "", *sample.certificate["payload"].values()]
        for change in dice.choices(list(CHANGES), weights=CHANGES.values(), k=20):
            instance, certificate = change(sample, dice, dice.choice(others), donors)
            outcome = verdict(name[0], instance, certificate)
            kind = sample.certificate["kind"]
            counts[name[0], kind, outcome.partition(":")[0]] += 1
            if outcome.startswith(WRONG):
                document = {"instance": instance, "certificate": certificate}
                print(f"{outcome}\n{json.dumps(document)}", flush=True)
    return counts


def verdict(problem: str, instance: Document, certificate: Document) -> str:
    """Return what comes of a check, one of `OUTCOMES`, with words after a colon."""
    try:
        proved = checker.check_certificate(instance, certificate)
    except checker.CheckFailed as error:
        # For a user that is a rejection; here it is found before it is turned into one.
        return f"failed: {type(error.__cause__).__name__}: {error.__cause__}"
    except checker.Rejected:
        return "rejected"
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"
    best = optimum(problem, json.dumps(instance))
    if best is None:
        return "not compared"
    return "accepted true" if proved <= best else f"accepted false: {proved} > {best}"


@lru_cache(maxsize=100_000)
def optimum(problem: str, text: str) -> float | None:
    """Return the optimum of a stored instance, None if it is too large to find out."""
    try:
        read = problems()[problem].instance_from_json(json.loads(text))
    except BoundmarkError:
        # Beyond what methods can treat, such as more than 2^20 stages.
        return None
    known = PROBLEMS[problem]
    return known.optimum(read) if known.is_tiny(read) else None


Change = Callable[[Certified, random.Random, Certified, list[Any]], tuple[Document, Document]]


def change_payload(
    sample: Certified, dice: random.Random, other: Certified, donors: list[Any]
) -> tuple[Document, Document]:
    """Change one to three things of the payload; mostly, claim a tick more than the optimum."""
    payload = sample.certificate["payload"]
    for _ in range(dice.choice([1, 1, 2, 3])):
        payload = mutated(payload, dice, donors)
    bound = dice.choice([0, sample.certificate["bound"], *[sample.certificate["bound"] + 1] * 4])
    changed = {**sample.certificate, "payload": payload, "bound": bound}
    return sample.document, changed


def change_instance(
    sample: Certified, dice: random.Random, other: Certified, donors: list[Any]
) -> tuple[Document, Document]:
    """Change the instance, and say that the certificate is about it."""
    document = sample.document
    for _ in range(dice.choice([1, 1, 2, 3])):
        document = mutated(document, dice, donors)
    return rebound(document, sample.certificate, dice)


def change_both(
    sample: Certified, dice: random.Random, other: Certified, donors: list[Any]
) -> tuple[Document, Document]:
    """Change instance and payload."""
    document, certificate = change_instance(sample, dice, other, donors)
    return document, {**certificate, "payload": mutated(certificate["payload"], dice, donors)}


def exchange(
    sample: Certified, dice: random.Random, other: Certified, donors: list[Any]
) -> tuple[Document, Document]:
    """Take the certificate of another instance, or the payload of another kind."""
    if dice.random() < 0.5:
        return rebound(sample.document, other.certificate, dice)
    payload = mutated(other.certificate["payload"], dice, donors)
    return sample.document, {**sample.certificate, "payload": payload, "bound": 0}


def change_head(
    sample: Certified, dice: random.Random, other: Certified, donors: list[Any]
) -> tuple[Document, Document]:
    """Change anything of the certificate, the head as likely as the payload."""
    return sample.document, mutated(sample.certificate, dice, donors)


def rebound(
    instance: Document, certificate: Document, dice: random.Random
) -> tuple[Document, Document]:
    """Return an instance and a certificate that claims to be about it."""
    try:
        digest = checker.instance_sha256(instance)
    except checker.Rejected:
        digest = ""
    bound = dice.choice([0, 0, 1, certificate["bound"], certificate["bound"] + 1])
    return instance, {**certificate, "instance_sha256": digest, "bound": bound}


# How often each of them is made.
CHANGES: dict[Change, float] = {
    change_payload: 0.45,
    change_instance: 0.25,
    change_both: 0.15,
    exchange: 0.1,
    change_head: 0.05,
}


def table(counts: Counter[tuple[str, str, str]]) -> list[str]:
    """Return the lines of a table: a row per kind, and one per problem."""
    head = f"{'problem':20} {'kind':26} {'mutations':>10}"
    lines = [head + "".join(f" {name:>14}" for name in OUTCOMES)]
    totals: Counter[tuple[str, str, str]] = Counter()
    for (problem, kind, outcome), count in counts.items():
        totals[problem, kind, outcome] += count
        totals[problem, "all", outcome] += count
    for problem, kind in sorted({(problem, kind) for problem, kind, _ in totals}):
        row = [totals[problem, kind, outcome] for outcome in OUTCOMES]
        cells = "".join(f" {count:14,}" for count in row)
        lines.append(f"{problem:20} {kind:26} {sum(row):10,}{cells}")
    return lines
