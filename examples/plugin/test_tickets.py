"""The exam of the task: run `pytest` in this folder."""

from pathlib import Path

from burnish.testing.exams import TaskExam


class TestTickets(TaskExam):
    """Three of four tickets train it, the others judge it."""

    sections = """\
task: {{type: "tickets:Tickets", max_length: 32}}
data: {{train: {root}/train.csv, validation: {root}/dev.csv}}
"""
    words = ("customer", "charged", "money", "sign", "account", "order", "day", "since", "the")
    refusals = (r"dev\.csv:2: label 'lost' is not one of",)
    asked = ({"subject": "Refund 5", "body": "The customer was charged twice."},)

    @staticmethod
    def write(root: Path) -> None:
        """Write the rows to learn from and those to be judged by."""
        header, *rows = Path(__file__).with_name("tickets.csv").read_text().splitlines()
        for name, part in (("train", rows[24:]), ("dev", rows[:24])):
            (root / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")

    @staticmethod
    def spoil(root: Path) -> None:
        """Put a queue into the first row that no training row has."""
        header, _first, *rows = (root / "dev.csv").read_text().splitlines()
        wrong = "Invoice 1,The customer was charged twice.,lost"
        (root / "dev.csv").write_text("\n".join([header, wrong, *rows]) + "\n")
