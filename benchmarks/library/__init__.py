"""The library of best-known solutions and certificates: a folder that anybody can check.

`folder` reads and writes it, `adding` takes results into it, `verifying` lets the checker see all
of it, and `known` is what `solve` begins with.
"""

from boundmark.benchmarks.library.folder import Entry, Library, usual_library
from boundmark.benchmarks.library.known import KnownResults, known_results

__all__ = ["Entry", "KnownResults", "Library", "known_results", "usual_library"]
