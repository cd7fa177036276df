"""Which parallelism: the answer against all configurations and cuts, and forged documents."""

import random
from typing import Any, cast

import pytest
from brute_force_parallel import Table, drawn, least_costs
from mutation import mutated

from boundmark.bounds import checker
from boundmark.bounds.layers.parallel import LIMIT, MEMORY, NEVER, Found, answer
from boundmark.problems.layers.fleet import read_hosts
from boundmark.problems.layers.parallel import Asked, Wish
from boundmark.problems.method import Budget


def question(table: Table) -> Asked:
    """Return the question of a table; what it was made of does not matter."""
    return Asked(table, Wish(), read_hosts("1xH100"), {}, (0, 0))


def answered(table: Table, wanted: int = 3) -> Found:
    """Return the answer, without a limit of time that matters."""
    return answer(question(table), Budget(60.0), wanted)


def check(seed: int) -> int:
    """Compare with all configurations, and forge the certificate; return how many it needs."""
    dice = random.Random(seed)
    table, wanted = drawn(dice), dice.choice((1, 3, 100))
    costs = least_costs(table)
    if not costs:
        return 0
    found = answered(table, wanted)
    document, best = found.question.to_json(), min(costs.values())
    assert {row.name for row in found.rows} == set(costs)
    assert found.bound == (NEVER if best == float("inf") else best)
    for row in found.rows:
        if row.cost is not None:
            assert row.cost == row.bound == costs[cast("Any", row.name)]
        elif row.why in (MEMORY, LIMIT):
            assert costs[cast("Any", row.name)] == float("inf")
        else:
            assert row.bound is not None
            assert row.bound <= costs[cast("Any", row.name)]
    known = [row.cost for row in found.rows if row.cost is not None]
    assert known[:wanted] == sorted(one for one in costs.values() if one < float("inf"))[:wanted]
    if best == float("inf"):
        assert found.solution is None
        return 0
    assert found.solution is not None
    assert checker.check_solution(document, found.solution) == best
    payload = found.certificate["payload"]
    more = {"bound": int(best) + 1}
    with pytest.raises(checker.Rejected):
        checker.check_certificate(
            document, {**found.certificate, **more, "payload": {**payload, **more}}
        )
    certificates = payload["certificates"]
    for at in range(len(certificates)):
        forged = {**payload, "certificates": certificates[:at] + certificates[at + 1 :]}
        with pytest.raises(checker.Rejected, match="may cost less, and"):
            checker.check_certificate(document, {**found.certificate, "payload": forged})
    return len(certificates)


def test_all_configurations() -> None:
    """The best, its cost, each bound and reason, and that no certificate can be left out."""
    assert sum(check(seed) for seed in range(60)) > 10


@pytest.mark.slow
def test_many_configurations() -> None:
    """With other seeds."""
    for seed in range(60, 800):
        check(seed)


def test_a_table_without_the_best_configuration_is_another_question() -> None:
    """Its certificate and solution are none of the whole question."""
    table = next(one for one in map(drawn, map(random.Random, range(99))) if best_is_split(one))
    whole, part = answered(table), answered({**table, "tensor": [1], "stages": table["stages"][:1]})
    assert part.bound > whole.bound
    for forged in (part.certificate, {**whole.certificate, "payload": part.certificate["payload"]}):
        with pytest.raises(checker.Rejected):
            checker.check_certificate(whole.question.to_json(), {**forged, "bound": part.bound})
    assert whole.solution is not None
    for name in ([9, 9, 9, 9, 9, 9], [1]):
        with pytest.raises(checker.Rejected, match="is none of the question"):
            checker.check_solution(
                whole.question.to_json(), {**whole.solution, "configuration": name}
            )


