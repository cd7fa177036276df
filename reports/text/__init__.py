"""Words and numbers as readers see them."""
