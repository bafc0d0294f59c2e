"""Runs a verb elsewhere: `--on`, for every verb that takes it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from burnish.cli.options import LAUNCH, Launching, find_target
from burnish.cli.verb import Lines, Reply, print_document, print_lines, print_reply
from burnish.cli.wrapping import Verbatim, say
from burnish.early_signals import INTERRUPTED
from burnish.errors import ConfigError, Problem
from burnish.storage.address import read_address

if TYPE_CHECKING:
    from burnish.commands.elsewhere.launching import JobOutcome
    from burnish.launch.left_behind import LeftBehind
    from burnish.launch.records import JobRecord
    from burnish.spec.launcher import JobSpec, Launcher

_MOST_LISTED = 20
_RESOLVED = ("experiment", "configs", "overrides")
"""Words that are settled here, and travel as one file."""
_OF_LAUNCHER = ("processes", "nodes", "rendezvous", "max_restarts")
"""Options of `train` that say where a job runs, and are those of its launcher."""
_PATHS = ("FILE", "DIR")
_HERE = (*Launching.__dataclass_fields__, *_OF_LAUNCHER, "context")


def launch(given: Mapping[str, Any], *, leaves: Mapping[str, str]) -> int:
    """Print or send the request that runs a command elsewhere; follow the job unless it is detached."""
    from burnish.commands.elsewhere.launching import (
        fill_environment,
        list_freight,
        make_job,
        note_extras,
        preview,
        read_order,
        refuse_unready,
        submit,
    )
    from burnish.launch.options import read_launcher, split_words

    overrides, ours = split_words(given.get("overrides") or ())
    ours += [f"{LAUNCH}.{name}={given[name]}" for name in _OF_LAUNCHER if given.get(name) is not None]
    launcher = read_launcher(given["where"], [*(given["launch_options"] or ()), *ours])
    verb = given["context"].command_path.partition(" ")[2]
    asked = {"configs": given.get("configs") or (), "overrides": overrides, "experiment": given.get("experiment")}
    words = _write_words(given, leaves=leaves)
    has_experiment = asked["experiment"] is not None
    order = read_order(
        verb,
        words,
        asked=asked if has_experiment else None,
        study=getattr(launcher, "study", None),
        paths=_find_paths(given, leaves=leaves),
    )
    job = make_job(order, launcher)
    notes = [*launcher.notes, *note_extras(launcher, job)]
    if launcher.processes == "auto" and "--processes" in job.words:
        notes.append(f"{launcher.num_gpus} processes train on each machine, one for each GPU")
    for note in notes:
        say(f"note: {note}")
    freight = list_freight(launcher, job)
    for line in freight_lines(freight.sizes, freight.left):
        say(line)
    if given["is_dry_run"]:
        print_document(preview(launcher, job))
        return 0
    launcher = fill_environment(launcher)
    refuse_unready(launcher, job)
    _confirm(launcher, job, given["where"], is_sure=given["is_sure"] or not launcher.has_a_price)
    record = submit(launcher, job, where=given["where"])
    say(f"{record.name}: submitted as {record.id}\n{record.link}")
    if given["is_detached"]:
        return print_reply(Reply(record, [record.name]), is_json=bool(given.get("is_json")))
    return watch(record, launcher)


def watch(record: "JobRecord", launcher: "Launcher") -> int:
    """Stay with a job to its end, and pass on the exit code of its command; Ctrl-C leaves it running."""
    from burnish.commands.elsewhere.jobs import wait
    from burnish.commands.elsewhere.launching import follow

    try:
        print_lines(map(Verbatim, follow(record, launcher, tell=tell)))
        outcome = wait(record.name, tell=tell)
    except KeyboardInterrupt:
        name = record.name
        ways = f"`burnish jobs logs -f {name}` follows it, `burnish jobs stop {name}` ends it"
        say(f"\n{name} goes on; {ways}")
        return INTERRUPTED
    return print_reply(Reply(outcome, outcome_lines(outcome), code=outcome.exit_code or 0), is_json=False)


def freight_lines(sizes: Mapping[str, int], left: "Sequence[LeftBehind]") -> Iterator[str]:
    """List what travels, the largest first, and what of the folders that were named stays here."""
    count = "1 file" if len(sizes) == 1 else f"{len(sizes):,} files"
    yield f"{count} with {readable_size(sum(sizes.values()))} to send:"
    largest = sorted(sizes.items(), key=lambda each: (-each[1], each[0]))
    for name, size in largest[:_MOST_LISTED]:
        yield f"  {readable_size(size):>9}  {name}"
    if len(largest) > _MOST_LISTED:
        rest = largest[_MOST_LISTED:]
        yield f"  {readable_size(sum(size for _, size in rest)):>9}  in {len(rest):,} smaller files"
    if left:
        yield "not sent, unless you name it:"
    for each in left[:_MOST_LISTED]:
        yield f"  {each.path} ({each.why})"
    if len(left) > _MOST_LISTED:
        yield f"  and {len(left) - _MOST_LISTED:,} more"


def readable_size(num_bytes: int) -> str:
    """Write a size in the unit that suits it."""
    if num_bytes < 1_000:
        return f"{num_bytes} bytes"
    return f"{num_bytes / 1e3:,.1f} kB" if num_bytes < 1_000_000 else f"{num_bytes / 1e6:,.1f} MB"


def tell(sentence: str) -> None:
    """Say something beside what a job prints."""
    say(f"note: {sentence}")


def outcome_lines(outcome: "JobOutcome") -> Lines:
    """Say how a job ended and what it left."""
    status = outcome.status
    because = f": {status.message}" if status.message else ""
    code = f" (exit code {outcome.exit_code})" if outcome.exit_code is not None else ""
    yield f"{outcome.record.name}: {status.state}{because}{code}"
    yield from (f"  {address}" for address in outcome.outputs)


def _write_words(given: Mapping[str, Any], *, leaves: Mapping[str, str]) -> list[str]:
    """Write a command again from what the parser made of it, with the places of a job's folder for what it leaves."""
    words: list[str] = []
    for each in _own_parameters(given):
        value, flag = given.get(each.name), max(each.opts, key=len)
        if flag in leaves:
            words += [flag, _place(leaves[flag], value)]
        elif value is None or value == each.default or value in ((), []):
            continue
        elif getattr(each, "is_flag", False):
            words.append(flag)
        else:
            values = [*value] if isinstance(value, list | tuple) else [value]
            texts = [find_target(str(one)) if each.name == "target" else str(one) for one in values]
            words += texts if not flag.startswith("-") else [word for text in texts for word in (flag, text)]
    return words


