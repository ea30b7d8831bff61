"""One module for each command, with an object ``command``; imported only when the command is invoked."""
