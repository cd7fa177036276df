"""How answers of `slicing` are shown."""
