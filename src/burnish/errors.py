"""Every refusal that a user can mend, and the exit code it ends with."""

from collections.abc import Sequence
from dataclasses import dataclass


class BurnishError(Exception):
    """Say what is wrong, where it came from and what would be right."""

    exit_code = 1


_MOST_SHOWN = 30
"""Problems in one message; a file that has more was hardly written for Burnish, and its first ones say so."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: a sentence, and indented lines that say where it came from."""

    message: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {detail}" for detail in self.details)])


class ConfigError(BurnishError):
    """Refuse an experiment, with every problem at once."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem], *, subject: str = "the experiment") -> None:
        self.problems = tuple(problems)
        count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        rest = len(self.problems) - _MOST_SHOWN
        more = [f"… and {rest} more, which are shown when these are solved"] if rest > 0 else []
        super().__init__("\n\n".join([f"{subject} has {count}", *map(str, self.problems[:_MOST_SHOWN]), *more]))


class MissingExtra(BurnishError):
    """Name the extra that a feature needs and how to install it."""

    exit_code = 3


class DataError(BurnishError):
    """Refuse data, naming file, line and what would be right."""

    exit_code = 4


class CheckpointError(BurnishError):
    """Refuse a run directory or checkpoint that cannot be trusted."""

    exit_code = 5


class UntrustedCode(CheckpointError):
    """Refuse to run code that a run, an artifact or a prepared folder names and that the user has not trusted."""


class LaunchError(BurnishError):
    """Refuse a job that could not be started or did not end well."""

    exit_code = 6
    is_final = False
    """Whether to ask again would end the same: there is no such job, or no right to see it."""
    is_refusal = True
    """Whether nothing was started; False where the answer was lost, or came from a service in trouble."""

    def __init__(self, message: str, *, is_final: bool = False, is_refusal: bool = True) -> None:
        self.is_final = is_final
        self.is_refusal = is_refusal
        super().__init__(message)


class ServeError(BurnishError):
    """Refuse to serve an artifact that does not pass its own test."""

    exit_code = 7


class StorageError(BurnishError):
    """Refuse an address that cannot be read or written, or say that not all of a run has reached it."""

    exit_code = 9
    is_final = False
    """Whether another try would end the same: nothing there, no right, no such kind of address."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        self.is_final = is_final
        super().__init__(message)
