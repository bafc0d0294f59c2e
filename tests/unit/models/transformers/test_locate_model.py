"""Names of models become folders, or a sentence that says what to do."""

from pathlib import Path

import pytest

from burnish.errors import ConfigError
from burnish.models.transformers.locate_model import HubCopy, config_folder, local_folder, weights_folder
from burnish.models.transformers.models_here import ModelHere


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    assert local_folder(str(tmp_path)) == tmp_path


def test_a_name_without_a_folder_is_one_on_the_hub() -> None:
    assert local_folder("org/some-model") is None


@pytest.mark.parametrize("name", ["./no-such", "/no/such", "~/no-such-folder-here", "a/b/c"])
def test_a_path_without_a_folder_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"model.name: there is no folder {name}"):
        local_folder(name)


def _package(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = root / "some_weights" / "model"
    inside.mkdir(parents=True)
    (root / "some_weights" / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.syspath_prepend(str(root))
    return inside


def test_a_folder_inside_a_package_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = _package(tmp_path, monkeypatch)
    assert local_folder("package:some_weights/model") == inside


def test_a_folder_that_a_package_does_not_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match="there is no folder package:some_weights/other"):
        local_folder("package:some_weights/other")


def test_a_package_that_is_not_installed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model.config: no package `no_such_package_here` is installed"):
        local_folder("package:no_such_package_here/model", option="model.config")


def test_a_hub_name_offline_is_refused_at_once_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ModelHere("./a", "folder", "bert", 2, 8, 1_000)
    monkeypatch.setattr("burnish.models.transformers.models_here.find_models_here", lambda: [here])
    with pytest.raises(ConfigError) as caught:
        config_folder("org/some-model", HubCopy(cache_dir=str(tmp_path)), option="model.name")
    (problem,) = caught.value.problems
    assert problem.message == (
        "model.name: org/some-model is not a folder here, has no copy in the cache, and HF_HUB_OFFLINE is set; "
        "name a folder or package:module/folder (on this machine are ./a), or connect to the hub once to fetch it"
    )


def test_pickled_weights_are_refused_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"has only pickled weights .* set model.allow_pickle_weights to true"):
        weights_folder(str(tmp_path), HubCopy(), allow_pickle=False)
    assert weights_folder(str(tmp_path), HubCopy(), allow_pickle=True) == tmp_path


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no weights .* set model.pretrained to false"):
        weights_folder(str(tmp_path), HubCopy(), allow_pickle=True)


@pytest.mark.parametrize("inside", ["", "model", "artifact/model"])
def test_a_run_or_its_artifact_stands_for_the_model_inside(tmp_path, inside):
    folder = tmp_path / inside
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    assert local_folder(str(tmp_path)) == folder
