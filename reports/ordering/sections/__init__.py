"""Of the report of `ordering`: sections."""
