"""The contract of a problem: instances and solutions that can be stored, and how to make them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from boundmark.problems.arrays import IntArray
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Naming
from boundmark.problems.parameter import ChoiceParameter, Parameter, TextParameter

if TYPE_CHECKING:
    from boundmark.problems.devices import Cluster, Device


@dataclass(frozen=True)
class NodeCosts:
    """The costs of nodes that a problem reads, and the graph that it makes of them.

    Attributes
    ----------
    required, optional
        Names of the costs, integers in ticks.
    make
        Returns one of the problem's sources, for a graph, its costs by name, the names of its
        nodes, and the ticks' worth of parameters that fit into one device, None if nobody says.
        Raises `InvalidInputError` if they do not go together.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    make: Callable[[Dag, Mapping[str, IntArray], tuple[str, ...], int | None], Any]


# The number of a node, then an integer for each further column.
Row: TypeAlias = tuple[int, ...]


def _as_given(solution: Any) -> tuple[Any, Mapping[str, int | str]]:
    return solution, {}


def _no_names(instance: Any) -> Mapping[str, Sequence[str]]:
    return {}


@dataclass(frozen=True)
class TextForms:
    """The forms in which other tools write solutions of a problem.

    Attributes
    ----------
    read
        Returns the solution that a text means for an instance, with notes; None if it is no such
        text. Raises `InvalidInputError` if it is one, and does not go with the instance.
    forms
        What such texts look like, for errors.
    implied
        Returns the parameters that a text is for, unless others are given.
    """

    read: Callable[[str, Any], tuple[Any, tuple[str, ...]] | None]
    forms: str
    implied: Callable[[str], Mapping[str, int | str]] = lambda text: {}


@dataclass(frozen=True)
class SolutionTable:
    """The table in which solutions of a problem are written, and which `evaluate` reads.

    Attributes
    ----------
    columns
        The header, e.g. ``("operator", "stage")``: first what a node is called, then integers. The
        last column is the answer, and there is one row for each combination of the others.
    largest
        The largest integer that makes sense in each column but the first.
    solution
        Makes a solution of rows, in any order, in which each node of an instance occurs. Raises
        `InvalidInputError` if rows are missing.
    rows
        Returns the rows of a solution.
    implied
        Returns a solution as it is meant if nobody says which parameters it is for, and these
        parameters: ``k`` is the number of stages that a partition uses.
    texts
        How other tools write solutions; None if there are none.
    value_names
        Returns what the numbers of further columns are called in an instance, by column: devices
        have names. Columns without names hold integers.
    says_all
        Whether the rows of a solution say all of it, so that it is written as a table at all.
    """

    columns: tuple[str, ...]
    largest: int
    solution: Callable[[Sequence[Row], Any], Any]
    rows: Callable[[Any], Iterable[Row]]
    implied: Callable[[Any], tuple[Any, Mapping[str, int | str]]] = _as_given
    value_names: Callable[[Any], Mapping[str, Sequence[str]]] = _no_names
    texts: TextForms | None = None
    says_all: Callable[[Any], bool] = lambda solution: True


# Values of a method's parameters.
ParameterValue: TypeAlias = bool | int | float | str

INSTANCE_FORMAT = "boundmark-instance/1"

SOLUTION_FORMAT = "boundmark-solution/1"


class Solution(Protocol):
    """An answer to an instance."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON values, without reference to its instance."""


@runtime_checkable
class Instance(Protocol):
    """One optimisation problem with integer costs, identified by the hash of its canonical JSON."""

    @property
    def problem(self) -> str:
        """Name of the problem, as `Problem.name`."""

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""

    @property
    def edges(self) -> int:
        """Number of edges."""

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """Parameters that turn the source into this instance, e.g. ``{"k": 8}``.

        Parameters that say nothing here may be left out; integers are as they were given.
        """

    @property
    def is_redundant(self) -> bool:
        """Whether other parameters give the same problem, so that suites leave this one out."""

    def with_parameters(self, given: Mapping[str, int | str]) -> "Instance":
        """Return the instance with some parameters changed."""

    def to_json(self) -> dict[str, Any]:
        """Return everything the problem depends on, as integers and strings."""

    def objective(self, solution: Any) -> int:
        """Return the solution's integer cost.

        Raises
        ------
        InvalidInputError
            If the solution breaks a constraint.
        """


def solution_document(instance: Instance, solution: Solution, objective: int) -> dict[str, Any]:
    """Return a solution in its stored form, which the checker reads."""
    return {
        **solution.to_json(),
        "format": SOLUTION_FORMAT,
        "instance_sha256": instance.sha256,
        "problem": instance.problem,
        "objective": objective,
    }


