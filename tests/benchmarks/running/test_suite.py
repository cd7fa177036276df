from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boundmark.benchmarks.running.label_pattern import LabelPatterns
from boundmark.benchmarks.running.planning import plan_tasks
from boundmark.benchmarks.running.suite import Suite
from boundmark.benchmarks.running.suite_file import (
    INSTANCES_FIELDS,
    load_collection,
    load_suite,
    parse_suite,
    part_names,
    suite_names,
)
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.problems.catalog import datasets
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import BoundmarkError, InvalidInputError, MissingFileError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.parameter import RESERVED
from boundmark.reports.report import report_of

VALID = """
description = "Two tasks."
problem = "pipeline"
time_limit_seconds = 1.5
memory_limit_gib = 1
methods = ["mean-work", { name = "random-100", params = { samples = 5 } }]

[[instances]]
dataset = "regal-style"
members = ["erdos-renyi-1"]
k = [2, 500]
"""


def test_suite_says_what_it_says() -> None:
    """Every field arrives; what is left out has its default."""
    suite = parse_suite("mine", VALID)
    assert suite.settings.time_limit_seconds == 1.5
    assert suite.settings.threads == 1
    assert suite.settings.seeds == (1,)
    assert [choice.method.name for choice in suite.methods] == ["mean-work", "random-100"]
    assert suite.methods[1].params["samples"] == 5


def test_instances_can_have_methods_of_their_own() -> None:
    """They are added to the suite's, for the instances of that group only."""
    text = VALID + 'methods = ["fractional-load"]\n[[instances]]\ndataset = "onnx-light"\nk = [2]\n'
    suite = parse_suite("mine", text)
    own = {
        source.dataset: [choice.method.name for choice in source.methods]
        for source in suite.load_instances()
    }
    assert own == {"regal-style": ["fractional-load"], "onnx-light": []}


DEVICES = """
[[instances]]
dataset = "onnx-light"
members = ["alexnet"]
k = [2]

[[instances]]
dataset = "onnx-light"
members = ["alexnet"]
k = [2]
device = "nvidia-h100"
"""


def test_devices_are_those_of_the_group_or_of_the_suite() -> None:
    """They are for what has no costs; labels name the usual one only if its group does."""

    def labels(text: str) -> list[tuple[str, str]]:
        sources = parse_suite("mine", text).load_instances()
        return [(source.label, source.device) for source in sources]

    assert labels(VALID + DEVICES) == [
        ("regal-style/erdos-renyi-1 k=2", ""),
        ("onnx-light/alexnet k=2", "nvidia-t4"),
        ("onnx-light/alexnet device=nvidia-h100 k=2", "nvidia-h100"),
    ]
    assert labels('device = "nvidia-v100"\n' + VALID + DEVICES) == [
        ("regal-style/erdos-renyi-1 k=2", ""),
        ("onnx-light/alexnet device=nvidia-v100 k=2", "nvidia-v100"),
        ("onnx-light/alexnet device=nvidia-h100 k=2", "nvidia-h100"),
    ]
    chosen = DEVICES.replace("nvidia-h100", "nvidia-t4")
    assert labels(VALID + chosen)[1:] == [
        ("onnx-light/alexnet k=2", "nvidia-t4"),
        ("onnx-light/alexnet device=nvidia-t4 k=2", "nvidia-t4"),
    ]
    usual, own = (
        source.instance
        for source in parse_suite("mine", VALID + DEVICES).load_instances()
        if source.dataset == "onnx-light"
    )
    assert usual.sha256 != own.sha256


OWN_DEVICE = """
[devices.mine]
source = "made up"
memory_gib = 1
memory_bandwidth_gb_per_s = 1
op_overhead_us = 1
peak_tera_ops_per_s = { float32 = 1 }
link = { source = "made up", bandwidth_gb_per_s = 1, latency_us = 0 }
"""


