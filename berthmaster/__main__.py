"""``python -m berthmaster``."""

from berthmaster.cli import main

if __name__ == "__main__":
    main()
