"""Tools that split a chain of layers over devices: their formats, and what splits they can have."""
