"""Documents of a project as plain values: the JSON of the command line, shared with the report."""
