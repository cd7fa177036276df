"""Suites: which methods treat which instances under which limits."""

import glob
import itertools
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boundmark.benchmarks.running.label_pattern import ALL_LABELS, LabelPatterns, LabelWord
from boundmark.benchmarks.running.planning import MethodChoice, NamedInstance
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.datasets.file_format import UnknownDimensionError
from boundmark.datasets.resolve import load_file, load_member
from boundmark.problems.catalog import problems
from boundmark.problems.devices import Cluster, Device, fusing, substitutes
from boundmark.problems.errors import (
    BoundmarkError,
    InvalidInputError,
    MissingFileError,
    NoRoomError,
)
from boundmark.problems.files import naming
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter, Parameter
from boundmark.problems.problem import Instance, Problem


@dataclass(frozen=True)
class Members:
    """Members of a data set."""

    dataset: str
    names: tuple[str, ...]
    is_pattern = False

    def members(self) -> tuple[str, ...]:
        """Return the members' names."""
        return self.names

    def load(self, member: str) -> Any:
        """Return the graph or layout of a member."""
        return load_member(f"{self.dataset}/{member}")


@dataclass(frozen=True)
class Files:
    """Files that a pattern matches, in the order of their names.

    Attributes
    ----------
    folder
        What the pattern is relative to.
    dims
        Sizes of dimensions that models leave open, by name. A file that leaves one of them not open
        does without it, if others match the pattern too.
    """

    pattern: str
    folder: Path
    dims: Mapping[str, int] = field(default_factory=dict)
    dataset = "file"

    @property
    def is_pattern(self) -> bool:
        """Whether several files may match, so that one may be left out."""
        return glob.has_magic(self.pattern)

    def members(self) -> list[str]:
        """Return the names of the files, relative to the folder."""
        matches = glob.glob(self.pattern, root_dir=self.folder, recursive=True)
        names = sorted(name for name in matches if (self.folder / name).is_file())
        if not names:
            raise MissingFileError(
                f"file is {self.pattern!r}, which matches no file in {self.folder}; "
                "expected at least one."
            )
        return names

    def load(self, member: str) -> Any:
        """Return the graph or layout of a file."""
        path = self.folder / member
        try:
            return load_file(path, self.dims)
        except InvalidInputError as error:
            known = _open_dimensions(error)
            if known is None or not self.is_pattern:
                raise
            return load_file(path, {name: n for name, n in self.dims.items() if name in known})


def _open_dimensions(error: BaseException | None) -> tuple[str, ...] | None:
    """Return the dimensions that a model leaves open, if others were given."""
    while error is not None:
        if isinstance(error, UnknownDimensionError):
            return error.known
        error = error.__cause__
    return None


@dataclass(frozen=True)
class InstanceGroup:
    """Members of a data set or files, each once for every combination of parameters.

    Attributes
    ----------
    parameters
        Values of those of the problem's parameters that are given.
    methods
        Those for these instances only, beyond the suite's.
    optional
        Whether the suite does without the group if its files are not there.
    device
        For costs, instead of the suite's.
    fuses
        Whether that device fuses, as if its name ended in ``+fusion``.
    """

    sources: Members | Files
    parameters: Mapping[str, tuple[int | str, ...]]
    methods: tuple[MethodChoice, ...] = ()
    optional: bool = False
    device: Device | Cluster | None = None
    fuses: bool = False


