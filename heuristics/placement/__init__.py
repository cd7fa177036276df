"""Heuristics for `placement`: they choose devices, and list scheduling does the rest."""

from boundmark.heuristics.placement.methods.fill_devices import FILL_DEVICES
from boundmark.heuristics.placement.methods.getf import GETF
from boundmark.heuristics.placement.methods.heft import HEFT
from boundmark.heuristics.placement.methods.hsdag import HSDAG
from boundmark.heuristics.placement.methods.hsdag_advantage import HSDAG_ADVANTAGE
from boundmark.heuristics.placement.methods.m_etf import M_ETF
from boundmark.heuristics.placement.methods.m_sct import M_SCT
from boundmark.heuristics.placement.methods.m_topo import M_TOPO
from boundmark.heuristics.placement.methods.max_load import MAX_LOAD
from boundmark.heuristics.placement.methods.peft import PEFT
from boundmark.heuristics.placement.methods.placement_brkga import PLACEMENT_BRKGA
from boundmark.heuristics.placement.methods.placement_search import PLACEMENT_SEARCH
from boundmark.heuristics.placement.methods.placeto import PLACETO
from boundmark.heuristics.placement.methods.preferred_device import PREFERRED_DEVICE
from boundmark.heuristics.placement.methods.random_devices import RANDOM_DEVICES
from boundmark.heuristics.placement.methods.random_sets import RANDOM_SETS
from boundmark.heuristics.placement.methods.rnn_seq2seq import RNN_SEQ2SEQ
from boundmark.heuristics.placement.methods.round_robin import ROUND_ROBIN
from boundmark.heuristics.placement.methods.single_device import SINGLE_DEVICE
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    SINGLE_DEVICE,
    PREFERRED_DEVICE,
    ROUND_ROBIN,
    RANDOM_DEVICES,
    RANDOM_SETS,
    M_TOPO,
    FILL_DEVICES,
    M_ETF,
    M_SCT,
    GETF,
    HEFT,
    PEFT,
    MAX_LOAD,
    PLACEMENT_SEARCH,
    PLACEMENT_BRKGA,
    HSDAG,
    HSDAG_ADVANTAGE,
    PLACETO,
    RNN_SEQ2SEQ,
)
