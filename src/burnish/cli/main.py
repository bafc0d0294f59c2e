"""The command `burnish`: its verbs, and how everything that goes wrong is reported."""

import errno
import io
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from burnish import __version__
from burnish.cli import (
    cache,
    config,
    data,
    deploy,
    evaluate,
    export,
    image,
    jobs,
    plan,
    predict,
    runs,
    serve,
    train,
    tune,
)
from burnish.cli.flags import explain_flags, take_mode, take_trial_arguments
from burnish.cli.verb import add, without_others
from burnish.cli.wrapping import say
from burnish.early_signals import INTERRUPTED
from burnish.errors import BurnishError, ConfigError, Problem
from burnish.launch.module_path import find_modules_here
from burnish.launch.openmp import openmp_settings
from burnish.launch.variables import mask_words
from burnish.run.record.provenance import COMMAND

_PACKAGE = Path(__file__).parents[1]
BUG = 70

_Refusal: type[Any] = typer.BadParameter.__mro__[2]
"""What the parser raises for any wrong argument; the class has no public name in typer."""

app = typer.Typer(
    name="burnish",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

add(
    app,
    *(config.list_, data.new, plan.plan, train.train, tune.tune, evaluate.evaluate, predict.predict, evaluate.search),
    *(
        evaluate.check,
        export.export,
        export.push,
        serve.serve,
        serve.ui,
        train.resume,
        train.rerun,
        train.drill,
        plan.bench,
    ),
    *(
        data.prepare,
        data.cp,
        config.app,
        config.import_,
        runs.app,
        jobs.app,
        jobs.doctor,
        deploy.app,
        image.package,
        image.app,
        cache.app,
        data.tokenizer,
    ),
)


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no ★ must not end a run
    find_modules_here(is_wanted=not sys.flags.safe_path or None)  # where Python may not, a starter decides
    os.environ.update(openmp_settings(os.environ))  # before a verb loads torch into this very process
    os.environ[COMMAND] = shlex.join(["burnish", *mask_words(sys.argv[1:])])
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _excuse_output(error)
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Do what the arguments ask, and return the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = partial(_show_warning, show=warnings.showwarning)
        try:
            _refuse_broken_words(argv)
            argv = take_mode(argv, tell=_note) if any(each.startswith("--mode") for each in argv) else argv
            is_shell = "_BURNISH_COMPLETE" in os.environ  # which asks for the options of whatever is typed
            command = typer.main.get_command(app if is_shell else without_others(app, argv))
            argv = _settle_trial_arguments(argv, command)
            code = command(args=[*argv], prog_name="burnish", standalone_mode=False)
        except BurnishError as error:
            return _refuse(str(error), code=error.exit_code)
        except _Refusal as refusal:
            return _refuse(_explain_usage(refusal, argv), code=2)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except OSError as error:
            return _excuse_output(error) if _is_about_output(error) else _confess(error)
        except Exception as error:  # the last place where a bug can still be reported in one line
            return _confess(error)
        return code if isinstance(code, int) else 0


def _show_warning(message: Warning | str, category: type[Warning], filename: str, *place: Any, show: Any) -> None:
    """Show what Burnish warns of as a note, and the warnings of other packages as they are."""
    if Path(filename).is_relative_to(_PACKAGE):
        say(f"note: {message}")
    else:
        show(message, category, filename, *place)


def _refuse_broken_words(argv: Sequence[str]) -> None:
    """Refuse words that are no text: neither files of rows nor a plan could hold them."""
    broken = [word for word in argv if word.encode(errors="replace").decode() != word]
    remedy = "is not UTF-8; write text as UTF-8, and rename files whose names are not"
    if broken:
        raise ConfigError([Problem(f"{word!a} {remedy}") for word in broken], subject="the command line")


def _settle_trial_arguments(argv: Sequence[str], command: Any) -> Sequence[str]:
    """Let verbs that take options of experiments take them as flags too, joined by `=`."""
    verb = command.commands.get(argv[0]) if argv else None
    if verb is None or not any(each.name == "overrides" for each in verb.params):
        return argv
    own = [name for each in verb.params for name in each.opts]
    return take_trial_arguments(argv, own, tell=_note)


def _note(sentence: str) -> None:
    say(f"note: {sentence}")


@app.callback(invoke_without_command=True)
def burnish(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Fine-tune transformers on text and train models on tables, from one config file."""
    if version:
        print(f"burnish {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def _refuse(text: str, *, code: int) -> int:
    is_coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    head = typer.style("error:", fg="red", bold=True) if is_coloured else "error:"
    say(f"error: {text}", head=head)
    return code


def _is_about_output(error: OSError) -> bool:
    """Judge whether it was the output that could not be written: of a file, the error would say the name."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EPIPE, errno.EIO)


def _excuse_output(error: OSError) -> int:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # or Python tries again to write the rest when it ends
    if error.errno == errno.EPIPE:
        return 1  # whoever read the output, like `head`, has had enough
    return _refuse(
        f"standard output could not be written: {error.strerror}; the command has finished, and only its output "
        "is lost",
        code=1,
    )


def _explain_usage(refusal: Any, argv: Sequence[str]) -> str:
    is_unknown_flag = hasattr(refusal, "possibilities") and getattr(refusal, "ctx", None) is not None
    message = explain_flags(refusal, argv) if is_unknown_flag else str(refusal.format_message())
    for words in ("Invalid value for ", "Invalid value: ", "Value error, "):
        message = message.replace(words, "")
    command = refusal.ctx.command_path if getattr(refusal, "ctx", None) else "burnish"
    return f"{message[:1].lower()}{message[1:]}\n  see `{command} --help`"


def _confess(error: Exception) -> int:
    from tempfile import NamedTemporaryFile
    from traceback import format_exception, print_exception

    if os.environ.get("BURNISH_DEBUG") == "1":
        print_exception(error)
    with NamedTemporaryFile("w", encoding="utf-8", prefix="burnish-bug-", suffix=".txt", delete=False) as file:
        file.write(f"burnish {__version__}, python {sys.version}\narguments: {mask_words(sys.argv[1:])}\n\n")
        file.writelines(format_exception(error))
    what = " ".join(f"{type(error).__name__}: {error}".split())
    say(f"this is a bug in burnish: {what}; the traceback is in {file.name}")
    return BUG
