"""`burnish deploy`: models behind endpoints of Vertex AI."""

from typing import Annotated

import typer

from burnish.cli.evaluate import NOT_GOOD_ENOUGH
from burnish.cli.options import Champions, LaunchOption, Required, Run, Sure, TrustCode, argument, option
from burnish.cli.predict import parse_rows
from burnish.cli.verb import Reply, group, verb
from burnish.cli.wrapping import Verbatim, say

Endpoint = Annotated[str, argument("ENDPOINT", "An endpoint's number or whole name.")]


@verb("up", short_help="Deploy a run that is good enough.")
def up(
    run: Run,
    *,
    require: Required = None,
    no_worse_than: Champions = None,
    endpoint: Annotated[
        str | None, option("--endpoint ENDPOINT", "Deploy behind this one; default: a new one.")
    ] = None,
    replicas: Annotated[str, option("--replicas N[:M]", "How many machines, or at least and at most.")] = "1",
    traffic: Annotated[int, option("--traffic PERCENT", "Its share of the requests.", min=0, max=100)] = 100,
    launch_options: LaunchOption = None,
    is_dry_run: Annotated[bool, option("--dry-run", "Print the requests as JSON; nothing is sent.")] = False,
    is_sure: Sure = False,
    trust_code: TrustCode = False,
) -> Reply:
    """Upload the model of a run and deploy it behind an endpoint, if it passes `burnish check`."""
    from burnish.commands.elsewhere import deploy as command
    from burnish.commands.gate import check

    place = command.read_place(launch_options or ())
    if is_dry_run:
        found = command.preview(run, place, replicas=replicas, traffic=traffic, trust_code=trust_code)
        return Reply(found, [_json(found)])
    gate = check(run, require=require or (), no_worse_than=no_worse_than or (), trust_code=trust_code)
    lines = [f"{'✓' if each.is_met else '✗'} {each.sentence}" for each in gate.findings]
    if not gate.is_passed:
        return Reply(gate, [*lines, "not deployed"], code=NOT_GOOD_ENOUGH)
    if not is_sure:
        typer.confirm(f"an endpoint for {run} costs money until it is taken down; deploy it?", abort=True)
    name = command.deploy(
        run, place, replicas=replicas, traffic=traffic, endpoint=endpoint, trust_code=trust_code, tell=say
    )
    return Reply({"endpoint": name}, [*lines, f"deployed; `burnish deploy down {name}` takes it down", name])


@verb("predict")
def predict(
    endpoint: Endpoint,
    *,
    rows: Annotated[list[str], option("--row JSON", "A row, like '{\"fare\": 12.5}'; repeatable.")],
    launch_options: LaunchOption = None,
) -> Reply:
    """Ask an endpoint for predictions."""
    from burnish.commands.elsewhere.deploy import read_place
    from burnish.launch.vertex.deploy import predict as command

    found = command(read_place(launch_options or ()), endpoint, parse_rows(rows))
    return Reply({"predictions": found}, [_json(each) for each in found])


@verb("down", short_help="Undeploy and delete an endpoint and its models.")
def down(endpoint: Endpoint, *, launch_options: LaunchOption = None, is_sure: Sure = False) -> Reply:
    """Undeploy the models of an endpoint, and delete them and it."""
    from burnish.commands.elsewhere.deploy import read_place
    from burnish.launch.vertex.deploy import take_down

    if not is_sure:
        typer.confirm(f"take down {endpoint} and delete its models?", abort=True)
    take_down(read_place(launch_options or ()), endpoint, tell=say)
    return Reply({"endpoint": endpoint}, [f"{endpoint} is gone"])


app = group("deploy", "Deploy models behind endpoints of Vertex AI.", up, predict, down)


def _json(value: object) -> str:
    import json

    return Verbatim(json.dumps(value, indent=2, ensure_ascii=False))