def test_device_files_are_relative_to_the_suite(tmp_path: Path) -> None:
    """Like files of instances; suites without a file have no folder."""
    text = VALID + DEVICES.replace("nvidia-h100", "devices/mine.toml")
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "mine.toml").write_text(OWN_DEVICE)
    suite = parse_suite("mine", text, tmp_path / "mine.toml")
    assert [source.device for source in suite.load_instances()] == ["", "nvidia-t4", "mine"]
    with pytest.raises(BoundmarkError, match="expected the name of one that comes with boundmark"):
        parse_suite("mine", text)


def test_a_group_with_costs_of_its_own_names_no_device() -> None:
    """Nothing that a suite says of a group is ignored."""
    suite = parse_suite("mine", VALID + 'device = "nvidia-h100"\n')
    with pytest.raises(
        BoundmarkError,
        match="suite mine: regal-style/erdos-renyi-1: device is 'nvidia-h100', but a PipelineGraph",
    ):
        list(suite.load_instances())


ALL_THREE = ["regal-style/erdos-renyi-1", "onnx-light/alexnet", "onnx-light/alexnet"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, ALL_THREE),
        ("k=2", ALL_THREE),
        ("k=3", []),
        ("k=500", ["regal-style/erdos-renyi-1"]),
        ("erdos*random-100", ["regal-style/erdos-renyi-1"]),
        ("nvidia-h100 * mean-work", ["onnx-light/alexnet"]),
        ("nvidia-t4", []),
        ("fractional-load", ["onnx-light/alexnet"]),
        ("phase=training mean-work", ALL_THREE),
        ("alexnet k=2 memetic", []),
    ],
)
def test_a_pattern_leaves_members_unloaded(
    monkeypatch: pytest.MonkeyPatch, pattern: str | None, expected: list[str]
) -> None:
    """Members none of whose labels can match are not loaded; the same tasks are planned."""
    suite = parse_suite("mine", VALID + DEVICES + 'methods = ["fractional-load"]\n')
    everything = plan_tasks("mine", suite.load_instances(), suite.methods, suite.settings)
    chosen = LabelPatterns.of([] if pattern is None else [pattern])
    wanted = [task for task in everything if chosen.matches(task.label)]
    loaded: list[str] = []

    def counting(dataset: Dataset) -> Dataset:
        def load(member: str) -> Any:
            loaded.append(f"{dataset.name}/{member}")
            return dataset.load(member)

        return replace(dataset, load=load)

    for name in ("regal-style", "onnx-light"):
        monkeypatch.setitem(datasets(), name, counting(datasets()[name]))
    instances = suite.load_instances(patterns=chosen)
    tasks = list(plan_tasks("mine", instances, suite.methods, suite.settings, chosen))
    assert [task.task.task_id for task in tasks] == [task.task.task_id for task in wanted]
    assert loaded == expected


def test_both_clusters_of_the_moirai_paper_can_be_selected() -> None:
    """Also the one that is the usual one of the problem."""
    (suite,) = load_collection("paper-moirai/solvers").suites
    for cluster, some in (("moirai-inter-server", True), ("moirai-intra-server", False)):
        chosen = LabelPatterns.of([cluster])
        instances = list(suite.load_instances(patterns=chosen))
        tasks = list(plan_tasks("mine", instances, suite.methods, suite.settings, chosen))
        assert {task.source.device for task in tasks} == ({cluster} if some else set())


@pytest.mark.parametrize("name", ["demo", "nightly/layers", "paper-moirai/solvers"])
def test_labels_are_what_patterns_take_for_possible(name: str) -> None:
    """Parameters and devices of instances are those that are known before they are loaded."""
    for suite in load_collection(name).suites:
        for group in suite.instances:
            alone = replace(suite, instances=(group,))
            method = [*suite.methods, *group.methods][0].method.name
            *_, last = alone.load_instances()
            pattern = LabelPatterns.of([f"{last.label} {method}"])
            assert last.label in [again.label for again in alone.load_instances(patterns=pattern)]


