"""Re-checks everything that a results folder states, with the solver-free checker alone.

`documents` has the checker read every instance, solution and certificate, `rows` derives each row
of the results from them, and `traces` each row's progress over time. `folder` puts them together;
`single_files` checks files outside a folder, and `sources` makes instances again from their names.
"""

from boundmark.benchmarks.running.folder_check.documents import Verdict
from boundmark.benchmarks.running.folder_check.folder import check_folder
from boundmark.benchmarks.running.folder_check.single_files import (
    check_files,
    check_sources,
    check_stated_sources,
)

__all__ = ["Verdict", "check_files", "check_folder", "check_sources", "check_stated_sources"]
