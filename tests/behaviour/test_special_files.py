"""Whatever lies in place of a file, or asks for much, commands end and name what they refuse."""

import decimal
import gzip
import io
import json
import os
import re
import signal
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from altered_folders import copy_folder, read_rows, write_rows

from boundmark.benchmarks.measuring.tool_profiles import read_events
from boundmark.benchmarks.running.folder_verification import verify_folder
from boundmark.benchmarks.running.suite_file import load_collection
from boundmark.benchmarks.solving.own_method import find_method
from boundmark.benchmarks.solving.solution_file import read_solution_file
from boundmark.datasets.resolve import load_file
from boundmark.problems.devices.registry import load_device_file
from boundmark.problems.errors import BoundmarkError, InvalidInputError, StoreError
from boundmark.problems.files import naming
from boundmark.reports.comparison.pairs import read_thresholds
from boundmark.reports.comparison.recorded_run import read_run
from boundmark.reports.merging import merge_folders
from boundmark.reports.report import write_report
from boundmark.reports.stored.store import write_document

pytestmark = pytest.mark.usefixtures("all_undrawn")

LLAMA = json.dumps(
    {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 1000,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    }
)  # fmt: skip

# What has not ended by then waits for a pipe.
PATIENCE_SECONDS = 60


def _report(folder: Path) -> list[str]:
    write_report(folder, ("md",))
    return [(folder / "report.md").read_text()]


def _verify(folder: Path) -> list[str]:
    return [f"{one.subject}: {one.reason}" for one in verify_folder(folder) if one.reason]


def _merge(folder: Path) -> list[str]:
    merged = merge_folders([folder], folder.with_name("merged"))
    told = [f"{name}: {reason}" for name, reason in merged.left_files.items()]
    return [*told, *map(str, merged.unsupported["reason"])]


def _compare(folder: Path) -> list[str]:
    return [str(reason) for reason in read_run(folder).unsupported["reason"]]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "report": _report,
    "verify": _verify,
    "merge": _merge,
    "compare": _compare,
}


@pytest.fixture
def folder(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run."""
    copy_folder(finished_run, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """Fail instead of waiting for a pipe."""

    def give_up(number: int, frame: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def told_by(command: str, folder: Path) -> str:
    """Return every sentence of a command, the last one of its failure included."""
    try:
        return "\n".join(COMMANDS[command](folder))
    except StoreError as error:
        return str(error)


def replaced(folder: Path, place: str, special: str) -> Path:
    """Put something special in the place of a file, and return its path."""
    path = min(folder.glob(place)) if "*" in place else folder / place
    path.unlink(missing_ok=True)
    if special == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_gigabytes_behind_a_small_payload(folder: Path, command: str) -> None:
    """They are not decompressed, and the certificate does not count."""
    rows = read_rows(folder)
    row = rows.index[rows["certificate_sha256"].notna()][0]
    certificates = folder / "certificates"
    document = json.loads(
        (certificates / f"{rows.loc[row, 'certificate_sha256']}.json").read_text()
    )
    document.pop("payload", None)
    name = f"{'a' * 64}.json.gz"
    with gzip.open(certificates / name, "wb", compresslevel=1) as file:
        for _ in range(130):
            file.write(bytes(2**20))
    document |= {"payload_file": name, "payload_sha256": "a" * 64}
    rows.loc[row, "certificate_sha256"] = write_document(certificates, document)
    write_rows(folder, rows)
    assert "more than 128 MiB" in told_by(command, folder)


def zipped(content: bytes) -> bytes:
    """Return an archive with this as the program that torch.export has saved."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/models/model.json", content)
    return found.getvalue()


def gguf(kind: int, length: int) -> bytes:
    """Return a header with an array of so many values, which follow in a sparse file."""
    name = struct.pack("<Q", 1) + b"a"
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + name + struct.pack("<IIQ", 9, kind, length)


BRACKETS = b"[" + b"[]," * 2**23 + b"[]]"

