"""OpenLineage events of a project as plain values, in the words of its specification.

The form is that of https://openlineage.io/docs/spec; `OpenLineageSink` sends the events.
"""
