"""The named schedules."""

import pytest

from sparkassets.core.crons.cron import expand
from sparkassets.core.timetables.ticks import AS_CRONS, PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_each_is_the_cron_that_it_is_told_as(name):
    fields = expand(AS_CRONS[name])
    assert fields == PRESETS[name]
