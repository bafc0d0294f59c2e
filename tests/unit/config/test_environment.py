"""`${env:NAME}` as a whole value: filled in where a user asks for it, with its origin, and never for a secret."""

from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.config import fingerprint, load, render
from burnish.errors import ConfigError

MINE = "task: {type: tabular, target: y}\ndata: {dir: '${env:FOLDER}', train: a.csv}\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FOLDER", "/mnt/data")
    (tmp_path / "mine.yaml").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return "mine.yaml"


def test_a_value_is_filled_in_and_says_where_from(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = load(mine)
    assert resolved.experiment.data.dir == "/mnt/data"  # type: ignore[attr-defined]
    assert str(resolved.origin("data.dir")) == "set by mine.yaml:2 from ${env:FOLDER}"
    assert run(["config", "why", "data.dir", mine]) == 0
    assert capsys.readouterr().out == "data.dir = /mnt/data\n  set by mine.yaml:2 from ${env:FOLDER}\n"


def test_the_plan_holds_the_value_and_does_not_change_with_the_environment(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = load(mine)
    (tmp_path / "plan.yaml").write_text(render(resolved.experiment, origin=resolved.origin))
    monkeypatch.setenv("FOLDER", "/elsewhere")
    assert fingerprint(load("plan.yaml").experiment) == fingerprint(resolved.experiment)
    assert fingerprint(load(mine).experiment) != fingerprint(resolved.experiment)


def test_types_and_components_are_filled_in_too(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH", "64")
    monkeypatch.setenv("MODEL_TYPE", "linear")
    found = load(mine, overrides=["train.batch=${env:BATCH}", "model=${env:MODEL_TYPE}"])
    assert found.experiment.train.batch.examples == 64
    assert found.tree.nodes["model"].type == "linear"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "SLACK_WEBHOOK_URL", "LOGIN"])
def test_a_secret_is_not_taken_by_an_ordinary_option(name: str, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "https://me:HUSH@host/x")
    with pytest.raises(ConfigError) as caught:
        load(mine, overrides=[f"data.dir=${{env:{name}}}"])
    assert "seems to be a secret" in str(caught.value)
    assert "HUSH" not in str(caught.value)


@pytest.mark.parametrize("value", ["${env:NOWHERE}", "[a.csv, '${env:NOWHERE}']"])
def test_a_variable_that_is_not_set_is_refused_with_its_origin(value: str, mine: str) -> None:
    with pytest.raises(ConfigError, match="the environment has no variable NOWHERE"):
        load(mine, overrides=[f"data.train={value}"])


def test_only_whole_values_are_filled_in(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("x${env:FOLDER}", "${FOLDER}", "${env:FOLDER}/x", "$FOLDER", "${env:a b}"):
        assert load(mine, overrides=[f"data.dir={text}"]).experiment.data.dir == text  # type: ignore[attr-defined]


def test_what_a_run_recorded_is_never_filled_in(mine: str, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(MINE)
    with pytest.raises(ConfigError, match="what a run or an artifact recorded is not filled in"):
        load("plan.yaml")


def test_a_notifier_keeps_the_reference_set_or_not(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "https://hooks/TOKEN"):
        monkeypatch.setenv("ADDRESS", value)
        experiment = load(mine, overrides=["notify=[{type: slack, url: '${env:ADDRESS}'}]"]).experiment
        assert "TOKEN" not in render(experiment)
        assert "${env:ADDRESS}" in render(experiment)


@pytest.mark.parametrize(
    "section",
    [
        "[{type: slack, url: https://hooks/TOKEN}]",
        "[{type: slack, url: https://hooks/TOKEN, chanel: x}]",
        "[{type: webhook, key: TOKEN}]",
        "[{type: apprise, urls: ['mailto://me:TOKEN@host']}]",
        "{type: slak, url: https://hooks/TOKEN}",
        "https://hooks/TOKEN",
        "{slack: https://hooks/TOKEN}",
        "{slack: {url: https://hooks/TOKEN}}",
        "{url: https://hooks/TOKEN}",
    ],
)
@pytest.mark.parametrize("place", ["file", "override", "replaced"])
def test_a_secret_in_a_config_is_refused_and_not_repeated(section: str, place: str, mine: str, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(f"notify: {section}\n")
    configs = [] if place == "override" else ["more.yaml"]
    overrides = {"file": [], "override": [f"notify={section}"], "replaced": ["notify=[{type: slack, on: never}]"]}
    with pytest.raises(ConfigError) as caught:
        load(mine, configs=configs, overrides=overrides[place])
    assert "TOKEN" not in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("notify.slack=https://hooks.slack.com/TOKEN", "`notify=slack`, with the address in SLACK_WEBHOOK_URL"),
        ("notify.slack.url=https://hooks/TOKEN", "`notify=slack`, with the address in SLACK_WEBHOOK_URL"),
        ("notify=https://hooks.slack.com/services/TOKEN", "`notify=slack`, with the address in SLACK_WEBHOOK_URL"),
        ("notify=https://example.org/TOKEN", "`notify=webhook`, with the address in BURNISH_WEBHOOK_URL"),
        ("notify.webhook=https://hooks/TOKEN", "`notify=webhook`, with the address in BURNISH_WEBHOOK_URL"),
        ("notify.apprise=mailto://me:TOKEN@host", "`notify=apprise`, with the addresses in APPRISE_URLS"),
        ("notify.url=https://hooks/TOKEN", "one of slack, webhook, apprise"),
    ],
)
def test_the_first_refusal_of_a_notifier_says_what_to_write(typed: str, right: str, mine: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(mine, overrides=[typed])
    assert right in str(caught.value)
    assert "TOKEN" not in str(caught.value)


def test_a_type_written_as_an_option_is_shown_as_a_type(mine: str) -> None:
    with pytest.raises(ConfigError, match=r"notify\[0\]\.type is required; for slack write `notify=slack`"):
        load(mine, overrides=["notify.slack.channel=ml"])
    with pytest.raises(ConfigError, match=r"write `track=mlflow`"):
        load(mine, overrides=["track.mlflow.uri=x"])


@pytest.mark.parametrize("layer", ["data.train=https://me:s3cret@host/a.csv", "data.test=s3://key:s3cret@bucket/b.csv"])
def test_an_address_with_a_password_is_refused_and_quoted_nowhere(layer: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load("adult", overrides=[layer])
    assert "holds a password" in str(refused.value)
    assert "s3cret" not in str(refused.value)
