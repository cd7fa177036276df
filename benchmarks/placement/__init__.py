"""How answers of `placement` are shown."""