def test_methods_of_a_group_are_for_its_parameters() -> None:
    """The same member may be in another group with other ones."""
    text = VALID + 'methods = ["fractional-load"]\n[[instances]]\ndataset = "regal-style"\n'
    text += 'members = ["erdos-renyi-1"]\nk = [3]\n'
    own = {
        source.instance.parameters["k"]: [choice.method.name for choice in source.methods]
        for source in parse_suite("mine", text).load_instances()
    }
    assert own == {2: ["fractional-load"], 3: []}


def test_k_above_the_number_of_nodes_is_left_out() -> None:
    """Further stages would stay empty: the same optimum again."""
    assert [source.instance.k for source in parse_suite("mine", VALID).load_instances()] == [2]


PROFILES = """
[[instances]]
dataset = "pipedream"
members = ["alexnet", "vgg16"]
k = [2]
"""


def test_a_suite_does_without_an_optional_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the user has not got are an error, or a note if the suite says so."""
    monkeypatch.delenv("BOUNDMARK_DATA", raising=False)
    with pytest.raises(MissingFileError, match=r"alexnet\.txt does not come with boundmark"):
        list(parse_suite("mine", VALID + PROFILES).load_instances())
    notes: list[str] = []
    suite = parse_suite("mine", VALID + PROFILES + "optional = true\n")
    assert {source.dataset for source in suite.load_instances(notes.append)} == {"regal-style"}
    assert len(notes) == 1
    assert "pipedream/alexnet.txt does not come with boundmark" in notes[0]


@pytest.mark.parametrize("name", [*suite_names(), *part_names()])
def test_shipped_suites_load(name: str) -> None:
    """Methods, data sets and members that the shipped suites name exist."""
    collection = load_collection(name)
    assert collection.description.endswith(".")
    for suite in collection.suites:
        first = next(suite.load_instances())
        assert first.label.startswith(first.dataset)


def test_the_night_of_solvers_has_gaps_and_speedups() -> None:
    """Its report has a certified bound for the gaps, and a baseline on every instance."""
    methods = {one.method.name: one.method for one in load_suite("nightly/solvers").methods}
    claiming = {"bottleneck", "bottleneck-guess", "exact"}
    assert [name for name, one in methods.items() if one.kind == "bound" and name not in claiming]
    assert methods.keys() & set(report_of("pipeline")[0].baselines)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "time_limit_seconds = 1.5",
            "time_limit = 1.5",
            "no field 'time_limit' in suite mine; did you mean",
        ),
        ("1.5", "0", "time_limit_seconds is 0; expected a positive number"),
        ("1.5", "true", "time_limit_seconds is True"),
        ('"mean-work"', '"mean-wrok"', "no method 'mean-wrok'; did you mean mean-work"),
        ("samples", "smaples", "no parameter of random-100 'smaples'; did you mean samples"),
        ("samples = 5", 'samples = "5"', "parameter samples .* is '5'; expected int"),
        ('"regal-style"', '"regal-styl"', "no data set 'regal-styl'; did you mean regal-style"),
        ("k = [2, 500]", "k = [0]", "suite mine: k is 0; expected an integer of at least 1"),
        ("k = [2, 500]", "k = 2", "k is 2; expected a list of values"),
        ("k = [2, 500]", "stages = [2]", "no field of instances 'stages' in suite mine"),
        ('description = "Two tasks."', "", "description is missing; expected a text"),
        ("k = [2, 500]", "k = [2]\noptional = 1", "optional is 1; expected true or false"),
        ("methods = [", "methods = [3, ", "suite mine: methods: expected a name or .*, found 3"),
        (
            "methods = [",
            "methods = [{ name = 3, params = {} }, ",
            "methods: expected a name or .*3",
        ),
        ("methods = [", 'methods = [{ name = "fractional-load" }, ', "methods: expected a name or"),
        ("[[instances]]", "[[instances", "suite mine: expected TOML"),
    ],
)
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    """One sentence that names the suite's field, with near matches where there are some."""
    assert old in VALID
    with pytest.raises(BoundmarkError, match=message):
        parse_suite("mine", VALID.replace(old, new))


