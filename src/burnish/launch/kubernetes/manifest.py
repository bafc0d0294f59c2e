"""Writes the objects of a job: an Indexed Job, a Service for several pods, a Secret with values of variables."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from burnish.errors import ConfigError, Problem
from burnish.launch.limits import timeout_seconds
from burnish.launch.plan import COMES_BACK, NODE_RANK, NODES, PLAN, RENDEZVOUS, WORKER
from burnish.spec.launcher import JobSpec

if TYPE_CHECKING:
    from burnish.launch.kubernetes.launcher import Kubernetes

CONTAINER = "burnish"
PREEMPTED = 75
_PORT = 29400
_LONGEST_NAME = 54
"""A pod's host name is that of the job with its attempt and index, and has at most 63 letters."""
_STAMP = len("-20261118-120000-1a2b")
_ENDED_BY_SIGNALS = [134, 135, 136, 137, 139, 143]
_SECONDS_TO_SAVE = 600
_GROUP = 1000
"""The user and group of our image, which volumes are made writable for."""
_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_TOLERATION = re.compile(r"([^=:]+)(?:=([^:]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?")


def write_objects(launcher: "Kubernetes", job: JobSpec, *, attempt: int) -> list[dict[str, Any]]:
    """Write what a job is made of, the Job itself first: it owns the others, which go when it goes."""
    name = object_name(job.name, attempt=attempt)
    labels = {"app.kubernetes.io/name": "burnish", **launcher.labels}
    metadata = {"name": name, "namespace": launcher.namespace, "labels": labels}
    selector = {"batch.kubernetes.io/job-name": name}
    # Pods find one another before they are ready: they are only once all have met.
    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": [{"port": _PORT}]}
    objects = [{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": _job(launcher, job, metadata)}]
    if launcher.most_nodes > 1:
        objects.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
    if launcher.env:
        values = {each: value for each, value in launcher.env.items() if value is not None}
        objects.append({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})
    return objects


def object_name(name: str, *, attempt: int) -> str:
    """Shorten the name of a job to what its pods' host names have room for; a later attempt has its number."""
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - _STAMP].rstrip('-')}{name[-_STAMP:]}"
    return short if attempt == 1 else f"{short}-{attempt}"


def read_volume(source: str) -> dict[str, Any]:
    """Read where a volume comes from, as `kind:what`."""
    kind, _, what = source.partition(":")
    if kind == "pvc" and what:
        return {"persistentVolumeClaim": {"claimName": what}}
    if kind == "host" and what.startswith("/"):
        return {"hostPath": {"path": what}}
    if kind == "empty":
        return {"emptyDir": {"sizeLimit": what} if what else {}}
    raise ValueError(f"must be pvc:NAME, host:/PATH, empty or empty:SIZE, got {source!r}")


def read_toleration(text: str) -> dict[str, Any]:
    """Read a toleration as `kubectl taint` writes taints."""
    found = _TOLERATION.fullmatch(text)
    if found is None:
        raise ValueError(
            "must be KEY, KEY:EFFECT or KEY=VALUE:EFFECT with NoSchedule, PreferNoSchedule or NoExecute as the effect"
        )
    key, value, effect = found.groups()
    matched = {"operator": "Exists"} if value is None else {"operator": "Equal", "value": value}
    return {"key": key, **matched, **({"effect": effect} if effect else {})}


def _job(launcher: "Kubernetes", job: JobSpec, metadata: Mapping[str, Any]) -> dict[str, Any]:
    most = launcher.most_nodes
    rules = [
        # A node that is drained or taken away is nobody's fault, and is not counted.
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        # The worker decides what is tried again: only one that was killed, or asked to make room, comes back.
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": CONTAINER, "operator": "NotIn", "values": _ENDED_BY_SIGNALS},
        },
    ]
    template = {"metadata": {"labels": metadata["labels"]}, "spec": _pod(launcher, job, metadata["name"])}
    return {
        "completions": most,
        "parallelism": most,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": launcher.max_restarts,
        "podFailurePolicy": {"rules": rules},
        **({"activeDeadlineSeconds": timeout_seconds(launcher.timeout)} if launcher.timeout else {}),
        **({"ttlSecondsAfterFinished": timeout_seconds(launcher.kept_for)} if launcher.kept_for else {}),
        "template": _lay_over(template, _read_template(launcher.pod_template)),
    }