@dataclass(frozen=True)
class Suite:
    """The instances and methods of one `boundmark run`.

    Attributes
    ----------
    methods
        For all instances.
    device
        For the costs of instances that do not come with them; the problem's default if None.
    """

    name: str
    description: str
    problem: str
    settings: RunSettings
    instances: tuple[InstanceGroup, ...]
    methods: tuple[MethodChoice, ...]
    device: Device | Cluster | None = None

    def load_instances(
        self,
        on_missing: Callable[[str], None] = lambda reason: None,
        on_left_out: Callable[[str, str], None] = lambda member, reason: None,
        patterns: LabelPatterns = ALL_LABELS,
    ) -> Iterator[NamedInstance]:
        """Yield the instances in the suite's order; each graph is loaded once."""
        for group in self.instances:
            try:
                yield from self._of_group(group, on_left_out, patterns)
            except MissingFileError as error:
                if not group.optional:
                    raise
                on_missing(str(error))

    def _of_group(
        self,
        group: InstanceGroup,
        on_left_out: Callable[[str, str], None],
        patterns: LabelPatterns,
    ) -> Iterator[NamedInstance]:
        """Yield the instances of a group; see `load_instances`."""
        refused: list[tuple[str, BoundmarkError]] = []
        members = group.sources.members()
        members = self._that_may_match(patterns, group, members)
        for member in members:
            where = f"{group.sources.dataset}/{member}"
            try:
                source = group.sources.load(member)
                with naming(f"suite {self.name}: {where}"):
                    made, without_room = self._of_source(group, member, source)
            except MissingFileError:
                raise
            except BoundmarkError as why:
                # What a cluster cannot hold says something of the cluster.
                if not group.sources.is_pattern and not isinstance(why, NoRoomError):
                    raise
                refused.append((where, why))
                continue
            yield from made
            for parameters, reason in without_room.items():
                on_left_out(f"{where} {parameters}", f"suite {self.name}: {where}: {reason}")
        is_wrong = not all(isinstance(why, NoRoomError) for _, why in refused)
        if members and is_wrong and len(refused) == len(members):
            # Nothing is left: what is wrong with the first is likely wrong with the group.
            raise refused[0][1]
        for where, error in refused:
            on_left_out(where, str(error))

    def _that_may_match(
        self, patterns: LabelPatterns, group: InstanceGroup, members: Sequence[str]
    ) -> list[str]:
        """Return the members of which a task's label can match, as far as known without loading."""
        words = self._words(group)
        names = {choice.method.name for choice in (*self.methods, *group.methods)}
        return [
            member
            for member in members
            if any(
                patterns.may_match(f"{group.sources.dataset}/{member}", words, name)
                for name in names
            )
        ]

    def _words(self, group: InstanceGroup) -> list[LabelWord]:
        """Return the words that may stand between member and method in labels of a group."""
        problem = problems()[self.problem]
        words = [
            _parameter_word(parameter, group.parameters.get(parameter.name, ()))
            for parameter in problem.parameters
        ]
        if problem.cost_model:
            usual = problem.cost_model.default()
            device = group.device or self.device or usual
            name = (fusing(device) if group.fuses else device).name
            if group.device or name != usual.name:
                words.append(LabelWord("device=", (name,)))
        return words

    def _of_source(
        self, group: InstanceGroup, member: str, source: Any
    ) -> tuple[list[NamedInstance], dict[str, str]]:
        """Return the instances of a member, and why there is no room with other parameters."""
        problem = problems()[self.problem]
        # The suite's device is for those that need one.
        usual = self.device if problem.needs_device(source) else None
        device = problem.device_for(source, group.device or usual)
        if group.fuses and device is None:
            raise InvalidInputError("its costs came with it; expected no fusion.")
        if group.fuses and device is not None:
            device = fusing(device)
        made, without_room = _instances(problem, source, device, group.parameters)
        named = [
            NamedInstance(
                group.sources.dataset,
                member,
                instance,
                group.methods,
                device.name if device else "",
                (
                    *getattr(source, "notes", ()),
                    *(substitutes(device, source.dtype) if device else ()),
                    *getattr(instance, "notes", ()),
                ),
                is_device_chosen=device is not None and group.device is not None,
            )
            for instance in made
        ]
        return named, without_room


@dataclass(frozen=True)
class Collection:
    """Suites that run one after the other into one folder, such as those of every night.

    A suite by itself is a collection of one, with its name and description.
    """

    name: str
    description: str
    suites: tuple[Suite, ...]


def _parameter_word(parameter: Parameter, given: Sequence[int | str]) -> LabelWord:
    """Return how a parameter stands in a label, with one of its given values or else with any.

    Choices may become others, such as one that says "automatic"; integers stay as they are given.
    """
    start = f"{parameter.name}="
    if isinstance(parameter, IntegerParameter) and given:
        return LabelWord(start, tuple(map(str, given)))
    if isinstance(parameter, IntegerParameter):
        return LabelWord(start, characters="-0123456789")
    if isinstance(parameter, ChoiceParameter):
        return LabelWord(start, parameter.choices)
    return LabelWord(start, characters=string.printable)


def _instances(
    problem: Problem,
    source: object,
    device: Device | Cluster | None,
    parameters: Mapping[str, tuple[int | str, ...]],
) -> tuple[list[Instance], dict[str, str]]:
    """Return the instances, and for parameters with which there is no room, the reason."""
    make = problem.maker(source, device)
    made: list[Instance] = []
    without_room: dict[str, str] = {}
    combinations = list(itertools.product(*parameters.values()))
    for values in combinations:
        given = dict(zip(parameters, values, strict=True))
        try:
            instance = make(given)
        except NoRoomError as why:
            without_room[" ".join(f"{name}={value}" for name, value in given.items())] = str(why)
            if len(without_room) == len(combinations):
                raise
            continue
        # A stored instance that is taken as it is was meant to be solved.
        is_as_stored = isinstance(source, Instance) and not parameters
        if is_as_stored or not instance.is_redundant:
            made.append(instance)
    return made, without_room
