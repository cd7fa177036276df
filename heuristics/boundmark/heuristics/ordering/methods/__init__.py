"""One module per method."""
