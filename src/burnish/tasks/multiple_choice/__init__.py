"""Multiple choice."""

from burnish.tasks.multiple_choice.task import MultipleChoice

__all__ = ["MultipleChoice"]
