"""The library of best-known solutions and certificates: a folder that anybody can check.

`folder` reads and writes it, `adding` takes results into it, `verifying` lets the checker see all
of it, `known` is what `solve` begins with, and `tables` writes its pages.
"""

from boundmark.benchmarks.library.folder import Library, usual_library
from boundmark.benchmarks.library.known import KnownResults, known_results

__all__ = ["KnownResults", "Library", "known_results", "usual_library"]
