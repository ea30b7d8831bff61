"""`run --loop` by whole commands: what it tells of tick after tick."""

import pytest

from sparkassets.cli.run_loop import SignalStopper


@pytest.fixture
def pauses(monkeypatch):
    """What happens in the pauses of a loop; after the last of them somebody stops it."""
    left = []

    def idle(stopper, _):
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    monkeypatch.setattr(SignalStopper, "sleep_until", idle)
    return left


def test_what_is_the_same_is_told_once(shop, engine, run_cli, pauses):
    path = shop / "assets" / "orders.yml"
    path.write_text(f"{path.read_text()}---\nasset: away\nsource: delta\npath: nowhere/away\n")
    pauses += [bool, bool, (shop / "nowhere").mkdir, bool]
    code, _, err = run_cli("run", "--loop", "1s")
    assert code == 130
    assert (err.count(" tick\n"), err.count("could not be observed")) == (2, 1), err
