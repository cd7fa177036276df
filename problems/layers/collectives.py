"""Times of collective operations of devices in hosts, and what goes over which link.

Each device sends and receives at the bandwidth of its link, in rings with a latency for each step
([PATARASUK09]; the bandwidth's part is that of nccl-tests, `doc/PERFORMANCE.md`). Of several hosts,
parts inside them and between them come one after the other in an all-reduce, and at the same time
where everybody sends to everybody. Sizes are those of the whole array, in bytes.
"""

from typing import NamedTuple

from boundmark.problems.devices import Link


class Ranks(NamedTuple):
    """Devices that take part: equally many in each host, and the links that join them.

    Attributes
    ----------
    inside, hosts
        Devices in each host; number of hosts.
    inner, outer
        The link of two devices in a host, and of two in different ones; None if there are none.
    """

    inside: int
    hosts: int
    inner: Link | None
    outer: Link | None = None

    @property
    def all(self) -> int:
        """Number of all devices."""
        return self.inside * self.hosts


def reduce_scatter(size: float, ranks: int, link: Link | None) -> float:
    """Return the seconds until each device has a part of the sums, or of a ring's all-gather."""
    if ranks == 1 or link is None:
        return 0.0
    return (ranks - 1) * (link.latency + size / ranks / link.bandwidth)


def all_reduce(size: float, ranks: Ranks) -> float:
    """Return the seconds until all devices have all sums.

    A reduce-scatter in each host, rings between the hosts for each device's part, and an
    all-gather in each host.
    """
    between = 2 * reduce_scatter(size / ranks.inside, ranks.hosts, ranks.outer)
    return 2 * reduce_scatter(size, ranks.inside, ranks.inner) + between


def all_to_all(size: float, ranks: Ranks) -> float:
    """Return the seconds until each device has sent an equal part of its array to every one.

    `size` is what each device has, its own part included.
    """
    part, others = size / ranks.all, ranks.inside - 1
    far = ranks.all - ranks.inside
    times = [
        count * (link.latency + part / link.bandwidth)
        for count, link in ((others, ranks.inner), (far, ranks.outer))
        if count and link is not None
    ]
    return max(times, default=0.0)
