"""Of the report of `ordering`: tables."""
