import pytest
from published_data import published_data

from boundmark.datasets.pipeline.pipedream import DATASET, load_profile
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.pipeline import PROBLEM as PIPELINE

SIZES = {
    "alexnet": (22, 22),
    "vgg16": (40, 40),
    "squeezenet1_0": (67, 75),
    "resnet18": (70, 78),
    "resnet50": (176, 192),
    "resnext50": (176, 192),
    "gnmt": (45, 54),
}


@pytest.mark.parametrize("member", DATASET.members())
def test_published_profiles_are_read(member, monkeypatch):
    """All operators and edges are read; in inference, no parameters overflow."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    graph = DATASET.load(member)
    assert (graph.dag.nodes, graph.dag.edges) == SIZES[member]
    assert graph.work.sum() > 0
    assert graph.inference.is_cached
    assert "left out, as PipeDream's planner does" in graph.notes[0]


def test_known_values(monkeypatch):
    """Some numbers of the published AlexNet and GNMT, worked out by hand."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    alexnet = DATASET.load("alexnet")
    v = alexnet.names.index("node10 Conv2d")
    assert alexnet.inference.work[v] == 4_423_000
    assert alexnet.inference.transfer[v] == 3_691_861  # 44,302,336 bytes / 12 GB/s
    assert alexnet.inference.param_load[v] == 294_997  # 3,539,968 bytes / 12 GB/s
    assert alexnet.transfer[v] == 2 * 3_691_861
    gnmt = DATASET.load("gnmt")
    v = gnmt.names.index("node7 LSTM")
    assert gnmt.inference.transfer[v] == 546_133  # 6,553,600 bytes / 12 GB/s


