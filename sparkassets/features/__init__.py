"""What only some projects use: a package each, which nothing below `open_project` imports (docs/architecture.md)."""
