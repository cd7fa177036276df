"""Published searches with Z3 ([TESSEL24]), a module a step."""
