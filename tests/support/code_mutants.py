"""Makes mutants of a module: copies of its code with one small change each.

What only says how a failure is worded, or how much a check may take, is left as it is: arguments of
`raise`, `spend` and `hold`, formatted texts, and conditions whose only consequence is `TooLarge`.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
BUDGET = {"spend", "hold"}

# Statements with others inside, and the parts of these that are the statement's own.
# What is between words and signs of a statement.
APART = " ()[]{},:"

BLOCKS = ("body", "orelse", "handlers", "finalbody")
HEADERS = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.For: ("target", "iter"),
    ast.With: (),
    ast.Try: (),
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes
    ----------
    module
        The path of its file in the folder of all, e.g. ``pipeline/leaf.py``.
    function
        The function or class that is changed, or ``<module>``.
    change
        The statement, or its first line, with what it was and is: ``b {+ -> -} 1``. If a function
        has such a change several times, all but the first one end with a number.
    lines
        First and last line of the statement.
    kind
        ``constants`` if a number is another one, and ``operators`` otherwise.
    """

    module: str
    function: str
    change: str
    lines: tuple[int, int]
    kind: str
    _tree: ast.Module = field(repr=False)
    _path: "Path" = field(repr=False)
    _statement: ast.stmt = field(repr=False)

    def original(self) -> ast.Module:
        """Return the module as it was."""
        return copy.deepcopy(self._tree)

    def tree(self) -> ast.Module:
        """Return the changed module."""
        changed = copy.deepcopy(self._tree)
        parent: ast.AST = changed
        for name, place in self._path[:-1]:
            parent = getattr(parent, name)[place]
        name, place = self._path[-1]
        old, new = getattr(parent, name)[place], self._statement
        if isinstance(new, tuple(HEADERS)):
            new = copy.copy(new)
            for part in set(BLOCKS) & set(new._fields):
                setattr(new, part, getattr(old, part))
        getattr(parent, name)[place] = new
        return ast.fix_missing_locations(changed)

    @property
    def name(self) -> str:
        """What tells it from all other mutants, whatever the lines are."""
        return f"{self.module} {self.function}: {self.change}"


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    seen: dict[tuple[str, str], int] = {}
    for function, statement, path in _statements(tree, ("<module>",)):
        lines = statement.lineno, _end_of_head(statement)
        alone = _without_blocks(statement)
        before = _headline(alone)
        for kind, change, changed in _changes(statement, alone):
            text = change or difference(before, _headline(changed))
            number = seen[function, text] = seen.get((function, text), 0) + 1
            text = text if number == 1 else f"{text} #{number}"
            yield Mutant(module, function, text, lines, kind, tree, path, changed)


