"""Keeps the values of a job's variables, which may be secrets, out of what is printed and recorded."""

import re
from collections.abc import Sequence

_SECRET = re.compile(r"((?:^|\s)(?:-l[\s=]?|--launch[\s=.])?(?:launch\.)?env(?:\.[^=\s]+)?=).*", re.DOTALL)


def mask_words(words: Sequence[str]) -> list[str]:
    """Copy words of a command line without the values of variables."""
    return [_SECRET.sub(r"\1***", word) for word in words]
