"""Looks before a job is queued whether all is there: credentials, project, bucket, region and image."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from burnish.errors import LaunchError
from burnish.launch.cluster import ON_SEVERAL, look
from burnish.launch.transfer import try_folder
from burnish.launch.vertex.client import ENDPOINT, connect, explained, find_credentials, no_credentials
from burnish.launch.vertex.logging import ask
from burnish.spec.launcher import Check, JobSpec, find_unset

if TYPE_CHECKING:
    from burnish.launch.vertex.launcher import Vertex

_STORAGE = "https://storage.googleapis.com"
_BUCKET_SECONDS = 8.0
_MULTI_REGIONS = {"us": "us-", "eu": "europe-", "asia": "asia-"}
"""Multi-regions of buckets, and how the names of their regions begin."""
_DUAL_REGIONS = {
    "asia1": ("asia-northeast1", "asia-northeast2"),
    "eur4": ("europe-north1", "europe-west4"),
    "eur5": ("europe-west1", "europe-west2"),
    "eur7": ("europe-west2", "europe-west3"),
    "eur8": ("europe-west3", "europe-west6"),
    "nam4": ("us-central1", "us-east1"),
}
"""Predefined pairs; of others, the bucket lists its two regions."""
_MANIFESTS = "manifests"
_REGISTRIES = re.compile(r"([a-z0-9-]+\.)?gcr\.io|[a-z0-9-]+\.pkg\.dev")
"""The hosts that may see this user's token: no other's business."""


def check_job(launcher: "Vertex", job: JobSpec) -> Iterator[Check]:
    """Look at everything, also after something is missing."""
    unset = find_unset([launcher.render(job), launcher.root(job)])
    for name in unset:
        hint = " or GOOGLE_CLOUD_PROJECT" if name == "project" else ""
        yield Check(name, False, f"launch.{name} is not set; give launch.{name}=…{hint}")
    if launcher.replicas > 1 and job.words[0] not in ON_SEVERAL:
        yield Check("replicas", False, f"launch.replicas: `{job.words[0]}` runs on one machine; leave it at 1")
    elif launcher.replicas > 1 and not launcher.shared:
        need = "several machines train in one folder that all of them see"
        yield Check("replicas", False, f"launch.replicas: {need}; name one with launch.shared=SERVER:/PATH")
    yield look("credentials", _find_credentials)
    if "project" not in unset:
        yield look("service", lambda: _ask_service(launcher))
    if "bucket" not in unset:
        yield look("bucket", lambda: _try_bucket(launcher))
    if "image" not in unset:
        yield look("image", lambda: _find_image(launcher.image or ""))


def _find_credentials() -> str:
    endpoint = os.environ.get(ENDPOINT, "")
    find_credentials(endpoint)
    return f"none are needed for {endpoint}" if endpoint.startswith("http://") else "found"


def _ask_service(launcher: "Vertex") -> str:
    _, client = connect(launcher, "Job")
    with explained(f"Vertex AI does not answer for {launcher.parent}"):
        client.list_custom_jobs(request={"parent": launcher.parent, "page_size": 1})
    return f"answers for {launcher.parent}"


def _try_bucket(launcher: "Vertex") -> str:
    bucket = launcher.bucket or ""
    if bucket.startswith("gs://"):
        _refuse_other_region(bucket, launcher.region)
    return try_folder(bucket)


def _refuse_other_region(bucket: str, region: str) -> None:
    found = _describe_bucket(bucket)
    location = str(found.get("location") or "").lower()
    if not location:
        return
    placement = found.get("customPlacementConfig") or {}
    regions = placement.get("dataLocations") or _DUAL_REGIONS.get(location) or ()
    pair = [str(each).lower() for each in regions]
    is_near = region in pair if pair else region.startswith(_MULTI_REGIONS.get(location, location))
    if not is_near:
        where = f"{location} ({' and '.join(pair)})" if pair else location
        raise LaunchError(f"{bucket} is in {where}, and the job would run in {region}; use one region")


def _describe_bucket(bucket: str) -> dict[str, Any]:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    base = emulator or _STORAGE
    base = base if "://" in base else f"http://{base}"
    path = f"/storage/v1/b/{bucket.removeprefix('gs://').partition('/')[0]}"
    credentials = no_credentials() if emulator else None
    return ask(base.rstrip("/"), "GET", path, credentials=credentials, seconds=_BUCKET_SECONDS)


def _find_image(image: str) -> str:
    host, _, path = image.partition("/")
    is_here = host.partition(":")[0] in ("127.0.0.1", "localhost")
    if not is_here and not _REGISTRIES.fullmatch(host):
        return f"{image} is in no registry of Google, so nobody has looked whether it is there"
    name, _, tag = path.partition("@") if "@" in path else path.rpartition(":")
    name, tag = (name, tag) if name else (path, "latest")
    try:
        ask(f"{'http' if is_here else 'https'}://{host}", "HEAD", f"/v2/{name}/{_MANIFESTS}/{tag}")
    except LaunchError as error:
        raise LaunchError(f"{image} cannot be read: {error}; `burnish image push` puts one there") from error
    return f"{image} is there"
