"""Tables as Arrow tables whose fields have the types, units and meanings of the dictionary."""

import pandas as pd
import pyarrow as pa

from boundmark.reports.dictionary.columns import TYPES, about, column_of


def described(table: str, frame: pd.DataFrame) -> pa.Table:
    """Return a frame with types and metadata of the dictionary, without its index.

    A column that the dictionary does not know stays as it is. Of a field, the metadata are `unit`
    and `meaning`; of the table, `table`, `about`, and `problem` if it is about one.

    Parameters
    ----------
    table
        Its path below `tables/` without ending, e.g. ``"<problem>/methods"``.
    """
    found = pa.Table.from_pandas(frame, preserve_index=False)
    for at, field in enumerate(found.schema):
        known = column_of(table, field.name)
        if known is None:
            continue
        values = _cast(found.column(at), TYPES.get(known.type) or _plain(field.type))
        metadata = {"unit": known.unit, "meaning": known.meaning}
        found = found.set_column(at, pa.field(field.name, values.type, metadata=metadata), values)
    problem = table.rpartition("/")[0]
    facts = {"table": table, "about": about(table)} | ({"problem": problem} if problem else {})
    return found.replace_schema_metadata({**(found.schema.metadata or {}), **facts})


def _cast(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return values with a type if they fit: reports of other packages may use a name otherwise."""
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        return values


def _plain(given: pa.DataType) -> pa.DataType:
    """Return the type of a column whose type is that of the data: text is text, of any length."""
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_null(given) else given
