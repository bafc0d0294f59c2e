"""Lines of a config written for people: values that YAML reads back the same, and comments that stay comments."""

import json
import re

_PLAIN = re.compile(r"^[A-Za-z_./~][\w./~+-]*$")
_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"}
_COMMENT_AT = 34


def line(key: str, value: str, comment: str = "") -> str:
    """Write an option, with its comment where all comments begin."""
    written = f"{key}: {value}"
    return f"{written:<{_COMMENT_AT}} # {one_line(comment)}" if comment else written


def one_line(text: str) -> str:
    """Keep a comment a comment, whatever the data holds."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def scalar(text: str) -> str:
    """Write a string so that YAML reads the same string."""
    is_plain = _PLAIN.match(text) is not None and text.lower() not in _WORDS_OF_YAML
    return text if is_plain else json.dumps(text, ensure_ascii=False)