def test_forged_documents() -> None:
    """Whatever is changed in a certificate or table, no more is accepted than is true."""
    accepted = refused = 0
    for seed in range(40):
        dice = random.Random(seed)
        table = drawn(dice, 4)
        if not least_costs(table):
            continue
        found = answered(table)
        for _ in range(6):
            certificate, forged = found.certificate, table
            if dice.random() < 0.5:
                payload = mutated(certificate["payload"], dice, [0, 1, int(found.bound) + 1])
                bound = dice.choice((found.bound, found.bound + 1))
                certificate = {**certificate, "payload": payload, "bound": bound}
            else:
                name = dice.choice(sorted(table))
                forged = {**table, name: mutated(table[name], dice, [0, 1, 2, []])}
            document = question(forged).to_json()
            certificate = {**certificate, "instance_sha256": question(forged).sha256}
            try:
                proven = checker.check_certificate(document, certificate)
            except checker.Rejected:
                refused += 1
                continue
            accepted += 1
            assert proven <= min(least_costs(forged).values(), default=NEVER)
    assert accepted > 20
    assert refused > 80


def best_is_split(table: Table) -> bool:
    """Whether the best configuration splits layers, and others do not."""
    costs = least_costs(table)
    alone = min((one for name, one in costs.items() if name[0] == 1), default=float("inf"))
    return min(costs.values(), default=float("inf")) < alone < float("inf")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"goal": "speed"}, "goal of the instance is not one of decode, prefill, training"),
        ({"hosts": []}, "hosts of the instance are none, or not each a kind and a number"),
        ({"hosts": [[0, 0]]}, "hosts of the instance are none, or not each a kind and a number"),
        ({"hosts": [[7, 1]]}, "hosts of the instance are none, or not each a kind and a number"),
        ({"hosts": [[0, 1024], [0, 1024]]}, "the instance has too many devices"),
        ({"tensor": [2, 1]}, "tensor of the instance is not ascending"),
        ({"data": [1]}, "data of the instance is not two numbers"),
        ({"stages": [1, 1]}, "an entry of stages is not a list"),
        ({"stages": []}, "stages of the instance are not two numbers for each of tensor"),
        ({"stages": [[0, 1]] * 9}, "stages of the instance are not two numbers for each of"),
        ({"sequences": 0, "batches": []}, "batches of the instance are none"),
        ({"goal": "prefill", "batches": [1]}, "do not go with its goal"),
        ({"forms": []}, "the forms of the instance are none, or differ in layers or links"),
        ({"between": []}, "inside or between of the instance is not as long as it should be"),
        ({"room": [5, 5]}, "time of the instance is not a list of as many lists"),
        ({"unit": 0}, "unit of the instance is not an integer from 1"),
        ({"more": 1}, "it has 'more'"),
    ],
)
def test_malformed_tables(changed: dict[str, Any], expected: str) -> None:
    """One sentence that names the field."""
    seeds = map(drawn, map(random.Random, range(99)))
    table = next(one for one in seeds if one["goal"] == "decode" and one["sequences"])
    table = {**table, "hosts": [[0, 2]], "room": table["room"][:1], "inside": table["inside"][:1]}
    table["between"] = [table["between"][0][:1]]
    table["forms"] = [{**one, "time": one["time"][:1]} for one in table["forms"]]
    checker.check_instance(question(table).to_json())
    with pytest.raises(checker.Rejected, match=expected):
        checker.check_instance(question({**table, **changed}).to_json())


def test_a_form_that_is_missing_or_twice() -> None:
    """No configuration goes without."""
    table = drawn(random.Random(3))
    twice = {**table, "forms": [*table["forms"], table["forms"][0]]}
    with pytest.raises(checker.Rejected, match="the instance has two forms for 1, 1, 1, 1, 0, "):
        checker.check_instance(question(twice).to_json())
    missing = question({**table, "forms": table["forms"][-1:]})
    with pytest.raises(checker.Rejected, match="the instance has no form for 1, 1, 1, "):
        list(checker.check_instance(missing.to_json()).configurations())