def _own_parameters(given: Mapping[str, Any]) -> list[Any]:
    """List the parameters of a verb that its job is told as words."""
    return [each for each in given["context"].command.params if each.name not in (*_RESOLVED, *_HERE)]


def _find_paths(given: Mapping[str, Any], *, leaves: Mapping[str, str]) -> list[str]:
    """List the values of options that take a file or a folder of this machine, as their help pages say."""
    taken = [each for each in _own_parameters(given) if each.metavar in _PATHS]
    values = [given.get(each.name) for each in taken if max(each.opts, key=len) not in leaves]
    listed = [value if isinstance(value, list | tuple) else [value] for value in values if value is not None]
    return [str(one) for each in listed for one in each]


def _place(usual: str, asked: object) -> str:
    """Take an address as it is; else put a file under the name that was asked for, and a folder under its usual one."""
    address = read_address(str(asked)) if asked is not None else None
    if address is not None:
        return address
    name = str(asked).replace("\\", "/").rstrip("/").rpartition("/")[2] if asked is not None else ""
    return f"outputs/{name}" if "." in usual and name else usual


def _confirm(launcher: "Launcher", job: "JobSpec", where: str, *, is_sure: bool) -> None:
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise ConfigError([Problem(f"a job on {where} costs money; add --yes to start it")], subject="the launch")
    for sentence in launcher.cost(job):
        print(sentence, file=sys.stderr)
    typer.confirm(f"{job.name} runs on {where}, which costs money; start it?", abort=True)
