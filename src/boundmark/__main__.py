"""`python -m boundmark` is the command `boundmark`."""

from boundmark.benchmarks.cli.group import main

main(prog_name="boundmark")
