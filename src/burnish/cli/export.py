"""`burnish export` and `push`: another form of a model, with what it costs and keeps; a model on a hub."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from burnish.cli.figures import figure
from burnish.cli.options import Target, TrustCode, argument, find_target, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Reply, verb

if TYPE_CHECKING:
    from burnish.artifact.variants import EngineSpeed, TaskProof
    from burnish.commands.export import Exports


@verb("export", short_help="Write a model as ONNX, and prove it.")
def export(
    target: Target,
    *,
    to: Annotated[Literal["onnx"], option("--to FORM", "The form to write.")] = "onnx",
    is_int8: Annotated[bool, option("--int8", "Also write 8-bit weights: smaller, faster, less exact.")] = False,
    data: Annotated[str | None, option("--in FILE", "Prove it on this labelled file, not on held-out rows.")] = None,
    tolerance: Annotated[
        float, option("--tolerance SHARE", "How much worse a score may be for `--engine auto`.", min=0.0)
    ] = 0.01,
    trust_code: TrustCode = False,
) -> Reply:
    """Write the model of an artifact in another form, and prove on held-out rows that it answers alike."""
    from burnish.commands.export import export as command

    found = command(find_target(target), to=to, int8=is_int8, data=data, tolerance=tolerance, trust_code=trust_code)
    return Reply(found, _tabulate(found, target), notes=found.notes)


@verb("push", short_help="Upload a model and its card to a hub.")
def push(
    target: Target,
    repository: Annotated[str, argument("ORG/NAME", "The repository; it is created, private, if it is not there.")],
    *,
    is_public: Annotated[bool, option("--public", "Let everybody read a repository that is created.")] = False,
    revision: Annotated[str | None, option("--revision NAME", "The branch to write to; default: main.")] = None,
) -> Reply:
    """Upload an artifact's model, as transformers reads it, with its model card, to the Hugging Face hub."""
    from burnish.commands.export import push as command

    address = command(find_target(target), repository, is_public=is_public, revision=revision)
    return Reply({"repository": repository, "commit": address}, [f"pushed to {repository}: {address}"])


def _tabulate(found: "Exports", target: str) -> Iterator[str | TextTable]:
    first = found.variants[0]
    for name in first.tasks:
        rows = [("torch", _score(first.tasks[name], is_torch=True), "", "", *_costs(first.torch))]
        rows += [
            (
                each.engine,
                _score(each.tasks[name]),
                _agreement(each.tasks[name]),
                f"{each.tasks[name].max_error:.1e}",
                *_costs(each.own),
            )
            for each in found.variants
        ]
        score = first.tasks[name].score or "score"
        yield TextTable(
            ("engine", score, "same answer (95%)", "max error", "one row", "rows/s", "size"),
            tuple(rows),
            title=f"{f'{name}, ' if name else ''}{first.tasks[name].rows:,} rows of {found.split}",
        )
    for each in found.variants:
        if not each.is_within:
            yield f"{each.engine} lost more than the tolerance, so `--engine auto` does not choose it"
    yield f"measured on {found.processor}; `--engine auto` takes {found.chosen} here"
    yield f"try next\n  burnish predict {target} --engine {found.chosen} …"


def _score(proof: "TaskProof", *, is_torch: bool = False) -> str:
    value = proof.torch_value if is_torch else proof.value
    return "" if value is None else figure(value)


def _agreement(proof: "TaskProof") -> str:
    if proof.agreement is None or proof.agreement_low is None or proof.agreement_high is None:
        return ""
    return f"{100 * proof.agreement:.2f}% ({100 * proof.agreement_low:.2f} to {100 * proof.agreement_high:.2f})"


def _costs(speed: "EngineSpeed") -> tuple[str, str, str]:
    return (
        f"{1000 * speed.one_row_seconds:.2f} ms",
        f"{speed.rows_per_second:,.0f}",
        f"{speed.num_bytes / 1e6:,.1f} MB",
    )
