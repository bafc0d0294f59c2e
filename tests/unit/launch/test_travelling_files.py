"""Which files travel with a job and under which names, and which stay here: secrets, runs, what ignore files name."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from burnish.errors import LaunchError
from burnish.launch import package
from burnish.launch.package import expand


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder beside which there is another."""
    for name in ("here/data/v2.csv", "here/data/more/a.csv", "other/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def read(*names: str) -> dict[str, str]:
    return {name: path.read_text() for name, path in expand(names).files.items()}


def refuse(*names: str) -> str:
    with pytest.raises(LaunchError) as refused:
        expand(names)  # before the first of them could be sent
    return str(refused.value)


def test_everything_is_refused_before_anything_is_given(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refuse("data", "missing", "../other")
    assert "there is no missing" in said
    assert f"../other is {here.parent}/other, outside of {here}" in said
    monkeypatch.setattr(package, "_MOST_BYTES", 20)
    assert "put what is larger than" in refuse("data")


def test_a_file_that_is_named_twice_is_counted_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_MOST_BYTES", len("here/data/v2.csv"))
    assert list(read("data/v2.csv", "data/../data/v2.csv", str(here / "data/v2.csv"))) == ["data/v2.csv"]


def test_a_link_travels_under_its_own_name(here: Path) -> None:
    Path("data/train.csv").symlink_to("v2.csv")
    Path("newest").symlink_to("data")
    assert read("data/train.csv") == {"data/train.csv": "here/data/v2.csv"}
    assert read("newest") == {
        "newest/more/a.csv": "here/data/more/a.csv",
        "newest/train.csv": "here/data/v2.csv",
        "newest/v2.csv": "here/data/v2.csv",
    }


def test_links_in_a_folder_are_followed_once_and_as_far_as_this_folder_goes(here: Path) -> None:
    Path("data/more/v2.csv").symlink_to("../v2.csv")
    Path("data/again").symlink_to("more")
    Path("data/more/all").symlink_to("..")
    Path("data/broken").symlink_to("nowhere")
    Path("data/turning").symlink_to("turning")
    assert list(read("data")) == [
        *("data/again/a.csv", "data/again/v2.csv", "data/more/a.csv", "data/more/v2.csv", "data/v2.csv")
    ]


def test_a_link_that_leads_elsewhere_is_refused_by_its_name(here: Path) -> None:
    Path("data/b.csv").symlink_to("../../other/b.csv")
    Path("data/folder").symlink_to("../../other")
    Path("data/runs").symlink_to("../../other")  # which never travels
    said = refuse("data")
    assert f"data/b.csv is {here.parent}/other/b.csv, outside of" in said
    assert f"data/folder is {here.parent}/other, outside of" in said
    assert "data/runs" not in said


def test_a_folder_that_one_stands_in_by_another_name_is_the_same(here: Path) -> None:
    (here.parent / "link").symlink_to("here")
    assert list(read(str(here.parent / "link" / "data" / "v2.csv"))) == ["data/v2.csv"]


SECRET_FILES = (
    *(".env", ".env.local", "app/.ENV", "prod.env", ".aws/credentials", ".ssh/config", "keys/id_rsa", "id_ed25519.old"),
    *(
        ".git/config",
        "sub/.git/HEAD",
        ".netrc",
        ".pypirc",
        ".npmrc",
        "cert/server.pem",
        "cert/Server.KEY",
        ".kube/config",
    ),
    *("credentials.json", ".config/gcloud/access_tokens.db", "service-account-1.json", ".venv/bin/python", "a/.envrc"),
    *(".docker/config.json", "kaggle.json", ".git-credentials", "infra/a.tfstate", ".streamlit/secrets.toml"),
)
PLAIN_FILES = (
    "main.py",
    "env.py",
    "keys/README.md",
    ".env.example",
    "key.txt",
    "runs/words.py",
    ".config/app.yaml",
    "a.pub",
)


def write(*names: str, content: str = "x") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)


def test_no_secret_travels_with_a_folder(here: Path) -> None:
    shutil.rmtree("data")
    write(*SECRET_FILES, *PLAIN_FILES)
    found = expand(["."])
    assert set(found.files) == set(PLAIN_FILES)
    reasons = {each.path: each.why for each in found.left}
    for name in SECRET_FILES:
        assert any(name == place or name.startswith(f"{place}/") for place in reasons), name
    assert reasons[".env"] == "may hold secrets"


@pytest.mark.parametrize("name", SECRET_FILES)
def test_a_secret_travels_if_it_is_named_itself_and_no_other_does(here: Path, name: str) -> None:
    write(*SECRET_FILES)
    assert set(expand(["data", name]).files) == {"data/v2.csv", "data/more/a.csv", name}
    found = expand([".", name])
    assert set(found.files) == {"data/v2.csv", "data/more/a.csv", name}
    assert name not in {each.path for each in found.left}


def test_a_folder_called_runs_travels_but_for_the_runs_in_it(here: Path) -> None:
    write("runs/words.py", "runs/one/events.jsonl", "runs/one/plan.yaml", "out/study/study.jsonl", "out/table.csv")
    found = expand(["runs", "out"])
    assert set(found.files) == {"runs/words.py", "out/table.csv"}
    assert {each.path: each.why for each in found.left} == {"runs/one": "a run", "out/study": "a run"}
    assert set(expand(["runs/one"]).files) == {"runs/one/events.jsonl", "runs/one/plan.yaml"}


def test_what_ignore_files_name_stays_unless_the_command_itself_needs_it(here: Path) -> None:
    write("big.bin", "data/.gitignore", "notes.md", "build/a.o")
    write(".gitignore", content="*.bin\n/data/*.csv\n!data/v2.csv\n")
    write(".dockerignore", content="build\n*.md\n")
    found = expand(["."])
    assert set(found.files) == {".gitignore", ".dockerignore", "data/.gitignore", "data/more/a.csv", "data/v2.csv"}
    assert {each.path: each.why for each in found.left} == {
        "big.bin": "named in .gitignore",
        "build": "named in .dockerignore",
        "notes.md": "named in .dockerignore",
    }
    write(".gitignore", content="data\n*.csv\n")
    assert set(expand(["data"]).files) == {"data/.gitignore"}
    assert set(expand(["data", "data/v2.csv"]).files) == {"data/.gitignore", "data/v2.csv"}
    assert set(expand(["data"], inputs=["data"]).files) == {"data/.gitignore", "data/more/a.csv", "data/v2.csv"}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("*\n!src\n!src/**\n", {"src/a.py", "src/inner/b.py"}),
        ("**/*.py\n", {"notes.md"}),
        ("src/\n!src/a.py\n", {"notes.md", "src/a.py"}),
        ("# src\n\n/notes.md\n", {"src/a.py", "src/inner/b.py"}),
        ("inner\n", {"notes.md", "src/a.py", "src/inner/b.py"}),
    ],
)
def test_docker_reads_its_own_ignore_file_from_the_top(here: Path, rules: str, expected: set[str]) -> None:
    shutil.rmtree("data")
    write("src/a.py", "src/inner/b.py", "notes.md")
    write(".dockerignore", content=rules)
    assert set(expand(["."]).files) - {".dockerignore"} == expected


