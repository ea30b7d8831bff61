"""One module a command; each has a ``command`` and is imported only when it is invoked."""
