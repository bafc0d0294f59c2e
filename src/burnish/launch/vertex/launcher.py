"""Vertex AI as a place to run: its options, and a job as one of its requests."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints, field_validator, model_validator

from burnish.launch.limits import Timeout, timeout_seconds
from burnish.launch.plan import COMES_BACK, PLAN, SHARED, WORKER
from burnish.launch.vertex.machines import (
    OLDER,
    Machine,
    boot_disk,
    choose_machine,
    explain_image,
    read_accelerator,
    read_machine,
)
from burnish.launch.vertex.overlay import apply_overlay
from burnish.launch.vertex.study import study_request
from burnish.spec.launcher import Check, JobSpec, JobStatus, Launcher, LogLine, Submitted

_MOUNT = "burnish"
_LABEL = r"^[a-z0-9_-]{0,63}$"
_REGION = r"^[a-z]+-[a-z]+[0-9]+$"
Label = Annotated[str, StringConstraints(pattern=_LABEL)]


class Vertex(Launcher):
    """A CustomJob of Vertex AI, in an image or from a package."""

    project: str | None = None
    """Default: GOOGLE_CLOUD_PROJECT."""
    region: Annotated[str, StringConstraints(pattern=_REGION)] = "us-central1"
    bucket: str | None = None
    """Where the job's folder goes: `name`, or `gs://name/folder`."""
    route: Literal["container", "package"] = "container"
    """Run `image`, or install Burnish and your code into the executor image that `image` names."""
    image: str | None = None
    requirements: str | None = None
    """A requirements file of yours that is installed too, by the route `package`."""
    machine: str | None = None
    """Default: the smallest that has the accelerator, or n1-standard-4."""
    accelerator: str | None = None
    """Default: what the machine has built in, as g2-standard-8 has an L4."""
    accelerators: NonNegativeInt = 0
    """How many for each machine; default: what the machine has built in, or 1 if an accelerator is named."""
    replicas: PositiveInt = 1
    """Machines in all; several need `shared`."""
    shared: Annotated[str, StringConstraints(pattern=r"^[\w.-]+:/[^\s]*$")] | None = None
    """A share of NFS, `SERVER:/PATH`, in which several machines train together; the `network` must lead to it."""
    disk_gb: Annotated[int, Field(ge=100, le=64_000)] = 100
    spot: bool = False
    """Machines that cost less and may be taken away; the job then starts again from its newest checkpoint."""
    timeout: Timeout = "24 hours"
    service_account: str | None = None
    network: str | None = None
    tensorboard: str | None = None
    """The resource name of a TensorBoard, which needs a service account."""
    labels: Mapping[Label, Label] = {}
    overlay: Mapping[str, Any] = {}
    """Laid over the request as it is sent: `jobSpec: {scheduling: {strategy: FLEX_START}}`, reservations, keys."""
    study: str | None = None
    """A YAML file with a section `tune:`; the service searches that space and starts the trials."""

    @field_validator("machine")
    @classmethod
    def _known_machine(cls, machine: str | None) -> str | None:
        return machine and read_machine(machine)

    @field_validator("accelerator")
    @classmethod
    def _known_accelerator(cls, accelerator: str | None) -> str | None:
        return accelerator and read_accelerator(accelerator)

    @field_validator("bucket")
    @classmethod
    def _an_address(cls, bucket: str | None) -> str | None:
        if bucket is None or "://" in bucket:
            return bucket and bucket.rstrip("/")
        return f"gs://{bucket.strip('/')}"

    @model_validator(mode="after")
    def _fit_together(self) -> "Vertex":
        reason = self.image and explain_image(self.image)
        if reason:
            raise ValueError(f"cannot run in this `image`: {self.image} {reason}")
        choose_machine(self.machine, self.accelerator, self.accelerators)
        if self.tensorboard and not self.service_account:
            raise ValueError("needs a `service_account` that may write to the `tensorboard`")
        return self

    @property
    def hardware(self) -> Machine:
        """The machine as the service knows it today."""
        return choose_machine(self.machine, self.accelerator, self.accelerators)

    @property
    def num_gpus(self) -> int:
        return self.hardware.accelerators

    @property
    def notes(self) -> list[str]:
        found = self.hardware
        if self.machine is None or self.machine.lower() not in OLDER:
            return []
        with_gpus = f" with {found.accelerators} {found.accelerator}" if found.accelerator else ""
        return [f"{self.machine} is a name of AI Platform Training; today that is {found.type}{with_gpus}"]

    @property
    def parent(self) -> str:
        """The resource that jobs, models and endpoints belong to."""
        project = self.project or os.environ.get("GOOGLE_CLOUD_PROJECT") or "<project>"
        return f"projects/{project}/locations/{self.region}"

    def root(self, job: JobSpec) -> str:
        return f"{self.bucket or '<bucket>'}/burnish/{job.name}"

    def render(self, job: JobSpec) -> dict[str, Any]:
        optional = {"serviceAccount": self.service_account, "network": self.network, "tensorboard": self.tensorboard}
        first = self._pool(job, replicas=1)
        spec = {
            "workerPoolSpecs": [first] if self.replicas == 1 else [first, self._pool(job, replicas=self.replicas - 1)],
            "scheduling": {
                "timeout": f"{timeout_seconds(self.timeout)}s",
                "strategy": "SPOT" if self.spot else "STANDARD",
                # The worker decides what is tried again: a config or data error is not.
                "disableRetries": not self.spot,
            },
            "baseOutputDirectory": {"outputUriPrefix": self.root(job)},  # a job publishes to model, checkpoints, logs
            **{name: value for name, value in optional.items() if value},
        }
        if job.study is None:
            return self._request("customJobs", job, {"jobSpec": spec})
        return self._request("hyperparameterTuningJobs", job, {**study_request(job.study), "trialJobSpec": spec})

    def check(self, job: JobSpec) -> Iterable[Check]:
        from burnish.launch.vertex.checks import check_job

        return check_job(self, job)

    def cost(self, job: JobSpec) -> Iterable[str]:
        from burnish.launch.vertex.cost import describe_cost

        return describe_cost(self, job)

    def submit(self, job: JobSpec) -> Submitted:
        from burnish.launch.vertex.client import submit

        return submit(self, self.render(job))

    def status(self, id: str) -> JobStatus:
        from burnish.launch.vertex.client import read_status

        return read_status(self, id)

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        from burnish.launch.vertex.logging import read_logs

        return read_logs(self, id, after=after)

    def cancel(self, id: str) -> None:
        from burnish.launch.vertex.client import cancel

        cancel(self, id)

    def _request(self, kind: str, job: JobSpec, body: Mapping[str, Any]) -> dict[str, Any]:
        labels = {"burnish": "job", **self.labels}
        whole = {"displayName": job.name, "labels": labels, **body}
        return {
            "method": "POST",
            "url": f"https://{self.region}-aiplatform.googleapis.com/v1/{self.parent}/{kind}",
            "body": apply_overlay(kind, whole, self.overlay),
        }

    def _pool(self, job: JobSpec, *, replicas: int) -> dict[str, Any]:
        found = self.hardware
        gpus = {"acceleratorType": found.accelerator, "acceleratorCount": found.accelerators}
        server, _, path = (self.shared or "").partition(":")
        mounts = {"nfsMounts": [{"server": server, "path": path, "mountPoint": _MOUNT}]} if self.shared else {}
        return {
            "machineSpec": {"machineType": found.type, **(gpus if found.accelerator else {})},
            "replicaCount": str(replicas),
            **mounts,
            "diskSpec": {"bootDiskType": boot_disk(found.type), "bootDiskSizeGb": self.disk_gb},
            **self._program(job),
        }

    def _program(self, job: JobSpec) -> dict[str, Any]:
        image, args = self.image or "<image>", [f"{self.root(job)}/{PLAN}"]
        told = {SHARED: f"/mnt/nfs/{_MOUNT}"} if self.shared else {}
        # Of spot machines, the service replaces each that it takes away.
        told |= {COMES_BACK: "1"} if self.spot and self.replicas > 1 else {}
        env = [{"name": name, "value": value} for name, value in (*told.items(), *self.env.items())]
        with_env = {"env": env} if env else {}
        if self.route == "container":
            command = ["python", "-m", WORKER]
            return {"containerSpec": {"imageUri": image, "command": command, "args": args, **with_env}}
        packages = [f"{self.root(job)}/packages/{name}" for name in job.packages]
        package = {"executorImageUri": image, "packageUris": packages, "pythonModule": WORKER, "args": args}
        return {"pythonPackageSpec": {**package, **with_env}}
