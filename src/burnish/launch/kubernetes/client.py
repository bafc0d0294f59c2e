"""Talks to a cluster through the official client; what goes wrong comes back as a sentence."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from burnish.errors import LaunchError
from burnish.extras import require
from burnish.launch.cluster import look
from burnish.launch.kubernetes.manifest import CONTAINER, PREEMPTED, write_objects
from burnish.launch.limits import refuse_copies
from burnish.launch.transfer import try_folder
from burnish.spec.launcher import Check, JobSpec, JobStatus, LogLine, Submitted, find_unset, reveal

if TYPE_CHECKING:
    from burnish.launch.kubernetes.launcher import Kubernetes

_SECONDS = 30.0
_LATE_SECONDS = 60
"""Logs are asked for since a time of this machine, whose clock may be another's; and pods are read one by one."""
_NO_TIME = "1970-01-01T00:00:00"
_TAKEN, _GONE = 409, 404
_STOPPED = "burnish/stopped"
"""An annotation of Jobs that were stopped from here: a queue such as Kueue suspends Jobs too, which then wait."""
_QUEUES = "kueue.x-k8s.io/"
_FINAL = (400, 403, _GONE)
"""Answers that will not change by asking again."""


def check_job(launcher: "Kubernetes", job: JobSpec) -> Iterator[Check]:
    """Look at everything, also after something is missing; the cluster itself judges the Job and keeps nothing."""
    unset = find_unset([launcher.render(job), launcher.root(job)])
    for name in unset:
        yield Check(name, False, f"launch.{name} is not set; give launch.{name}=…")
    yield from refuse_copies(launcher.folder, launcher.nodes, job)
    yield look("cluster", lambda: _try_job(launcher, job))
    if "folder" not in unset:
        yield look("folder", lambda: try_folder(launcher.folder or ""))


def _try_job(launcher: "Kubernetes", job: JobSpec) -> str:
    kube, api = _connect(launcher)
    with _explained(kube, f"namespace {launcher.namespace} does not take the job"):
        body = write_objects(launcher, job, attempt=1)[0]
        kube.client.BatchV1Api(api).create_namespaced_job(
            launcher.namespace, body, dry_run="All", _request_timeout=_SECONDS
        )
    return f"{api.configuration.host} takes the job in namespace {launcher.namespace}"


def describe_cost(launcher: "Kubernetes") -> Iterator[str]:
    """Say what the pods ask for, and how much of its quota the namespace has used; a cluster knows no prices."""
    gpus = f"{launcher.gpus} {launcher.gpu_resource}" if launcher.gpus else None
    cpu, memory = launcher.cpu and f"{launcher.cpu} CPU", launcher.memory and f"{launcher.memory} of memory"
    asked = ", ".join(filter(None, [cpu, memory, gpus])) or "what the namespace gives by default"
    pods = f"{launcher.most_nodes} pods" if launcher.most_nodes > 1 else "1 pod"
    limit = f" for {launcher.timeout} at most" if launcher.timeout else ", with no limit of time (launch.timeout)"
    yield f"it takes {pods} with {asked}{limit}; the cluster knows no price"
    kube, api = _connect(launcher)
    try:
        with _explained(kube, f"the quota of namespace {launcher.namespace} could not be read"):
            found = kube.client.CoreV1Api(api).list_namespaced_resource_quota(
                launcher.namespace, _request_timeout=_SECONDS
            )
    except LaunchError as error:
        yield str(error)
        return
    for quota in found.items:
        used, hard = quota.status.used or {}, quota.status.hard or {}
        shares = [f"{used.get(name, '0')} of {most} {name}" for name, most in sorted(hard.items())]
        yield f"quota {quota.metadata.name} of namespace {launcher.namespace}: {', '.join(shares)} in use"


def submit(launcher: "Kubernetes", job: JobSpec) -> Submitted:
    """Create the Job, and what belongs to it; a later attempt is another Job."""
    kube, api = _connect(launcher)
    batch, core = kube.client.BatchV1Api(api), kube.client.CoreV1Api(api)
    space = launcher.namespace
    with _explained(kube, f"the job was not accepted in namespace {space}"):
        created, others = _create_first_free(launcher, job, batch)
        name = created.metadata.name
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": created.metadata.uid}
        try:
            for each in others:
                body = {**each, "metadata": {**each["metadata"], "ownerReferences": [owner]}}
                getattr(core, f"create_namespaced_{each['kind'].lower()}")(space, body, _request_timeout=_SECONDS)
        except Exception:
            batch.delete_namespaced_job(name, space, propagation_policy="Background", _request_timeout=_SECONDS)
            raise
    return Submitted(f"{space}/{name}", f"kubectl --namespace {space} get pods --selector {_selector(name)}")


