"""Models on this machine are found without the network, and named where one is missing."""

import json
from pathlib import Path

import pytest

from burnish.commands.config import check, listing
from burnish.commands.new import new
from burnish.errors import ConfigError
from burnish.models.transformers import models_here
from burnish.models.transformers.models_here import ModelHere, find_models_here, propose_model

BERT = {"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8}


def put_model(folder: Path, *, family: str = "bert", num_bytes: int = 1_000_000) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**BERT, "model_type": family}))
    (folder / "model.safetensors").write_bytes(b"\0" * num_bytes)


def put_in_cache(cache: Path, name: str, **options: object) -> None:
    repository = cache / f"models--{name.replace('/', '--')}"
    put_model(repository / "snapshots" / "abc", **options)  # type: ignore[arg-type]  # passed on as they are
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, site = tmp_path / "cache", tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(models_here, "package_folders", lambda: [str(site)])
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return folder


def test_models_are_found_in_cache_packages_and_folders(cache: Path, tmp_path: Path) -> None:
    put_in_cache(cache, "org/small")
    put_model(tmp_path / "site-packages" / "minilm" / "model")
    put_model(Path("models/mine"), family="gpt2")
    Path("empty").mkdir()
    (Path("empty") / "config.json").write_text("{}")
    assert [(each.name, each.place, each.is_encoder) for each in find_models_here()] == [
        ("org/small", "hub cache", True),
        ("package:minilm/model", "package", True),
        ("./models/mine", "folder", False),
    ]
    assert find_models_here()[0].summary == "bert: 2 layers, width 8, 1 MB"


def test_a_copy_without_weights_or_with_a_broken_config_is_no_model(cache: Path) -> None:
    put_in_cache(cache, "org/config-only")
    (cache / "models--org--config-only/snapshots/abc/model.safetensors").unlink()
    for number, text in enumerate(("{", "[]", '{"model_type": 3}', "{}")):
        put_model(Path(f"broken{number}"))
        (Path(f"broken{number}") / "config.json").write_text(text)
    assert find_models_here() == []


@pytest.mark.parametrize(
    ("sizes", "proposed"),
    [
        ({}, "usual"),
        ({"usual": 440, "other": 500}, "usual"),
        ({"tiny": 20, "base": 440, "large": 1400}, "base"),
        ({"large": 1400, "huge": 2000}, "large"),
        ({"decoder": 440}, "usual"),
    ],
)
def test_the_usual_model_is_proposed_if_it_is_here_or_nothing_else_is(sizes: dict[str, int], proposed: str) -> None:
    families = {name: "gpt2" if name == "decoder" else "bert" for name in sizes}
    models = [ModelHere(name, "folder", families[name], 2, 8, size * 1_000_000) for name, size in sizes.items()]
    assert propose_model("usual", models) == proposed


def write_reviews() -> None:
    lines = [
        f"the film number {row} was long and quiet but nobody left the room,{('pos', 'neg')[row % 2]}"
        for row in range(40)
    ]
    Path("reviews.csv").write_text("text,label\n" + "\n".join(lines) + "\n")


def test_a_starter_names_a_model_that_is_here(cache: Path) -> None:
    write_reviews()
    put_in_cache(cache, "org/small")
    put_in_cache(cache, "org/smaller", num_bytes=10)
    starter = new("reviews.csv")
    assert "  name: org/small " in starter.text
    note = next(note for note in starter.notes if "model" in note)
    assert note == (
        "the model is org/small, which is on this machine, as bert-base-uncased would come from the hub; "
        "also here: org/smaller"
    )
    assert check(str(starter.path), has_inputs=True).experiment.model.name == "org/small"


def test_a_starter_says_that_its_model_will_be_fetched(cache: Path) -> None:
    write_reviews()
    assert (
        "the model bert-base-uncased is not on this machine; training fetches it from the hub"
        in new("reviews.csv").notes
    )
    put_in_cache(cache, "bert-base-uncased")
    assert [note for note in new("reviews.csv", force=True).notes if "model" in note] == []


@pytest.mark.parametrize("is_offline", [True, False])
def test_a_check_finds_a_model_that_is_not_here(cache: Path, monkeypatch: pytest.MonkeyPatch, is_offline: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if is_offline else "0")
    write_reviews()
    put_in_cache(cache, "org/small")
    Path("a.yaml").write_text("task: text_classification\ndata: {train: reviews.csv}\nmodel: org/other\n")
    if is_offline:
        with pytest.raises(ConfigError, match=r"other is not a folder here, .* is set; on this machine are org/small"):
            check("a.yaml", has_inputs=True)
    else:
        model = check("a.yaml", has_inputs=True).experiment.model
        assert [*model.to_fetch()] == ["model.name: org/other is not on this machine; training fetches it from the hub"]
    Path("b.yaml").write_text("task: text_classification\ndata: {train: reviews.csv}\nmodel: org/small\n")
    assert [*check("b.yaml", has_inputs=True).experiment.model.to_fetch()] == []


def test_models_here_are_listed(cache: Path) -> None:
    put_in_cache(cache, "org/small")
    for kind in ("models", "pretrained"):
        item = listing(kind)[-1]
        assert (item.kind, item.name, item.provider) == ("pretrained", "org/small", "hub cache")
