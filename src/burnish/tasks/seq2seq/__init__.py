"""Sequence to sequence."""

from burnish.tasks.seq2seq.task import Seq2Seq

__all__ = ["Seq2Seq"]
