"""Published searches with Z3 (papers/tessel), a module a step."""