# Files of each kind, and what is said of them, whatever they ask for.
LARGE = {
    "values.json": (BRACKETS, "has more than 16,777,216 values"),
    # Python 3.14 has stack enough to read on.
    "deep.json": (b'{"a":' * 50_000, "nested too deeply" if sys.version_info < (3, 14) else "JSON"),
    "digits.json": (b'{"a": ' + b"9" * 5000 + b"}", "a has a number of more than 4,300 digits"),
    "values.pt2": (BRACKETS, "has more than 16,777,216 values"),
    "spaces.pt2": (b" " * (2**27 + 1), "the program has more than 128 MiB"),
    "array.gguf": (gguf(10, 2**26), "an array has 67,108,864 entries; expected at most 2^22"),
    "bytes.gguf": (gguf(10, 2**40), "an array has 1,099,511,627,776 entries"),
}


@pytest.mark.parametrize("name", LARGE)
def test_small_files_that_ask_for_much(tmp_path: Path, name: str) -> None:
    """They end in a sentence that names the file, before time and memory are taken."""
    content, reason = LARGE[name]
    path = tmp_path / name
    path.write_bytes(zipped(content) if path.suffix == ".pt2" else content)
    if path.suffix == ".gguf":
        os.truncate(path, 2**31)
    with pytest.raises(InvalidInputError, match=re.escape(reason)) as caught:
        load_file(path)
    assert str(caught.value).startswith(str(path))


def test_a_trace_inflates_a_hundredfold_at_most(tmp_path: Path) -> None:
    """A tool's text shrinks to a tenth or so; what shrinks to a thousandth is none."""
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * 2**27, 1))
    with pytest.raises(InvalidInputError, match="it has more than 128 MiB when decompressed"):
        read_events(path)


# What commands take, and what is read with it.
GIVEN = {
    "model.onnx": ("model.onnx", load_file),
    "model.pt2": ("model.pt2", load_file),
    "model.gguf": ("model.gguf", load_file),
    "model.json": ("model.json", load_file),
    "model.xml": ("model.xml", load_file),
    "model.txt": ("model.txt", load_file),
    "model.csv": ("model.csv", load_file),
    "config.json": (".", load_file),
    "a.safetensors": (".", load_file),
    "model.safetensors.index.json": (".", load_file),
    "devices.toml": ("devices.toml", load_device_file),
    "suite.toml": ("suite.toml", lambda path: load_collection(str(path))),
    "solution.json": ("solution.json", lambda path: read_solution_file(path, None)),
    "trace.json": ("trace.json", read_events),
    "compare.toml": ("compare.toml", read_thresholds),
    "method.py": ("method.py", lambda path: find_method(str(path), {})),
}


@pytest.mark.parametrize("special", ["pipe", "device"])
@pytest.mark.parametrize("name", GIVEN)
def test_readers_of_what_users_give(tmp_path: Path, name: str, special: str) -> None:
    """None of them waits for a pipe, or reads from a device for ever."""
    place, read = GIVEN[name]
    (tmp_path / "config.json").write_text(LLAMA)
    replaced(tmp_path, name, special)
    with pytest.raises(BoundmarkError, match=rf"{re.escape(name)} cannot be read: it is no regul"):
        read(tmp_path / place)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "it takes more memory than there is; expected less of it."),
        (RecursionError(), "it is nested too deeply to be read."),
        (OverflowError("too large"), "its numbers cannot be computed with (too large); expected"),
        (decimal.InvalidOperation("1e9"), "its numbers cannot be computed with (1e9); expected"),
    ],
)
def test_what_python_raises_names_the_place(error: Exception, reason: str) -> None:
    """Of a block that names its file and a field, whatever the block does; each once."""
    refused = pytest.raises(InvalidInputError, match=re.escape(f"a.toml: field: {reason}"))
    with refused as caught, naming("a.toml"), naming("a.toml"), naming("field"):
        raise error
    assert str(caught.value).count("a.toml") == 1
