"""Export of trees over integer programs as VIPR files, which third-party programs check.

The format: Cheung, Gleixner, Steffy, "Verifying Integer Programming Results", IPCO 2017, version
1.0. A file states an integer program (see `vipr_model`) and derives a bound on its objective line
by line. Windows, branchings and leaves of the tree become derived constraints here. A certificate
with a tree for each position of a stage becomes a file for each.
"""

import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TextIO

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.leaf import Program
from boundmark.bounds.checker.pipeline.limits import TREE_SHARE_UNITS
from boundmark.bounds.checker.pipeline.windows import Windows as WindowLists
from boundmark.bounds.checker.pipeline.windows import root
from boundmark.bounds.exporter import Exporter, one_file
from boundmark.bounds.pipeline.vipr_model import Model
from boundmark.problems.errors import InvalidInputError

HEADER = """\
% The minimum of z over all partitions of a graph into {k} pipeline stages that cost at most
% {threshold} each is at least {bound}, so every partition costs {bound} or more.
{part}% Instance, by the SHA-256 of its JSON: {sha256}
% Columns: y_v_b, node v is in {block} b or earlier; c_u_b and d_u_b, the tensor of node u enters,
% and leaves, {block} b; o_b, overflow of {block} b; z, cost of the bottleneck stage.
% The share rows and the bounds of y hold below the threshold by the certificate's flows.
VER 1.0
"""

# What stands in the header of a program with superblocks.
SINGLED_OUT = """\
% One stage has at least the mean of what nodes demand of stages, and as much as any node: {where}.
% Block 0 is what is before it, at most {before} stages, and block 2 what is after, at most {after}.
"""

POSITION = """\
% This file is about partitions where it is stage {position}; there is one for each, 0 to {last}.
"""


class Derivation:
    """Writer of derived constraints, which it numbers.

    Attributes
    ----------
    lines
        How many there are.
    """

    def __init__(self, file: TextIO, first: int) -> None:
        self._file = file
        self._first = first
        self.lines = 0

    def assume(self, constraint: str) -> int:
        """Write an assumption; return its number."""
        return self._line(constraint, "asm")

    def add(
        self, constraint: str, parts: Iterable[tuple[int, object]], rounded: bool = False
    ) -> int:
        """Write a constraint that the sum of others, times multipliers, dominates.

        Parameters
        ----------
        rounded
            Whether the sum's right side is rounded first, which integer columns allow.
        """
        written = [f"{number} {multiplier}" for number, multiplier in parts]
        kind = "rnd" if rounded else "lin"
        return self._line(constraint, " ".join([kind, str(len(written)), *written]))

    def join(self, constraint: str, sides: Iterable[tuple[int, int]]) -> int:
        """Write a constraint that follows from either of two complementary assumptions.

        Parameters
        ----------
        sides
            Two pairs: what follows, and from which assumption.
        """
        written = [f"{number} {assumption}" for number, assumption in sides]
        return self._line(constraint, " ".join(["uns", *written]))

    def _line(self, constraint: str, reason: str) -> int:
        number = self._first + self.lines
        # The last field would say when a checker may forget the line; -1 is never.
        self._file.write(f"d{number} {constraint} {{ {reason} }} -1\n")
        self.lines += 1
        return number


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
        """Return the windows of the root."""
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
        """Assume that v is in stage b or earlier; return the windows and the assumption."""
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
        """Assume that v is in a stage after b; return the windows and the assumption."""
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
            for stage in range(first[w], min(first[u], self.model.blocks)):
                parts = ((self.model.edge(e, stage), -1), (side.upper_bound(y(u, stage))[0], 1))
                upper[y(w, stage)] = out.add(_zero(y(w, stage)), parts)
            first[w] = max(first[w], first[u])
        return side, assumption


def _one(column: int) -> str:
    return f"G 1 1 {column} 1"


def _zero(column: int) -> str:
    return f"L 0 1 {column} 1"


