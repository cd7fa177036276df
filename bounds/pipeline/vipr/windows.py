"""Derives the bounds of y(v, b) that branching implies, line by line."""

from dataclasses import dataclass, field

from boundmark.bounds.pipeline.vipr.derivation import Derivation
from boundmark.bounds.pipeline.vipr.model import Model


@dataclass(eq=False)
class Windows:
    """Windows of stages at a node of the tree, and the constraints that state them.

    Attributes
    ----------
    first, last
        y(v, b) is 0 for b before first, and 1 from last on.
    lower, upper
        Numbers of derived constraints by column; bounds of the model are not among them.
    """

    model: Model
    first: list[int]
    last: list[int]
    lower: dict[int, int] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)

    @classmethod
    def root(cls, model: Model) -> "Windows":
        """Return the model's own."""
        return cls(model, list(model.first), list(model.last))

    def lower_bound(self, column: int) -> tuple[int, int]:
        """Return the number of a column's best lower bound, and its value."""
        return (self.lower[column], 1) if column in self.lower else self.model.lower(column)

    def upper_bound(self, column: int) -> tuple[int, int]:
        """Return the number of a column's best upper bound, and its value."""
        return (self.upper[column], 0) if column in self.upper else self.model.upper(column)

    def contradiction(self) -> tuple[int, int] | None:
        """Return a lower bound of 1 and an upper bound of 0 of one column, if there are any."""
        for v, (first, last) in enumerate(zip(self.first, self.last, strict=True)):
            if first > last:
                column = self.model.y(v, max(last, -1))
                return self.lower_bound(column)[0], self.upper_bound(column)[0]
        return None

    def earlier(self, v: int, b: int, out: Derivation) -> "tuple[Windows, int]":
        """Assume that v is in stage b or earlier; return what follows and the assumption."""
        y, assumption = self.model.y, out.assume(_one(self.model.y(v, b)))
        last, lower = list(self.last), dict(self.lower)
        side = Windows(self.model, self.first, last, lower, self.upper)
        if b >= last[v]:
            return side, assumption
        lower[y(v, b)] = assumption
        for stage in range(b, last[v] - 1):
            parts = ((self.model.later(v, stage), 1), (lower[y(v, stage)], 1))
            lower[y(v, stage + 1)] = out.add(_one(y(v, stage + 1)), parts)
        last[v] = b
        for u, e, w in reversed(self.model.edges_in_order):
            for stage in range(max(last[w], 0), last[u]):
                parts = ((self.model.edge(e, stage), 1), (side.lower_bound(y(w, stage))[0], 1))
                lower[y(u, stage)] = out.add(_one(y(u, stage)), parts)
            last[u] = min(last[u], last[w])
        return side, assumption

    def later(self, v: int, b: int, out: Derivation) -> "tuple[Windows, int]":
        """Assume that v is in a stage after b; return what follows and the assumption."""
        y, assumption = self.model.y, out.assume(_zero(self.model.y(v, b)))
        first, upper = list(self.first), dict(self.upper)
        side = Windows(self.model, first, self.last, self.lower, upper)
        if b < first[v]:
            return side, assumption
        upper[y(v, b)] = assumption
        for stage in range(b - 1, first[v] - 1, -1):
            parts = ((self.model.later(v, stage), -1), (upper[y(v, stage + 1)], 1))
            upper[y(v, stage)] = out.add(_zero(y(v, stage)), parts)
        first[v] = b + 1
        for u, e, w in self.model.edges_in_order:
            for stage in range(first[w], min(first[u], self.model.graph.k)):
                parts = ((self.model.edge(e, stage), -1), (side.upper_bound(y(u, stage))[0], 1))
                upper[y(w, stage)] = out.add(_zero(y(w, stage)), parts)
            first[w] = max(first[w], first[u])
        return side, assumption


def _one(column: int) -> str:
    return f"G 1 1 {column} 1"


def _zero(column: int) -> str:
    return f"L 0 1 {column} 1"
