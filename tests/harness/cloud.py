"""A cloud on this machine: it takes the requests of Google's client, judges them by the official protos, and does them.

A job is the rendered command in a process of its own, its lines are log entries, and a deployed model is served.
This interpreter stands in for an image and for an installation, unless a test brings real ones.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format

from burnish.launch.transfer import read_remote

PROJECT, REGION, BUCKET = "loop", "us-central1", "loop-bucket"
_PARENT = f"projects/{PROJECT}/locations/{REGION}"
_KINDS = {"customJobs": api.CustomJob, "hyperparameterTuningJobs": api.HyperparameterTuningJob}
_BODIES = {
    "models:upload": api.UploadModelRequest,
    "endpoints": api.Endpoint,
    "deployModel": api.DeployModelRequest,
    "undeployModel": api.UndeployModelRequest,
    "predict": api.PredictRequest,
}


@dataclass
class CloudJob:
    """A job or a search, as the service keeps it."""

    name: str
    body: dict[str, Any]
    state: str = "JOB_STATE_QUEUED"
    message: str = ""
    process: subprocess.Popen[str] | None = None
    trials: list[dict[str, Any]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        found = {**self.body, "name": self.name, "state": self.state}
        return {**found, "error": {"code": 13, "message": self.message}} if self.message else found


@dataclass
class Cloud:
    """The state of everything, and what it was asked."""

    folder: Path
    environment: dict[str, str]
    jobs: dict[str, CloudJob] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    endpoints: dict[str, dict[str, Any]] = field(default_factory=dict)
    servers: dict[str, tuple[subprocess.Popen[bytes], int]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    images: set[str] = field(default_factory=set)
    requests: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    refuse: Callable[[str, str], int | None] = lambda method, path: None
    """Answers with an error code where a test wants a fault."""
    has_machines: bool = True
    """While this is false, new jobs wait in the queue."""
    in_image: Callable[[list[str], dict[str, str]], list[str]] | None = None
    """Gives the command that runs words in an image, with variables."""
    install: Callable[[list[Path], Path], Path] | None = None
    """Installs sdists into a new environment at a place, and gives its interpreter."""

    @property
    def storage(self) -> dict[str, str]:
        """The variables that lead to the buckets of this cloud, for who has none of this process."""
        names = ("STORAGE_EMULATOR_HOST", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT")
        return {name: self.environment[name] for name in names}

    def log(self, job: CloudJob, text: str) -> None:
        number = len(self.entries)
        stamp = f"2026-01-01T00:00:00.{number:09d}Z"
        labels = {"job_id": job.name.rpartition("/")[2]}
        entry = {"timestamp": stamp, "insertId": f"i{number:09d}", "textPayload": text, "resource": {"labels": labels}}
        self.entries.append(entry)

    def run(self, job: CloudJob) -> None:
        while not self.has_machines and job.state == "JOB_STATE_QUEUED":
            time.sleep(0.05)
        if job.state == "JOB_STATE_CANCELLING":
            job.state = "JOB_STATE_CANCELLED"
            return
        spec = job.body.get("jobSpec") or job.body["trialJobSpec"]
        job.state = "JOB_STATE_RUNNING"
        codes = []
        for number in range(1, int(job.body.get("maxTrialCount", 1)) + 1):
            values = _sample(job.body["studySpec"], random.Random(number)) if "studySpec" in job.body else {}
            told = self.folder / f"{job.name.rpartition('/')[2]}-{number}.metrics"
            trial = {"CLOUD_ML_TRIAL_ID": str(number), "CLOUD_ML_HP_METRIC_FILE": str(told)} if values else {}
            arguments = [f"--{name}={value}" for name, value in values.items()]
            codes.append(self._execute(job, spec, arguments, trial))
            if values:
                metric = job.body["studySpec"]["metrics"][0]["metricId"]
                lines = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
                found = [float(line[metric]) for line in lines if metric in line]
                job.trials.append({"id": str(number), "parameters": values, "code": codes[-1], "measured": found})
                if codes[-1] == 0 and not found:  # as the service fails a trial that reports nothing
                    codes[-1], job.message = 1, f"trial {number} reported no {metric}"
        if job.state == "JOB_STATE_CANCELLING":
            job.state = "JOB_STATE_CANCELLED"
        elif any(codes):
            job.message = job.message or f"The replica workerpool0-0 exited with a non-zero status of {max(codes)}."
            job.state = "JOB_STATE_FAILED"
        else:
            job.state = "JOB_STATE_SUCCEEDED"

    def _execute(self, job: CloudJob, spec: dict[str, Any], more: list[str], trial: dict[str, str]) -> int:
        folder = self.folder / f"job-{len(list(self.folder.iterdir()))}"
        folder.mkdir(parents=True)
        pool = spec["workerPoolSpecs"][0]
        own = pool.get("containerSpec") or pool["pythonPackageSpec"]
        told = {each["name"]: each["value"] for each in own.get("env", [])} | trial
        told["CLOUD_ML_JOB_ID"] = job.name.rpartition("/")[2]
        if base := spec.get("baseOutputDirectory", {}).get("outputUriPrefix"):
            base = f"{base}/{trial['CLOUD_ML_TRIAL_ID']}" if trial else base
            places = {"MODEL_DIR": "model", "CHECKPOINT_DIR": "checkpoints", "TENSORBOARD_LOG_DIR": "logs"}
            told |= {f"AIP_{name}": f"{base}/{place}/" for name, place in places.items()}
        environment = {**self.environment, **told}
        environment |= {"BURNISH_STATE": f"{folder}-state", "BURNISH_CACHE": f"{folder}-cache"}
        words = [*own["args"], *more]
        if "containerSpec" in pool and self.in_image:
            command = self.in_image([*own["command"], *words], self.storage | told)
        elif "containerSpec" in pool:
            command = [sys.executable, *own["command"][1:], *words]
        elif self.install:
            fetched = _fetch(own["packageUris"], folder.with_name(f"{folder.name}-packages"))
            python = self.install(fetched, folder.with_name(f"{folder.name}-environment"))
            command = [str(python), "-m", own["pythonModule"], *words]
        else:
            command = [sys.executable, "-m", own["pythonModule"], *words]
            environment["PYTHONPATH"] = str(_unpack(own["packageUris"], folder.with_name(f"{folder.name}-installed")))
        share = {"BURNISH_SHARED": f"{self.folder}-share"} if "BURNISH_SHARED" in told else {}
        places = _cluster([int(each["replicaCount"]) for each in spec["workerPoolSpecs"]])
        replicas = [
            self._start(
                command, folder.with_name(f"{folder.name}{end}"), {**environment, **share, "CLUSTER_SPEC": place}
            )
            for end, place in places.items()
        ]
        job.process = replicas[0]
        return max(self._listen(job, replicas))

    def _start(self, command: list[str], folder: Path, environment: dict[str, str]) -> "subprocess.Popen[str]":
        folder.mkdir(exist_ok=True)
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)

    def _listen(self, job: CloudJob, replicas: "list[subprocess.Popen[str]]") -> list[int]:
        def listen(process: "subprocess.Popen[str]") -> int:
            assert process.stdout is not None
            for line in process.stdout:
                self.log(job, line)
            return process.wait()

        with ThreadPoolExecutor(len(replicas)) as pool:
            return list(pool.map(listen, replicas))

    def deploy(self, endpoint: str, model: str) -> None:
        """Serve a model as its container would: the artifact is where AIP_STORAGE_URI says."""
        container = self.models[model]["containerSpec"]
        folder = self.folder / f"serving-{len(self.servers)}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        told = {"AIP_HEALTH_ROUTE": container["healthRoute"], "AIP_PREDICT_ROUTE": container["predictRoute"]}
        told |= {"AIP_STORAGE_URI": self.models[model]["artifactUri"], "AIP_HTTP_PORT": str(port)}
        environment = {**self.environment, **told, "BURNISH_CACHE": f"{folder}-cache"}
        if self.in_image:
            command = self.in_image(container["command"], self.storage | told)
        else:
            command = [sys.executable, "-m", *container["command"]]
        log = (self.folder / f"{folder.name}.log").open("wb")
        self.end_server(endpoint)  # one answers for an endpoint, the newest
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.servers[endpoint] = (process, port)
        while process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{container['healthRoute']}", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError((self.folder / f"{folder.name}.log").read_text())

    def end_server(self, endpoint: str) -> None:
        """End what serves an endpoint, with all that it started."""
        process, _ = self.servers.pop(endpoint, (None, 0))
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def _cluster(counts: list[int]) -> dict[str, str]:
    """Write what the service tells each replica, by the end of its folder's name; all are on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    pools = {f"workerpool{number}": [address] * count for number, count in enumerate(counts)}
    tasks = [(name, index) for name, hosts in pools.items() for index in range(len(hosts))]
    return {
        f"-{name}-{index}" if (name, index) != tasks[0] else "": json.dumps(
            {"cluster": pools, "task": {"type": name, "index": index}}
        )
        for name, index in tasks
    }


