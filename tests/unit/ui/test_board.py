"""The board over real files, asked over real HTTP by a real server where it matters, else in process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from burnish.run.record.directory import RunDirectory
from burnish.tuning.record import EndedLeg, StudyRecord, Trial
from burnish.ui.board import build_board
from tests.unit.commands.run_maker import STORY, finish, make_run, predict

TRUTH = ["neg", "pos"] * 20


@pytest.fixture
def board(tmp_path: Path) -> TestClient:
    for name, rate, wrong in [("base", 1e-5, 2), ("fast", 2e-5, 14)]:
        run = make_run(tmp_path / name, rate=rate)
        finish(run, accuracy=0.8)
        flipped = ["pos" if label == "neg" else "neg" for label in TRUTH[:wrong]]
        predict(run, flipped + TRUTH[wrong:], TRUTH)
    return TestClient(build_board(tmp_path), base_url="http://localhost")


def mark_as_running(run: RunDirectory) -> None:
    run.lock.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "heartbeat": time.time()}))


def test_the_list_shows_every_run_with_its_scores(board: TestClient) -> None:
    page = board.get("/").text
    assert re.findall(r'<tr data-name="(\w+)"', page) == ["base", "fast"]
    assert '<span class="metric">accuracy</span>0.800' in page
    assert board.get("/rows").text.strip() in page


def test_a_run_is_listed_with_its_scores_by_name_first_and_with_its_task_and_model(board: TestClient) -> None:
    page = board.get("/").text
    heads = re.findall(r'<button type="button" data-column="\d+">(\w+)</button>', page)
    assert heads == ["Run", "Test", "Best", "Status", "Task", "Model", "Started", "Time", "Step"]
    (row,) = re.findall(r'<tr data-name="base">(.*?)</tr>', page, re.DOTALL)
    cells = [re.sub(r"<.*?>", " ", cell).split() for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]
    assert cells[1:6] == [
        *(["base"], ["accuracy", "0.800", "0.700\N{EN DASH}0.900"], ["accuracy", "0.750"]),
        *(["finished"], ["Text", "classification"]),
    ]
    assert cells[6] == ["tiny"]


def test_runs_and_studies_behind_links_are_shown(board: TestClient, tmp_path: Path) -> None:
    for folder in ("far", "search"):
        (tmp_path.parent / f"{tmp_path.name}-elsewhere" / folder).mkdir(parents=True)
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    make_run(elsewhere / "far" / "run")
    (elsewhere / "search" / "study.jsonl").write_text("")
    (tmp_path / "linked").symlink_to(elsewhere)
    page = board.get("/").text
    assert '<tr data-name="linked/far/run"' in page
    assert ">linked/search</a>" in page
    assert board.get("/run?name=linked/far/run").status_code == 200


def test_a_run_is_shown_as_its_report_and_again_while_it_trains(board: TestClient, tmp_path: Path) -> None:
    assert "Refresh" not in board.get("/run?name=base").headers
    mark_as_running(make_run(tmp_path / "new", story=STORY[:4]))
    answer = board.get("/run?name=new")
    assert answer.headers["Refresh"]
    assert "<svg" in answer.text


def test_two_runs_are_compared_with_the_paired_test_and_their_curves(board: TestClient) -> None:
    page = board.get("/compare?name=base&name=fast").text
    assert "base is better by 30.0 points" in page
    assert "optimizer.learning_rate" in page
    assert page.count('class="line run-') == 4, "two lines, drawn for a screen and for a phone"


def test_a_study_is_shown_with_what_is_best_of_it_on_top(board: TestClient, tmp_path: Path) -> None:
    record = StudyRecord(tmp_path / "search")
    record.begin({"experiment": {}, "space": {}, "seed": 0, "metric": None, "starts": [], "evaluations": 1})
    record.score_name, record.is_lower_better = "validation/log_loss", True
    for number, loss in enumerate((0.5, 0.3)):
        record.add_trial(Trial(number, {}, {"optimizer.learning_rate": 0.1}, f"trial-{number:04d}"))
        record.add_end(EndedLeg(number, None, "finished", loss))
    assert '<a href="/study?name=search">search</a>' in board.get("/").text
    page = board.get("/study?name=search")
    assert "<strong>validation/log_loss of trial 1</strong>" in page.text
    assert page.headers["Refresh"]
    assert board.get("/study?name=absent").status_code == 404


@pytest.mark.parametrize("name", ["absent", "../base", "/etc", "base/../fast", ""])
def test_only_names_of_the_list_are_found(board: TestClient, name: str) -> None:
    answer = board.get("/run", params={"name": name})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")


def test_nothing_can_be_written_and_another_host_name_is_refused(board: TestClient) -> None:
    assert board.post("/").status_code == 405
    assert board.delete("/run?name=base").status_code == 405
    assert board.get("/", headers={"host": "example.org"}).status_code == 400


def test_a_name_is_text_and_never_markup(tmp_path: Path) -> None:
    make_run(tmp_path / "<script>alert(1)<b>")
    page = TestClient(build_board(tmp_path), base_url="http://localhost").get("/").text
    assert "<script>alert" not in page
    assert (
        "script-src 'self'"
        in TestClient(build_board(tmp_path), base_url="http://localhost").get("/").headers["content-security-policy"]
    )


def test_a_spoilt_run_does_not_hide_the_others(board: TestClient, tmp_path: Path) -> None:
    make_run(tmp_path / "spoilt").events.write_text("nonsense\n")
    assert board.get("/").text.count("<tr data-name") == 3


@contextmanager
def running_board(folder: Path) -> Iterator[str]:
    """Start `burnish ui` and wait until it answers; end it after the test."""
    command = [sys.executable, "-m", "burnish", "ui", str(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stderr.readline())[0]
            deadline = time.monotonic() + 30
            while True:
                try:
                    httpx.get(address, timeout=10)
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < deadline
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)


def test_the_command_serves_until_it_is_stopped(board: TestClient, tmp_path: Path) -> None:
    with running_board(tmp_path) as address:
        assert "fast" in httpx.get(address, timeout=10).text


def test_no_answer_sends_a_browser_to_the_host_that_it_named(board: TestClient) -> None:
    for path in ("/rows/", "/run/", "/compare/"):
        assert board.get(path, follow_redirects=False).status_code == 404


def test_a_header_without_end_keeps_no_other_client_waiting(tmp_path: Path) -> None:
    with running_board(tmp_path) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\na: ")
            for _ in range(400):
                connection.sendall(b"x" * (1 << 16))
            connection.sendall(b"\r\n\r\n")
            answer = connection.recv(100)
            assert answer.startswith(b"HTTP/1.1 4") or not answer
        assert httpx.get(address, timeout=10).status_code == 200
