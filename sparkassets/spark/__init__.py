"""Spark: sessions, reading, computing, and writing."""
