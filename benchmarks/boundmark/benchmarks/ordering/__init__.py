"""What the command line says of `ordering`."""
