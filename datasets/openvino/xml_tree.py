"""XML of unknown origin as a tree, without what makes XML dangerous."""

from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.source_file import naming, read_bytes

# Real files have fewer than ten.
DEEPEST = 50

LARGEST_FILE = 2**28


def read_tree(path: Path) -> Element:
    """Return the root of an XML file.

    A document type could define entities, whose expansion may be of any size, or name other files;
    it is refused, as is deep nesting.

    Raises
    ------
    InvalidInputError
        If the file is no XML, or has one of these.
    """
    content = read_bytes(path, "a model")
    with naming(path):
        if len(content) > LARGEST_FILE:
            raise InvalidInputError(f"the file has more than {LARGEST_FILE >> 20} MiB.")
        return _parsed(content)


def _parsed(content: bytes) -> Element:
    builder, depth = TreeBuilder(), 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InvalidInputError(f"elements are nested more than {DEEPEST} deep.")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise InvalidInputError("there is a document type; expected none in a model.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInputError(f"expected XML, found {error}.") from error
    return builder.close()
