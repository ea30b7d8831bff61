"""Replays: a run again at its pinned versions, compared with what it published."""
