"""A table as CSV, as programs read it."""

import csv
import io

from boundmark.reports.pages.page import Cell, Table
from boundmark.reports.text.number_text import MISSING
from boundmark.reports.text.visible import visible


def csv_of(table: Table) -> str:
    """Return a table as CSV: the group in a column of its own, as are the details of cells.

    Numbers have no thousands separators, and missing ones are empty. `boundmark query` has the
    same with all digits.
    """
    with_groups = any(group.heading for group in table.groups)
    detailed = [
        any(row[at].detail for group in table.groups for row in group.rows)
        for at in range(len(table.columns))
    ]
    head = ["group"] * with_groups
    for name, has_detail in zip(table.columns, detailed, strict=True):
        head += [name, f"{name}: detail"] if has_detail else [name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_safe, head))
    for group in table.groups:
        label = group.heading[0].text if group.heading else ""
        # Numbers of instances that stand above a group's columns are a row without a name.
        above = (Cell(""), *group.heading[1:])
        for row in (*([above] if any(cell.text for cell in above) else []), *group.rows):
            line = [label] * with_groups
            for at, cell in enumerate(row):
                line.append(_value(cell, is_number=table.is_number(at)))
                if detailed[at]:
                    line.append(cell.detail)
            writer.writerow(map(_safe, line))
    return text.getvalue()


def _value(cell: Cell, *, is_number: bool) -> str:
    if cell.text == MISSING:
        return ""
    return cell.text.replace(",", "") if is_number else cell.text


def _safe(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    shown = visible(text)
    is_formula = shown[:1] in ("=", "+", "@") or (shown[:1] == "-" and not shown[1:2].isdigit())
    return f"'{shown}" if is_formula else shown
