"""The library without its folder: records that come with the package, and documents from files.

An installed package knows costs, bounds and hashes. Whoever has a file of the library, a checkout
or an archive of one gets the documents from there, and hashes say whether they are those meant.
"""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from boundmark.benchmarks.library.entry import Entry
from boundmark.benchmarks.library.folder import documents_in, unpack
from boundmark.problems.errors import InvalidInputError, StoreError, quoted
from boundmark.problems.files import naming, read_regular
from boundmark.reports.best_known import library_entries

ENDING = ".jsonl.gz"


def recorded_entries(name: str = "") -> list[Entry]:
    """Return the entries that the package has records of, by name.

    Parameters
    ----------
    name
        What their names, labels or instances' hashes begin with.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    entries = sorted(map(Entry.from_json, library_entries()), key=lambda one: one.name)
    found = [
        one
        for one in entries
        if any(text.startswith(name) for text in (one.name, one.label, one.instance_sha256))
    ]
    if not found:
        raise InvalidInputError(
            f"no record has a name, an instance or a hash that begins with {quoted(name)}; "
            "`boundmark library records` lists them."
        )
    return found


def fetch(source: Path, name: str, out: Path) -> list[Path]:
    """Write the documents of entries from a file, a folder or an archive; return the files.

    Parameters
    ----------
    source
        An entry's file as the library has it, or what has such files in it: a folder, a tar or a
        zip archive.
    name
        Of the entries to take, as `recorded_entries` takes it; empty for all.

    Raises
    ------
    InvalidInputError
        If a file is damaged, its documents are others than the records say, or there is none.
    StoreError
        If the source cannot be read, or a file cannot be written.
    """
    wanted = {f"{Path(one.name).name}{ENDING}": one for one in recorded_entries(name)}
    written: list[Path] = []
    try:
        for path, content in _packed_files(source):
            entry = wanted.get(Path(path).name)
            if entry is not None:
                with naming(Path(path)):
                    written += unpack(entry, documents_in(content, entry), out)
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        # What tarfile says has a line for each compression that it tried.
        raise StoreError(
            f"{source} cannot be read: it is no whole archive; expected a tar or zip file."
        ) from error
    except OSError as error:
        raise StoreError(f"{source} cannot be read: {error}.") from error
    if not written:
        raise InvalidInputError(
            f"{source} holds no file of an entry that the package has a record of; expected "
            f"NAME{ENDING} of the library, or a folder or archive with such files."
        )
    return written


def _packed_files(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the library's files of documents, by their path."""
    if source.is_dir():
        for path in sorted(source.rglob(f"*{ENDING}")):
            yield str(path), read_regular(path)
    elif source.name.endswith(ENDING):
        yield str(source), read_regular(source)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist():
                if name.endswith(ENDING):
                    yield name, archive.read(name)
    else:
        with tarfile.open(source) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.name.endswith(ENDING) else None
                if content is not None:
                    yield member.name, content.read()
