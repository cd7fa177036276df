import os
import subprocess
import sys
from collections.abc import Callable

from boundmark.benchmarks.running.execution import processes

Eventually = Callable[[Callable[[], object]], None]

SLEEP = "import time; time.sleep(1000)"


def test_descendants_are_found_across_sessions(eventually: Eventually) -> None:
    """A grandchild counts even if it has left its parent's session."""
    code = (
        "import subprocess, sys; "
        f"subprocess.run([sys.executable, '-S', '-c', {SLEEP!r}], start_new_session=True)"
    )
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    try:
        eventually(lambda: len(processes.descendants(child.pid)) == 1)
        assert child.pid in processes.descendants(os.getpid())
    finally:
        grandchildren = processes.descendants(child.pid)
        for pid in (*grandchildren, child.pid):
            processes.kill_group(pid)
        child.wait()


def test_kill_group_reaches_the_leaders_children(eventually: Eventually) -> None:
    """The group dies, not only its leader."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {SLEEP!r}])"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
    eventually(lambda: processes.children(child.pid))
    (grandchild,) = processes.children(child.pid)
    processes.kill_group(child.pid)
    child.wait()
    eventually(lambda: processes.state(grandchild) in "ZX")


def test_a_process_that_is_gone_has_nothing() -> None:
    """Processes may end while they are looked at."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    assert processes.children(child.pid) == []
    assert processes.state(child.pid) == "X"
    processes.kill_group(child.pid)


def test_end_children_ends_orphans(eventually: Eventually) -> None:
    """A process that adopts orphans leaves none behind, whatever session they are in."""
    code = (
        "import os, subprocess, sys, time\n"
        "from boundmark.benchmarks.running.execution import processes\n"
        "processes.adopt_orphans()\n"
        "if os.fork() == 0:\n"
        f"    sleep = [sys.executable, '-S', '-c', {SLEEP!r}]\n"
        "    subprocess.Popen(sleep)\n"
        "    subprocess.Popen(sleep, start_new_session=True)\n"
        "    os._exit(0)\n"
        "while len(processes.children(os.getpid())) < 3: time.sleep(0.01)\n"
        "print(len(processes.end_children()), processes.children(os.getpid()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3 []\n"
