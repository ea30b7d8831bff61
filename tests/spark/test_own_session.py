"""What functions may not do to what all runs share; tested without Spark."""

import pytest

from sparkassets.authoring import current
from sparkassets.spark.own_session import keep_running


class Shared:
    def __init__(self):
        self.stopped = 0

    def stop(self):
        self.stopped += 1


def test_only_a_function_cannot_stop_it():
    shared = Shared()
    for _ in range(2):
        keep_running(shared)
    with current(object()), pytest.raises(RuntimeError, match=r"^spark\.stop\(\) would end the runs beside this one; "):
        shared.stop()
    assert shared.stopped == 0
    shared.stop()
    assert shared.stopped == 1
