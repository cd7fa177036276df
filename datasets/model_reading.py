"""Shared by readers of model files: notes on assumptions, and a model's main element type."""

from collections import Counter
from collections.abc import Iterable, Sequence

from boundmark.problems.computation_graph import LEFT_OUT, Operator, Tensor, arithmetic_dtype

# Examples in a note; more would fill the screen.
MOST_NAMED = 3


class Notes:
    """Collects notes about operators; equal ones are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    def add(self, op_type: str, what: str, name: str) -> None:
        """Note something about an operator.

        Parameters
        ----------
        what
            A clause that follows "operators of type ..."; equal clauses are told once.
        """
        self._found.setdefault((op_type, what), []).append(name)

    def sentences(self) -> Iterable[str]:
        """Yield one sentence for each kind of note."""
        for (op_type, what), names in self._found.items():
            shown = ", ".join(map(repr, names[:MOST_NAMED]))
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            plural = "operator" if len(names) == 1 else "operators"
            yield f"{len(names)} {plural} of type {op_type}, {what}: {shown}{more}"


def main_dtype(operators: Sequence[Operator], tensors: Sequence[Tensor]) -> str:
    """Return the type in which most arithmetic is done, judged by each operator's first input.

    ``"float32"`` if there is none.
    """
    arithmetic: Counter[str] = Counter()
    for operator in operators:
        given = [number for number in operator.reads if number != LEFT_OUT]
        if operator.flops and given:
            arithmetic[arithmetic_dtype(tensors[given[0]].dtype)] += operator.flops
    return max(arithmetic, key=arithmetic.__getitem__, default="float32")
