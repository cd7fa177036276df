"""Find the source files of a method within its own package, and hash them.

A stored result is taken for that of a method of the same name, version and parameters. A method
whose files changed and whose version did not is told by this hash.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from boundmark.problems.method import Deferred, Method


def source_hash(method: Method) -> str:
    """Return the hash of the files that a method's module imports of its own package.

    That module is one of them; what it imports from other packages is not. Empty for what has no
    source file, such as a function typed into a shell.
    """
    return _hash(_module_of(method.run))


def _module_of(run: Callable[..., object]) -> str:
    if isinstance(run, Deferred):
        return run.path.partition(":")[0]
    return str(getattr(run, "__module__", "") or "")


@cache
def _hash(module: str) -> str:
    """Return the hash of a module's file and those of its package that it needs, by name."""
    package = module.partition(".")[0]
    seen: dict[str, str] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        content = _source(name)
        seen[name] = hashlib.sha256(content).hexdigest() if content is not None else ""
        if content is not None:
            pending += [one for one in _imports(name, content) if one.partition(".")[0] == package]
    known = {name: digest for name, digest in seen.items() if digest}
    if not known:
        return ""
    text = "".join(f"{name} {digest}\n" for name, digest in sorted(known.items()))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _source(module: str) -> bytes | None:
    """Return the content of a module's file; nothing is imported but the packages around it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    try:
        return Path(spec.origin).read_bytes()
    except OSError:
        return None


def _imports(module: str, content: bytes) -> Iterator[str]:
    """Yield the names of modules that a module may import, anywhere in it."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            yield base
            # What is imported may be a module.
            yield from (f"{base}.{one.name}" for one in node.names)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parents = module.split(".")[: -node.level]
    return ".".join([*parents, *([node.module] if node.module else [])])