def _pod(launcher: "Kubernetes", job: JobSpec, name: str) -> dict[str, Any]:
    memory = {"medium": "Memory", "sizeLimit": launcher.shared_memory}
    shared = {"/dev/shm": {"emptyDir": memory}} if launcher.shared_memory else {}  # noqa: S108  # of the pod
    mounted = {**{path: read_volume(source) for path, source in launcher.volumes.items()}, **shared}
    mounts = [{"name": f"volume-{number}", "mountPath": path} for number, path in enumerate(mounted)]
    volumes = [{"name": f"volume-{number}", **source} for number, source in enumerate(mounted.values())]
    optional = {
        "subdomain": name if launcher.most_nodes > 1 else None,
        "serviceAccountName": launcher.service_account,
        "priorityClassName": launcher.priority_class,
        "imagePullSecrets": [{"name": each} for each in launcher.image_pull_secrets],
        "nodeSelector": dict(launcher.node_selector),
        "tolerations": [read_toleration(each) for each in launcher.tolerations],
        "volumes": volumes,
    }
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _SECONDS_TO_SAVE,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": _GROUP,
            "fsGroupChangePolicy": "OnRootMismatch",  # a large volume is not walked through at each start
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **{key: value for key, value in optional.items() if value},
        "containers": [_container(launcher, job, name, mounts)],
    }


def _container(launcher: "Kubernetes", job: JobSpec, name: str, mounts: list[dict[str, str]]) -> dict[str, Any]:
    gpus = {launcher.gpu_resource: str(launcher.gpus)} if launcher.gpus else {}
    limits = {"cpu": launcher.cpu, "memory": launcher.memory, **gpus}
    optional = {
        "env": [*_rendezvous(launcher, name), *(_from_secret(*each) for each in launcher.secrets.items())],
        "envFrom": [{"secretRef": {"name": name}}] if launcher.env else [],
        "resources": {"limits": found} if (found := {key: value for key, value in limits.items() if value}) else None,
        "volumeMounts": mounts,
    }
    return {
        "name": CONTAINER,
        "image": launcher.image or "<image>",
        "command": ["python", "-m", WORKER],
        "args": [f"{launcher.root(job)}/{PLAN}"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        **{key: value for key, value in optional.items() if value},
    }


def _rendezvous(launcher: "Kubernetes", name: str) -> list[dict[str, Any]]:
    if launcher.most_nodes == 1:
        return []
    return [
        {"name": NODES, "value": launcher.nodes},
        {"name": RENDEZVOUS, "value": f"{name}-0.{name}:{_PORT}"},
        {"name": NODE_RANK, "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}},
        {"name": COMES_BACK, "value": "1"},
    ]


def _from_secret(variable: str, secret: str) -> dict[str, Any]:
    name, _, key = secret.partition("/")
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def _read_template(file: str | None) -> Mapping[str, Any]:
    if file is None:
        return {}
    try:
        found = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem = f"launch.pod_template: {file} could not be read: {error}"
        raise ConfigError([Problem(problem)], subject="the launch") from error
    odd = sorted(set(found) - {"metadata", "spec"}) if isinstance(found, Mapping) else ["no mapping"]
    if odd or not isinstance(found, Mapping):
        sentence = f"{file} must hold `metadata` and `spec` of the pods, and has {', '.join(odd)}"
        raise ConfigError([Problem(f"launch.pod_template: {sentence}")], subject="the launch")
    return found


def _lay_over(below: Any, above: Any) -> Any:
    """Merge mappings; items of lists by their name, as Kubernetes itself patches them."""
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {**below, **{key: _lay_over(below.get(key), value) for key, value in above.items()}}
    lists = isinstance(below, list) and isinstance(above, list)
    if not lists or not all(isinstance(each, Mapping) for each in [*below, *above]):
        return above
    names = {_name(each): each for each in below}
    return [*({**names, **{_name(each): _lay_over(names.get(_name(each)), each) for each in above}}).values()]


def _name(item: Mapping[str, Any]) -> str:
    return str(item.get("mountPath") or item.get("name") or sorted(item.items()))
