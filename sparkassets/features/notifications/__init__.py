"""Who is notified of what: a message for each receiver when an invocation ends."""
