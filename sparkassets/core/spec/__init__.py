"""From the text of a project's files to its compiled model, with every problem at its place."""
