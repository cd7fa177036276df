"""Mixed-integer linear programs in integers, what solvers make of them, and what they may claim."""
