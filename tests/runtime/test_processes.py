"""Which process a claim's is: never another's of the same number, in no other container, after no restart."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkassets import processes
from sparkassets.core.journal.state import State
from sparkassets.processes import host_of_processes, is_alive, read_start_time, this_process
from sparkassets.runtime.active_runs import ActiveRuns
from sparkassets.runtime.driver_work import DueWork
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.observation import changed_spec_entries
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.host import any_alive, host_identity
from tests.builders import asset, project, source
from tests.runtime.fakes import FakeClock, World

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

UNSHARED = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
TOLD = "from sparkassets.wiring.host import *; import sys; print(host_identity(), any_alive([({}, {})]))"


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def claimed(host, process):
    """The state after a driver claimed and did not go on."""
    w = World(project(source("s"), asset("a", "s", lease_seconds=60)), MemoryStore())
    w.tell("s", "2025-01-01")
    driver = w.driver(host=host)
    driver.leases.process = process
    driver.ledger.open()
    driver.ledger.commit(lambda state: changed_spec_entries(w.project, state))
    driver._observer.observe(None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ActiveRuns, "start_waiting", lambda _: None)
        driver._claim_due(DueWork())
    return driver.ledger.state


def over(state: State, *, host=None, seconds=()) -> list[bool]:
    """Whether the claim is over for a driver that looks at these times."""
    clock = FakeClock()
    leases = LeaseMonitor(
        host=host_identity() if host is None else host, process=(1, 0.0), alive=any_alive, clock=clock
    )
    told = []
    for second in seconds or (0,):
        clock.seconds = second
        told.append(bool(leases.expired_claims(state, mine=frozenset())))
    return told


def test_this_process_is_alive_and_an_earlier_one_of_its_number_is_not(child):
    pid, start = this_process()
    assert is_alive((pid, start))
    assert not is_alive((pid, start - 1))
    assert is_alive((child.pid, read_start_time(child.pid)))
    of_child = child.pid, read_start_time(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(of_child), "not as a zombie either"
    child.wait()
    assert not is_alive(of_child)


def test_a_process_that_hides_is_told_by_its_number_alone(monkeypatch):
    monkeypatch.setattr(processes, "_stat", lambda _: [])
    assert is_alive((os.getpid(), 1.0))
    assert not is_alive((2**22 + 1, 1.0))

    def not_ours(pid, signal):
        raise PermissionError

    monkeypatch.setattr(processes.os, "kill", not_ours)
    assert is_alive((7, 1.0))


def test_a_host_is_its_name_its_boot_and_its_namespace_of_processes(monkeypatch):
    assert host_of_processes("here") == host_of_processes("here") != host_of_processes("there")
    assert host_identity()
    monkeypatch.setattr(Path, "readlink", lambda _: (_ for _ in ()).throw(FileNotFoundError()))
    assert host_of_processes("here") == ""


def test_on_one_host_a_dead_process_is_taken_over_at_once_and_a_live_one_never(child):
    process = child.pid, read_start_time(child.pid)
    state = claimed(host_identity(), process)
    assert over(state, seconds=(0, 1000)) == [False, False]
    child.kill()
    child.wait()
    assert over(state) == [True]


@pytest.mark.parametrize(
    ("theirs", "ours"), [("pod/b/1", "pod/b/2"), ("pod/b/1", "pod/c/1"), ("", ""), ("", "pod/b/1")]
)
def test_of_another_namespace_another_boot_or_an_unknown_host_only_the_lease_tells(theirs, ours):
    state = claimed(theirs, (2**22 + 1, 1.0))
    assert over(state, host=ours, seconds=(0, 59, 60, 61)) == [False, False, False, True]


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode,
    reason="namespaces are not permitted here",
)
def test_a_container_of_the_same_name_does_not_judge_our_processes(child):
    process = child.pid, read_start_time(child.pid)
    within = subprocess.run(
        [*UNSHARED, sys.executable, "-c", TOLD.format(*process)], capture_output=True, text=True, check=True
    )
    theirs, alive = within.stdout.split()
    assert alive == "False", "there it seems to be gone, though it runs"
    assert any_alive([process])
    assert theirs.split("/")[:2] == host_identity().split("/")[:2]
    assert over(claimed(host_identity(), process), host=theirs, seconds=(0, 59, 61)) == [False, False, True]
