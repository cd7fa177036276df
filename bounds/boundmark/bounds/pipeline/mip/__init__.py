"""Mixed-integer programs for `pipeline` (papers/mtpp, Section 3) and the solvers that run them."""
