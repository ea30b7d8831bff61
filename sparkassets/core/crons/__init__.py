"""Crons and wall clocks: the text of five fields, and the instants at which a zone's clock shows one of their times."""
