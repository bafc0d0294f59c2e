"""What several processes on one machine are given."""

import json
import sys
from pathlib import Path

import pytest

from burnish.errors import ConfigError
from burnish.launch.group import Group, environment, read_group, run_workers


def test_cores_are_divided_between_the_processes() -> None:
    assert environment({"BURNISH_CORES": "8"}, group=Group(3))["OMP_NUM_THREADS"] == "2"
    assert environment({"BURNISH_CORES": "2"}, group=Group(4))["OMP_NUM_THREADS"] == "1"


def test_what_the_user_has_set_is_left_alone() -> None:
    given = environment({"OMP_NUM_THREADS": "5", "GLOO_SOCKET_IFNAME": "eth0"}, group=Group(2))
    assert given == {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def test_restarts_never_share_a_store_whatever_the_environment_says() -> None:
    given = environment({"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "0"}, group=Group(2))
    assert given["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"


def test_processes_of_one_machine_talk_over_loopback() -> None:
    assert environment({}, group=Group(2)).get("GLOO_SOCKET_IFNAME", "lo") in ("lo", "lo0")


SPEAKING = """
import os, sys
told = [os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["LOCAL_WORLD_SIZE"], *sys.argv[1:]]
# in one write: what two processes print into one pipe in several could mix
os.write(1, (" ".join(told) + "\\n").encode())
sys.exit(int(sys.argv[1]))
"""


def test_each_process_knows_its_place_and_their_exit_code_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "speaking.py").write_text(SPEAKING)
    lines: list[str] = []
    env = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    code = run_workers(["speaking", "75"], group=Group(2), on_line=lines.append, env=env)
    assert code == 75
    assert set(lines) <= {"0 2 2 75\n", "1 2 2 75\n"}
    assert lines


def test_a_group_on_one_machine_needs_no_more_than_its_number() -> None:
    assert read_group(2) == Group.of(2) == Group(2)
    assert Group.of(1).is_one_process
    assert not read_group(1, max_restarts=2).is_one_process


@pytest.mark.parametrize(("nodes", "least", "most"), [("2", 2, 2), ("1:4", 1, 4), ("1", 1, 1)])
def test_nodes_are_a_number_or_a_range(nodes: str, least: int, most: int) -> None:
    group = read_group(1, nodes=nodes, rendezvous="n1:29400")
    assert (group.least_nodes, group.most_nodes, group.max_restarts) == (least, most, 3)
    assert not group.is_on_loopback


@pytest.mark.parametrize(
    ("nodes", "rendezvous", "said"),
    [
        ("0", "n1:29400", "--nodes must be"),
        ("4:2", "n1:29400", "--nodes must be"),
        ("many", "n1:29400", "--nodes must be"),
        ("2", None, "--nodes 2 needs --rendezvous"),
        (None, "n1:29400", "--rendezvous needs --nodes"),
        ("2", "n1", "--rendezvous must be HOST:PORT"),
        ("2", "n1:99999", "--rendezvous must be HOST:PORT"),
        ("2", "tcp://n1:5", "--rendezvous must be HOST:PORT"),
    ],
)
def test_what_does_not_fit_together_is_refused(nodes: str | None, rendezvous: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_group(1, nodes=nodes, rendezvous=rendezvous)


def test_processes_of_several_machines_choose_their_own_network() -> None:
    assert "GLOO_SOCKET_IFNAME" not in environment({}, group=Group(1, 2, 2, "n1:29400"))
    assert Group(1, 2, 2, "127.0.0.1:29400").is_on_loopback


LOUD = """
import os, signal, sys
if os.environ["RANK"] == "1":
    sys.stderr.write("the last words\\n")
    sys.stderr.flush()
    if not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
os.write(1, (os.environ["TORCHELASTIC_RESTART_COUNT"] + "\\n").encode())  # in one, as above
"""


def test_the_last_words_of_a_process_are_kept_and_all_start_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    lines: list[str] = []
    env = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    group = Group(2, max_restarts=1)
    assert run_workers(["loud", str(tmp_path / "mark")], group=group, on_line=lines.append, env=env) == 0
    assert lines.count("1\n") == 2
    (noted,) = [json.loads(line)["message"] for line in lines if line.startswith("{")]
    assert "process 1 of 2" in noted
    assert "was ended by SIGKILL" in noted
    assert "start 2 of 2 in 5 s" in noted
    assert "process 1: the last words" in capfd.readouterr().err


@pytest.mark.parametrize("code", [2, 4, 75])
def test_what_was_refused_or_asked_to_stop_is_not_started_again(tmp_path: Path, code: int) -> None:
    (tmp_path / "speaking.py").write_text(SPEAKING)
    lines: list[str] = []
    env = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    group = Group(1, max_restarts=3)
    assert run_workers(["speaking", str(code)], group=group, on_line=lines.append, env=env) == code
    assert len(lines) == 1
