"""How hypothesis searches in the core's tests."""

from hypothesis import settings

# a run on a shared machine may be slow for reasons of its own; the budgets are benchmarks, not tests
settings.register_profile("core", deadline=None)
settings.load_profile("core")