def test_unknown_suite_suggests_near_names() -> None:
    """A typing error is answered with what was probably meant."""
    with pytest.raises(BoundmarkError, match="there is no suite 'dmeo'; did you mean demo"):
        load_suite("dmeo")


def test_suite_file(tmp_path: Path) -> None:
    """A path that ends in .toml is read; errors name the file."""
    path = tmp_path / "mine.toml"
    with pytest.raises(BoundmarkError, match=r"mine\.toml does not exist; expected a suite"):
        load_suite(str(path))
    path.write_text(VALID)
    assert load_suite(str(path)).name == "mine"
    path.write_text(VALID.replace("1.5", "-1"))
    with pytest.raises(BoundmarkError, match=r"mine\.toml: time_limit_seconds is -1"):
        load_suite(str(path))


def test_collection_of_suites(tmp_path: Path) -> None:
    """Suites by name, and files beside the collection, in the order in which they are named."""
    path = tmp_path / "all.toml"
    (tmp_path / "mine.toml").write_text(VALID)
    path.write_text('description = "All."\nsuites = ["nightly/ordering", "mine.toml"]\n')
    collection = load_collection(str(path))
    assert collection.name == "all"
    assert collection.description == "All."
    assert [suite.name for suite in collection.suites] == ["nightly/ordering", "mine"]
    assert [suite.problem for suite in collection.suites] == ["ordering", "pipeline"]


def test_suites_have_parts_and_small_forms() -> None:
    """All parts belong to a suite; the small form of a paper's suite has other parts."""
    used = set()
    for name in suite_names():
        full = {suite.name for suite in load_collection(name).suites}
        used |= full
        if name.startswith("paper-"):
            small = {suite.name for suite in load_collection(name, small=True).suites}
            assert small != full
            used |= small
    assert used == {"smoke", "defaults", "measured", *part_names()}


def test_not_every_suite_has_a_small_form() -> None:
    """The sentence says which have."""
    with pytest.raises(InvalidInputError, match="suite smoke has no small form; paper-hsdag, pap"):
        load_collection("smoke", small=True)


