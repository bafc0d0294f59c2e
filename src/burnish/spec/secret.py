"""A secret as a config may hold it: a reference to where it lies, never the secret itself."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from burnish.errors import BurnishError
from burnish.spec.interval import TextValue

_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_FILE = "file:"
_MOST_BYTES = 64 << 10


class SecretInConfig(ValueError):
    """Refuse a secret that was written into a config; the message does not repeat it."""


@dataclass(frozen=True)
class Secret(TextValue):
    """Where a secret is read when it is needed: `${env:NAME}` or `file:PATH`."""

    examples = ("${env:SLACK_WEBHOOK_URL}", "file:/run/secrets/webhook")

    reference: str

    @classmethod
    def parse(cls, written: object) -> Self:
        text = written.strip() if isinstance(written, str) else ""
        if _VARIABLE.fullmatch(text) or text.startswith(_FILE):
            return cls(text)
        raise SecretInConfig(
            "takes no secret itself, which would lie in the plan of the run; write where it is: "
            "${env:NAME} or file:PATH"
        )

    @property
    def variable(self) -> str | None:
        """Name the variable of the environment that holds it, if one does."""
        found = _VARIABLE.fullmatch(self.reference)
        return found[1] if found else None

    def reveal(self, environment: Mapping[str, str] | None = None) -> str:
        """Read the secret now; say which variable or file has none."""
        if self.variable:
            found = (os.environ if environment is None else environment).get(self.variable, "")
            lack = f"the environment has no variable {self.variable}"
        else:
            found, lack = _read_file(Path(self.reference.removeprefix(_FILE)).expanduser())
        if not found.strip():
            raise BurnishError(f"{lack}, which {self.reference} asks for")
        return found.strip()

    def __str__(self) -> str:
        return self.reference


def _read_file(path: Path) -> tuple[str, str]:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace"), f"{path} is empty"
    except OSError as error:
        return "", f"{path} cannot be read ({error.strerror or type(error).__name__})"
