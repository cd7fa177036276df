from brute_force import all_dags, instance, stage_cost

from boundmark.bounds.pipeline.downsets.ideals import lattice


def test_ideals_of_every_small_graph() -> None:
    """On every DAG of up to four nodes, the ideals and their totals are those of the definition."""
    for nodes in range(1, 5):
        for edges in all_dags(nodes):
            sample = instance([1, 2, 4, 8][:nodes], edges, 2, transfer=[1, 10, 100, 1000][:nodes])
            ideals = {
                bits
                for bits in range(2**nodes)
                if all(bits >> u & 1 or not bits >> v & 1 for u, v in edges)
            }
            found = lattice(sample.graph, 2**nodes)
            assert found is not None
            assert set(found.members.tolist()) == ideals
            assert found.work.tolist() == found.members.tolist()
            for bits, leaving in zip(found.members.tolist(), found.leaving.tolist(), strict=True):
                stage = {v for v in range(nodes) if bits >> v & 1}
                assert stage_cost(sample, stage) == bits + leaving
            assert lattice(sample.graph, len(ideals)) is not None
            assert lattice(sample.graph, len(ideals) - 1) is None