def test_a_suite_is_a_collection_of_one() -> None:
    """Whoever runs suites need not know which kind of file it was."""
    collection = load_collection("smoke")
    assert (collection.name, collection.suites) == ("smoke", (load_suite("smoke"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('description = "x"\nsuites = []', r"all\.toml: suites is empty; expected at least one"),
        ('description = "x"\nsuites = "smoke"', r"all\.toml: suites is 'smoke'; expected a list"),
        ('description = "x"\nsuites = [3]', r"all\.toml: suites has 3; expected names of suites"),
        ('suites = ["smoke"]', r"all\.toml: description is missing; expected a text"),
        ('description = "x"\nsuites = ["smkoe"]', r"no suite 'smkoe' in .*all\.toml; did you"),
        ('description = "x"\nsuites = ["no.toml"]', r"no\.toml does not exist; expected a suite"),
        ('description = "x"\nsuites = ["all.toml"]', r"all\.toml: holds other suites; expected"),
        ('description = "x"\nsuites = ["smoke"]\nseeds = [1]', "no field .*'seeds'"),
    ],
)
def test_mistakes_in_collections_are_named(tmp_path: Path, text: str, message: str) -> None:
    """One sentence that names the file, also for a collection that names itself."""
    path = tmp_path / "all.toml"
    path.write_text(text)
    with pytest.raises(BoundmarkError, match=message):
        load_collection(str(path))


def test_unknown_parameter_of_a_method_without_any() -> None:
    """Overriding what a method does not have is an error, not ignored."""
    with pytest.raises(BoundmarkError, match="no parameter of mean-work 'samples'"):
        method_choice("mean-work", {"samples": 1})


FILES = """
[[instances]]
file = "models/*"
k = [2]
"""
CHAIN = 'node { name: "a" id: 0 output_info { size: 5 } compute_cost: %d }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite and two models of one node, and one below the folder."""
    for name in ("models/b.pbtxt", "models/a.pbtxt", "models/deeper/c.pbtxt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(CHAIN % ord(name[-7]))
    return tmp_path


def suite_with(folder: Path, group: str) -> Suite:
    """Return a suite with one group of instances."""
    path = folder / "mine.toml"
    path.write_text(VALID.partition("[[instances]]")[0] + "[[instances]]\n" + group)
    return load_suite(str(path))


def test_files_are_found_beside_the_suite(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the order of their names, from whatever folder the command runs in."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    labels = [s.label for s in suite_with(folder, 'file = "models/*"\nk = [1]').load_instances()]
    assert labels == ["file/models/a.pbtxt k=1", "file/models/b.pbtxt k=1"]
    everywhere = suite_with(folder, 'file = "**/*.pbtxt"\nk = [1]').load_instances()
    assert [s.member for s in everywhere][-1] == "models/deeper/c.pbtxt"


def test_files_may_hold_instances(folder: Path) -> None:
    """They keep their parameters unless the suite gives others; one alone needs none."""
    (graph,) = suite_with(folder, 'file = "models/a.pbtxt"\nk = [1]').load_instances()
    stored = graph.instance.with_parameters({"k": 7})
    (folder / "stored.json").write_text(canonical_json(stored.to_json()))
    (same,) = suite_with(folder, 'file = "stored.json"').load_instances()
    assert same.instance.sha256 == stored.sha256
    (changed,) = suite_with(folder, 'file = "stored.json"\nk = [1]').load_instances()
    assert changed.instance.sha256 == graph.instance.sha256


def test_optional_files(folder: Path) -> None:
    """A pattern that matches nothing is a note where the suite says so."""
    notes: list[str] = []
    suite = suite_with(folder, 'file = "no/*.onnx"\nk = [1]\noptional = true')
    assert list(suite.load_instances(notes.append)) == []
    assert "no/*.onnx" in notes[0]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ('file = "no/*.onnx"\nk = [1]', r"file is 'no/\*.onnx', which matches no file in /.*; exp"),
        ('file = "models"\nk = [1]', "file is 'models', which matches no file"),
        ('file = "models/a.pbtxt"', "file/models/a.pbtxt: k is missing; problem 'pipeline' needs"),
        ('file = "models/a.pbtxt"\nk = ["x"]', "mine.toml: k is 'x'; expected an integer"),
        ('file = "*.toml"\nk = [1]', r"mine\.toml has the suffix '\.toml'; expected one of"),
        ("file = 3\nk = [1]", "file is 3; expected a text"),
        ('file = "a"\ndataset = "b"\nk = [1]', "both file and dataset; expected a file or members"),
        ('file = "a"\nmembers = ["b"]\nk = [1]', "both file and members"),
        ('dataset = "onnx-light"\nk = [1]\ndevice = 3', "mine.toml: device is 3; expected a text"),
        (
            'dataset = "onnx-light"\nk = [1]\ndevice = "nvidia-t5"',
            "no device or cluster 'nvidia-t5'; did you mean nvidia-t4",
        ),
        (
            'dataset = "onnx-light"\nk = [1]\ndevice = "no.toml"',
            "mine.toml: /.*/no.toml does not exist; expected devices or clusters",
        ),
        (
            'dataset = "onnx-light"\nk = [1]\ndevice = "hsdag-server"',
            "onnx-light/alexnet: cluster 'hsdag-server' has intel-.*needs devices of one kind",
        ),
        ("k = [1]", "dataset is missing; expected a text"),
        (
            'dataset = "shapes"\nk = [1]',
            "'shapes', which holds a BlockLayout; problem 'pipeline'",
        ),
    ],
)
def test_mistakes_in_groups_are_named(group: str, message: str, folder: Path) -> None:
    """Of the file's name, or of what it says."""
    with pytest.raises(BoundmarkError, match=message):
        list(suite_with(folder, group).load_instances())


def test_suites_without_a_folder_have_no_files() -> None:
    """A suite that comes with the package has nothing to look for."""
    with pytest.raises(BoundmarkError, match=r"file is 'models/.*'; expected a data set"):
        parse_suite("mine", VALID + FILES)


def test_problems_without_costs_of_devices() -> None:
    """Naming a device where it means nothing is a mistake."""
    text = VALID.replace('"pipeline"', '"microbatch"').partition("methods")[0]
    text += 'device = "nvidia-t4"\nmethods = ["device-load"]\n[[instances]]\ndataset = "shapes"\n'
    with pytest.raises(
        BoundmarkError, match="device is 'nvidia-t4', but problem 'microbatch' needs none; expected"
    ):
        parse_suite("mine", text)


def test_methods_of_another_problem() -> None:
    """The sentence says which problem the method treats."""
    with pytest.raises(BoundmarkError, match="methods: method 'tessel' treats 'microbatch'"):
        parse_suite("mine", VALID.replace('"mean-work"', '"tessel"'))


def test_no_parameter_takes_the_name_of_a_field() -> None:
    """Groups of instances have fields beside the parameters."""
    assert set(INSTANCES_FIELDS) <= RESERVED


def test_a_model_without_room_is_left_out_with_the_reason() -> None:
    """It is not the end of the suite: others follow, and the tightest device is named."""
    suite = parse_suite(
        "mine",
        """
description = "One model that has no room."
problem = "placement"
time_limit_seconds = 1
memory_limit_gib = 1
methods = ["single-device"]
[[instances]]
dataset = "zoo"
members = ["mixtral-8x7b"]
[[instances]]
dataset = "zoo"
members = ["alexnet"]
""",
    )
    left_out: dict[str, str] = {}
    found = list(suite.load_instances(on_left_out=left_out.__setitem__))
    assert [source.member for source in found] == ["alexnet"]
    assert list(left_out) == ["zoo/mixtral-8x7b"]
    assert "too little; the tightest is" in left_out["zoo/mixtral-8x7b"]


def test_parameters_without_room_are_left_out_with_the_reason() -> None:
    """Of a sweep of memory, what is too little; the rest of the model's instances are there."""
    suite = parse_suite(
        "mine",
        """
description = "A sweep of memory."
problem = "slicing"
time_limit_seconds = 1
memory_limit_gib = 1
methods = ["one-device"]
[[instances]]
dataset = "onnx-light"
members = ["alexnet"]
edge_devices = [2, 4]
memory_percent = [60, 40]
""",
    )
    left_out: dict[str, str] = {}
    found = list(suite.load_instances(on_left_out=left_out.__setitem__))
    assert [dict(source.instance.parameters) for source in found] == [
        {"edge_devices": 2, "memory_percent": 60},
        {"edge_devices": 4, "memory_percent": 60},
        {"edge_devices": 4, "memory_percent": 40},
    ]
    assert list(left_out) == ["onnx-light/alexnet edge_devices=2 memory_percent=40"]
    assert "no slicing of operator 'n" in next(iter(left_out.values()))


def test_files_that_are_no_suites_are_named(tmp_path: Path) -> None:
    """With what was expected instead, and without the system's words for it."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    (tmp_path / "folder.toml").mkdir()
    for name, why in [
        ("bytes", ": expected TOML; 'utf-8' codec"),
        ("folder", " is a directory; expected a suite as a TOML file"),
        ("none", " does not exist; expected a suite as a TOML file, or a name from"),
    ]:
        with pytest.raises(BoundmarkError, match=rf"{name}\.toml{why}"):
            load_collection(str(tmp_path / f"{name}.toml"))