@dataclass(frozen=True)
class CostModel:
    """The functions that make a problem's costs from operations, tensors and devices.

    Attributes
    ----------
    costs
        Returns what `Problem.instance` takes, for a graph on a device or cluster. Raises
        `InvalidInputError` if the problem cannot use the device.
    default
        Returns the device or cluster where none is named.
    takes_fusion
        Whether users may ask with the parameter `fusion` for a device that fuses, as its name with
        ``+fusion`` does. For problems that have no parameter of this name.
    takes_costs
        Likewise, whether users may say with the parameter `costs` where times come from.
    default_for_own
        Returns the device or cluster where none is named and the model is a user's own, and was not
        published with results on the default; None if that is the same.
    """

    costs: "Callable[[ComputationGraph, Device | Cluster], Any]"
    default: "Callable[[], Device | Cluster]"
    takes_fusion: bool = False
    takes_costs: bool = False
    default_for_own: "Callable[[], Device | Cluster] | None" = None


# What a user may say of the device, where the problem's cost model takes it.
FUSION = ChoiceParameter(
    "fusion",
    "whether the device fuses elementwise operations into those before them",
    ("none", "elementwise"),
    "none",
)

COSTS = TextParameter(
    "costs",
    "where the times of operators come from: roofline, the data sheet's rates; calibrated, "
    "efficiencies fitted on measured times of other models; or a file of `boundmark profile`",
    "roofline|calibrated|FILE",
    "roofline, calibrated, or a file that ends in .json",
    "calibrated for a model of your own, on a device that was measured in its dtype, and else "
    "roofline",
    separator=",",
)


