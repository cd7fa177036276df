"""Commands for `pipeline` alone."""
