"""How the vectors of a text's tokens become one."""

from typing import Literal

Pooling = Literal["mean", "cls"]
"""Their mean, or the first of them."""
