"""Runs the checker: `python -m boundmark.bounds.checker`, or `python` on a copy of this folder."""

import importlib
import io
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent
if not __package__:
    # Python was given the folder itself. Let it be the package that its modules take it for, and
    # let nothing beside it take the place of the standard library.
    sys.path[0:1] = []
    sys.path.append(str(folder.parent))

# A terminal that cannot show a character of a file's name gets its number.
for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")

command = importlib.import_module(f"{__package__ or folder.name}.command")
sys.exit(command.main(sys.argv[1:]))
