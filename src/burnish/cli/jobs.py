"""`burnish jobs` and `burnish doctor`: look at work elsewhere, control it, and see what this machine or that has."""

import shlex
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.figures import moment
from burnish.cli.launch import outcome_lines, tell, watch
from burnish.cli.options import LOCAL, LaunchOption, Sure, argument, option
from burnish.cli.tables import TextTable, shorten
from burnish.cli.verb import Lines, Reply, group, verb
from burnish.cli.wrapping import Verbatim

if TYPE_CHECKING:
    from burnish.commands.doctor import Diagnosis
    from burnish.commands.elsewhere.jobs import JobRow

JobName = Annotated[str, argument("JOB", "A job's name, or how it begins; see `burnish jobs ls`.")]
_WORDS_SHOWN = 50
_SCREEN = 80


@verb("ls")
def ls(*, tag: Annotated[str | None, option("--tag TAG", "Only jobs with this tag.")] = None) -> Reply:
    """List jobs that were submitted from here, newest first."""
    from burnish.commands.elsewhere.jobs import ls as command

    rows = command(tag=tag)
    table = TextTable(("job", "state", "on", "submitted", "command"), tuple(map(_row_cells, rows)))
    notes = [f"{row.record.name}: {row.fault}" for row in rows if row.fault]
    return Reply(rows, [table if rows else f"no jobs{f' with the tag {tag}' if tag else ''}"], notes=notes)


@verb("show")
def show(job: JobName) -> Reply:
    """Show one job: its state, command, link and what it left."""
    from burnish.commands.elsewhere.jobs import show as command

    found = command(job)
    record = found.record
    facts = (("command", shlex.join(["burnish", *record.words])), ("folder", record.root), ("page", record.link))
    lines = [*outcome_lines(found), "", *(f"{name:<8}  {value}" for name, value in facts)]
    return Reply(found, lines)


@verb("logs")
def logs(
    job: JobName, *, follow: Annotated[bool, option("--follow -f", "Keep printing until the job ends.")] = False
) -> Lines:
    """Print what a job printed; --follow waits for more."""
    from burnish.commands.elsewhere.jobs import logs as command

    return map(Verbatim, command(job, is_followed=follow, tell=tell))


@verb("stop")
def stop(
    job: JobName,
    *,
    is_at_once: Annotated[bool, option("--now", "End it through its service, not at its next step.")] = False,
    waits: Annotated[bool, option("--wait", "Return when the job has ended.")] = False,
) -> Lines:
    """End a job; its run saves a checkpoint."""
    from burnish.commands.elsewhere.jobs import stop as command
    from burnish.commands.elsewhere.jobs import wait as wait_for

    record, status = command(job, is_at_once=is_at_once)
    if waits and not status.has_ended:
        status = wait_for(record.name, tell=tell).status
    state = status.state if status.has_ended else "asked to stop"
    return [f"{record.name}: {state}; `burnish jobs resume {record.name}` continues it"]


@verb("wait", short_help="Wait until a job ends.")
def wait(
    job: JobName,
    *,
    timeout: Annotated[float | None, option("--timeout SECONDS", "Give up after this long.", min=0)] = None,
) -> Reply:
    """Wait until a job ends: the exit code is that of its command."""
    from burnish.commands.elsewhere.jobs import wait as command

    outcome = command(job, timeout_seconds=timeout, tell=tell)
    return Reply(outcome, outcome_lines(outcome), code=outcome.exit_code or 0)


@verb("resume", short_help="Start a job that has ended once more.")
def resume(
    job: JobName,
    *,
    launch_options: LaunchOption = None,
    is_detached: Annotated[bool, option("--detach", "Return as soon as the job is accepted.")] = False,
    is_sure: Sure = False,
) -> Lines:
    """Start a job once more; it continues with what it has left in its folder."""
    from burnish.commands.elsewhere.jobs import resume as command

    if not is_sure:
        typer.confirm(f"{job} will cost money again; start it?", abort=True)
    record, launcher = command(job, options=launch_options or ())
    yield f"{record.name}: submitted as {record.id}"
    if not is_detached:
        raise typer.Exit(watch(record, launcher))


