"""Models behind endpoints of Vertex AI: the requests, and the calls that send them, wait and take everything away."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from burnish.errors import LaunchError
from burnish.extras import require
from burnish.launch.transfer import remove_remote
from burnish.launch.vertex.client import connect, explained

if TYPE_CHECKING:
    from burnish.launch.vertex.launcher import Vertex

_PORT = 8080
_ARTIFACTS = "/burnish/models/"
_PATIENCE_SECONDS = 1800.0
_WHY = "to deploy on Vertex AI"


def render_model(launcher: "Vertex", name: str, *, runs_code: bool = False) -> dict[str, Any]:
    """Write a model whose image serves the artifact at its address; its own code, only if who deploys it trusts it."""
    command = ["burnish", "serve", "--host", "0.0.0.0"]  # noqa: S104  # inside of its container
    return {
        "displayName": name,
        "artifactUri": artifact_address(launcher, name),
        "containerSpec": {
            "imageUri": launcher.image or "<image>",
            "command": [*command, "--trust-code"] if runs_code else command,
            "ports": [{"containerPort": _PORT}],
            "healthRoute": "/health",
            "predictRoute": "/predict",
        },
        "labels": {"burnish": "model", **launcher.labels},
    }


def render_deployment(
    launcher: "Vertex", model: str, *, replicas: tuple[int, int], traffic: Mapping[str, int]
) -> dict[str, Any]:
    """Write how a model is deployed: the machines, how many at least and at most, and the shares of the requests."""
    found = launcher.hardware
    gpus = {"acceleratorType": found.accelerator, "acceleratorCount": found.accelerators}
    resources = {
        "machineSpec": {"machineType": found.type, **(gpus if found.accelerator else {})},
        "minReplicaCount": replicas[0],
        "maxReplicaCount": replicas[1],
        "spot": launcher.spot,
    }
    account = {"serviceAccount": launcher.service_account} if launcher.service_account else {}
    return {
        "deployedModel": {"model": model, "dedicatedResources": resources, **account},
        "trafficSplit": dict(traffic),
    }


def share_traffic(others: Mapping[str, int], *, traffic: int) -> dict[str, int]:
    """Give the new model, `0`, its share and the others the rest, in proportion: the service takes no sum but 100."""
    left, total = 100 - traffic, sum(others.values())
    if left and not total:
        raise LaunchError(f"--traffic {traffic} leaves {left} for other models, and the endpoint has none; use 100")
    shares = {each: left * share // total for each, share in others.items()} if total else {}
    most = max(others, key=others.__getitem__, default="")
    shares |= {most: left - sum(share for each, share in shares.items() if each != most)} if shares else {}
    return {"0": traffic, **shares}


def artifact_address(launcher: "Vertex", name: str) -> str:
    """Name the folder of a deployed artifact."""
    return f"{launcher.bucket or '<bucket>'}{_ARTIFACTS}{name}"


def deploy(
    launcher: "Vertex",
    name: str,
    *,
    replicas: tuple[int, int],
    traffic: int,
    endpoint: str | None,
    runs_code: bool,
    tell: Callable[[str], None],
) -> str:
    """Upload a model whose artifact is in its place, make an endpoint unless there is one, deploy; returns its name."""
    api, models = connect(launcher, "Model")
    _, endpoints = connect(launcher, "Endpoint")
    with explained(f"{name} could not be deployed in {launcher.parent}"):
        others = endpoints.get_endpoint(name=resource(launcher, endpoint)).traffic_split if endpoint else {}
        shares = share_traffic(dict(others), traffic=traffic)
        value = api.Model(_message(api.Model, render_model(launcher, name, runs_code=runs_code)))
        model = models.upload_model(parent=launcher.parent, model=value).result(_PATIENCE_SECONDS).model
        tell(f"model {model}")
        if endpoint is None:
            made = endpoints.create_endpoint(parent=launcher.parent, endpoint=api.Endpoint(display_name=name))
            endpoint = str(made.result(_PATIENCE_SECONDS).name)
        place = resource(launcher, endpoint)
        tell(f"endpoint {place}")
        rendered = render_deployment(launcher, model, replicas=replicas, traffic=shares)
        request = api.DeployModelRequest(_message(api.DeployModelRequest, {"endpoint": place, **rendered}))
        endpoints.deploy_model(request=request).result(_PATIENCE_SECONDS)
    return place


def predict(launcher: "Vertex", endpoint: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Ask an endpoint."""
    json_format = require("google.protobuf.json_format", extra="vertex", why=_WHY)
    value = require("google.protobuf.struct_pb2", extra="vertex", why=_WHY).Value
    _, client = connect(launcher, "Prediction")
    instances = [json_format.ParseDict(dict(row), value()) for row in rows]
    with explained(f"{endpoint} did not answer"):
        answer = client.predict(endpoint=resource(launcher, endpoint), instances=instances)
    return [json_format.MessageToDict(each) for each in type(answer).pb(answer).predictions]


def take_down(launcher: "Vertex", endpoint: str, *, tell: Callable[[str], None]) -> None:
    """Undeploy all models of an endpoint, and delete it, them, and the artifacts that were put on a bucket for them."""
    _, models = connect(launcher, "Model")
    _, endpoints = connect(launcher, "Endpoint")
    place = resource(launcher, endpoint)
    with explained(f"{place} could not be taken down"):
        deployed = list(endpoints.get_endpoint(name=place).deployed_models)
        for each in deployed:
            endpoints.undeploy_model(endpoint=place, deployed_model_id=each.id).result(_PATIENCE_SECONDS)
            tell(f"undeployed {each.model}")
        endpoints.delete_endpoint(name=place).result(_PATIENCE_SECONDS)
        tell(f"deleted {place}")
        for each in deployed:
            artifact = str(models.get_model(name=each.model).artifact_uri)
            models.delete_model(name=each.model).result(_PATIENCE_SECONDS)
            tell(f"deleted {each.model}")
            if _ARTIFACTS in artifact:  # of those that are not ours, nobody knows who else needs them
                remove_remote(artifact)
                tell(f"deleted {artifact}")


def resource(launcher: "Vertex", endpoint: str) -> str:
    """Write an endpoint's whole name; a number alone is one of this project and region."""
    if endpoint.isdecimal():
        return f"{launcher.parent}/endpoints/{endpoint}"
    if "/endpoints/" not in endpoint:
        raise LaunchError(f"{endpoint!r} is no endpoint; give its number, or projects/…/locations/…/endpoints/NUMBER")
    return endpoint


def _message(kind: Any, values: Mapping[str, Any]) -> Any:
    json_format = require("google.protobuf.json_format", extra="vertex", why=_WHY)
    return json_format.ParseDict(values, kind.pb(kind()))
