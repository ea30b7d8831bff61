"""``python -m sparkassets``."""

from sparkassets.cli import main

if __name__ == "__main__":
    main()
