"""The steps of the published searches with Z3 ([TESSEL24]), one per module."""
