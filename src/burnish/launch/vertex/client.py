"""Talks to Vertex AI through Google's client over REST; what goes wrong comes back as a sentence."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from burnish.errors import LaunchError
from burnish.extras import require
from burnish.spec.launcher import JobState, JobStatus, Submitted, reveal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burnish.launch.vertex.launcher import Vertex

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM"
"""Where the service is, if not at Google's own address; the same variable as that of gcloud."""
FINAL_CODES = (400, 403, 404)
"""Answers that will not change by asking again."""
_CONSOLE = "https://console.cloud.google.com/vertex-ai"
_KINDS = {"customJobs": "CustomJob", "hyperparameterTuningJobs": "HyperparameterTuningJob"}
_METHODS = {"customJobs": "custom_job", "hyperparameterTuningJobs": "hyperparameter_tuning_job"}
_STATES: "Mapping[str, JobState]" = {
    "JOB_STATE_SUCCEEDED": "finished",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_EXPIRED": "failed",
    "JOB_STATE_CANCELLED": "stopped",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "finished",
    "JOB_STATE_RUNNING": "running",
    "JOB_STATE_CANCELLING": "running",
    "JOB_STATE_UPDATING": "running",
}


def submit(launcher: "Vertex", request: dict[str, Any]) -> Submitted:
    """Create a job or a search."""
    kind = request["url"].rpartition("/")[2]
    api, client = connect(launcher, "Job")
    value = getattr(api, _KINDS[kind]).from_json(json.dumps(reveal(request["body"])))
    with explained(f"the job was not accepted in {launcher.parent}"):
        created = getattr(client, f"create_{_METHODS[kind]}")(parent=launcher.parent, **{_METHODS[kind]: value})
    number = created.name.rpartition("/")[2]
    project = launcher.parent.split("/")[1]
    link = f"{_CONSOLE}/locations/{launcher.region}/training/{number}?project={project}"
    return Submitted(created.name, link)


def read_status(launcher: "Vertex", id: str) -> JobStatus:
    """Ask for the state of a job or a search."""
    _, client = connect(launcher, "Job")
    with explained(f"{id} could not be asked for"):
        found = getattr(client, f"get_{_method_of(id)}")(name=id)
    return JobStatus(_STATES.get(found.state.name, "queued"), str(found.error.message or ""))


def cancel(launcher: "Vertex", id: str) -> None:
    """Ask the service to end a job."""
    _, client = connect(launcher, "Job")
    with explained(f"{id} could not be stopped"):
        getattr(client, f"cancel_{_method_of(id)}")(name=id)


def connect(launcher: "Vertex", service: str) -> tuple[Any, Any]:
    """Make the client of one service, such as Job, Model, Endpoint or Prediction; returns the library and it."""
    api = require("google.cloud.aiplatform_v1", extra="vertex", why="to run on Vertex AI")
    endpoint = os.environ.get(ENDPOINT, "").rstrip("/") or f"{launcher.region}-aiplatform.googleapis.com"
    make = getattr(api, f"{service}ServiceClient")
    options = {"api_endpoint": endpoint}
    return api, make(transport="rest", credentials=find_credentials(endpoint), client_options=options)


def find_credentials(endpoint: str) -> Any:
    """Find the credentials of this user; a server that is asked without TLS is told none."""
    auth = require("google.auth", extra="vertex", why="to run on Vertex AI")
    if endpoint.startswith("http://"):
        return no_credentials()
    try:
        credentials, _ = auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    except auth.exceptions.GoogleAuthError as error:
        raise LaunchError(
            "no Google credentials were found; run `gcloud auth application-default login`, or set "
            "GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"
        ) from error
    return credentials


def no_credentials() -> Any:
    """Give what is told to a server that has no business with this user's."""
    return require("google.auth.credentials", extra="vertex", why="to run on Vertex AI").AnonymousCredentials()


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of the client into a sentence that begins with what was asked."""
    core = require("google.api_core.exceptions", extra="vertex", why="to run on Vertex AI")
    auth = require("google.auth.exceptions", extra="vertex", why="to run on Vertex AI")
    try:
        yield
    except core.GoogleAPICallError as error:
        is_final = error.code in FINAL_CODES
        is_refusal = 400 <= int(error.code or 500) < 500
        said = error.message or type(error).__name__
        raise LaunchError(f"{what}: {said}", is_final=is_final, is_refusal=is_refusal) from error
    except auth.GoogleAuthError as error:
        first = str(error.args[0] if error.args else type(error).__name__).partition("\n")[0]
        raise LaunchError(f"{what}: {first}; `gcloud auth application-default login` logs in again") from error
    except (core.RetryError, OSError) as error:
        first = str(error).strip().partition("\n")[0]
        raise LaunchError(f"{what}: {first or type(error).__name__}", is_refusal=False) from error


def _method_of(id: str) -> str:
    return _METHODS.get(id.split("/")[-2], "custom_job")
