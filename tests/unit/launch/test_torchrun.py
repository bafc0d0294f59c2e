"""What several processes on one machine are given."""

import sys
from pathlib import Path

from burnish.launch.torchrun import environment, run_workers


def test_cores_are_divided_between_the_processes() -> None:
    assert environment({"BURNISH_CORES": "8"}, processes=3)["OMP_NUM_THREADS"] == "2"
    assert environment({"BURNISH_CORES": "2"}, processes=4)["OMP_NUM_THREADS"] == "1"


def test_what_the_user_has_set_is_left_alone() -> None:
    given = environment({"OMP_NUM_THREADS": "5", "GLOO_SOCKET_IFNAME": "eth0"}, processes=2)
    assert given == {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def test_restarts_never_share_a_store_whatever_the_environment_says() -> None:
    given = environment({"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "0"}, processes=2)
    assert given["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"


def test_processes_of_one_machine_talk_over_loopback() -> None:
    assert environment({}, processes=2).get("GLOO_SOCKET_IFNAME", "lo") in ("lo", "lo0")


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
    code = run_workers(["speaking", "75"], processes=2, on_line=lines.append, env=env)
    assert code == 75
    assert set(lines) <= {"0 2 2 75\n", "1 2 2 75\n"}
    assert lines
