"""The answer about one instance: the best solution and certified bound, and who found them."""

from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.problems.errors import BoundmarkError

# Who has found a solution that the user brings.
GIVEN = "given"

# Who has found what `solve` takes from the library; its start says who that was.
LIBRARY = "library"

# How a method ends on an instance that it does not suit; no failure of one that nobody asked for.
UNSUITABLE = ("unsupported", "timeout")


@dataclass(frozen=True)
class Answer:
    """The answer of `solve` about an instance.

    Attributes
    ----------
    objective, certified_bound
        Ticks, checked; None where no method found anything.
    claimed_bound
        Ticks, on a solver's word.
    solution, certificate
        The stored documents behind objective and certified bound.
    method, bound_method
        Who found them; ``"given"`` if the user has brought the solution, ``"library"`` if the
        library had it.
    seconds
        Wall time of the search.
    compile_seconds
        Wall time before it in which kernels were compiled, as happens once after installation.
    failures
        A sentence for each method that did not finish, or that found nothing where that matters.
    warnings
        What was taken for granted, as sentences.
    interrupted
        Whether Ctrl-C, or SIGTERM to a command, ended the methods.
    start
        What the library had to begin with, in words; empty if nothing.
    """

    source: NamedInstance
    objective: int | None = None
    certified_bound: int | None = None
    claimed_bound: float | None = None
    solution: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    method: str | None = None
    bound_method: str | None = None
    seconds: float = 0.0
    compile_seconds: float = 0.0
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    start: str = ""

    def __post_init__(self) -> None:
        upper, lower = self.objective, self.certified_bound
        if upper is not None and lower is not None and upper < lower:
            raise BoundmarkError(
                f"a verified cost, {upper}, is below a certified bound, {lower}, of instance "
                f"{self.source.instance.sha256}; one of them is wrong, please report it."
            )

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a solution nor a bound of any sort."""
        found = self.objective, self.certified_bound, self.claimed_bound
        return all(one is None for one in found)

    @property
    def gap(self) -> float | None:
        """Optimality gap, UB/LB - 1; None if either bound is missing."""
        if self.objective is None or not self.certified_bound:
            return None
        return self.objective / self.certified_bound - 1

    @property
    def prover(self) -> str:
        """The method that proved the bound, and which of its members: ``"certify (cut-tree)"``."""
        method = str(self.bound_method)
        kind = str((self.certificate or {}).get("kind", method)).partition("/")[0]
        return method if kind == method else f"{method} ({kind})"

    @property
    def optimal(self) -> bool:
        """Whether the certified bound proves the solution optimal."""
        return self.objective is not None and self.objective == self.certified_bound

    def to_json(self) -> dict[str, Any]:
        """Return the object that `boundmark solve --json` prints."""
        return {
            "instance": self.source.label,
            "instance_sha256": self.source.instance.sha256,
            "problem": self.source.instance.problem,
            "device": self.source.device,
            "costs": self.source.costs,
            "objective": self.objective,
            "certified_bound": self.certified_bound,
            "claimed_bound": self.claimed_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "method": self.method,
            "bound_method": self.bound_method,
            "bound_kind": self.certificate["kind"] if self.certificate else None,
            "solution": self.solution,
            "certificate": self.certificate,
            "seconds": round(self.seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
            "failures": list(self.failures),
            "warnings": list(self.warnings),
            "interrupted": self.interrupted,
            "library": self.start,
        }


def warnings_about(source: NamedInstance) -> tuple[str, ...]:
    """Return warnings about a source: assumptions when it was read, and doubtful parameters."""
    instance = source.instance
    notes = tuple(dict.fromkeys((*source.notes, *getattr(instance, "notes", ()))))
    if not instance.is_redundant:
        return notes
    parameters = " ".join(f"{name}={value}" for name, value in instance.parameters.items())
    redundant = f"{parameters}: with less, the instance of {instance.nodes} nodes would be the same"
    return (*notes, redundant)
