"""The process above a server: when it ends, nothing is left below it.

A server ends what its tasks start, but a task may kill or stop its server. The guard is small, does
nothing but wait, and adopts whatever loses its parent, in whatever session it is. As soon as the
server or the client has gone, it kills all that is there.
"""

import os
import select
import signal

from boundmark.benchmarks.execution import processes


def stand_guard(lifeline: int, *others: int) -> None:
    """Fork; return in the new process, and stay as its guard in this one.

    Parameters
    ----------
    lifeline
        End of a pipe whose other end closes when the client goes.
    others
        Descriptors that the guard must not keep open.
    """
    processes.adopt_orphans()
    guard = os.getpid()
    server = os.fork()
    if server == 0:
        os.close(lifeline)
        processes.die_with_parent(guard)
        return
    for descriptor in others:
        os.close(descriptor)
    for polite in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # It goes when its server does.
        signal.signal(polite, signal.SIG_IGN)
    poller = select.poll()
    poller.register(os.pidfd_open(server), select.POLLIN)
    poller.register(lifeline, select.POLLHUP)
    poller.poll()
    processes.end_children()
    os._exit(0)
