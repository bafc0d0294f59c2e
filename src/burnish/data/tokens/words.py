"""What a word of plain text is."""

import re

WORD = re.compile(r"\w+(?:[-.,:/@]\w+)*|[^\w\s]")
"""A run of letters and digits, joined marks within it kept; every other mark is a word of its own."""