def _create_first_free(launcher: "Kubernetes", job: JobSpec, batch: Any) -> tuple[Any, list[dict[str, Any]]]:
    for attempt in count(1):
        first, *others = reveal(write_objects(launcher, job, attempt=attempt))
        try:
            return batch.create_namespaced_job(launcher.namespace, first, _request_timeout=_SECONDS), others
        except Exception as error:  # the client's own, which is known once it is imported
            if getattr(error, "status", None) != _TAKEN:
                raise
    raise AssertionError("numbers do not end")


def read_status(launcher: "Kubernetes", id: str) -> JobStatus:
    """Ask how a Job stands, and what keeps its pods from starting."""
    kube, api = _connect(launcher)
    space, _, name = id.partition("/")
    with _explained(kube, f"job {id} could not be asked for"):
        try:
            found = kube.client.BatchV1Api(api).read_namespaced_job(name, space, _request_timeout=_SECONDS)
        except kube.client.ApiException as error:
            if error.status != _GONE:
                raise
            return JobStatus("gone", f"{id} was deleted, as the cluster does some time after the end of a job")
        pods = _pods(kube, api, id)
    conditions = {each.type: each.message or "" for each in found.status.conditions or () if each.status == "True"}
    if "Complete" in conditions:
        return JobStatus("finished")
    if "Failed" in conditions:
        is_over = any(each.reason == "DeadlineExceeded" for each in found.status.conditions)
        was_preempted = is_over or any(PREEMPTED in _exit_codes(pod) for pod in pods)
        return JobStatus("stopped" if was_preempted else "failed", conditions["Failed"])
    if found.spec.suspend and _waits_in_queue(found):
        return JobStatus("queued", "its queue has not admitted it, or has taken it back")
    if found.spec.suspend:  # its pods go when they have saved
        is_over = "Suspended" in conditions and not any(pod.status.phase == "Running" for pod in pods)
        return JobStatus("stopped") if is_over else JobStatus("running", "it is being stopped")
    if any(pod.status.phase != "Pending" for pod in pods):
        return JobStatus("running")
    reasons = [*filter(None, map(_hindrance, pods))]
    return JobStatus("queued", "; ".join(reasons) if pods else _last_warning(kube, api, id))


def _waits_in_queue(job: Any) -> bool:
    """Tell whether a queue suspended a job, and not someone who stopped it."""
    is_queued = any(name.startswith(_QUEUES) for name in job.metadata.labels or ())
    return is_queued and _STOPPED not in (job.metadata.annotations or {})


def _last_warning(kube: Any, api: Any, id: str) -> str:
    """Say why no pod could be made, such as a quota or the pod security of the namespace; it is in no pod."""
    space, _, name = id.partition("/")
    selector = f"involvedObject.kind=Job,involvedObject.name={name},type=Warning"
    try:
        with _explained(kube, f"the events of job {id} could not be read"):
            found = kube.client.CoreV1Api(api).list_namespaced_event(
                space, field_selector=selector, _request_timeout=_SECONDS
            )
    except LaunchError:
        return ""  # not everyone may read events, and the state is known without
    newest = sorted(found.items, key=lambda event: str(event.last_timestamp or event.event_time or ""))
    said = [f"{each.reason}: {each.message}" for each in newest if each.message]
    return said[-1] if said else ""


def _exit_codes(pod: Any) -> list[int]:
    states = [each.state.terminated for each in pod.status.container_statuses or () if each.name == CONTAINER]
    return [state.exit_code for state in states if state is not None]


def _hindrance(pod: Any) -> str:
    """Say why a pod does not start: no node fits, or its image cannot be fetched."""
    waiting = [each.state.waiting for each in pod.status.container_statuses or ()]
    reasons = [f"{each.reason} {each.message or ''}" for each in waiting if each is not None and each.reason]
    conditions = pod.status.conditions or ()
    reasons += [f"{each.reason} {each.message or ''}" for each in conditions if each.status == "False" and each.reason]
    return f"{pod.metadata.name}: {reasons[0].strip()}" if reasons else ""


