"""SQL over what a results folder holds."""

from boundmark.reports.query.answer import Answer, query_folder

__all__ = ["Answer", "query_folder"]