PIECES = ("a", "b", "*", "?", "**", "a*", "*.c", "[ab]", "[!a]", "\\a", "b.c", "[]a]", "[a-b]*", " a", "#b")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_ignore_files_say_what_git_says(here: Path) -> None:
    shutil.rmtree("data")
    draw = Random(0)
    subprocess.run(["git", "init", "-q"], check=True)
    names = ("a", "b", "b.c", "a.c", "ab", "#b", " a")
    paths = sorted({"/".join(draw.choices(names, k=draw.randint(1, 4))) for _ in range(120)})
    for path in paths:
        if not any(part.is_file() for part in Path(path).parents) and not Path(path).is_dir():
            write(path)
    for _ in range(60):
        for place in (".gitignore", "a/.gitignore"):
            lines = [
                draw.choice(["", "", "!", "/"])
                + "/".join(draw.choices(PIECES, k=draw.randint(1, 3)))
                + draw.choice(["", "/", " "])
                for _ in range(draw.randint(0, 4))
            ]
            if Path(place).parent.is_dir():
                write(place, content="\n".join(lines) + "\n")
        told = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-per-directory=.gitignore"], capture_output=True, check=True
        )
        expected = {each.decode() for each in told.stdout.split(b"\0") if each}
        said = Path(".gitignore").read_text(), Path("a/.gitignore").read_text() if Path("a").is_dir() else ""
        assert set(expand(["."]).files) == expected, said
