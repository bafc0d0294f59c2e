"""A Kubernetes API on this machine: it judges objects by the official schemas and runs pods as processes.

It knows what an Indexed Job promises: a pod for each index, again if its container was killed, within the limits of the
Job and by its pod failure policy; a suspended Job whose pods are told to end; logs with the time of each line.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes_validate

from tests.harness.places import Job, free_port, kill_tree

VERSION = "1.37"
_INDEX = "batch.kubernetes.io/job-completion-index"


def judge(document: dict[str, Any]) -> None:
    """Refuse an object that the official schema of its kind does not know; fields that it does not name are wrong."""
    kubernetes_validate.validate(document, VERSION, strict=True)


@dataclass
class Pod:
    """A pod is a process with a folder of its own."""

    name: str
    job: str
    index: int
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    code: int | None = None
    is_disrupted: bool = False

    def document(self, space: str) -> dict[str, Any]:
        phase = "Running" if self.code is None else "Failed" if self.code else "Succeeded"
        state = {"running": {}} if self.code is None else {"terminated": {"exitCode": self.code, "reason": "x"}}
        status = {"name": "burnish", "state": state, "ready": True, "restartCount": 0, "image": "i", "imageID": "i"}
        metadata = {"name": self.name, "namespace": space, "annotations": {_INDEX: str(self.index)}}
        return {"metadata": metadata, "status": {"phase": phase, "containerStatuses": [status]}}


@dataclass
class LoopbackCluster:
    """The state of everything; jobs by their name."""

    folder: Path
    environment: dict[str, str]
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Services and Secrets, as kind/name."""
    pods: list[Pod] = field(default_factory=list)
    url: str = ""
    back_off_seconds: float = 0.5
    numbers: Iterator[int] = field(default_factory=count)
    quotas: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    """Jobs whose pods the cluster does not create, as pod security does."""
    hindrance: str = ""
    """While this is set, pods wait for it, such as for an image that cannot be fetched."""

    def create(self, kind: str, body: dict[str, Any], *, is_dry: bool) -> dict[str, Any]:
        kept = self.jobs if kind == "jobs" else self.others
        name = body["metadata"]["name"]
        key = name if kind == "jobs" else f"{kind}/{name}"
        if key in kept:
            raise FileExistsError(f'{kind} "{name}" already exists')
        judge(body)
        made = {**body, "metadata": {**body["metadata"], "uid": str(uuid.uuid4())}, "status": {}}
        if not is_dry:
            kept[key] = made
            if kind == "jobs":
                for index in range(body["spec"]["completions"]):
                    threading.Thread(target=self._run_index, args=(name, index), daemon=True).start()
        return made

    def _run_index(self, name: str, index: int) -> None:
        """Do what the Job controller does for one index."""
        job = self.jobs[name]
        failures = 0
        while (self.hindrance or name in self.refused) and not job["spec"].get("suspend"):
            time.sleep(0.05)
        if job["spec"].get("suspend"):
            self._settle(job, "Suspended", "")
        while "conditions" not in job["status"] and not job["spec"].get("suspend"):
            pod = self._start(job, index)
            assert pod.process.stdout is not None
            for line in pod.process.stdout:
                pod.lines.append(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}{len(pod.lines) % 1000:03d}Z {line}")
            code = pod.process.wait()
            pod.code = code if code >= 0 else 128 - code
            if job["spec"].get("suspend"):
                self._settle(job, "Suspended", "")
            elif pod.code == 0:
                done = {each.index for each in self.pods if each.job == name and each.code == 0}
                if len(done) == job["spec"]["completions"]:
                    self._settle(job, "Complete", "")
                return
            elif (action := _find_action(job, pod)) == "FailJob":
                self._settle(job, "Failed", f"container burnish of pod {pod.name} failed with exit code {pod.code}")
            else:
                failures += action != "Ignore"
                if failures > job["spec"]["backoffLimitPerIndex"]:
                    self._settle(job, "Failed", f"index {index} failed {failures} times")
                time.sleep(self.back_off_seconds)

    def _settle(self, job: dict[str, Any], kind: str, message: str) -> None:
        job["status"].setdefault("conditions", [{"type": kind, "status": "True", "message": message}])
        if kind == "Failed":
            for pod in self.running(job["metadata"]["name"]):
                pod.process.terminate()

    def running(self, name: str) -> list[Pod]:
        return [pod for pod in self.pods if pod.job == name and pod.process.poll() is None]

    def suspend(self, name: str) -> None:
        self.jobs[name]["spec"]["suspend"] = True
        for pod in self.running(name):
            pod.process.terminate()

    def kill(self, pod: Pod, *, is_disrupted: bool = False) -> None:
        """Take a pod away with all its processes, as a dead node does; a disruption is announced as such."""
        pod.is_disrupted = is_disrupted
        kill_tree(pod.process.pid)

    def evict(self, pod: Pod, *, is_disrupted: bool) -> None:
        """Ask a pod to end as a drained node does; who deletes it by hand announces no disruption."""
        pod.is_disrupted = is_disrupted
        pod.process.terminate()

    def _start(self, job: dict[str, Any], index: int) -> Pod:
        name = job["metadata"]["name"]
        container = job["spec"]["template"]["spec"]["containers"][0]
        number = next(self.numbers)
        folder = self.folder / f"pod-{number}"
        folder.mkdir(parents=True)
        given = {each["name"]: self._value(each, index) for each in container.get("env", [])}
        for each in container.get("envFrom", []):
            given |= self._wait_for(f"secrets/{each['secretRef']['name']}")["stringData"]
        process = subprocess.Popen(
            [sys.executable, *container["command"][1:], *container["args"]],
            cwd=folder,
            env={**self.environment, **given, "JOB_COMPLETION_INDEX": str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        pod = Pod(f"{name}-{index}-{number:05d}", name, index, process)
        self.pods.append(pod)
        return pod

    def _value(self, variable: dict[str, Any], index: int) -> str:
        source = variable.get("valueFrom", {})
        if "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == f"metadata.annotations['{_INDEX}']"
            return str(index)
        if "secretKeyRef" in source:
            asked = source["secretKeyRef"]
            return str(self._wait_for(f"secrets/{asked['name']}")["stringData"][asked["key"]])
        found = re.fullmatch(r"(.+)-\d+\.\1(:\d+)", str(variable["value"]))
        if found is None:
            return str(variable["value"])
        service = self._wait_for(f"services/{found[1]}")
        assert service["spec"]["clusterIP"] == "None"
        # What its DNS would answer; here all pods of all jobs share the ports of one host.
        return f"127.0.0.1:{service.setdefault('port here', free_port())}"

    def _wait_for(self, key: str) -> dict[str, Any]:
        """Hold a pod back until what it names is there, as a node does."""
        while key not in self.others:
            time.sleep(0.05)
        return self.others[key]


@contextmanager
def kubernetes_place(folder: Path) -> Iterator[Job]:
    """Start a cluster on whose two nodes a run is trained."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with loopback_kubernetes(folder, environment):
        yield Job("kubernetes", ("image=team/burnish:1", f"folder={folder}/jobs", "nodes=2"), size=2)


def _waiting_pod(job: str, space: str, reason: str) -> dict[str, Any]:
    waiting = {"waiting": {"reason": reason, "message": "Back-off"}}
    status = {"name": "burnish", "state": waiting, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}
    metadata = {"name": f"{job}-0-wait", "namespace": space}
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": [status]}}


def _find_action(job: dict[str, Any], pod: Pod) -> str:
    """Find what the first rule that fits says of a pod that failed."""
    for rule in job["spec"].get("podFailurePolicy", {"rules": []})["rules"]:
        if pod.is_disrupted and any(each["type"] == "DisruptionTarget" for each in rule.get("onPodConditions", [])):
            return str(rule["action"])
        codes = rule.get("onExitCodes")
        if codes and (pod.code in codes["values"]) == (codes["operator"] == "In"):
            return str(rule["action"])
    return "Count"


class _Handler(BaseHTTPRequestHandler):
    cluster: LoopbackCluster
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        url, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        *_, kind, name = url.path.split("/")
        cluster = self.cluster
        if name == "resourcequotas":
            self._answer(200, {"kind": "ResourceQuotaList", "apiVersion": "v1", "items": cluster.quotas})
        elif name == "events":
            kept = [
                each
                for each in cluster.events
                if f"name={each['involvedObject']['name']}," in query["fieldSelector"][0]
            ]
            self._answer(200, {"kind": "EventList", "apiVersion": "v1", "items": kept})
        elif name == "pods":
            job = query["labelSelector"][0].partition("=")[2]
            space = url.path.split("/")[4]
            items = [pod.document(space) for pod in list(cluster.pods) if pod.job == job]
            is_suspended = cluster.jobs[job]["spec"].get("suspend")
            items += [_waiting_pod(job, space, cluster.hindrance)] if cluster.hindrance and not is_suspended else []
            self._answer(200, {"kind": "PodList", "apiVersion": "v1", "items": items})
        elif name == "log":
            assert query["timestamps"] == ["true"]
            lines = next(list(pod.lines) for pod in cluster.pods if pod.name == kind)
            self._answer(200, "".join(lines))
        elif kind == "jobs" and name in cluster.jobs:
            self._answer(200, cluster.jobs[name])
        else:
            self._refuse(404, f"{name} not found")

    def do_POST(self) -> None:
        url, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        kind, space = url.path.split("/")[-1], url.path.split("/")[-2]
        body = self._body()
        if space == "forbidden":
            self._refuse(403, f'{kind} is forbidden: User "me" cannot create resource in the namespace "{space}"')
            return
        try:
            self._answer(201, self.cluster.create(kind, body, is_dry=query.get("dryRun") == ["All"]))
        except FileExistsError as error:
            self._refuse(409, str(error))
        except kubernetes_validate.ValidationError as error:
            self._refuse(422, error.message)

    def do_PATCH(self) -> None:
        name, body = self.path.partition("?")[0].split("/")[-1], self._body()
        assert body == {"metadata": {"annotations": {"burnish/stopped": "true"}}, "spec": {"suspend": True}}
        self.cluster.jobs[name]["metadata"].setdefault("annotations", {}).update(body["metadata"]["annotations"])
        self.cluster.suspend(name)
        self._answer(200, self.cluster.jobs[name])

    def do_DELETE(self) -> None:
        self.cluster.jobs.pop(self.path.partition("?")[0].split("/")[-1], None)
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        return found

    def _refuse(self, code: int, message: str) -> None:
        self._answer(code, {"kind": "Status", "apiVersion": "v1", "code": code, "message": message})

    def _answer(self, code: int, document: dict[str, Any] | str) -> None:
        is_text = isinstance(document, str)
        content = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if is_text else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def loopback_kubernetes(folder: Path, environment: dict[str, str]) -> Iterator[LoopbackCluster]:
    """Start the API, write a kubeconfig for it as `kubeconfig` into the folder, and point this process to it."""
    cluster = LoopbackCluster(folder / "pods", environment)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"cluster": cluster}))
    cluster.url = f"http://127.0.0.1:{server.server_port}"
    named = {"cluster": "loop", "user": "me"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "loop",
        "clusters": [{"name": "loop", "cluster": {"server": cluster.url}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "loop", "context": named}],
    }
    (folder / "kubeconfig").write_text(json.dumps(config))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = os.environ.get("KUBECONFIG")
    os.environ["KUBECONFIG"] = str(folder / "kubeconfig")
    try:
        yield cluster
    finally:
        os.environ.pop("KUBECONFIG") if before is None else os.environ.update({"KUBECONFIG": before})
        for pod in cluster.pods:
            if pod.process.poll() is None:
                cluster.kill(pod)
        server.shutdown()
        server.server_close()
