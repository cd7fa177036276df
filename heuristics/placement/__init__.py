"""Heuristics for `placement`: they choose devices; list scheduling adds the start times."""

from functools import partial

from boundmark.problems.method import Deferred, Method
from boundmark.problems.problem import ParameterValue

_heuristic = partial(Method, problem="placement", kind="heuristic")

DRAWN = "It is a baseline: placements that are drawn at random."
LEARNED = "It learns for minutes; placement-search is ahead within seconds (docs/results-hsdag.md)."

HSDAG_PARAMS: dict[str, ParameterValue] = {
    "evaluations": 2000,
    "steps": 20,
    "updates": 4,
    "learning_rate": 1e-4,
    "hidden": 128,
    "dropped_edges": 0.2,
    "discount": 0.99,
    "types": True,
    "structure": True,
    "shapes": True,
    "positions": True,
    "raw_shapes": True,
    "shared_columns": False,
    "load": "",
    "save": "",
    "train": True,
}

# Compiled, and imported late where `single-device` is, which needs none of it.
INCUMBENT = ("boundmark.heuristics.placement.incumbent",)

METHODS: tuple[Method, ...] = (
    _heuristic(
        name="single-device",
        summary="Everything on one device, the best one.",
        run=Deferred("boundmark.heuristics.placement.simple_placements:run_single_device"),
        version=2,
    ),
    _heuristic(
        name="preferred-device",
        summary="Everything on the first device that takes it, as OpenVINO's AUTO does "
        "([HSDAG24]).",
        run=Deferred("boundmark.heuristics.placement.simple_placements:run_preferred_device"),
        params={"first": 0},
        warm=INCUMBENT,
    ),
    _heuristic(
        name="round-robin",
        summary="Operators to devices in turn, in topological order.",
        run=Deferred("boundmark.heuristics.placement.simple_placements:run_round_robin"),
        version=2,
        warm=INCUMBENT,
    ),
    _heuristic(
        name="random-devices",
        summary="The best of 100 placements drawn at random.",
        run=Deferred("boundmark.heuristics.placement.simple_placements:run_random_devices"),
        version=2,
        params={"samples": 100},
        seeded=True,
        left_out=DRAWN,
        warm=INCUMBENT,
    ),
    _heuristic(
        name="random-sets",
        summary="The best of 2,000 placements that draw a device for each co-location set at "
        "random.",
        run=Deferred("boundmark.heuristics.placement.learned.methods:run_random_sets"),
        params={"samples": 2000},
        seeded=True,
        left_out=DRAWN,
    ),
    _heuristic(
        name="m-topo",
        summary="Fills the memory of one device after another in topological order ([BAECHI20]).",
        run=Deferred("boundmark.heuristics.placement.baechi:run_m_topo"),
        version=2,
    ),
    _heuristic(
        name="fill-devices",
        summary="Fills devices one after another in topological order, in the best sequence.",
        run=Deferred("boundmark.heuristics.placement.starts:run_fill_devices"),
    ),
    _heuristic(
        name="m-etf",
        summary="The operator and device that can start first, while memory lasts ([BAECHI20]).",
        run=Deferred("boundmark.heuristics.placement.baechi:run_m_etf"),
        version=3,
    ),
    _heuristic(
        name="m-sct",
        summary="As m-etf, but devices wait for favourite children, by a linear program "
        "([BAECHI20]).",
        run=Deferred("boundmark.heuristics.placement.baechi:run_m_sct"),
        warm=("scipy.optimize", "scipy.sparse"),
    ),
    _heuristic(
        name="getf",
        summary="As m-etf, within a group of devices that a linear program chooses ([GETF20]).",
        run=Deferred("boundmark.heuristics.placement.getf:run"),
        version=2,
        params={"gamma": 2.0},
        warm=("scipy.optimize", "scipy.sparse"),
    ),
    _heuristic(
        name="heft",
        summary="Longest paths first, each operator on the device where it ends first ([HEFT02]).",
        run=Deferred("boundmark.heuristics.placement.heft:run_heft"),
        version=2,
    ),
    _heuristic(
        name="peft",
        summary="As heft, with a look at what follows, and at prices of memory where it is short.",
        run=Deferred("boundmark.heuristics.placement.heft:run_peft"),
        params={"trials": 200},
        seeded=True,
    ),
    _heuristic(
        name="placement-search",
        summary="Simulated annealing over devices, from the best of the simple methods' "
        "placements.",
        run=Deferred("boundmark.heuristics.placement.placement_search:run"),
        version=5,
        params={"evaluations": 0},
        seeded=True,
        warm=("scipy.optimize", "scipy.sparse"),
    ),
    _heuristic(
        name="placement-brkga",
        summary="Genetic search over devices and priorities ([BRKGA11]), from the simple methods'.",
        run=Deferred("boundmark.heuristics.placement.placement_brkga:run"),
        version=3,
        params={"population": 100, "generations": 100},
        seeded=True,
        warm=("scipy.optimize", "scipy.sparse"),
    ),
    _heuristic(
        name="hsdag",
        summary="Learns groups and their devices by policy gradients, as printed in [HSDAG24].",
        run=Deferred("boundmark.heuristics.placement.learned.methods:run_hsdag"),
        params=HSDAG_PARAMS,
        seeded=True,
        requires=("jax",),
        left_out=LEARNED,
    ),
    _heuristic(
        name="placeto",
        summary="A graph network moves one set of operators at a time ([PLACETO19]).",
        run=Deferred("boundmark.heuristics.placement.learned.methods:run_placeto"),
        params={"evaluations": 2000, "hidden": 32, "learning_rate": 1e-3},
        seeded=True,
        requires=("jax",),
        left_out=LEARNED,
    ),
    _heuristic(
        name="rnn-seq2seq",
        summary="An LSTM with attention names a device for each set of operators ([MIRHOSEINI17]).",
        run=Deferred("boundmark.heuristics.placement.learned.methods:run_rnn_seq2seq"),
        params={"evaluations": 2000, "steps": 20, "hidden": 64, "learning_rate": 1e-3},
        seeded=True,
        requires=("jax",),
        left_out=LEARNED,
    ),
)
