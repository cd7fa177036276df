"""The command `boundmark`. Each subcommand is a module here that imports its layers when called."""
