import pytest

from burnish.cli.tables import TextTable, plain, show

TABLE = TextTable(("name", "value"), (("a", "1.0"), ("longer", "22.0")), right=("value",), title="title")


def test_plain_tables_are_aligned_and_leave_no_space_at_the_end() -> None:
    assert plain(TABLE) == "title\nname    value\na         1.0\nlonger   22.0"
    assert plain(TextTable(("a", "b"), (("x", ""),))) == "a  b\nx"


def test_a_table_without_rows_has_its_heads() -> None:
    assert plain(TextTable(("a", "b"), ())) == "a  b"


def test_on_a_terminal_the_same_cells_are_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    show(TextTable(("name", "value"), (("[red]a[/red]", "1.0"),)))
    drawn = capsys.readouterr().out
    assert "name" in drawn
    assert "[red]a[/red]" in drawn


def test_on_a_narrow_terminal_sentences_are_broken_and_names_are_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    name = "models/bert-base-multilingual-cased"
    show(TextTable(("layers", "what it is"), ((name, "BERT-base for 104 languages, with case"),)))
    drawn = capsys.readouterr().out.splitlines()
    assert drawn[1].startswith(f"{name}  BERT-base")
    assert max(map(len, drawn[1:])) <= 60
