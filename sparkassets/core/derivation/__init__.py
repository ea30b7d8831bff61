"""From which columns of its inlets each column of a query is derived; what the text does not tell stays open."""
