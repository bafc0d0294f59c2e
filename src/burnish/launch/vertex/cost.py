"""What a job on Vertex AI takes, and what Google says of its quota; no service tells a job's credentials a price."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from burnish.errors import BurnishError
from burnish.launch.vertex.client import ENDPOINT as SERVICE_ENDPOINT
from burnish.launch.vertex.logging import ask
from burnish.spec.launcher import JobSpec

if TYPE_CHECKING:
    from burnish.launch.vertex.launcher import Vertex

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE"
_SERVICE_USAGE = "https://serviceusage.googleapis.com"
_SECONDS = 8.0
_METRICS: Mapping[str | None, str] = {
    None: "cpus",
    "NVIDIA_TESLA_T4": "nvidia_t4_gpus",
    "NVIDIA_TESLA_P4": "nvidia_p4_gpus",
    "NVIDIA_TESLA_P100": "nvidia_p100_gpus",
    "NVIDIA_TESLA_V100": "nvidia_v100_gpus",
    "NVIDIA_L4": "nvidia_l4_gpus",
    "NVIDIA_TESLA_A100": "nvidia_a100_gpus",
    "NVIDIA_A100_80GB": "nvidia_a100_80gb_gpus",
    "NVIDIA_H100_80GB": "nvidia_h100_gpus",
}
"""What the quota of custom training counts, by accelerator."""


def describe_cost(launcher: "Vertex", job: JobSpec) -> Iterator[str]:
    """Say what is rented and for how long at most, how much of it the project may use, and where its price is."""
    found = launcher.hardware
    parallel = int(launcher.render(job)["body"].get("parallelTrialCount", 1))
    machines = launcher.replicas * parallel
    each = f"{found.accelerators} {found.accelerator} and {launcher.disk_gb} GB of disk"
    each = each if found.accelerator else f"{launcher.disk_gb} GB of disk"
    kind = "spot machines" if launcher.spot else "machines"
    several = f"{machines} {kind} {found.type}" if machines > 1 else f"1 {kind.removesuffix('s')} {found.type}"
    trials = f", of which {parallel} trials run at once" if parallel > 1 else ""
    yield f"it takes {several} with {each} in {launcher.region}, each for {launcher.timeout} at most{trials}"
    yield _describe_quota(launcher, machines * (found.accelerators if found.accelerator else 0))
    kinds = " and ".join(filter(None, [found.type, found.accelerator]))
    yield f"Vertex AI has no API for its prices; https://cloud.google.com/vertex-ai/pricing lists those of {kinds}"


def _describe_quota(launcher: "Vertex", wanted: int) -> str:
    """Ask for the limit of a project in a region; how much of it is in use, only monitoring knows."""
    metric = _METRICS.get(launcher.hardware.accelerator)
    page = f"https://console.cloud.google.com/iam-admin/quotas?project={launcher.parent.split('/')[1]}"
    if metric is None:
        return f"its quota is on {page}"
    preemptible = "preemptible_" if launcher.spot and metric != "cpus" else ""
    metric = f"aiplatform.googleapis.com/custom_model_training_{preemptible}{metric}"
    base = os.environ.get(ENDPOINT, "").rstrip("/")
    if not base and os.environ.get(SERVICE_ENDPOINT):
        return f"its quota was not asked for, as {SERVICE_ENDPOINT} leads to another service than Google's"
    project = "/".join(launcher.parent.split("/")[:2])
    path = f"/v1beta1/{project}/services/aiplatform.googleapis.com/consumerQuotaMetrics/{metric.replace('/', '%2F')}"
    try:
        answer = ask(base or _SERVICE_USAGE, "GET", path, seconds=_SECONDS)
    except BurnishError:
        return f"its quota {metric} could not be read, which needs the role Service Usage Viewer; it is on {page}"
    limit = _find_limit(answer, launcher.region)
    if limit is None:
        return f"its quota {metric} is not said for {launcher.region}; it is on {page}"
    if limit < 0:
        return f"its quota {metric} in {launcher.region} has no limit"
    short = f", and it wants {wanted}: the service will refuse it" if wanted > limit else ""
    return f"its quota {metric} in {launcher.region} is {limit:,} for all jobs together{short}"


def _find_limit(answer: Mapping[str, Any], region: str) -> int | None:
    """Find the limit of a region, or else the one that every region has; the most specific comes last."""
    found = None
    for limit in answer.get("consumerQuotaLimits") or []:
        for bucket in limit.get("quotaBuckets") or []:
            if (bucket.get("dimensions") or {}).get("region", region) == region and "effectiveLimit" in bucket:
                found = int(bucket["effectiveLimit"])
    return found
