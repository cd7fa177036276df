"""Of the report of `ordering`: plots."""
