"""Logs of pods: each node stamps its lines in its own time zone, and their keys are in one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("urllib3", reason="the extra `kubernetes` brings it")

from burnish.launch.kubernetes import client


def stamp(seconds_ago: float, *, hours: int) -> str:
    """Write a time as the kubelet of a node does whose clock is set to a zone."""
    moment = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).astimezone(timezone(timedelta(hours=hours)))
    zone = moment.strftime("%z")
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000000007" + (f"{zone[:3]}:{zone[3:]}" if hours else "Z")


class Cluster:
    """Pods with their logs, and what was asked of these."""

    def __init__(self, logs: dict[str, Sequence[str]], monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs, self.asked = logs, list[dict[str, Any]]()
        kube = SimpleNamespace(client=SimpleNamespace(CoreV1Api=lambda _api: self, ApiException=OSError))
        monkeypatch.setattr(client, "_connect", lambda _launcher: (kube, None))

    def list_namespaced_pod(self, _space: str, **_: Any) -> Any:
        return SimpleNamespace(
            items=[
                SimpleNamespace(
                    metadata=SimpleNamespace(name=name, namespace="default", annotations=None),
                    status=SimpleNamespace(phase="Running"),
                )
                for name in self.logs
            ]
        )

    def read_namespaced_pod_log(self, name: str, _space: str, **asked: Any) -> str:
        self.asked.append(asked)
        return "\n".join(self.logs[name])

    def read(self, after: str = "") -> list[tuple[str, str]]:
        launcher: Any = SimpleNamespace(most_nodes=1)
        return [(line.key, line.text) for line in client.read_logs(launcher, "default/job", after=after)]


@pytest.mark.parametrize("hours", [-8, 0, 2])
def test_a_log_is_read_on_wherever_its_node_is(hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({"a": [f"{stamp(3600, hours=hours)} one", f"{stamp(30, hours=hours)} two"]}, monkeypatch)
    first, second = cluster.read()
    assert (first[1], second[1]) == ("one", "two")
    assert cluster.read(first[0]) == [first, second]
    assert 3600 <= cluster.asked[-1]["since_seconds"] <= 3700


def test_lines_of_nodes_in_several_zones_come_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"a": [f"{stamp(30, hours=2)} second"], "b": [f"{stamp(60, hours=0)} first", f"{stamp(10, hours=0)} third"]}
    assert [text for _, text in Cluster(logs, monkeypatch).read()] == ["first", "second", "third"]


def test_what_a_node_says_of_its_log_itself_has_no_time_and_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["unable to follow", "unable to read", ""]
    cluster = Cluster({"a": [*said, f"{stamp(30, hours=0)} one"]}, monkeypatch)
    found = cluster.read()
    assert sorted(text for _, text in found[:3]) == sorted(said)
    assert found[3][1] == "one"
    assert len({key for key, _ in found}) == 4
    assert cluster.read(found[0][0]) == found
