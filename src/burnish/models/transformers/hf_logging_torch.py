"""Keeps `transformers` from writing to the console, and turns its refusals into sentences."""

import logging as levels
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import StrictDataclassError
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from safetensors import SafetensorError
from transformers.utils import logging

from burnish.models.transformers.locate_model import refusal


@contextmanager
def quiet() -> Iterator[None]:
    """Silence load reports and progress bars, and leave both as they were."""
    verbosity, bars, hub_bars = logging.get_verbosity(), logging.is_progress_bar_enabled(), are_progress_bars_disabled()
    logging.set_verbosity(levels.ERROR)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # as above
        if not hub_bars:
            enable_progress_bars()


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Word whatever `transformers` refuses as one sentence that begins with `what`; keep it quiet meanwhile."""
    try:
        with quiet():
            yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError, StrictDataclassError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise refusal(f"{what}: {textwrap.shorten(said, 300)}") from error
