"""What Google's services and registries are asked before and while a job runs: who gets a token, what is an answer."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("google.auth", reason="the extra `vertex` brings it")

import google.auth as auth
from google.auth.transport import requests as transport

from burnish.commands.elsewhere.jobs import examine
from burnish.errors import LaunchError
from burnish.launch.options import read_launcher
from burnish.launch.vertex.checks import check_job
from burnish.launch.vertex.logging import read_logs
from burnish.spec.launcher import JobSpec

JOB = JobSpec("train-reviews-20261118-120000", ("train", "experiment.yaml", "--dir", "outputs/run"))


class Session:
    """Answers as one of Google's does, and remembers what it was asked with which credentials."""

    asked: list[tuple[str, str, object]]
    bodies: list[Any]
    fault: Exception | None = None
    code = 200
    answer: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, credentials: object) -> None:
        self.credentials = credentials

    def request(self, method: str, url: str, **options: Any) -> Any:
        self.asked.append((method, url, self.credentials))
        self.bodies.append(options.get("json"))
        if self.fault is not None:
            raise self.fault
        return SimpleNamespace(status_code=self.code, content=b"{}", text="planted", json=lambda: dict(self.answer))


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> type[Session]:
    kind = type("Fresh", (Session,), {"asked": [], "bodies": []})
    monkeypatch.setattr(transport, "AuthorizedSession", kind)
    monkeypatch.setattr(auth, "default", lambda scopes: ("TOKEN", "p"))
    return kind


def look_for(image: str) -> Sequence[Any]:
    return [each for each in check_job(read_launcher("vertex", [f"image={image}"]), JOB) if each.what == "image"]


@pytest.mark.parametrize(
    "image",
    [
        *("ghcr.io/team/burnish:1", "registry.example/pkg.dev/burnish:1", "python:3.12", "team/burnish"),
        *("evilgcr.io/a/b:1", "us-docker.pkg.dev.evil.com/a/b:1", "evil.com#.pkg.dev/a:1", "a@evil.com?gcr.io/b:1"),
    ],
)
def test_only_registries_of_google_get_a_token(session: type[Session], image: str) -> None:
    (found,) = look_for(image)
    assert session.asked == []
    assert found.is_met
    assert f"{image} is in no registry of Google" in found.sentence


@pytest.mark.parametrize(
    ("image", "url"),
    [
        ("us-docker.pkg.dev/p/r/burnish:1", "https://us-docker.pkg.dev/v2/p/r/burnish/manifests/1"),
        ("eu.gcr.io/p/burnish", "https://eu.gcr.io/v2/p/burnish/manifests/latest"),
        ("gcr.io/p/burnish@sha256:ab", "https://gcr.io/v2/p/burnish/manifests/sha256:ab"),
    ],
)
def test_registries_of_google_are_asked_with_a_token(session: type[Session], image: str, url: str) -> None:
    (found,) = look_for(image)
    assert session.asked == [("HEAD", url, "TOKEN")]
    assert found.is_met


def test_a_registry_on_this_machine_is_asked_without_a_token(session: type[Session]) -> None:
    look_for("127.0.0.1:5000/team/burnish:1")
    ((_, url, credentials),) = session.asked
    assert url == "http://127.0.0.1:5000/v2/team/burnish/manifests/1"
    assert credentials != "TOKEN"


def test_an_emulator_of_the_storage_gets_no_token(session: type[Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "https://storage.example")
    monkeypatch.setattr("burnish.launch.vertex.checks.try_folder", lambda address: address)
    list(check_job(read_launcher("vertex", ["bucket=b"]), JOB))
    assert [(url, credentials != "TOKEN") for _, url, credentials in session.asked] == [
        ("https://storage.example/storage/v1/b/b", True)
    ]


@pytest.mark.parametrize(
    ("bucket", "region", "is_near"),
    [
        ({"location": "US-CENTRAL1"}, "us-central1", True),
        ({"location": "US-CENTRAL1"}, "us-east1", False),
        ({"location": "US"}, "us-west1", True),
        ({"location": "EU"}, "europe-west4", True),
        ({"location": "EU"}, "us-central1", False),
        ({"location": "NAM4"}, "us-central1", True),
        ({"location": "NAM4"}, "us-east1", True),
        ({"location": "NAM4"}, "us-west1", False),
        ({"location": "EUR4"}, "europe-west4", True),
        ({"location": "EUR4"}, "europe-west1", False),
        ({"location": "ASIA1"}, "asia-northeast2", True),
        ({"location": "US", "customPlacementConfig": {"dataLocations": ["US-EAST1", "US-WEST1"]}}, "us-west1", True),
        ({"location": "US", "customPlacementConfig": {"dataLocations": ["US-EAST1", "US-WEST1"]}}, "us-west2", False),
        ({}, "us-central1", True),
    ],
)
def test_a_bucket_is_taken_whose_location_holds_the_region(
    session: type[Session], monkeypatch: pytest.MonkeyPatch, bucket: dict[str, Any], region: str, is_near: bool
) -> None:
    session.answer = bucket
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "https://storage.example")
    monkeypatch.setattr("burnish.launch.vertex.checks.try_folder", lambda address: address)
    checks = check_job(read_launcher("vertex", ["bucket=b", f"region={region}"]), JOB)
    (found,) = (each for each in checks if each.what == "bucket")
    assert found.is_met == is_near, found.sentence


