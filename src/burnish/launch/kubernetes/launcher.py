"""Kubernetes as a place to run: its options, and a job as the objects that it is made of."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, NonNegativeInt, StringConstraints

from burnish.launch.group import read_nodes
from burnish.launch.kubernetes.manifest import object_name, read_toleration, read_volume, write_objects
from burnish.launch.limits import Folder, Nodes, Timeout
from burnish.spec.launcher import Check, JobSpec, JobStatus, Launcher, LogLine, Submitted

_DNS = r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$"
_QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"


def _a_key(secret: str) -> str:
    name, _, key = secret.partition("/")
    if not name or not key:
        raise ValueError("must name a Secret of the namespace and a key of it, like hub/token")
    return secret


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be where it is mounted in the pods, like /data")
    return path


def _a_volume(source: str) -> str:
    read_volume(source)
    return source


def _a_toleration(text: str) -> str:
    read_toleration(text)
    return text


Name = Annotated[str, StringConstraints(pattern=_DNS)]
Quantity = Annotated[str, StringConstraints(pattern=_QUANTITY)]


class Kubernetes(Launcher):
    """An Indexed Job, with a pod for each node, and a headless Service by which several pods find one another."""

    context: str | None = None
    """Of the kubeconfig; default: its current one, or else the cluster that this runs in."""
    namespace: Name = "default"
    image: str | None = None
    folder: Folder | None = None
    """Where folders of jobs go: an address like `gs://bucket/team`, or a path that is the same here and in the pods."""
    nodes: Nodes = "1"
    """How many pods, or at least and at most: `1:2`."""
    cpu: Quantity | None = None
    """For each pod, like the following: `4`, or `500m`."""
    memory: Quantity | None = None
    gpus: NonNegativeInt = 0
    gpu_resource: str = "nvidia.com/gpu"
    """What the cluster calls its GPUs."""
    shared_memory: Quantity | None = None
    """The size of /dev/shm, which counts as memory; by default what the cluster gives, often 64 MB."""
    secrets: Mapping[str, Annotated[str, AfterValidator(_a_key)]] = {}
    """Variables whose values stay in a Secret of the namespace: `HF_TOKEN: hub/token`."""
    volumes: Mapping[Annotated[str, AfterValidator(_absolute)], Annotated[str, AfterValidator(_a_volume)]] = {}
    """What is mounted where: `/data: pvc:team-data`, `host:/srv/data`, `empty` or `empty:20Gi`."""
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Annotated[str, AfterValidator(_a_toleration)], ...] = ()
    """Taints of nodes that are taken nonetheless, such as those of spot nodes: `KEY=VALUE:NoSchedule`."""
    service_account: Name | None = None
    priority_class: Name | None = None
    """A PriorityClass of the cluster."""
    image_pull_secrets: tuple[Name, ...] = ()
    labels: Mapping[str, str] = {}
    timeout: Timeout | None = None
    kept_for: Timeout | None = "7 days"
    """How long the cluster keeps a Job, its pods and their logs after its end; null: until somebody deletes it."""
    pod_template: str | None = None
    """A YAML file with `metadata` and `spec` of the pods, which is laid over ours; the container is `burnish`."""

    @property
    def notes(self) -> list[str]:
        if self.most_nodes == 1 or self.shared_memory or not self.gpus:
            return []
        return [
            "GPUs of several nodes talk through /dev/shm, which is often 64 MB; launch.shared_memory=8Gi makes room"
        ]

    @property
    def most_nodes(self) -> int:
        """How many pods a job may have."""
        return read_nodes(self.nodes)[1]

    @property
    def num_gpus(self) -> int:
        return self.gpus

    def root(self, job: JobSpec) -> str:
        return f"{self.folder or '<folder>'}/{job.name}"

    def render(self, job: JobSpec) -> dict[str, Any]:
        # Without the Secret: it would have masks for values, and a pod that gets them starts and fails late.
        objects = [each for each in write_objects(self, job, attempt=1) if each["kind"] != "Secret"]
        return {"apiVersion": "v1", "kind": "List", "items": objects}

    def left_out(self, job: JobSpec) -> list[str]:
        if not self.env:
            return []
        name = object_name(job.name, attempt=1)
        values = " ".join(f"--from-literal={each}=…" for each in self.env)
        command = f"kubectl --namespace {self.namespace} create secret generic {name} {values}"
        return [f"the Secret {name}, which `{command}` creates; its pods wait for it"]

    def check(self, job: JobSpec) -> Iterable[Check]:
        from burnish.launch.kubernetes.client import check_job

        return check_job(self, job)

    def cost(self, job: JobSpec) -> Iterable[str]:
        from burnish.launch.kubernetes.client import describe_cost

        return describe_cost(self)

    def submit(self, job: JobSpec) -> Submitted:
        from burnish.launch.kubernetes.client import submit

        return submit(self, job)

    def status(self, id: str) -> JobStatus:
        from burnish.launch.kubernetes.client import read_status

        return read_status(self, id)

    def logs(self, id: str, *, after: str = "") -> Iterator[LogLine]:
        from burnish.launch.kubernetes.client import read_logs

        return read_logs(self, id, after=after)

    def cancel(self, id: str) -> None:
        from burnish.launch.kubernetes.client import cancel

        cancel(self, id)
