"""Lets `python -m burnish` do what `burnish` does."""

from burnish.cli.main import main

if __name__ == "__main__":
    main()
