"""What is shown of a project, as plain values: what the command line prints as JSON and the report shares."""
