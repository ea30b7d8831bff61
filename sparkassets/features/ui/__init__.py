"""The report as a live page on loopback, from which commands are started."""
