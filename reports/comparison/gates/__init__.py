"""Gates that make a run worse than another: one per module, all look at facts alone."""
