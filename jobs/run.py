"""Runs what is due: ``spark-submit jobs/run.py -- --project conf``."""

import sys

from sparkassets.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
