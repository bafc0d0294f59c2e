"""Extractive question answering."""

from burnish.tasks.question_answering.task import QuestionAnswering

__all__ = ["QuestionAnswering"]
