"""Says what stays here of a folder that travels: secrets, runs, and what .gitignore and .dockerignore name."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

SECRETS = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pypirc", ".npmrc", ".yarnrc.yml", ".git-credentials"),
    *(".aws", ".azure", ".boto", ".s3cfg", ".ssh", ".gnupg", ".kube", "kubeconfig", ".docker", ".dockercfg", ".kaggle"),
    *(".config/gcloud", ".config/gh", ".databrickscfg", ".pgpass", ".my.cnf", ".htpasswd", ".vault-token"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfstate", "*.tfstate.*"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "kaggle.json", "credentials.json", "client_secret*.json"),
    *("application_default_credentials.json", "service-account*.json", "service_account*.json"),
    *(
        ".terraform",
        "secrets.toml",
        "secrets.yaml",
        "secrets.yml",
        "secrets.json",
        ".cache/huggingface/token",
        ".huggingface",
    ),
)
"""Names of files and folders that hold keys and passwords; of those with a slash, the end of the path."""
_NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
_HISTORY = (".git", ".hg", ".svn")
_MACHINE_ONLY = (".venv", "__pycache__")
_RUN_FILES = ("events.jsonl", "study.jsonl")
_GITIGNORE, _DOCKERIGNORE = ".gitignore", ".dockerignore"


@dataclass(frozen=True)
class LeftBehind:
    """A file or a folder that does not travel, and why."""

    path: str
    why: str


@dataclass(frozen=True)
class IgnoreRule:
    """A line of an ignore file."""

    pattern: re.Pattern[str]
    is_exception: bool
    is_of_folders: bool

    @classmethod
    def parse(cls, line: str, *, is_anchored: bool) -> "IgnoreRule | None":
        """Read a line as git does; `is_anchored` patterns begin where the file is, as Docker reads them."""
        text = line.rstrip("\r\n")
        while text.endswith(" ") and not text.endswith("\\ "):
            text = text[:-1]
        if not text or text.startswith("#"):
            return None
        is_exception = text.startswith("!")
        text = text[is_exception:]
        is_of_folders = text.endswith("/")
        text = text.rstrip("/") if is_of_folders else text
        if is_anchored:
            text = os.path.normpath(text.lstrip("/")) if text.lstrip("/") else ""
        is_anywhere = not is_anchored and "/" not in text
        text = text.removeprefix("/")
        if not text or text == ".":
            return None
        try:
            pattern = re.compile(("(?:.*/)?" if is_anywhere else "") + _translate(text), re.DOTALL)
        except re.error:  # git takes a class without an end for no pattern at all
            return None
        return cls(pattern, is_exception, is_of_folders and not is_anchored)


@dataclass
class TravelRules:
    """The rules for what is below a folder that was named, which itself always travels."""

    root: Path
    has_ignore_files: bool = True
    """Whether .gitignore and .dockerignore count."""
    _gitignores: dict[Path, list[IgnoreRule]] = field(default_factory=dict)

    def why_left(self, path: Path) -> str | None:
        """Say why a file or a folder below the root stays here; None if it travels. Folders are asked first."""
        name = path.name.lower()
        place = PurePosixPath(path.as_posix().lower())
        if name in _HISTORY:
            return "the history of the code"
        if name in _MACHINE_ONLY:
            return "made for this machine"
        if any(place.match(each) for each in SECRETS) and not any(place.match(each) for each in _NO_SECRETS):
            return "may hold secrets"
        if any((path / each).is_file() for each in _RUN_FILES):
            return "a run"
        if path.is_symlink() and path.name == "runs" and not path.resolve().is_relative_to(Path.cwd().resolve()):
            return "a link to runs elsewhere"
        if self.has_ignore_files and self._is_ignored_by_git(path):
            return f"named in {_GITIGNORE}"
        if self.has_ignore_files and self._is_ignored_by_docker(path):
            return f"named in {_DOCKERIGNORE}"
        return None

    def _is_ignored_by_git(self, path: Path) -> bool:
        """Let the last rule decide that matches, from the top of the checkout down to the folder of the path."""
        here = Path(os.path.abspath(path))
        if not here.is_relative_to(self._git_top):
            return False
        is_ignored = False
        folders = [each for each in reversed(here.parents) if each.is_relative_to(self._git_top)]
        for folder in folders:
            if folder not in self._gitignores:
                self._gitignores[folder] = [*_read_rules(folder / _GITIGNORE, is_anchored=False)]
            for rule in self._gitignores[folder]:
                if rule.is_of_folders and not path.is_dir():
                    continue
                if rule.pattern.fullmatch(here.relative_to(folder).as_posix()):
                    is_ignored = not rule.is_exception
        return is_ignored

    def _is_ignored_by_docker(self, path: Path) -> bool:
        """Let the last rule decide that matches a path or a folder above it, as Docker does."""
        if path.is_dir() and any(rule.is_exception for rule in self._docker_rules):
            return False  # something below may be an exception
        root, here, top = (Path(os.path.abspath(each)) for each in (self.root, path, Path.cwd()))
        if not here.is_relative_to(top):
            return False
        above = [each for each in here.parents if each != root and each.is_relative_to(root)]
        names = [each.relative_to(top).as_posix() for each in (here, *above)]
        is_ignored = False
        for rule in self._docker_rules:
            if any(rule.pattern.fullmatch(name) for name in names):
                is_ignored = not rule.is_exception
        return is_ignored

    @cached_property
    def _git_top(self) -> Path:
        here = Path.cwd()
        return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)

    @cached_property
    def _docker_rules(self) -> list[IgnoreRule]:
        return [*_read_rules(Path(_DOCKERIGNORE), is_anchored=True)]


def _read_rules(path: Path, *, is_anchored: bool) -> Iterator[IgnoreRule]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return
    for line in lines:
        rule = IgnoreRule.parse(line.removeprefix("\ufeff"), is_anchored=is_anchored)
        if rule is not None:
            yield rule


def _translate(pattern: str) -> str:
    """Write a pattern of git as a regular expression over a path."""
    found = ""
    place = 0
    while place < len(pattern):
        rest = pattern[place:]
        is_start = place == 0 or pattern[place - 1] == "/"
        if is_start and rest.startswith("**/"):
            found += "(?:.*/)?"
            place += 3
        elif is_start and rest == "**":
            found += ".+"
            place += 2
        elif rest[0] == "*":
            found += "[^/]*"
            place += len(rest) - len(rest.lstrip("*"))
        elif rest[0] == "?":
            found += "[^/]"
            place += 1
        elif rest[0] == "[":
            length = _class_length(rest)
            inner = rest[1 : length - 1]
            is_negated = inner[:1] in ("!", "^")
            inner = re.sub(r"[\[&~|]", r"\\\g<0>", inner[is_negated:])  # which mean something in a class of Python's
            inner = "\\]" + inner[1:] if inner.startswith("]") else inner
            found += f"(?!/)[{'^' if is_negated else ''}{inner}]"
            place += length
        elif rest[0] == "\\":
            if len(rest) == 1:
                raise re.error("a backslash with nothing after it")
            found += re.escape(rest[1])
            place += 2
        else:
            found += re.escape(rest[0])
            place += 1
    return found


def _class_length(text: str) -> int:
    """Count the letters of a class like [a-z], whose first letter may be a closing bracket."""
    place = 2 if text[1:2] in ("!", "^") else 1
    place += text[place : place + 1] == "]"
    while place < len(text) and text[place] != "]":
        place += 2 if text[place] == "\\" else 1
    if place >= len(text):
        raise re.error("a class without an end")
    return place + 1
