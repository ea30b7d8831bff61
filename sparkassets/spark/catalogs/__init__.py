"""Tables that catalogs know by name: looked at, read and written through a session, never by where their files are."""
