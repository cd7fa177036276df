"""File formats that state the costs of operators on devices."""

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.placement import moirai_sheet

MOIRAI_SHEET = FileFormat("Moirai sheet", (".xls",), moirai_sheet.load)