def test_missing_files_are_explained(monkeypatch, tmp_path):
    """Without the files, the error says how to name their folder."""
    monkeypatch.delenv("BOUNDMARK_DATA", raising=False)
    with pytest.raises(InvalidInputError, match=r"alexnet\.txt does not come with .* BOUNDMARK_DA"):
        DATASET.load("alexnet")
    monkeypatch.setenv("BOUNDMARK_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"alexnet\.txt does not exist; expected BOUNDMARK"):
        DATASET.load("alexnet")


def test_other_names_are_unknown():
    """A profile that is not published is a file, not a member."""
    with pytest.raises(UnknownNameError, match="graph 'resnet5' in pipedream; did you mean"):
        DATASET.load("resnet5")


ENTRY = "forward_compute_time={}, backward_compute_time=7, activation_size={}, parameter_size={}"
EXAMPLE = "\n".join(
    [
        "node3 -- Linear(in_features=4, out_features=2) -- " + ENTRY.format(0.5, 12, 0),
        "node1 -- Input0 -- " + ENTRY.format("0.000", "24.0", "0.000"),
        "node2 -- LSTM(8, 8  (a): LSTM(8, 8)) -- " + ENTRY.format(1.5, "[12.0; 24.0; 0]", 120),
        "\tnode1 -- node2",
        "\tnode2 -- node3",
        "\tnode1 -- node3",
        "",
    ]
)


@pytest.fixture
def path(tmp_path):
    """Return where a test puts its graph."""
    return tmp_path / "graph.txt"


def test_example_is_read(path):
    """Sizes are times on a 12 GB/s link, and several outputs add up; training is both passes."""
    path.write_text(EXAMPLE)
    graph = load_profile(path)
    assert graph.names == ("node3 Linear", "node2 LSTM")
    assert graph.inference.work.tolist() == [500_000, 1_500_000]
    assert graph.work.tolist() == [7_500_000, 8_500_000]
    # Nobody reads the output of node3.
    assert graph.inference.transfer.tolist() == [0, 3]
    assert graph.transfer.tolist() == [0, 6]
    assert graph.inference.param_load.tolist() == [0, 10]
    # Twice the parameters, and what nodes hand on.
    assert graph.param_load.tolist() == [1, 23]
    assert list(zip(graph.dag.sources, graph.dag.targets, strict=True)) == [(1, 0)]
    assert graph.tick == "ns"
    assert graph.is_cached


@pytest.mark.parametrize("start", ["", "\n\n"])
def test_texts_are_told_apart_by_how_they_begin(path, start):
    """A profile and a CostGraphDef may both end in .txt, and dashes in a name fool nobody."""
    path.write_text(start + EXAMPLE)
    assert load_file(path).dag.nodes == 2
    path.write_text(start + 'node { name: "a -- b" compute_cost: 3 }')
    assert load_file(path).work.tolist() == [3]


def test_inputs_are_left_out_with_their_time(path):
    """They are how long the minibatch takes to load; a node of that name within is an operator."""
    inner = "node4 -- InputNorm(4) -- " + ENTRY.format(2, 8, 0) + "\n\tnode2 -- node4\n"
    path.write_text(
        replaced("Input0 -- forward_compute_time=0.000", "Input0 -- forward_compute_time=636")
        + inner
    )
    graph = load_profile(path)
    assert graph.names == ("node3 Linear", "node2 LSTM", "node4 InputNorm")
    assert graph.inference.names == graph.names
    (note,) = graph.notes
    assert graph.inference.notes == graph.notes
    assert note == "1 input with 0.636 s of loading is left out, as PipeDream's planner does"
    assert graph.item == "minibatch"


def test_a_profile_has_two_phases(path):
    """Training unless inference is asked for; one without times of a backward pass has neither."""
    path.write_text(EXAMPLE)
    make = PIPELINE.maker(load_profile(path))
    for given, phase, longest, notes in (
        ({}, "training", 8_500_000, 2),
        ({"phase": "training"}, "training", 8_500_000, 2),
        ({"phase": "inference"}, "inference", 1_500_000, 1),
    ):
        made = make({"k": 2, **given})
        assert made.parameters == {"k": 2, "phase": phase}
        assert made.graph.work.max() == longest
        assert len(made.notes) == notes
    assert make({"k": 2}).notes[1].startswith("forward and backward times count; phase=inference")
    path.write_text(EXAMPLE.replace("backward_compute_time=7", "backward_compute_time=0"))
    make = PIPELINE.maker(load_profile(path))
    assert make({"k": 2}).parameters == {"k": 2}
    with pytest.raises(InvalidInputError, match="the graph has neither gradients nor times of a"):
        make({"k": 2, "phase": "inference"})


def test_stages_of_pipedreams_planner_are_not_used(path):
    """Its files are profiles with one more field, which a note tells of."""
    path.write_text(EXAMPLE)
    plain = load_profile(path)
    nodes, edges = EXAMPLE.split("\n")[:3], EXAMPLE.split("\n")[3:]
    planned = [f"{line} -- stage_id={at}" for at, line in enumerate(nodes)]
    path.write_text("\n".join(planned + edges))
    graph = load_profile(path)
    assert graph.work.tolist() == plain.work.tolist()
    assert graph.notes[0].startswith("the stages in the file, which PipeDream's planner has chosen")


def replaced(old, new):
    """Return the example with one thing changed."""
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            replaced("time=0.5", "time=fast"),
            "line 1: forward_compute_time of node 'node3' is 'fast'; expected a number from 0",
        ),
        (replaced("time=0.5", "time=-1"), "line 1: forward_compute_time of node 'node3' is '-1'"),
        (replaced("time=0.5", "time=nan"), "line 1: forward_compute_time of node 'node3' is 'nan'"),
        (replaced("time=0.5", "time="), "line 1: forward_compute_time of node 'node3' is ''"),
        (replaced("time=0.5", "time=[1; 2]"), r"forward_compute_time of node 'node3' is '\[1; 2\]"),
        (replaced("time=0.5", "time=2e12"), r"'2e12'; expected a number from 0 to 10\^12"),
        (replaced("time=7", "time=x"), "line 1: backward_compute_time of node 'node3' is 'x'"),
        (replaced("24.0; 0]", "24.0; ]"), "line 3: activation_size of node 'node2' is"),
        (replaced("24.0; 0]", "24.0; 0"), "line 3: activation_size of node 'node2' is"),
        (replaced("[12.0; 24.0; 0]", "[]"), r"activation_size of node 'node2' is '\[\]'"),
        (replaced("parameter_size=120", "parameter_size=1e400"), "parameter_size of node 'node2'"),
        (replaced(", parameter_size=0", ""), "line 1: node 'node3' has the fields forward_compute"),
        (
            replaced("parameter_size", "params"),
            "backward_compute_time, activation_size, params; exp",
        ),
        (replaced("node1 -- Input0", "node3 -- Input0"), "line 2: node 'node3' is listed before"),
        (replaced("node2 -- node3", "node2 -- node9"), "line 5: the edge names 'node9'; expected"),
        (replaced("node1 -- node2", "node9 -- node2"), "line 4: the edge names 'node9'; expected"),
        (replaced("node1 -- node3", "node3 -- node1"), "the edges form a cycle, .*node3 Linear"),
        (replaced("\tnode1 -- node2", "node1 -- node2"), "line 4: expected a node, .* or an edge"),
        (
            replaced("\tnode1 -- node2", "\tnode1 -> node2"),
            "line 4: expected a node, .* or an edge",
        ),
        (EXAMPLE[:100], "line 1: node 'node3' has the fields"),
        (replaced("time=0.5", "time=9e11"), r"expected at most 2\^53"),
        ("", "is empty; expected a file with a graph"),
        ("\n", "the graph has no nodes; expected at least one"),
        ("a -- Input -- " + ENTRY.format(1, 1, 0), "the graph has no nodes; expected at least one"),
    ],
)
def test_malformed_profiles_are_refused(path, text, expected):
    """Each mistake ends in one sentence that names the file, the line and the field."""
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load_profile(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(path):
    """A binary file is recognised as such."""
    path.write_bytes(b"node1 -- \xff")
    with pytest.raises(InvalidInputError, match="expected a profile as text, found other bytes"):
        load_profile(path)
