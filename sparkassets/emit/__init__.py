"""Who follows the journal from outside: sinks that tell others what happens."""
