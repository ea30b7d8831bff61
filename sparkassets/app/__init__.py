"""The use cases: what people ask of a project or do with it, independent of how state and tables are reached."""
