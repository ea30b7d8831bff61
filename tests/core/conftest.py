"""How hypothesis searches in the core's tests."""

from hypothesis import settings

from tests.depth import examples

# a run on a shared machine may be slow for reasons of its own; the budgets are benchmarks, not tests
settings.register_profile("core", deadline=None, max_examples=examples(60))
settings.load_profile("core")
