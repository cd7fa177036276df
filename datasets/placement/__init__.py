"""Data sets and file formats that state the costs of operators on devices."""
