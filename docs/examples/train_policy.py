"""Train one policy on several models in turn, to place others without training.

`python train_policy.py policy.npz zoo/resnet-18 zoo/googlenet` begins anew and stores the policy;
needs the extra `learned`.
"""

import argparse
from typing import Any

from boundmark.benchmarks.solving.model import named_instance
from boundmark.problems.catalog import methods
from boundmark.problems.method import Budget

# Longest visit to a model; each round has one.
SECONDS = 3600.0


class Best:
    """The makespan of the best placement of one visit."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.makespan = 0

    def solution(self, value: Any) -> None:
        """Keep the latest, since each one reported is better than those before."""
        self.makespan = self.instance.objective(value)

    def bound(self, value: Any) -> None:
        """Learned methods report none."""


def main() -> None:
    """Visit all models in every round, and print what each visit found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policy", help="file to store it in")
    parser.add_argument("models", nargs="+", help="files, or members of data sets")
    parser.add_argument("--method", default="hsdag")
    parser.add_argument("--device", default="hsdag-server")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=200, help="of each visit")
    given = parser.parse_args()
    learn = methods("placement")[given.method]
    features = {"features": "operators"}
    instances = [
        named_instance(model, features, "placement", given.device).instance
        for model in given.models
    ]
    params = {**learn.params, "shared_columns": True, "evaluations": given.evaluations}
    load = ""
    for number in range(given.rounds):
        for model, instance in zip(given.models, instances, strict=True):
            best = Best(instance)
            files = {"load": load, "save": given.policy}
            learn.run(instance, Budget(SECONDS), number, best, **{**params, **files})
            load = given.policy
            print(f"round {number + 1}, {model}: {best.makespan:,} ns", flush=True)


if __name__ == "__main__":
    main()