def derive_leaf(windows: Windows, leaf: Any, bound: int, out: Derivation) -> int:
    """Derive at a leaf that z is at least a bound; return the constraint's number.

    Rows times their multipliers bound z once each other column is replaced by one of its bounds.
    From a contradiction anything follows: from an empty window, or a sum without z.
    """
    model, goal = windows.model, f"G {bound} OBJ"
    contradiction = windows.contradiction()
    if contradiction is not None:
        return out.add(goal, zip(contradiction, (1, -1), strict=True))
    if bound == 0:
        return out.add(goal, [(model.lower_of_z, 1)])
    parts: Counter[int] = Counter()
    left: Counter[int] = Counter()
    right = 0
    for family, i, multiplier in _multipliers(leaf, model.blocks):
        terms, constant = model.row(family, i)
        parts[model.number(family, i)] += multiplier
        right += multiplier * constant
        for column, amount in terms:
            left[column] += multiplier * amount
    total = left.pop(model.z, 0)
    for column, amount in left.items():
        number, value = (windows.upper_bound if amount > 0 else windows.lower_bound)(column)
        parts[number] -= amount
        right -= amount * value
    divisor = math.gcd(*parts.values())
    used = [(number, part // divisor) for number, part in sorted(parts.items()) if part]
    if total == 0:
        return out.add(goal, used)
    summed = out.add(f"G {right // divisor} 1 {model.z} {total // divisor}", used)
    return out.add(goal, [(summed, Fraction(divisor, total))], rounded=True)


def _multipliers(leaf: Any, k: int) -> Iterator[tuple[str, int, int]]:
    """Yield families, rows and multipliers, scaled to share rows with integer coefficients.

    Parameters
    ----------
    k
        Number of superblocks.
    """
    for family, values in leaf.items():
        scale = 1 if family in ("share", "demand") else TREE_SHARE_UNITS
        for row, multiplier in zip(map(int, values[::2]), map(int, values[1::2]), strict=True):
            if family != "later":
                yield family, row, scale * multiplier
            elif row % k < k - 1:
                # Nothing is later than the last superblock; the program has no such row.
                yield family, row // k * (k - 1) + row % k, scale * multiplier


@dataclass(eq=False)
class Branching:
    """A node of the tree: v is in stage b or earlier, or it is later.

    Attributes
    ----------
    windows
        What holds on both sides.
    earlier, later
        Number of the assumption on each side; the latter is made once the first side is done.
    derived
        Number of the bound on the first side, once it is derived.
    """

    windows: Windows
    v: int
    b: int
    earlier: int
    later: int = -1
    derived: int = -1


def derive_tree(model: Model, nodes: list[Any], bound: int, out: Derivation) -> None:
    """Derive that z is at least a bound; no line of the derivation follows that one.

    Parameters
    ----------
    nodes
        As in the payload of the certificate: parents first, the first side before the second.
    """
    windows = Windows.root(model)
    path: list[Branching] = []
    for node in nodes:
        if isinstance(node, list):
            v, b = map(int, node)
            side, assumption = windows.earlier(v, b, out)
            path.append(Branching(windows, v, b, assumption))
            windows = side
            continue
        derived = derive_leaf(windows, node, bound, out)
        while path and path[-1].derived >= 0:
            done = path.pop()
            sides = ((derived, done.later), (done.derived, done.earlier))
            derived = out.join(f"G {bound} OBJ", sides)
        if path:
            path[-1].derived = derived
            windows, path[-1].later = path[-1].windows.later(path[-1].v, path[-1].b, out)


@dataclass(frozen=True)
class TreeKind:
    """A kind of certificate that has trees.

    Attributes
    ----------
    name
        Of the kind, with its version.
    programs
        Returns the superblocks of each of its trees, from the number of stages and the windows that
        the shares leave.
    """

    name: str
    programs: Callable[[int, WindowLists], list[Program]]


def _each_stage(k: int, windows: WindowLists) -> list[Program]:
    return [Program([1] * k, windows)]


def _anywhere(k: int, windows: WindowLists) -> list[Program]:
    nodes = len(windows[0])
    return [Program([k - 1, 1, k - 1], ([0] * nodes, [2] * nodes))]


def _each_position(k: int, windows: WindowLists) -> list[Program]:
    first, last = windows
    return [
        Program(
            [j, 1, k - 1 - j],
            ([(b >= j) + (b > j) for b in first], [(b >= j) + (b > j) for b in last]),
        )
        for j in range(k)
    ]


KINDS = (
    TreeKind("mip-tree/1", _each_stage),
    TreeKind("bottleneck-tree/1", _anywhere),
    TreeKind("bottleneck-guess-tree/1", _each_position),
)


def write_vipr(
    instance: dict[str, Any], certificate: dict[str, Any], file: TextIO, part: int = 0
) -> int:
    """Write a certificate's proof as a VIPR file; return the number of derived constraints.

    Parameters
    ----------
    instance, certificate
        In their stored form.
    part
        Number of the tree, for certificates that have several.

    Raises
    ------
    Rejected
        If the checker does not accept the certificate.
    InvalidInputError
        If the certificate is of another kind, or needs no tree.
    """
    checker.check_certificate(instance, certificate)
    kind = next((one for one in KINDS if one.name == certificate["kind"]), None)
    if kind is None:
        names = " or ".join(repr(one.name) for one in KINDS)
        raise InvalidInputError(f"kind is {certificate['kind']!r}; expected {names}.")
    graph = checker.check_instance(instance)
    payload, bound = certificate["payload"], int(certificate["bound"])
    threshold = int(payload["threshold"])
    start = root(graph, threshold, payload["flows"])
    if start is None:
        raise InvalidInputError(
            "flows of the payload refute the threshold alone; expected a bound that needs the tree."
        )
    program = kind.programs(graph.k, start.windows)[part]
    demand = [int(amount) for amount in payload.get("demand", ())]
    model = Model(graph, start.shares, [u for u, _ in start.order], program, demand)
    file.write(
        HEADER.format(
            k=graph.k,
            threshold=threshold,
            bound=bound,
            sha256=checker.instance_sha256(instance),
            block="block" if demand else "stage",
            part=_part(kind, program, part, graph.k) if demand else "",
        )
    )
    _write_model(model, file)
    file.write(f"RTP range {bound} inf\nSOL 0\n")
    # The number of lines comes before them.
    with tempfile.TemporaryFile("w+") as lines:
        out = Derivation(lines, model.constraints)
        derive_tree(model, _tree(payload["nodes"], part), bound, out)
        lines.seek(0)
        file.write(f"DER {out.lines}\n")
        shutil.copyfileobj(lines, file)
    return out.lines


def _part(kind: TreeKind, program: Program, part: int, k: int) -> str:
    """Return the lines of the header about the stage that is singled out."""
    before, _, after = program.merged
    text = SINGLED_OUT.format(where="block 1", before=before, after=after)
    if kind.programs is _each_position:
        text += POSITION.format(position=part, last=k - 1)
    return text


def _tree(nodes: list[Any], part: int) -> list[Any]:
    """Return the nodes of one of several trees, which follow each other."""
    waiting, start = 1, 0
    for at, node in enumerate(nodes):
        waiting += 1 if isinstance(node, list) else -1
        if not waiting:
            if not part:
                return nodes[start : at + 1]
            part, waiting, start = part - 1, 1, at + 1
    raise InvalidInputError("nodes of the payload are not as many trees as expected.")


def _write_model(model: Model, file: TextIO) -> None:
    names = list(model.names())
    file.write(f"VAR {len(names)}\n")
    file.writelines(f"{name}\n" for name in names)
    file.write(f"INT {len(names)}\n")
    file.writelines(f"{column}\n" for column in range(len(names)))
    file.write(f"OBJ min\n1 {model.z} 1\n")
    file.write(f"CON {model.constraints} {model.bounds}\n")
    for column, (low, high) in enumerate(model.box):
        file.write(f"low_{names[column]} G {low} 1 {column} 1\n")
        file.write(f"high_{names[column]} L {high} 1 {column} 1\n")
    file.write(f"low_z G 0 1 {model.z} 1\n")
    for name, (terms, right) in model.rows():
        written = "".join(f" {column} {amount}" for column, amount in terms)
        file.write(f"{name} G {right} {len(terms)}{written}\n")


def _write(
    instance: dict[str, Any], certificate: dict[str, Any], file: TextIO, part: int = 0
) -> str:
    return f"{write_vipr(instance, certificate, file, part):,} derived constraints"


def _positions(instance: dict[str, Any]) -> int:
    return int(instance["k"])


EXPORTERS = tuple(
    Exporter(
        "pipeline", kind.name, "VIPR 1.0", _write,
        _positions if kind.programs is _each_position else one_file,
    )
    for kind in KINDS
)  # fmt: skip
