"""Lets `python -m burnish`, and the command, do what `burnish` does, and ends in order from the very start."""

import sys
from typing import NoReturn

from burnish.early_signals import INTERRUPTED, end_early_in_order


def main() -> NoReturn:
    """Listen to signals first, as the command line takes a second to load, or several on a busy machine."""
    end_early_in_order(sys.argv[1:])
    try:
        from burnish.cli.main import main as run_command
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run_command()


if __name__ == "__main__":
    main()
