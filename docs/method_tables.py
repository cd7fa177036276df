"""A directive of the site, `{method-table} pipeline`, that lists the methods of a problem."""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList

from boundmark.problems.catalog import methods, problems


class MethodTable(Directive):
    """A table of the methods of a problem, of one kind if `:kind:` says which."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"kind": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        problem = problems()[self.arguments[0]]
        kinds = self.options.get("kind", "heuristic exact bound").split()
        lines = ["| method | kind | summary |", "| --- | --- | --- |"]
        lines += [
            f"| `{method.name}` | {method.kind} | {method.summary} |"
            for kind in kinds
            for method in methods().values()
            if method.problem == problem.name and method.kind == kind
        ]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, "registry"), self.content_offset, node)
        return node.children


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("method-table", MethodTable)
    return {"parallel_read_safe": True}