def read_logs(launcher: "Kubernetes", id: str, *, after: str) -> Iterator[LogLine]:
    """Read what the pods of a Job have printed since a little before a line; one of several nodes says whose it is."""
    kube, api = _connect(launcher)
    core, options = kube.client.CoreV1Api(api), {}
    if after:
        since = datetime.now(UTC) - datetime.fromisoformat(f"{after[:19]}+00:00")
        options["since_seconds"] = max(1, int(since.total_seconds()) + _LATE_SECONDS)
    lines: list[LogLine] = []
    with _explained(kube, f"the logs of job {id} could not be read"):
        for pod in _pods(kube, api, id):
            if pod.status.phase == "Pending":
                continue
            index = (pod.metadata.annotations or {}).get("batch.kubernetes.io/job-completion-index", "0")
            mark = f"[{index}] " if launcher.most_nodes > 1 else ""
            try:
                text = core.read_namespaced_pod_log(
                    *(pod.metadata.name, pod.metadata.namespace),
                    container=CONTAINER, timestamps=True, _request_timeout=_SECONDS, **options,
                )  # fmt: skip
            except kube.client.ApiException as error:
                if error.status != _GONE:
                    raise
                continue  # it was taken away since
            lines += (_line(each, pod.metadata.name, mark) for each in text.splitlines())
    yield from sorted(lines, key=lambda line: line.key)


def _line(text: str, pod: str, mark: str) -> LogLine:
    stamp, _, words = text.partition(" ")
    try:
        moment = datetime.fromisoformat(stamp).astimezone(UTC)  # a node writes the time of its own zone
    except ValueError:  # what a node says of a log that it cannot read
        return LogLine(f"{_NO_TIME} {pod} {text}", f"{mark}{text}")
    return LogLine(f"{moment:%Y-%m-%dT%H:%M:%S}{stamp[19:29]} {pod}", f"{mark}{words}")


def cancel(launcher: "Kubernetes", id: str) -> None:
    """Suspend a Job: its pods are told to end, and what it came to can still be asked for."""
    kube, api = _connect(launcher)
    space, _, name = id.partition("/")
    change = {"metadata": {"annotations": {_STOPPED: "true"}}, "spec": {"suspend": True}}
    with _explained(kube, f"job {id} could not be stopped"):
        kube.client.BatchV1Api(api).patch_namespaced_job(name, space, change, _request_timeout=_SECONDS)


def _pods(kube: Any, api: Any, id: str) -> list[Any]:
    space, _, name = id.partition("/")
    found = kube.client.CoreV1Api(api).list_namespaced_pod(
        space, label_selector=_selector(name), _request_timeout=_SECONDS
    )
    return list(found.items)


def _selector(name: str) -> str:
    return f"batch.kubernetes.io/job-name={name}"


def _connect(launcher: "Kubernetes") -> tuple[Any, Any]:
    """Find the cluster as kubectl does; inside of a cluster, that one."""
    kube = require("kubernetes", extra="kubernetes", why="to run on Kubernetes")
    found = kube.client.Configuration()
    file = os.environ.get("KUBECONFIG") or None
    try:
        kube.config.load_kube_config(file, launcher.context, client_configuration=found, persist_config=False)
    except kube.config.ConfigException as error:
        try:
            kube.config.load_incluster_config(client_configuration=found)
        except kube.config.ConfigException:
            hint = "set KUBECONFIG or launch.context; `kubectl config get-contexts` lists what there is"
            raise LaunchError(f"no cluster is configured: {error}; {hint}") from error
    found.retries = 0  # who waits for a cluster that is away asks again, and says so
    return kube, kube.client.ApiClient(found)


@contextmanager
def _explained(kube: Any, what: str) -> Iterator[None]:
    """Turn an error of the client into a sentence that begins with what was asked."""
    network = require("urllib3.exceptions", extra="kubernetes", why="to run on Kubernetes")
    try:
        yield
    except kube.client.ApiException as error:
        said = _message(error.body) or f"{error.status} {error.reason}"
        is_refusal = 400 <= (error.status or 500) < 500
        raise LaunchError(f"{what}: {said}", is_final=error.status in _FINAL, is_refusal=is_refusal) from error
    except ValidationError as error:  # the client knows the schemas
        wrong = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        raise LaunchError(f"{what}: {'; '.join(wrong)}") from error
    except (network.HTTPError, OSError) as error:
        said = str(error).partition("\n")[0] or type(error).__name__
        raise LaunchError(f"{what}: {said}", is_refusal=False) from error


def _message(body: str | bytes | None) -> str:
    try:
        return str(json.loads(body or "{}").get("message", ""))
    except (ValueError, AttributeError):
        return ""
