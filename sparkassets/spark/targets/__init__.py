"""Where assets are written, a file for each kind of target."""
