"""Results folders of several hosts, or of several times, made one."""

from boundmark.reports.merging.merge import Merged, merge_folders

__all__ = ["Merged", "merge_folders"]
