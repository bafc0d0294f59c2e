"""`burnish tokenizer train`: from files and experiments to a folder."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from burnish.commands.tokenizer import train
from burnish.errors import ConfigError, DataError


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("a fine film\n\nthe film is fine and the cast is warm\n" * 4)
    return path


def test_a_text_file_gives_a_folder(texts: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    learned = train([str(texts)], out=tmp_path / "tok", vocab_size=80, progress=lambda *done: told.append(done))
    assert sorted(path.name for path in learned.path.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert (learned.num_texts, learned.vocab_size, told[-1]) == (8, 80, (8, 8)) or learned.vocab_size < 80
    assert 1 <= learned.tokens_per_word < 3


def test_columns_of_a_table_are_read(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b,n\n" + "warm film,cold plot,1\nwarm cast,cold cast,2\n" * 3)
    learned = train([str(tmp_path / "pairs.csv")], out=tmp_path / "tok", columns=("a", "b"), vocab_size=60)
    tokens = Tokenizer.from_file(str(learned.path / "tokenizer.json")).get_vocab()
    assert {"warm", "cold"} <= set(tokens)


def test_a_column_of_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    with pytest.raises(DataError, match="`n` holds int64"):
        train([str(tmp_path / "rows.jsonl")], out=tmp_path / "tok", columns=("n",))


def test_the_training_rows_of_an_experiment_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,label\n" + "warm film,1\ncold plot,0\n" * 20)
    (tmp_path / "exp.yaml").write_text(
        f"task: text_classification\ndata: {tmp_path / 'rows.csv'}\nmodel: bert-base-cased\n"
    )
    learned = train(out=tmp_path / "tok", experiment=str(tmp_path / "exp.yaml"), vocab_size=60)
    assert learned.num_texts == 36


def test_everything_wrong_is_told_at_once(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        train([], out=tmp_path, vocab_size=0)
    assert len(refusal.value.problems) == 3
    with pytest.raises(ConfigError, match="not both"):
        train([str(texts)], out=tmp_path / "tok", experiment="glue/sst2")


def test_a_folder_is_replaced_only_when_forced(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "tok").mkdir()
    (tmp_path / "tok" / "old").touch()
    train([str(texts)], out=tmp_path / "tok", vocab_size=80, force=True)
    assert not (tmp_path / "tok" / "old").exists()
