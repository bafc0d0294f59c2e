"""`new` proposes the right task for the usual shapes of files, and its YAML reads them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from burnish.commands.config import check
from burnish.commands.new import NewConfig, new
from burnish.config import fingerprint
from burnish.data.files import Files
from burnish.errors import BurnishError, DataError
from burnish.models.transformers import models_here
from burnish.models.transformers.models_here import ModelHere
from tests.data_request import Asked

GOLDEN = Path(__file__).parents[2] / "golden" / "new"
WORDS = [
    "the",
    "film",
    "was",
    "long",
    "and",
    "quiet",
    "but",
    "nobody",
    "in",
    "the",
    "room",
    "looked",
    "away",
    "once",
    "it",
    "had",
    "begun",
]


def words(row: int, count: int) -> str:
    return " ".join(WORDS[(row * 7 + at * 3) % len(WORDS)] for at in range(count)) + f" {row}"


def write_csv(path: str, rows: list[dict[str, object]], *, header: bool = True, delimiter: str = ",") -> str:
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
    return path


def reviews() -> str:
    return write_csv(
        "reviews.csv",
        [
            {
                "id": row,
                "user_id": f"u{row % 9}",
                "text": words(row, 30),
                "label": ["neg", "pos"][row % 2],
                "lang": "en",
            }
            for row in range(60)
        ],
    )


def entailment() -> str:
    rows = [
        {"premise": words(row, 20), "hypothesis": words(row + 1, 6), "label": ["yes", "no", "maybe"][row % 3]}
        for row in range(60)
    ]
    for name in ("train", "dev", "test"):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("test.jsonl").write_text("".join(json.dumps({"premise": "x", "hypothesis": "y"}) + "\n" for _ in rows))
    return "train.jsonl"


def topics() -> str:
    tags = ["art;sport", "sport", "art;money", "money;sport", "art"]
    rows = [
        {
            "title": words(row, 4),
            "body": words(row, 700),
            "topics": tags[row % 5],
            "set": ["train", "train", "val"][row % 3],
        }
        for row in range(45)
    ]
    return write_csv("topics.csv", rows)


def similarity() -> str:
    rows = [{"sentence1": words(row, 9), "sentence2": words(row + 2, 9), "score": row / 12} for row in range(60)]
    return write_csv("similarity.csv", rows, delimiter=";")


def polarity() -> str:
    return write_csv("polarity.csv", [{"a": row % 2, "b": words(row, 12)} for row in range(40)], header=False)


def alpha() -> str:
    rows = [{"id": row, "label": row % 2, "alpha": "a", "text": words(row, 12)} for row in range(40)]
    return write_csv("alpha.tsv", rows, header=False, delimiter="\t")


def alpha_pairs() -> str:
    rows = [
        {"id": row, "alpha": "a", "label": row % 2, "text_a": words(row, 9), "text_b": words(row + 1, 12)}
        for row in range(40)
    ]
    return write_csv("alpha_pairs.tsv", rows, header=False, delimiter="\t")


def json_lines(path: str, rows: list[dict[str, object]]) -> str:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sentences() -> str:
    rows = [{"tokens": words(row, 9).split(), "ner_tags": ["B-FILM", *["O"] * 9]} for row in range(40)]
    return json_lines("train.jsonl", list(rows))


def columns() -> str:
    lines = [f"{word} NN {'B-FILM' if word == 'film' else 'O'}" for word in WORDS]
    Path("columns.txt").write_text("\n\n".join("\n".join(lines) for _ in range(30)) + "\n")
    return "columns.txt"


def squad() -> str:
    questions = [
        {
            "context": words(row, 20),
            "qas": [{"id": str(row), "question": words(row, 5), "answers": [{"text": "film", "answer_start": 4}]}],
        }
        for row in range(40)
    ]
    Path("squad.json").write_text(json.dumps({"data": [{"title": "films", "paragraphs": questions}]}))
    return "squad.json"


def swag() -> str:
    rows = [
        {
            "sent1": words(row, 9),
            "sent2": words(row, 2),
            **{f"ending{number}": words(row + number, 6) for number in range(4)},
            "label": row % 4,
        }
        for row in range(40)
    ]
    return write_csv("swag.csv", list(rows))


def dream() -> str:
    rows = [
        {"dialogue": [words(row, 9)] * 2, "question": words(row, 4), "options": ["a", "b", "c"], "answer": "b"}
        for row in range(40)
    ]
    return json_lines("dream.jsonl", list(rows))


def prose() -> str:
    Path("prose.txt").write_text("\n".join(words(row, 9) for row in range(40)) + "\n")
    return "prose.txt"


SHAPES: list[Callable[[], str]] = [reviews, entailment, topics, similarity, polarity, alpha, alpha_pairs]
OTHERS: dict[Callable[[], str], str] = {
    sentences: "token_classification",
    columns: "token_classification",
    squad: "question_answering",
    swag: "multiple_choice",
    dream: "multiple_choice",
    prose: "masked_lm",
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # what is proposed must not depend on what the machine of a developer holds
    usual = ModelHere("bert-base-uncased", "hub cache", "bert", 12, 768, 440_000_000)
    monkeypatch.setattr(models_here, "find_models_here", lambda: [usual])


def made(shape: Callable[[], str]) -> NewConfig:
    return new(shape(), out=Path(f"{shape.__name__}.yaml"))


@pytest.mark.parametrize("shape", [*SHAPES, *OTHERS], ids=lambda shape: shape.__name__)
def test_the_starter_reads_as_it_always_did(shape: Callable[[], str]) -> None:
    assert made(shape).text == (GOLDEN / f"{shape.__name__}.yaml").read_text()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_starter_loads_the_data_it_was_made_for(shape: Callable[[], str]) -> None:
    found = yaml.safe_load(made(shape).path.read_text())
    task, data = found["task"], {key: value for key, value in found["data"].items() if key != "type"}
    named = (task[role] for role in ("text", "pair", "label") if role in task)
    columns = tuple(column for each in named for column in ([each] if isinstance(each, str) else each))
    splits = Files.model_validate(data).load(Asked(stratify=task["label"], columns=columns))
    assert min(len(splits.train), len(splits.validation)) > 0


@pytest.mark.parametrize("shape", OTHERS, ids=lambda shape: shape.__name__)
def test_tags_questions_choices_and_plain_text_get_their_own_task(shape: Callable[[], str]) -> None:
    starter = made(shape)
    experiment = check(str(starter.path)).experiment
    assert OTHERS[shape] == yaml.safe_load(starter.text)["task"]["type"]
    splits = experiment.data.load(Asked(columns=experiment.task.training_columns))
    assert len(splits.train) + len(splits.validation) + len(splits.test or ()) == (30 if shape is columns else 40)
    profile = experiment.task.profile(splits.train)
    assert experiment.task.head(profile).kind in experiment.model.heads
    assert starter.notes[0].startswith(f"this is {OTHERS[shape]}: ")


def test_named_columns_are_taken_for_what_they_are_called() -> None:
    assert yaml.safe_load(new(swag(), text="sent1", label="label").text)["task"]["type"] == "text_classification"


def test_a_test_file_without_labels_is_left_out_and_told() -> None:
    starter = made(entailment)
    assert any("test.jsonl was left out: it has no column label" in note for note in starter.notes)
    assert "test.jsonl" not in starter.text


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1], "binary"),
        ([1, 2, 3, 4, 5], "multiclass"),
        ([0.5, 1.5, 2.25], "regression"),
        ([row * 3 for row in range(50)], "regression"),
        ([["a"], ["a", "b"]], "multilabel"),
        (["x", "y", "z"], "multiclass"),
        (["NA", *(row * 3 for row in range(99))], "regression"),
    ],
)
def test_the_kind_follows_from_the_labels(labels: list[object], kind: str) -> None:
    rows = [{"text": words(row, 9), "label": labels[row % len(labels)]} for row in range(100)]
    Path("a.json").write_text(json.dumps(rows))
    assert yaml.safe_load(new("a.json").text)["task"]["kind"] == kind


def test_text_without_label_is_refused() -> None:
    write_csv("t.csv", [{"text": words(row, 9)} for row in range(20)])
    with pytest.raises(DataError, match="and no other column that could be its label"):
        new("t.csv")


def test_sentences_with_commas_are_not_taken_for_tags() -> None:
    verdicts = {"pos": "A fine film, warm and clever, number", "neg": "A dull film, cold and stupid, number"}
    rows = [{"text": f"{verdicts[label]} {row}.", "label": label} for row in range(30) for label in verdicts]
    assert yaml.safe_load(new(write_csv("a.csv", rows)).text)["task"]["text"] == "text"


def test_columns_can_be_named() -> None:
    task = yaml.safe_load(new(reviews(), label="lang").text)["task"]
    assert (task["text"], task["label"]) == ("text", "lang")
    with pytest.raises(DataError, match="label: there is no column `stars`"):
        new("reviews.csv", out=Path("b.yaml"), label="stars")


def test_nothing_is_overwritten_unless_asked() -> None:
    Path("reviews.yaml").write_text("mine")
    path = reviews()
    with pytest.raises(BurnishError, match=r"reviews\.yaml exists; write elsewhere with --out FILE"):
        new(path)
    assert Path("reviews.yaml").read_text() == "mine"
    assert Path("reviews.yaml").read_text() != new(path, force=True).text
    assert sorted(entry.name for entry in Path().iterdir()) == ["reviews.csv", "reviews.yaml"]


def test_hostile_names_and_values_stay_inside_their_quotes() -> None:
    odd = 'te"xt: #\nname: evil'
    Path("a.json").write_text(json.dumps([{odd: words(row, 9), "no": f"x\ny: {row % 2}"} for row in range(20)]))
    found = yaml.safe_load(new("a.json").text)
    assert (found["task"]["text"], found["task"]["label"], found["name"]) == (odd, "no", "a")


def test_class_folders_are_a_file_too() -> None:
    for split in ("train", "test"):
        for row in range(8):
            folder = Path("shelf", split, ["neg", "pos"][row % 2])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{row}.txt").write_text(words(row, 20))
    found = yaml.safe_load(new("shelf/train/").text)
    assert found["data"]["test"] == "shelf/test"
    assert (found["task"]["text"], found["task"]["label"]) == ("text", "label")


def flags(row: int) -> dict[str, object]:
    return {
        "id": row,
        "comment": words(row, 12),
        "toxic": row % 2,
        "rude": int(row % 3 == 0),
        "threat": int(row % 5 == 0),
    }


def test_columns_of_yes_and_no_are_several_labels() -> None:
    made = new(write_csv("flags.csv", [flags(row) for row in range(40)]))
    task = yaml.safe_load(made.text)["task"]
    assert (task["text"], task["label"], task["kind"]) == ("comment", ["toxic", "rude", "threat"], "multilabel")
    assert "label is `toxic`, `rude`, `threat`: multilabel, 3 classes: toxic, rude, threat" in made.notes


def test_a_label_that_is_called_so_wins_over_columns_of_yes_and_no() -> None:
    rows = [{**flags(row), "label": "abc"[row % 3]} for row in range(40)]
    assert yaml.safe_load(new(write_csv("flags.csv", rows)).text)["task"]["label"] == "label"


def test_an_empty_label_is_no_class() -> None:
    rows = [
        {"text": words(row, 12), "label": ["neg", "pos", ""][min(row, 2) if row < 3 else row % 2]} for row in range(40)
    ]
    assert "label is `label`: binary, 2 classes: neg, pos" in new(write_csv("gaps.csv", rows)).notes


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_divides_every_row_alike(delimiter: str) -> None:
    rows = [
        {"review": f"{words(row, 9)}{', so' * (row % 3)}{'; no' * (row % 2)}", "label": row % 2} for row in range(40)
    ]
    for name in ("headed.csv", "bare.csv"):
        made = new(write_csv(name, rows, header=name == "headed.csv", delimiter=delimiter))
        data = {key: value for key, value in yaml.safe_load(made.text)["data"].items() if key != "type"}
        assert data.get("delimiter", ",") == delimiter
        assert len(Files(**data).load(Asked(columns=("label",))).train) == 32


def test_one_value_is_no_label() -> None:
    with pytest.raises(DataError, match=r"no other column looks like a label: label \(1 value only\)"):
        new(write_csv("one.csv", [{"text": words(row, 12), "label": "a"} for row in range(20)]))


def test_classes_are_named_whole_or_not_at_all() -> None:
    rows = [{"text": words(row, 12), "label": f"a.rather.long.name.of.a.group.{row % 5}"} for row in range(40)]
    made = new(write_csv("long.csv", rows))
    assert "5 classes: a.rather.long.name.of.a.group.0, a.rather.long.name.of.a.group.1 …" in made.text


def test_columns_without_a_header_are_called_as_the_config_calls_them() -> None:
    rows = [{"a": row % 2, "b": words(row, 12)} for row in range(40)]
    made = new(write_csv("bare.csv", rows, header=False))
    assert made.notes[:2] == ("text is `text`", "label is `label`: binary, 2 classes: 0, 1")


def test_one_broken_row_is_told_in_the_singular() -> None:
    path = Path(write_csv("broken.csv", [{"text": words(row, 12), "label": row % 2} for row in range(140)]))
    path.write_text(path.read_text() + "one,two,three\n")
    assert (
        "training refuses 1 row: broken.csv:142: has 3 fields, but 2 are expected here. Fix the file, or uncomment "
        "bad_rows: skip to train without"
    ) in new(str(path)).notes


def test_a_file_without_text_becomes_a_table_with_its_kinds_as_comments(tmp_path: Path) -> None:
    rows = [f"{at},{at * 1.5:.1f},{('Cash', 'Card')[at % 2]},{at % 3},{at % 2}" for at in range(40)]
    (tmp_path / "trips.csv").write_text("\n".join(["trip_id,miles,pay,pickup_area,tip", *rows]) + "\n")
    starter = new(tmp_path / "trips.csv", out=tmp_path / "trips.yaml")
    assert "  type: tabular\n" in starter.text
    assert "target: tip " in starter.text
    assert "kind: binary" in starter.text
    assert "#   miles: number" in starter.text
    assert "#   pay: category" in starter.text
    assert "#   trip_id: drop" in starter.text
    assert any("ignored `trip_id`: it numbers the rows" in note for note in starter.notes)


def test_stray_cells_of_a_table_are_counted_and_change_no_kind(tmp_path: Path) -> None:
    rows = [f"{at * 1.5 if at else '-'},{at % 3},{at * 2 if at != 7 else 'NA'}" for at in range(90)]
    (tmp_path / "trips.csv").write_text("\n".join(["miles,people,fare", *rows]) + "\n")
    starter = new(tmp_path / "trips.csv", out=tmp_path / "trips.yaml")
    assert "kind: regression" in starter.text
    assert "#   miles: number                # 89 distinct values, 1 unreadable cell" in starter.text
    assert "`fare` holds no number in 1 row; data.bad_rows: skip trains without them" in starter.notes


def test_the_target_of_a_table_can_be_named(tmp_path: Path) -> None:
    rows = [f"{at},{at * 2.5},{at % 2}" for at in range(40)]
    (tmp_path / "trips.csv").write_text("\n".join(["miles,fare,tip", *rows]) + "\n")
    starter = new(tmp_path / "trips.csv", out=tmp_path / "trips.yaml", label="fare")
    assert "target: fare " in starter.text
    assert "kind: regression" in starter.text


def test_a_column_that_alone_tells_the_target_is_warned_of(tmp_path: Path) -> None:
    rows = [f"{at % 7 * 1.5:.1f},{(at * 37) % 11},{int(at % 7 > 3)}" for at in range(300)]
    (tmp_path / "trips.csv").write_text("\n".join(["tips,pickup_area,tip", *rows]) + "\n")
    starter = new(tmp_path / "trips.csv", out=tmp_path / "trips.yaml")
    told = [note for note in starter.notes if "by itself" in note]
    assert told == [
        "`tips` almost determines `tip` by itself (it scores 1.000): if it is known only afterwards, state it as "
        "`drop` under task.columns"
    ]
    lines = [line for line in starter.text.splitlines() if "careful: it almost determines" in line]
    assert len(lines) == 1
    assert "tips: number" in lines[0]


def trips() -> str:
    rows = [{"miles": row * 1.5, "pay": ("Cash", "Card")[row % 2], "tip": row % 2} for row in range(40)]
    return write_csv("trips.csv", list(rows))


@pytest.mark.parametrize("shape", [*SHAPES, *OTHERS, trips], ids=lambda shape: shape.__name__)
def test_what_the_starter_writes_is_what_silence_means(shape: Callable[[], str]) -> None:
    starter = made(shape)
    written = yaml.safe_load(starter.text)
    assert {"model", "optimizer", "train"} <= written.keys()
    silent = {key: value for key, value in written.items() if key in ("name", "task", "data")}
    Path("silent.yaml").write_text(yaml.safe_dump(silent))
    assert fingerprint(check("silent.yaml").experiment) == fingerprint(check(str(starter.path)).experiment)


def test_a_target_of_lists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text('{"a": 1, "y": [1]}\n{"a": 2, "y": [2, 3]}\n' * 20)
    with pytest.raises(DataError, match="the target `y` holds lists, and a row of a table has one; choose another"):
        new(tmp_path / "lists.jsonl", label="y")


def tickets(*, subjects: int = 40) -> str:
    rows: list[dict[str, object]] = [
        {
            "subject": words(row % subjects, 4),
            "body": words(row, 20),
            "priority": ["low", "high"][row % 2],
            "remark": f"{words(row % 8, 6)} again",
        }
        for row in range(60)
    ]
    return write_csv("tickets.csv", rows)


def test_several_columns_of_text_are_read_as_one() -> None:
    starter = new(tickets())
    experiment = check(str(starter.path)).experiment
    assert experiment.task.text == ("subject", "body")  # type: ignore[attr-defined]  # a text classification
    assert "text is `subject` and `body`, read as one" in starter.notes


def test_text_that_is_not_used_is_named() -> None:
    unused = "not used: `subject` and `remark`, which hold text too; name all in task.text to read them as one"
    assert unused in new(tickets(), text="body").notes
    assert any(note.startswith("not used: `remark`, which holds text too") for note in new(tickets(), force=True).notes)


def test_a_pair_leaves_further_text_out_and_says_so() -> None:
    rows: list[dict[str, object]] = [
        {"premise": words(row, 9), "hypothesis": words(row, 5), "why": words(row, 7), "label": row % 2}
        for row in range(60)
    ]
    starter = new(write_csv("pairs.csv", rows))
    assert "text is `premise` with `hypothesis`" in starter.notes
    assert any(note.startswith("not used: `why`, which holds text too") for note in starter.notes)


def test_labels_of_several_words_are_no_text() -> None:
    rows: list[dict[str, object]] = [
        {"text": words(row, 9), "intent": f"ask for {WORDS[row % 12]} today", "id": row} for row in range(60)
    ]
    starter = new(write_csv("intents.csv", rows))
    assert starter.notes[0] == "text is `text`"
    assert starter.notes[1].startswith("label is `intent`: multiclass")


def test_columns_of_text_without_a_header_get_names() -> None:
    rows: list[dict[str, object]] = [
        {"a": words(row, 12), "b": ["no", "yes"][row % 2], "c": words(row + 1, 20)} for row in range(60)
    ]
    starter = new(write_csv("bare.csv", rows, header=False))
    assert "columns: [text1, label, text2]" in starter.text
    assert check(str(starter.path)).experiment.task.text == ("text1", "text2")  # type: ignore[attr-defined]  # as above


def test_a_guessed_target_says_how_to_choose_another() -> None:
    path = write_csv(
        "houses.csv", [{"age": n % 7, "worth": n * 1.5, "coast": "yes" if n % 3 else "no"} for n in range(60)]
    )
    assert "the target is a guess; --target COLUMN chooses another" in new(path, out=Path("a.yaml")).notes
    assert not [note for note in new(path, out=Path("b.yaml"), label="worth").notes if "guess" in note]


def test_a_table_is_about_its_last_column_unless_that_is_a_year_a_place_or_a_remark() -> None:
    birds = [{"island": f"i{n % 3}", "mass": n * 1.5, "sex": "fm"[n % 2], "year": 2007 + n % 3} for n in range(60)]
    assert "the target is `mass`" in new(write_csv("birds.csv", birds)).notes[0], "nor what a bird is born with"
    places = [{"depth": n * 0.5, "Latitude": n / 7, "Last remarks": f"r{n % 4}"} for n in range(60)]
    assert "the target is `depth`" in new(write_csv("places.csv", places)).notes[0]
    assert "the target is `year`" in new(write_csv("years.csv", [{"id": n, "year": n % 9} for n in range(60)])).notes[0]


NAMES_OF_TAGS = ["O", "O", "B-FILM", "I-FILM", "O"]
PARTS_OF_SPEECH = ["DT", "NN", "VBD", "JJ", "CC"]


def tagged(path: str, *, between: str, tags: list[str], middle: bool = False, documents: bool = False) -> str:
    """Write one word a line; a comma, a quote and a word that looks like a sentence end occur as words too."""
    sentences = []
    for row in range(40):
        tokens = [*words(row, 9).split(), '"', ","]
        cells = [[word, *(["x"] if middle else []), tags[at % len(tags)]] for at, word in enumerate(tokens)]
        sentences.append("\n".join(between.join(line) for line in cells))
    if documents:
        sentences.insert(0, between.join(["-DOCSTART-", *(["-X-"] if middle else []), "O"]))
    Path(path).write_text("\n\n".join(sentences) + "\n")
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.csv", "a.conll", "eng.train", "words.tags"])
@pytest.mark.parametrize("between", [" ", "\t"], ids=["blank", "tab"])
@pytest.mark.parametrize("tags", [NAMES_OF_TAGS, PARTS_OF_SPEECH], ids=["names", "speech"])
@pytest.mark.parametrize("has_more", [False, True], ids=["two", "more"])
def test_one_word_a_line_is_tagging_whatever_the_file_is_called(
    name: str, between: str, tags: list[str], has_more: bool
) -> None:
    starter = new(tagged(name, between=between, tags=tags, middle=has_more, documents=has_more), out=Path("tags.yaml"))
    task = yaml.safe_load(starter.text)["task"]
    assert (task["type"], task["words"], task["tags"]) == ("token_classification", "words", "tags")
    assert check("tags.yaml").experiment.task is not None


def test_a_table_of_short_words_with_blank_lines_stays_a_table() -> None:
    lines = [f"{row}\t{row % 7}\t{'ab'[row % 2]}" + "\n" * (row % 9 == 8) for row in range(60)]
    Path("plot.tsv").write_text("\n".join(["x\ty\tgroup", *lines]))
    assert yaml.safe_load(new("plot.tsv").text)["task"]["type"] == "tabular"


def choices_of(row: int, names: list[str]) -> dict[str, object]:
    return {name: words(row + at, 5) for at, name in enumerate(names)}


@pytest.mark.parametrize(
    ("context", "choices", "label", "right"),
    [
        (["prompt"], ["ending0", "ending1", "ending2", "ending3"], "label", range(4)),
        (["startphrase", "sent1", "sent2"], ["ending0", "ending1", "ending2", "ending3"], "label", range(4)),
        (["question"], ["A", "B", "C", "D"], "answer", "ABCD"),
        (["question"], ["opa", "opb", "opc", "opd"], "cop", range(4)),
        (["article", "question"], ["option_a", "option_b", "option_c"], "gold", "ABC"),
        (["tale"], ["choice1", "choice2", "choice3"], "which", range(1, 4)),
    ],
)
def test_a_text_with_endings_is_multiple_choice(
    context: list[str], choices: list[str], label: str, right: list[object]
) -> None:
    rows = [
        {**choices_of(row, context), **choices_of(row + 3, choices), label: right[row % len(choices)]}
        for row in range(60)
    ]
    task = yaml.safe_load(new(write_csv("a.csv", rows)).text)["task"]
    assert (task["type"], task["choices"], task["label"]) == ("multiple_choice", choices, label)
    assert task["context"] == ("sent1" if "sent1" in context else context[0])


def test_ending_columns_of_numbers_are_a_table() -> None:
    rows = [{"size": row, "answer1": row % 5, "answer2": row % 3, "y": row % 2} for row in range(60)]
    assert yaml.safe_load(new(write_csv("a.csv", rows)).text)["task"]["type"] == "tabular"
