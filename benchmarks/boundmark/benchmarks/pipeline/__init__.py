"""What the command line does for `pipeline` alone."""
