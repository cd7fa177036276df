"""Mixed-integer programs for `pipeline` ([MTPP24], Section 3) and the solvers that run them."""
