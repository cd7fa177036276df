"""Tables computed from results; each module makes one, as a data frame in long form."""

from boundmark.reports.tables.certified import certified_table

__all__ = ["certified_table"]