def code_alone(tree: ast.Module) -> bytes:
    """Return what is left of a module without comments, docstrings and its layout."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = node.body[bool(ast.get_docstring(node)) :]
    return ast.dump(tree).encode()


def difference(before: str, after: str) -> str:
    """Return a text with what was changed in it: ``b {+ -> -} 1``."""
    begin = 0
    while begin < min(len(before), len(after)) and before[begin] == after[begin]:
        begin += 1
    end = 0
    while end < min(len(before), len(after)) - begin and before[-1 - end] == after[-1 - end]:
        end += 1
    # Whole words and signs are easier to read.
    while begin and before[begin - 1] not in APART:
        begin -= 1
    while end and before[len(before) - end] not in APART:
        end -= 1
    tail = before[len(before) - end :]
    old, new = before[begin : len(before) - end], after[begin : len(after) - end]
    return f"{before[:begin]}{{{old} -> {new}}}{tail}"


Path = tuple[tuple[str, int], ...]


def _statements(
    parent: ast.AST, names: tuple[str, ...], path: Path = ()
) -> Iterator[tuple[str, ast.stmt, Path]]:
    """Return each statement with its function, and the fields and places that lead to it."""
    for name in BLOCKS:
        for place, child in enumerate(getattr(parent, name, ())):
            if isinstance(child, ast.Raise) and _is_left_out_with(parent, child):
                continue
            here = (*path, (name, place))
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                outer = names if names != ("<module>",) else ()
                yield from _statements(child, (*outer, child.name), here)
            else:
                if isinstance(child, ast.stmt):
                    yield ".".join(names), child, here
                yield from _statements(child, names, here)


def _is_left_out_with(parent: ast.AST, child: ast.Raise) -> bool:
    """Whether a failure is about limits, or all that an `if` is for, which is left out itself."""
    is_all = isinstance(parent, ast.If) and len(parent.body) == 1 and not parent.orelse
    return is_all or "TooLarge" in ast.unparse(child)


def _without_blocks(statement: ast.stmt) -> ast.stmt:
    """Return a statement without the statements inside."""
    if isinstance(statement, tuple(HEADERS)):
        statement = copy.copy(statement)
        for part in set(BLOCKS) & set(statement._fields):
            setattr(statement, part, [ast.Pass()] if part == "body" else [])
    return statement


def _headline(statement: ast.stmt) -> str:
    text = ast.unparse(statement)
    return text.splitlines()[0].removesuffix(":") if isinstance(statement, tuple(HEADERS)) else text


def _end_of_head(statement: ast.stmt) -> int:
    own = HEADERS.get(type(statement))  # type: ignore[arg-type]
    if own is None:
        return statement.end_lineno or statement.lineno
    return max([statement.lineno, *(getattr(statement, name).end_lineno for name in own)])


def _changes(statement: ast.stmt, alone: ast.stmt) -> Iterator[tuple[str, str, ast.stmt]]:
    """Return changed copies of a statement, with their kind, and a text where that is clearer."""
    if isinstance(statement, ast.If) and _only_limits(statement):
        return
    text = _headline(alone)
    if isinstance(statement, ast.Raise | ast.Continue | ast.Break):
        yield "operators", f"{{{text} -> pass}}", ast.Pass(lineno=statement.lineno)
        return
    if isinstance(statement, ast.If) and not statement.orelse:
        never = _replaced(alone, "test", ast.Constant(False))
        yield "operators", f"{{{text} -> if False}}", never
    if isinstance(statement, ast.AugAssign):
        yield "operators", "", _replaced(statement, "op", OPERATORS[type(statement.op)]())
    for parts in _expressions(alone):
        node = _at(alone, parts)
        kind = "constants" if isinstance(node, ast.Constant) else "operators"
        for mutate in _mutations(node):
            changed = copy.deepcopy(alone)
            *most, (name, place) = parts
            parent, mutated = _at(changed, tuple(most)), mutate(_at(changed, parts))
            if place < 0:
                setattr(parent, name, mutated)
            else:
                getattr(parent, name)[place] = mutated
            yield kind, "", changed


def _replaced(statement: ast.stmt, field: str, value: ast.AST) -> ast.stmt:
    changed = copy.copy(statement)
    setattr(changed, field, value)
    return changed


def _only_limits(statement: ast.If) -> bool:
    (first, *others) = statement.body
    return not others and isinstance(first, ast.Raise) and "TooLarge" in ast.unparse(first)


def _at(node: ast.AST, parts: Path) -> ast.AST:
    for name, place in parts:
        node = getattr(node, name) if place < 0 else getattr(node, name)[place]
    return node


def _expressions(node: ast.AST, path: Path = ()) -> Iterator[Path]:
    """Return the way to each expression of a statement that may be changed."""
    own = HEADERS.get(type(node)) if isinstance(node, ast.stmt) else None  # type: ignore[call-overload]
    for name, value in ast.iter_fields(node):
        if name == "annotation" or (own is not None and name not in own):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(-1, value)]:
            if not isinstance(child, ast.AST) or isinstance(
                child, ast.JoinedStr | ast.stmt | ast.excepthandler
            ):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            if isinstance(child, ast.Call) and getattr(child.func, "id", "") in BUDGET:
                continue
            here = (*path, (name, place))
            if isinstance(child, ast.expr):
                yield here
            yield from _expressions(child, here)


def _mutations(node: ast.AST) -> Iterator[Callable[[ast.AST], ast.AST]]:
    """Return what makes another expression of one."""
    match node:
        case ast.Compare(ops=operators):
            for place in range(len(operators)):
                yield lambda other, place=place: _flip(other, place)  # type: ignore[misc]
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            yield lambda other: _changed(other, op=OPERATORS[type(operator)]())
        case ast.BoolOp(op=ast.And()):
            yield lambda other: _changed(other, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield lambda other: _changed(other, op=ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield lambda other: other.operand  # type: ignore[attr-defined]
        case ast.Constant(value=bool(value)):
            yield lambda other: _changed(other, value=not value)
        case ast.Constant(value=int(value)):
            yield lambda other: _changed(other, value=value + 1)
            yield lambda other: _changed(other, value=value - 1)
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield lambda other: _changed(other, func=ast.Name(FUNCTIONS[name], ast.Load()))
        case ast.Call(func=ast.Name(id="range"), args=[*_, _]):
            yield _shorter
        case ast.Call(func=ast.Name(id="reversed"), args=[_]):
            yield lambda other: ast.Call(ast.Name("list", ast.Load()), other.args, [])  # type: ignore[attr-defined]
        case ast.IfExp():
            yield lambda other: _changed(other, body=other.orelse, orelse=other.body)  # type: ignore[attr-defined]


def _flip(node: ast.AST, place: int) -> ast.AST:
    assert isinstance(node, ast.Compare)
    node.ops[place] = COMPARISONS[type(node.ops[place])]()
    return node


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _shorter(node: ast.AST) -> ast.AST:
    """Let a range end one number earlier."""
    assert isinstance(node, ast.Call)
    place = 0 if len(node.args) == 1 else 1
    node.args[place] = ast.BinOp(node.args[place], ast.Sub(), ast.Constant(1))
    return node
