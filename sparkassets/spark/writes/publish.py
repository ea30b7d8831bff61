"""``publish``: a run's rows are an iteration; what readers of the table see of its blocks, or of all, is the newest."""

from __future__ import annotations

from sparkassets.spark.writes.replace import ReplaceMode


class PublishMode(ReplaceMode):
    """Implements `LandingMode` for `sparkassets.core.writes.PublishWrite`.

    To readers of the table it is what ``replace`` is: the files that go stay in the folders of their own iterations.
    """
