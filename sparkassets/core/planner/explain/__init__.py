"""Answers about decisions: explanation, status, impact, code changes, lateness, preview, and what a mark changes."""
