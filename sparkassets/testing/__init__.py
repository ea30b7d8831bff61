"""Tests of a project's assets: those in its ``tests`` folder, and fixtures for tests in Python."""
