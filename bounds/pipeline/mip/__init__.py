"""Mixed-integer programs for `pipeline` as published ([MTPP24], Section 3)."""
