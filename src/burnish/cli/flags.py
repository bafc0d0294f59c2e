"""Takes the arguments of a trial, and says what was meant by other flags that a command does not have."""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnish.config.foreign import Foreign

_LIKENESS = 0.8
_WRITTEN = "Options of the experiment are written KEY=VALUE:"


@dataclass(frozen=True)
class _Flag:
    """A flag as it was typed, with the word that seems to be its value."""

    text: str
    value: str | None
    is_joined: bool
    """Whether the value was joined by `=`, so that it is one for certain."""

    @property
    def name(self) -> str:
        return self.text.lstrip("-").replace("-", "_")


def take_trial_arguments(argv: Sequence[str], own: Collection[str], *, tell: Callable[[str], None]) -> list[str]:
    """Turn `--optimizer.learning_rate=0.001` and `--learning-rate=0.001` into overrides, behind everything else.

    So tuning services pass its values to a trial. What differs here for a name of another tool is told.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    joined = {word: word.partition("=") for word in argv[:end] if word.startswith("--") and "=" in word}
    flags = {word: _Flag(name, value, is_joined=True) for word, (name, _, value) in joined.items() if name not in own}
    overrides = {word: override for word, flag in flags.items() if (override := _find_override(flag, tell=tell))}
    return [*(word for word in argv if word not in overrides), *overrides.values()]


def _find_override(flag: _Flag, *, tell: Callable[[str], None]) -> str | None:
    """Write a flag as an override: an option by its path, or a foreign name whose value fits one of our options."""
    from burnish.config.foreign import find_answer
    from burnish.config.suggest import every_option, find_fitting
    from burnish.registry import default_registry
    from burnish.spec.experiment import Experiment

    section, dot, _ = flag.name.partition(".")
    if dot:
        return f"{flag.name}={flag.value}" if section in Experiment.model_fields else None
    entry = find_answer(flag.name, flag.value)
    if entry is None:
        return None
    registry = default_registry()
    written = entry.translate(flag.value)
    found = find_fitting(entry, written, options=list(every_option(registry)), registry=registry)
    if not found:
        return None
    if entry.note:
        tell(f"{flag.text}={flag.value} is taken as {found[0].path}={written}. {entry.explain(flag.value)}")
    return f"{found[0].path}={written}"


def take_mode(argv: Sequence[str], *, tell: Callable[[str], None]) -> list[str]:
    """Turn `train EXPERIMENT --mode eval --dir RUN`, as Model Garden's driver has it, into `evaluate RUN`.

    Other words are left to the parser, and so is a mode that scores a run if none is named.
    """
    from burnish.config.foreign import find_answer

    words, mode = _take_option(argv, "--mode")
    entry = find_answer("mode", mode)
    commands = _list_commands(entry, mode) if entry is not None else []
    if argv[:1] != ["train"] or entry is None or not commands:
        return [*argv]
    _, verb, _, *options = commands[0].split()
    rest, run = _take_option(words, "--dir", "--model_dir", "--model-dir")
    if verb == "train":
        stated = {word.partition("=")[0] for word in words}
        added = [option for option in options if option.partition("=")[0] not in stated]
        if any("=" in option for option in added):
            tell(f"--mode {mode} is taken as: burnish {shlex.join([*words, *added])}. {entry.explain(mode)}")
        return [*words, *added]
    if verb != "evaluate" or run is None:
        return [*argv]
    kept = [word for word in rest if word in ("--json", "--trust-code")]
    tell(f"--mode {mode} is taken as: burnish {shlex.join([verb, run, *options, *kept])}")
    return [verb, run, *options, *kept]


def _take_option(argv: Sequence[str], *names: str) -> tuple[list[str], str | None]:
    """Take an option and its value out of a command line; the last one counts."""
    rest, found, words = list[str](), None, iter(argv)
    for word in words:
        name, joined, value = word.partition("=")
        if name in names:
            found = value if joined else next(words, None)
        else:
            rest.append(word)
    return rest, found


def explain_flags(refusal: Any, argv: Sequence[str]) -> str:
    """Answer every unknown flag of a command line that was refused for one of them."""
    from burnish.config.foreign import find_foreign
    from burnish.errors import ConfigError, Problem

    own = {name: each for each in refusal.ctx.command.params for name in each.opts if name.startswith("-")}
    takes_overrides = any(each.name == "overrides" for each in refusal.ctx.command.params)
    flags = dict.fromkeys(_find_unknown(argv, {**own, **dict.fromkeys(refusal.ctx.help_option_names)}))
    flags = flags or {_Flag(refusal.option_name, None, is_joined=False): None}
    sentences = []
    for flag in flags:
        has_own_answer = find_foreign(flag.value or "", of=flag.name) is not None
        shown = f"{flag.text} {flag.value}" if has_own_answer else flag.text
        hint = _find_hint(flag, own, takes_overrides=takes_overrides)
        sentences.append(f"no such option: {shown}. {hint}" if hint else f"no such option: {shown}")
    if len(sentences) == 1:
        return sentences[0]
    return str(ConfigError([Problem(each) for each in sentences], subject="the command line"))


def _find_unknown(argv: Sequence[str], own: Mapping[str, Any]) -> Iterator[_Flag]:
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    for place, word in enumerate(words):
        text, joined, value = word.partition("=")
        before = own.get(words[place - 1]) if place else None
        is_value = before is not None and not before.is_flag
        if is_value or not _is_flag(word) or text in own or (word[1] != "-" and word[:2] in own):
            continue
        following = words[place + 1] if place + 1 < len(words) and not _is_flag(words[place + 1]) else None
        yield _Flag(text, value if joined else following, is_joined=bool(joined))


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdecimal() and word[1] != "."


def _find_hint(flag: _Flag, own: Mapping[str, Any], *, takes_overrides: bool) -> str:
    from burnish.config.foreign import Foreign, find_answer
    from burnish.config.suggest import every_option
    from burnish.nearest import nearest
    from burnish.registry import default_registry

    entry = find_answer(flag.name, flag.value)
    if entry is not None:
        return _translate(flag, entry, own, takes_overrides=takes_overrides)
    options = list(every_option(default_registry())) if takes_overrides else []
    same = tuple(option.path for option in options if flag.name in (option.key, option.path))
    if not same:
        close = nearest(flag.name, [name.lstrip("-") for name in own], likeness=_LIKENESS)
        found = own.get(f"--{close}")
        if found is not None and (not flag.is_joined if found.is_flag else flag.value is not None):
            return f"Did you mean `--{close}`?"
        slip = nearest(flag.name, [option.key for option in options], likeness=1.0)
        same = tuple(option.path for option in options if option.key == slip)
    ours = Foreign((flag.name,), (), ours=same, of=None, value="{}", note="")
    return _translate(flag, ours, own, takes_overrides=takes_overrides)


def _translate(flag: _Flag, entry: "Foreign", own: Mapping[str, Any], *, takes_overrides: bool) -> str:
    from burnish.config.suggest import assignments, every_option
    from burnish.registry import default_registry

    given = _take_value(flag, entry)
    flags = [" ".join(filter(None, [each, entry.translate(given)])) for each in entry.ours if each in own]
    commands = _list_commands(entry, given)
    registry = default_registry()
    options = assignments(entry, given, options=list(every_option(registry)), registry=registry)[:2]
    hint = ""
    if flags:
        hint = f"Did you mean `{flags[0]}`?"
    elif options and takes_overrides:
        hint = f"{_WRITTEN} {' or '.join(options)}"
    elif options:
        hint = f"`{options[0].partition('=')[0]}` is an option of experiments, which `burnish train` takes."
    elif commands:
        hint = f"It is a command here: `{commands[0]}`."
    return "\n  ".join(filter(None, [hint, entry.explain(given)]))


def _list_commands(entry: "Foreign", given: str | None) -> list[str]:
    return [each for each in (entry.translate(given) or "", *entry.ours) if each.startswith("burnish ")]


def _take_value(flag: _Flag, entry: "Foreign") -> str | None:
    """Separate the value of a flag from the word that only follows one that needs none, like `--fp16`."""
    is_switch = isinstance(entry.value, Mapping) and "true" in entry.value
    if not is_switch or flag.is_joined:
        return flag.value
    return flag.value if flag.value is not None and flag.value.lower() in ("true", "false") else "true"
