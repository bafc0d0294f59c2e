"""Arguments of a trial become overrides; every other unknown flag stays what it was."""

import pytest

from burnish.cli.flags import take_mode, take_trial_arguments
from burnish.cli.main import run


def taken(*words: str, own: tuple[str, ...] = ("--dir",)) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    return take_trial_arguments(words, own, tell=notes.append), notes


@pytest.mark.parametrize(
    ("word", "override"),
    [
        ("--optimizer.learning_rate=0.001", "optimizer.learning_rate=0.001"),
        ("--optimizer.learning-rate=0.001", "optimizer.learning_rate=0.001"),
        ("--learning-rate=0.001", "optimizer.learning_rate=0.001"),
        ("--batch-size=32", "train.batch=32"),
        ("--num_train_epochs=2", "train.length=2 epochs"),
        ("--weight_decay=0.01", "optimizer.weight_decay=0.01"),
        ("--fp16=true", "runtime.precision=fp16"),
    ],
)
def test_a_trial_argument_is_an_override_behind_everything_else(word: str, override: str) -> None:
    assert taken("train", word, "mine.yaml", "--dir=out") == (["train", "mine.yaml", "--dir=out", override], [])


@pytest.mark.parametrize(
    "word", ["--learning-rate", "--learning-rate=fast", "--epochs=[1", "--output_dir=out", "--xyzzy=1", "-lr=1", "a=b"]
)
def test_what_fits_no_option_stays_for_the_parser(word: str) -> None:
    assert taken("train", "mine.yaml", word) == (["train", "mine.yaml", word], [])


def test_words_behind_two_dashes_are_left_alone() -> None:
    words = ["train", "--", "mine.yaml", "--learning-rate=1"]
    assert taken(*words)[0] == words


def test_what_differs_here_is_said() -> None:
    argv, (note,) = taken("train", "mine.yaml", "--per_gpu_train_batch_size=4")
    assert argv[-1] == "train.batch=4"
    assert "--per_gpu_train_batch_size=4 is taken as train.batch=4. train.batch is the whole batch" in note


def test_the_verb_itself_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["demo/reviews", "--optimizer.learning_rate=slow", "--train.batch=-1"]
    assert run(["train", *words]) == 2
    told = capsys.readouterr().err
    assert "optimizer.learning_rate must be a number" in told
    assert "train.batch.examples must be" in told


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("--mode=train", "train bert/squad train.evaluate_every=never"),
        ("--mode=train train.evaluate_every=9", "train bert/squad train.evaluate_every=9"),
        ("--mode train_and_eval --dir out a=1", "train bert/squad --dir out a=1"),
        ("--mode train_and_post_eval --quiet", "train bert/squad --quiet --then evaluate"),
        ("--mode eval --dir=out --params_override a=1 --json", "evaluate out --json"),
        ("--model_dir out --mode continuous_eval", "evaluate out --watch"),
    ],
)
def test_a_mode_of_model_garden_is_a_command(words: str, command: str) -> None:
    notes: list[str] = []
    assert take_mode(["train", "bert/squad", *words.split()], tell=notes.append) == command.split()
    if command.endswith("=never"):
        assert "--mode train is taken as: burnish train bert/squad train.evaluate_every=never. " in notes[0]
        assert "scored once, at the end" in notes[0]
        assert "data={type: refit" in notes[0]
    else:
        assert notes == ([] if command.startswith("train") else [f"{notes[0].partition(':')[0]}: burnish {command}"])


@pytest.mark.parametrize(
    "words", ["train x --mode fly", "train x --mode eval", "tune x --mode train", "train x --mode"]
)
def test_a_mode_that_means_nothing_here_stays_for_the_parser(words: str) -> None:
    assert take_mode(words.split(), tell=pytest.fail) == words.split()


def test_a_mode_that_fine_tunes_each_checkpoint_says_what_to_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["train", "bert/squad", "--mode", "continuous_train_and_eval"]) == 2
    told = capsys.readouterr().err
    assert "no such option: --mode continuous_train_and_eval" in told
    assert "burnish train EXPERIMENT model.name=RUN model.checkpoint=STEP --dir runs/from-STEP" in told


def test_the_program_takes_a_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "bert/squad", "--mode", "eval", "--dir", "nowhere/run"]) == 5
    told = capsys.readouterr().err
    assert "note: --mode eval is taken as: burnish evaluate nowhere/run" in told
    assert "nowhere/run" in told.partition("error:")[2]
