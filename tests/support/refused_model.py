"""A model that CP-SAT refuses, for a process that may load OR-Tools."""

from boundmark.bounds.cp_sat import new_model, new_solver, solve


def refusal() -> None:
    """Solve a model whose numbers add up to more than 64 bits."""
    model = new_model()
    large = [model.new_int_var(0, 2**61, f"{i}") for i in range(3)]
    model.add(sum(4 * x for x in large) <= 2**60)
    solve(new_solver(1.0, 1), model)
