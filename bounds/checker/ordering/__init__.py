"""Checks `ordering`: operators that run one after another, and the memory that tensors take.

The instance: for each tensor its `size`, its `producer` (-1: an input, there from the start) and
its `consumers`; the tensors that are `kept` to the end; the `parameter_size` that each operator
reads, and the `parameter_total`; the tensors that each operator `overwrites` if it may (`in_place`
is yes). A solution is an `order` of the operators, each after those whose tensors it reads.

D stands for a set of operators that may have run (a down-set: with each operator, it has those
whose tensors that one reads). L(D) is the size of the tensors that are there after D: written by D
or inputs, and read by an operator outside D, or kept. While v runs after D, memory is M(v, D) =
L(D) + all that v writes + v's workspace: its parameters if `weights` is streamed, all parameters if
it is resident. What v writes is not counted if it overwrites a tensor that only v still reads. OPT
is the least possible maximum over all operators (`metric` is peak) or sum (sum). Kinds for OPT >=
bound:

live-cut/1
    Prices: for a tensor and each of its readers w, an integer; those above 0 add up to at most the
    tensor's size. With x_u = 1 for u in D and 0 outside, a tensor of producer p that is there costs
    at least the sum of price (x_p - x_w), for x_p - x_w is 0 or 1, and 1 only if it is there. So
    L(D) is at least the sum over operators of x_u times (prices of u's tensors - u's prices as a
    reader). While v runs, x is 1 for what v waits for, 0 for v and what waits for v, and either for
    all others, which add their sum if that is below 0. Tensors without prices have their size as
    the price of a reader that runs no earlier than v, if there is one. That bounds each M(v, D),
    hence the maximum over v and the sum over v.
downset-dp/1
    The same, for sections of the order, and with searches. A breakpoint is a down-set, the first
    operators of the payload's order, that some optimal order passes; so sections between
    breakpoints are ordered one by one, and the sums or the maximum of their optima is OPT. Between
    breakpoints known so far, there may be another one S because
    - every operator before it has to run before every one behind it (`forced`); or
    - S minimises L(D) - slope |D| over the down-sets D in between (`slope`; for the sum only, and
      without an operator that overwrites in some orders and not in others). Then take any order,
      with first operators P after i steps, and let the operators of S go first, otherwise in that
      order. A step of S then sees L(S & P) instead of L(P), another one L(S | P). As L(S & P) +
      L(S | P) <= L(S) + L(P), the sum falls by at least L(S | P) - L(S) for each step of S and
      L(S & P) - L(S) for each other one, which are at least slope |P - S| and - slope |S - P|. Over
      all steps, both are the slope times the number of pairs that changed places, so the sum does
      not rise. That S is the minimum is shown by prices, as above. (For jobs with weights,
      [SIDNEY75] has this.)
    A search finds all down-sets of a section that orders of a lower cost lead to, with the bounds
    of live-cut for the operators that are still to come; for the sum, of those orders that lead to
    one down-set it keeps the cheapest. For the maximum, an operator that fits and leaves no more
    behind than was there is taken at once: L(D + v) - L(D) only falls as D grows, so an order that
    takes it later has no advantage. If no order is left, the section costs at least as claimed.
"""

from .bound import downset_dp, live_cut
from .instance import read_instance
from .order import objective

SOLUTION_FIELDS = frozenset({"order"})

KINDS = {"live-cut/1": live_cut, "downset-dp/1": downset_dp}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