@verb("rm")
def rm(
    jobs: Annotated[list[str], argument("JOB", "Jobs to forget, with their folders on the bucket.")],
    *,
    is_sure: Sure = False,
) -> Lines:
    """Forget jobs and delete their folders, with all that they left."""
    from burnish.commands.elsewhere.jobs import remove

    for job in jobs:
        if is_sure or typer.confirm(f"forget {job} and delete its folder?"):
            record = remove(job)
            yield f"deleted {record.root}"


@verb("tag", short_help="Tag a job, or show its tags.")
def tag_job(
    job: JobName,
    tags: Annotated[list[str] | None, argument("TAG", "Words to add.")] = None,
    *,
    remove: Annotated[list[str] | None, option("--remove TAG", "A tag to take off; repeatable.")] = None,
) -> Reply:
    """Tag a job, to find it with `jobs ls --tag`; without tags, show those it has."""
    from burnish.commands.elsewhere.jobs import tag as command

    found = command(job, tags or (), remove=remove or ())
    return Reply({"job": job, "tags": found}, [", ".join(found) or "no tags"])


@verb("doctor", short_help="Describe this machine, for a bug report.")
def doctor(
    *,
    asks_hub: Annotated[bool, option("--hub", "Also see whether the hub of models answers.")] = False,
    where: Annotated[str, option("--on WHERE", "Look at what jobs need there instead: vertex.")] = LOCAL,
    launch_options: LaunchOption = None,
) -> Reply:
    """Describe versions, machine, extras and what a run here would take: one screen for a bug report.

    With --on, look at all that a job needs: credentials, project, bucket, region, image. Nothing is started.
    """
    if where == LOCAL:
        from burnish.commands.doctor import diagnose

        diagnosis = diagnose(asks_hub=asks_hub)
        return Reply(diagnosis, _diagnosis_lines(diagnosis), code=1 if diagnosis.faults else 0)
    from burnish.commands.elsewhere.jobs import examine

    found = examine(where, launch_options or ())
    lines = [f"{'✓' if each.is_met else '✗'} {each.what}: {each.sentence}" for each in found]
    return Reply(found, lines, code=0 if all(each.is_met for each in found) else 6)


def _diagnosis_lines(found: "Diagnosis") -> Lines:
    for name in ("burnish", "python"):
        yield f"{name:<10} {found.versions[name]}"
    packages = ", ".join(f"{name} {number}" for name, number in [*found.versions.items()][2:])
    yield from wrap(packages, initial_indent=f"{'packages':<10} ", subsequent_indent=" " * 11, width=_SCREEN)
    yield from (f"{name:<10} {fact}" for name, fact in found.machine.items())
    yield from [
        "",
        "what a run takes where its experiment says auto:",
        *(f"  {k:<9} {v}" for k, v in found.choices.items()),
    ]
    yield from ["", "extras:"]
    for each in found.extras:
        yield f"{'✗' if each.missing else '✓'} {each.name:<12} {each.brings}"
    missing = [each.name for each in found.extras if each.missing]
    if missing:
        yield "to install those that are missing:"
        yield f"  pip install 'burnish[{','.join(missing)}]'"
    yield from ["", *(f"✗ {fault}" for fault in found.faults)] if found.faults else []


app = group(
    *("jobs", "Inspect and control jobs that run elsewhere."),
    *(ls, show, logs, stop, wait, resume, tag_job, rm),
)


def _row_cells(row: "JobRow") -> tuple[str, ...]:
    record = row.record
    name = " ".join([record.name, *(f"[{tag}]" for tag in record.tags)])
    return name, row.state, record.where, moment(record.submitted), shorten(" ".join(record.words), most=_WORDS_SHOWN)
