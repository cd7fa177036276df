"""Verifies everything that a results folder states, with the solver-free checker alone.

`documents` has the checker read every instance, solution and certificate, `rows` derives each row
of the results from them, and `traces` each row's progress over time. `folder` puts them together;
`single_files` verifies files outside a folder, and instances made again from their names.
"""

from boundmark.benchmarks.running.folder_verification.documents import Verdict
from boundmark.benchmarks.running.folder_verification.folder import verify_folder
from boundmark.benchmarks.running.folder_verification.single_files import (
    verify_files,
    verify_sources,
    verify_stated_sources,
)

__all__ = ["Verdict", "verify_files", "verify_folder", "verify_sources", "verify_stated_sources"]
