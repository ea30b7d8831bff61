"""The use cases: what can be asked of a project and done with it, given what reaches the outside."""