@dataclass(frozen=True)
class Problem:
    """A kind of instance: how to make it and how to read it back.

    Attributes
    ----------
    name
        As in suites, results and certificates: lower-case letters, digits and dashes.
    description
        One sentence for `boundmark problems`.
    sources
        Types of what data sets and files hold that instances can be made of.
    source_words
        The same in words for users, e.g. ``"a model, or a graph with costs"``; if it is empty, the
        names of the types are shown.
    adapt
        Turns one of these into what `instance` takes, once for all parameters.
    cost_model
        Does so instead for a `ComputationGraph`, on a device; None if none matters.
    parameters
        What an instance needs beside.
    instance
        Makes an instance, from what `adapt` returned and all parameters by name.
    instance_from_json, solution_from_json
        Read what `to_json` wrote; raise `InvalidInputError` if a field is missing, or is not what
        the format says.
    immediate
        Methods that `boundmark solve` runs first, in its own process, each with the parameters that
        differ from its defaults. They end within a second on usual instances, and import nothing
        that takes long: no solver and nothing compiled. One that takes longer is ended, and runs
        again in a round of its own, before the others.
    rounds
        Names of the methods that `boundmark solve` runs if none is asked for, round by round until
        the best solution is proven optimal; a mapping has the parameters that differ from a
        method's defaults. Without any, all methods of the problem in one round.
        Heuristics that are in neither, and not `Method.left_out`, are run in the first round.
        Methods that are immediate as well, with the same parameters, are not run again.
    precedence
        Where a source suits several problems, the one with the lowest number comes first.
    node_costs
        How a graph whose nodes have costs, such as one of networkx, becomes a source; None if it
        does not.
    naming
        The names of an instance's nodes; None if they have none but their numbers.
    table
        How people write solutions as a table; None if only their JSON is read.
    """

    name: str
    description: str
    sources: tuple[type, ...]
    adapt: Callable[[Any], Any]
    parameters: tuple[Parameter, ...]
    instance: Callable[..., Instance]
    instance_from_json: Callable[[Mapping[str, Any]], Instance]
    solution_from_json: Callable[[Mapping[str, Any]], Solution]
    immediate: Mapping[str, Mapping[str, ParameterValue]] = field(default_factory=dict)
    rounds: tuple[tuple[str, ...] | Mapping[str, Mapping[str, ParameterValue]], ...] = ()
    precedence: int = 100
    cost_model: CostModel | None = None
    node_costs: NodeCosts | None = None
    naming: Naming | None = None
    source_words: str = ""
    table: SolutionTable | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", self.name):
            raise InvalidInputError(
                f"a problem is called {self.name!r}; "
                "expected lower-case letters, digits and dashes."
            )
        for kind in self.sources:
            if not isinstance(kind, type):
                raise InvalidInputError(
                    f"problem {self.name!r} is about {kind!r}; expected types in `sources`."
                )
        if self.cost_model is not None and ComputationGraph not in self.sources:
            raise InvalidInputError(
                f"problem {self.name!r} has a cost model and no graphs without costs; "
                "expected ComputationGraph in `sources`."
            )
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(
                    f"problem {self.name!r} has two parameters {name!r}; expected unique names."
                )

    @property
    def options(self) -> tuple[Parameter, ...]:
        """Options beside a model: the parameters, and what is said of costs and fusion."""
        fusion = (FUSION,) if self.cost_model and self.cost_model.takes_fusion else ()
        costs = (COSTS,) if self.cost_model and self.cost_model.takes_costs else ()
        return (*self.parameters, *fusion, *costs)

    @property
    def source_names(self) -> str:
        """The kinds of source that instances can be made of, in words for errors."""
        return " or ".join(kind.__name__ for kind in self.sources)

    def read_parameters(self, given: Mapping[str, str]) -> dict[str, int | str]:
        """Return parameters that the command line gives as texts.

        Raises
        ------
        InvalidInputError
            If one is unknown or its value is none.
        """
        self._check_names(given)
        return {
            parameter.name: parameter.read(given[parameter.name])
            for parameter in self.parameters
            if parameter.name in given
        }

    def check_given(self, given: Mapping[str, object]) -> dict[str, int | str]:
        """Return parameters that callers of the Python API give as values.

        Raises
        ------
        InvalidInputError
            If one is unknown or its value is none.
        """
        self._check_names(given)
        return {
            parameter.name: parameter.check(given[parameter.name])
            for parameter in self.parameters
            if parameter.name in given
        }

    def check_parameters(self, given: Mapping[str, object]) -> dict[str, int | str]:
        """Return all parameters, with defaults for missing ones.

        Raises
        ------
        InvalidInputError
            If one is unknown or missing, or its value is none.
        """
        self._check_names(given)
        checked: dict[str, int | str] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name, parameter.default)
            if value is None:
                raise InvalidInputError(
                    f"{parameter.name} is missing; problem {self.name!r} needs it."
                )
            if parameter.name not in given and parameter.default is not None:
                # A default may be outside the range of given values, such as 0 for "all devices".
                checked[parameter.name] = parameter.default
            else:
                checked[parameter.name] = parameter.check(value)
        return checked

    def suits(self, source: object) -> bool:
        """Whether instances can be made of a source, or it is one already."""
        if isinstance(source, Instance):
            return source.problem == self.name
        return isinstance(source, self.sources)

    def needs_device(self, source: object) -> bool:
        """Whether the costs of a source's instances depend on a device."""
        return self.cost_model is not None and isinstance(source, ComputationGraph)

    def device_for(
        self, source: object, named: "Device | Cluster | None" = None, *, is_own: bool = False
    ) -> "Device | Cluster | None":
        """Return the device for a source's costs; None if they depend on no device.

        Parameters
        ----------
        named
            What the user asks for; the default device if that is None.
        is_own
            Whether the source is a user's own, and no published model.

        Raises
        ------
        InvalidInputError
            If a device is named and makes no difference.
        """
        if self.cost_model is not None and self.needs_device(source):
            own = self.cost_model.default_for_own if is_own else None
            return named or (own or self.cost_model.default)()
        if named is not None:
            why = "comes with costs" if self.cost_model else f"needs none for {self.name!r}"
            raise InvalidInputError(
                f"device is {named.name!r}, but {_in_words(source)} {why}; expected no device."
            )
        return None

    def maker(
        self, source: object, device: "Device | Cluster | None" = None
    ) -> Callable[[Mapping[str, int | str]], Instance]:
        """Return the function that makes a source's instances, each with the parameters given.

        A graph or layout is adapted once, here, and parameters that are not given have their
        defaults; those of a stored instance remain as they are.

        Parameters
        ----------
        device
            For the costs of a source that has none; the default device if that is None.

        Raises
        ------
        InvalidInputError
            If the source does not suit the problem, or has costs and a device is given.
        """
        if not self.suits(source):
            raise InvalidInputError(
                f"{_in_words(source)} was given; "
                f"problem {self.name!r} is about {self.source_names}."
            )
        chosen = self.device_for(source, device)
        if isinstance(source, Instance):
            stored = source

            def changed(given: Mapping[str, int | str]) -> Instance:
                self._check_names(given)
                for parameter in self.parameters:
                    if parameter.name in given:
                        parameter.check(given[parameter.name])
                return stored.with_parameters(given)

            return changed
        if chosen and self.cost_model and isinstance(source, ComputationGraph):
            adapted = self.cost_model.costs(source, chosen)
        else:
            adapted = self.adapt(source)
        return lambda given: self.instance(adapted, **self.check_parameters(given))

    def _check_names(self, given: Mapping[str, object]) -> None:
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise InvalidInputError(
                    f"{name} is no parameter of problem {self.name!r}; "
                    f"expected {' or '.join(names) or 'none'}."
                )


def _in_words(source: object) -> str:
    if isinstance(source, Instance):
        return f"an instance of {source.problem!r}"
    return f"a {type(source).__name__}"