def _sample(study: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in study["parameters"]:
        if "doubleValueSpec" in each:
            values[each["parameterId"]] = draw.uniform(
                *(each["doubleValueSpec"][end] for end in ("minValue", "maxValue"))
            )
        elif "integerValueSpec" in each:
            bounds = [int(each["integerValueSpec"][end]) for end in ("minValue", "maxValue")]
            values[each["parameterId"]] = draw.randint(*bounds)
        else:
            kind = "discreteValueSpec" if "discreteValueSpec" in each else "categoricalValueSpec"
            value = draw.choice(each[kind]["values"])
            values[each["parameterId"]] = int(value) if isinstance(value, float) and value.is_integer() else value
    return values


def _unpack(addresses: list[str], folder: Path) -> Path:
    """Unpack sdists as an installation of pure Python would lay them out."""
    for path in _fetch(addresses, folder.with_name(f"{folder.name}-packages")):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def _fetch(addresses: list[str], folder: Path) -> list[Path]:
    folder.mkdir()
    paths = [folder / address.rpartition("/")[2] for address in addresses]
    for address, path in zip(addresses, paths, strict=True):
        content = read_remote(address)
        assert content is not None, address
        path.write_bytes(content)
    return paths


class _Handler(BaseHTTPRequestHandler):
    cloud: Cloud
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        found = re.fullmatch(r"/v2/(.+)/manifests/(.+)", self.path)
        self._answer(200 if found and f"{found[1]}:{found[2]}" in self.cloud.images else 404, None)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1/")
        if self._is_refused("GET", path):
            return
        found = self.cloud.jobs.get(path)
        if found is not None:
            self._answer(200, found.document())
        elif path in (f"{_PARENT}/customJobs", f"{_PARENT}/endpoints", f"{_PARENT}/models"):
            self._answer(200, {})
        elif path in self.cloud.endpoints or path in self.cloud.models:
            self._answer(200, (self.cloud.endpoints.get(path) or self.cloud.models[path]))
        else:
            self._answer(404, {"error": {"code": 404, "message": f"{path} is not there"}})

    def do_DELETE(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/v1/")
        for kept in (self.cloud.endpoints, self.cloud.models, self.cloud.jobs):
            kept.pop(path, None)  # type: ignore[attr-defined]
        self._answer(200, _done({}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        self.cloud.requests.append(("POST", path, body))
        if self._is_refused("POST", path):
            return
        try:
            answer = self._do(path.removeprefix("/v1/"), body)
        except (json_format.ParseError, KeyError) as error:
            self._answer(400, {"error": {"code": 400, "message": f"{type(error).__name__}: {error}"}})
        else:
            self._answer(200, answer)

    def _is_refused(self, method: str, path: str) -> bool:
        fault = self.cloud.refuse(method, path)
        if fault is not None:
            self._answer(fault, {"error": {"code": fault, "message": "planted"}})
        return fault is not None

    def _do(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        cloud = self.cloud
        place, _, action = path.partition(":")
        if path == "/v2/entries:list":
            return self._entries(body)
        if place in cloud.jobs and action == "cancel":
            job = cloud.jobs[place]
            job.state = "JOB_STATE_CANCELLING"
            if job.process is not None:
                os.kill(job.process.pid, signal.SIGTERM)
            return {}
        kind = path.rpartition("/")[2]
        if kind in _KINDS:
            return self._create(kind, _checked(body, _KINDS[kind]))
        return self._serving(place, action, kind, body)

    def _create(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        job = CloudJob(f"{_PARENT}/{kind}/{1000 + len(self.cloud.jobs)}", body)
        self.cloud.jobs[job.name] = job
        threading.Thread(target=self.cloud.run, args=(job,), daemon=True).start()
        return job.document()

    def _serving(self, place: str, action: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        cloud = self.cloud
        if kind == "models:upload":
            name = f"{_PARENT}/models/{2000 + len(cloud.models)}"
            cloud.models[name] = _checked({"parent": _PARENT, **body}, api.UploadModelRequest)["model"]
            return _done({"model": name}, api.UploadModelResponse)
        if kind == "endpoints":
            name = f"{_PARENT}/endpoints/{3000 + len(cloud.endpoints)}"
            cloud.endpoints[name] = {**_checked(body, api.Endpoint), "name": name, "deployedModels": []}
            return _done({"name": name}, api.Endpoint)
        checked = _checked({"endpoint": place, **body}, _BODIES[action])
        if action == "deployModel":
            model, kept = checked["deployedModel"]["model"], cloud.endpoints[place]
            number = str(len(kept["deployedModels"]) + 1)
            shares = {number if each == "0" else each: share for each, share in checked["trafficSplit"].items()}
            known = {number, *(each["id"] for each in kept["deployedModels"])}
            if sum(shares.values()) != 100 or not shares.keys() <= known:
                raise KeyError(f"trafficSplit must give 100 to the models that are there, got {shares}")
            cloud.deploy(place, model)
            kept["deployedModels"].append({"id": number, "model": model})
            kept["trafficSplit"] = shares
            return _done({"deployedModel": {"id": number, "model": model}}, api.DeployModelResponse)
        if action == "undeployModel":
            cloud.end_server(place)
            kept = cloud.endpoints[place]
            kept["deployedModels"] = [each for each in kept["deployedModels"] if each["id"] != body["deployedModelId"]]
            return _done({}, api.UndeployModelResponse)
        route = cloud.models[cloud.endpoints[place]["deployedModels"][0]["model"]]["containerSpec"]["predictRoute"]
        request = urllib.request.Request(
            f"http://127.0.0.1:{cloud.servers[place][1]}{route}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return {"predictions": json.loads(answer.read())["predictions"]}

    def _entries(self, body: dict[str, Any]) -> dict[str, Any]:
        job = re.search(r'job_id="(\d+)"', body["filter"])
        since = re.search(r'timestamp>="([^"]+)"', body["filter"])
        assert job is not None
        found = [each for each in self.cloud.entries if each["resource"]["labels"]["job_id"] == job[1]]
        found = [each for each in found if since is None or each["timestamp"] >= since[1]]
        start = int(body.get("pageToken") or 0)
        page = found[start : start + 40]
        more = {"nextPageToken": str(start + 40)} if len(found) > start + 40 else {}
        return {"entries": page, **more}

    def _answer(self, code: int, document: dict[str, Any] | None) -> None:
        content = b"" if document is None else json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _checked(body: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Read a body as the official message, which refuses unknown fields, and write it with the names of its enums."""
    message = json_format.ParseDict(body, kind.pb(kind()))
    return json_format.MessageToDict(message)


def _done(response: dict[str, Any], kind: Any = None) -> dict[str, Any]:
    name = (
        f"type.googleapis.com/google.cloud.aiplatform.v1.{kind.__name__}"
        if kind
        else "type.googleapis.com/google.protobuf.Empty"
    )
    return {"name": f"{_PARENT}/operations/1", "done": True, "response": {"@type": name, **response}}


@contextmanager
def loopback_cloud(folder: Path) -> Iterator[Cloud]:
    """Start the cloud and its storage, and point the variables of this process to them until the end."""
    from gcp_storage_emulator.server import create_server

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    storage = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    storage.start()
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    url = f"http://127.0.0.1:{server.server_port}"
    variables = {
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM": url,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": url,
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "BURNISH_STATE": str(folder / "state"),
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    work = folder / "machines"
    work.mkdir(parents=True)
    cloud = Cloud(work, dict(os.environ))
    cloud.images.add("team/burnish:1")
    cloud.registry = f"127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    handler.cloud = cloud  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield cloud
    finally:
        for endpoint in [*cloud.servers]:
            cloud.end_server(endpoint)
        server.shutdown()
        storage.stop()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
