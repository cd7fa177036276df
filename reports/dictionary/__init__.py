"""The dictionary of all tables' columns: type, unit and a sentence each, in `dictionary.toml`."""

from boundmark.reports.dictionary.columns import Column, about, column_of

__all__ = ["Column", "about", "column_of"]