QUOTA = {
    "consumerQuotaLimits": [
        {
            "quotaBuckets": [
                {"effectiveLimit": "1", "defaultLimit": "1"},
                {"effectiveLimit": "4", "dimensions": {"region": "us-central1"}},
                {"effectiveLimit": "9", "dimensions": {"region": "europe-west4"}},
            ]
        }
    ]
}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("region=us-central1",), "is 4 for all jobs together"),
        (("region=us-east1",), "is 1 for all jobs together, and it wants 2: the service will refuse it"),
        (("region=europe-west4", "spot=true"), "custom_model_training_preemptible_nvidia_t4_gpus in europe-west4 is 9"),
    ],
)
def test_what_a_job_takes_and_its_quota_are_said_before_it_costs_money(
    session: type[Session], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.delenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM", raising=False)
    session.answer = QUOTA
    launcher = read_launcher("vertex", ["project=p", "accelerator=t4", "accelerators=2", *options])
    taken, quota, price = launcher.cost(JOB)
    assert "n1-standard-4 with 2 NVIDIA_TESLA_T4 and 100 GB of disk" in taken
    assert "24 hours at most" in taken
    assert said in quota
    assert "pricing" in price
    ((method, url, credentials),) = session.asked
    assert (method, credentials) == ("GET", "TOKEN")
    assert "/v1beta1/projects/p/services/aiplatform.googleapis.com/consumerQuotaMetrics/aiplatform.goog" in url


def test_a_quota_that_may_not_be_read_is_looked_up_elsewhere(
    session: type[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM", raising=False)
    session.code = 403
    _, quota, _ = read_launcher("vertex", ["project=p"]).cost(JOB)
    assert "Service Usage Viewer" in quota
    assert "iam-admin/quotas?project=p" in quota


def test_the_quota_of_an_emulated_service_is_not_asked_of_google(
    session: type[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM", "http://127.0.0.1:1")
    _, quota, _ = read_launcher("vertex", ["project=p"]).cost(JOB)
    assert "was not asked for" in quota
    assert session.asked == []


def test_the_doctor_lists_everything_also_where_the_login_has_expired(
    session: type[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session.fault = auth.exceptions.RefreshError("invalid_grant: Token has been expired or revoked.", {"error": "x"})
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    found = {each.what: each for each in examine("vertex", ["bucket=b", "image=gcr.io/p/burnish:1"])}
    assert [what for what, each in found.items() if not each.is_met] == ["project", "bucket", "image"]
    for what in ("bucket", "image"):
        assert "Token has been expired or revoked" in found[what].sentence
        assert "gcloud auth application-default login" in found[what].sentence


def test_log_entries_are_keyed_by_their_time_and_asked_for_since_a_little_before(session: type[Session]) -> None:
    stamps = ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z")
    entries = [{"timestamp": stamp, "insertId": "i", "textPayload": stamp} for stamp in stamps]
    session.answer = {"entries": entries}
    launcher = read_launcher("vertex", ["project=p"])
    found = list(read_logs(launcher, "jobs/7", after=""))
    assert [line.text[19:] for line in found] == ["Z", ".25Z", ".5Z"]
    assert sorted(line.key for line in found) == [line.key for line in found]
    assert len(list(read_logs(launcher, "jobs/7", after=found[-1].key))) == 3
    assert 'timestamp>="2025-12-31T23:59:00Z"' in session.bodies[-1]["filter"]


@pytest.mark.parametrize(("code", "is_final"), [(503, False), (429, False), (403, True), (404, True)])
def test_an_answer_tells_whether_to_ask_again(session: type[Session], code: int, is_final: bool) -> None:
    session.code = code
    with pytest.raises(LaunchError) as refused:
        list(read_logs(read_launcher("vertex", ["project=p"]), "jobs/7", after=""))
    assert refused.value.is_final == is_final
