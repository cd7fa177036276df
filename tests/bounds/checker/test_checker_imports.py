import ast
import sys
from pathlib import Path

from boundmark.bounds import checker

FOLDER = Path(checker.__file__).parent


def test_the_checker_needs_the_standard_library_only() -> None:
    """Every import, also within functions, is of the folder itself or of Python's own library."""
    for path in sorted(FOLDER.rglob("*.py")):
        depth = len(path.relative_to(FOLDER).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            else:
                # Relative imports stay within the folder.
                assert not isinstance(node, ast.ImportFrom) or node.level <= depth, path
                continue
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, path
