"""A real server answers what `burnish predict` answers, and refuses in sentences."""

import base64
import json
import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from burnish.artifact.predictor import Predictor
from burnish.commands.predict import predict_payload
from burnish.data.codecs.example import Feature, serialise_example
from tests.harness.server import RunningServer, running_server, some_ride, some_text

TEXTS = ["a good, warm film", 'a "dull" plot\nand a cold cast', "the story is funny"]


@pytest.fixture(scope="module")
def client(server: RunningServer) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=30)


def predicted(artifacts: Path, model: str, payload: bytes, *, format: str = "json") -> bytes:
    return predict_payload(str(artifacts / model), payload, format=format).body  # type: ignore[arg-type]  # a name of a format


def test_rows_are_answered_as_predict_answers_them_in_every_format(
    server: RunningServer, client: httpx.Client, artifacts: Path
) -> None:
    example = serialise_example({"text": Feature("bytes", (TEXTS[0].encode(),))})
    for kind, format, payload in (
        ("application/json", "json", json.dumps({"instances": TEXTS}).encode()),
        ("application/json", "json", json.dumps({"instances": [{"text": text} for text in TEXTS]}).encode()),
        ("application/json", "json", json.dumps({"instances": [[text] for text in TEXTS]}).encode()),
        ("application/jsonl", "jsonl", "\n".join(map(json.dumps, TEXTS)).encode()),
        ("text/csv", "csv", b"text\na good film\nthe plot\n"),
        ("text/csv; header=absent", "csv_rows", b"a good film\nthe plot\n"),
        ("application/x-protobuf", "example", base64.b64encode(example)),
    ):
        answer = client.post("/v1/models/texts:predict", content=payload, headers={"content-type": kind})
        assert (answer.status_code, answer.content) == (200, predicted(artifacts, "texts", payload, format=format))


def test_answers_do_not_depend_on_what_shares_their_batch(
    server: RunningServer, client: httpx.Client, artifacts: Path
) -> None:
    draw = random.Random(3)
    asked = [[some_text(draw) for _ in range(draw.choice([1, 1, 1, 5, 90]))] for _ in range(60)]
    rides = [[some_ride(draw) for _ in range(draw.choice([1, 3]))] for _ in range(60)]
    bodies = [("texts", rows) for rows in asked] + [("rides", rows) for rows in rides]
    draw.shuffle(bodies)
    with ThreadPoolExecutor(24) as pool:
        answers = list(
            pool.map(lambda body: client.post(f"/v1/models/{body[0]}:predict", json={"instances": body[1]}), bodies)
        )
    predictors = {name: Predictor.load(artifacts / name / "artifact") for name in ("texts", "rides")}
    for (name, rows), answer in zip(bodies, answers, strict=True):
        given = [{"text": row} if isinstance(row, str) else row for row in rows]
        expected = predictors[name].predict(given)
        found = answer.json()["predictions"]
        assert [each["predicted"] for each in found] == [each.label for each in expected]
        probabilities = [list(each["probabilities"].values()) for each in found]
        np.testing.assert_allclose(probabilities, [list(each.probabilities.values()) for each in expected], atol=1e-5)


def test_bad_rows_are_named_all_at_once(client: httpx.Client) -> None:
    rows = [{"fare": "much"}, {"fare": 3, "miles": []}, {"fare": 12.5}]
    answer = client.post("/v1/models/rides:predict", json={"instances": rows})
    assert answer.status_code == 422
    assert [(each["row"], each["field"]) for each in answer.json()["rows"]] == [(1, "fare"), (2, "miles")]
    partial = client.post("/v1/models/rides:predict?partial=true", json={"instances": rows})
    assert partial.status_code == 200
    assert ["error" in each for each in partial.json()["predictions"]] == [True, True, False]


def test_one_bad_request_does_not_harm_those_that_came_with_it(client: httpx.Client) -> None:
    bodies = [{"instances": [{"fare": "much" if number % 3 == 0 else 12.5}]} for number in range(60)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda body: client.post("/v1/models/rides:predict", json=body), bodies))
    assert [each.status_code for each in answers] == [422 if number % 3 == 0 else 200 for number in range(60)]
    assert all(each.json()["rows"][0]["row"] == 1 for each in answers[::3])


@pytest.mark.parametrize(
    ("path", "content", "kind", "status", "said"),
    [
        ("/v1/models/texts:predict", b'{"instances": [', "application/json", 400, "not JSON"),
        ("/v1/models/texts:predict", b"[" * 500 + b"]" * 500, "application/json", 400, "nested too deeply"),
        ("/v1/models/texts:predict", b"\xff\xfe\xfa", "application/json", 400, ""),
        ("/v1/models/texts:predict", b"", "application/json", 400, "empty"),
        ("/v1/models/texts:predict", b"{}", "image/png", 415, "no rows are read from `image/png`"),
        ("/v1/models/texts:predict", json.dumps(["a"] * 10_001).encode(), "application/json", 413, "10,001 rows"),
        ("/v1/models/texts:predict", b"[3, {}, null]", "application/json", 422, "2 of 3 rows"),
        ("/v1/models/other:predict", b"{}", "application/json", 404, "no model is called 'other'"),
        ("/v1/predict", b"{}", "application/json", 404, "several models"),
        ("/nothing", b"{}", "application/json", 404, "there is nothing at /nothing"),
        ("/health/live", b"{}", "application/json", 405, "does not answer POST"),
    ],
)
def test_refusals_are_sentences(
    client: httpx.Client, path: str, content: bytes, kind: str, status: int, said: str
) -> None:
    answer = client.post(path, content=content, headers={"content-type": kind})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert said in answer.json()["error"]


def test_no_rows_get_no_answers(client: httpx.Client) -> None:
    assert client.post("/v1/models/texts:predict", json={"instances": []}).json() == {"predictions": []}


def test_clients_of_torchserve_get_bare_names(client: httpx.Client) -> None:
    full = client.post("/v1/models/texts:predict", json=TEXTS).json()["predictions"]
    names = [each["predicted"] for each in full]
    packed = [{"data": {"b64": base64.b64encode(text.encode()).decode()}} for text in TEXTS]
    assert client.post("/predictions/texts", json={"instances": packed}).json() == {"predictions": names}
    assert client.post("/predictions/texts", json=packed[1]).text == names[1]
    assert client.post("/predictions/texts", content=TEXTS[2].encode()).text == names[2]
    assert client.get("/ping").json() == {"status": "Healthy"}
    bad = client.post("/predictions/rides?partial=true", content=b"no row at all")
    assert (bad.status_code, "error" in bad.json()["predictions"][0]) == (200, True)


def test_the_api_is_described_by_the_fields_of_the_model(client: httpx.Client) -> None:
    assert client.get("/v1/models").json() == {"models": ["texts", "rides"]}
    assert client.get("/v1/models/rides").json() == {"name": "rides", "ready": True}
    assert client.get("/v1/models/rides/signature").json()["answer"]["kind"] == "class"
    document = client.get("/openapi.json").json()
    row = document["components"]["schemas"]["rides_row"]["anyOf"][0]["properties"]
    assert set(row) == {"fare", "miles", "company", "cash"}
    assert row["fare"]["type"] == ["number", "string", "null"]
    asked = document["paths"]["/v1/models/rides:predict"]["post"]["requestBody"]["content"]["application/json"]
    assert client.post("/v1/models/rides:predict", json=asked["example"]).status_code == 200


def test_health_and_metrics(client: httpx.Client) -> None:
    assert client.get("/health/live").status_code == client.get("/health/ready").status_code == 200
    client.post("/v1/models/rides:predict", json=[{"fare": 12.5, "company": "Unheard of"}])
    text = client.get("/metrics").text
    for line in (
        'burnish_requests_total{path="/v1/models/rides:predict",status="200"}',
        'burnish_stage_seconds_bucket{le="0.001",model="rides",stage="compute"}',
        'burnish_batch_rows_count{model="rides"}',
        'burnish_queue_bytes{model="rides"}',
        'burnish_drift_missing_share{column="miles",model="rides",source="serving"}',
        'burnish_drift_unseen_share{column="company",model="rides",source="serving"}',
        'burnish_drift_class_share{label="1",model="rides",source="serving"}',
        'burnish_drift_length_mean{column="text",model="texts",source="serving"}',
    ):
        assert line in text


def test_the_access_log_has_no_rows(server: RunningServer, client: httpx.Client) -> None:
    client.post("/v1/models/texts:predict", json=["my secret text"])
    log = server.log.read_text()
    assert "POST /v1/models/texts:predict 200" in log
    assert "secret" not in log


def test_keys_routes_of_the_environment_and_a_clean_end(artifacts: Path, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("first\nsecond key\n")
    variables = ["AIP_HEALTH_ROUTE=/isalive", "AIP_PREDICT_ROUTE=/guess", "AIP_HTTP_PORT=1"]
    options = ("rides", "--api-key-file", str(tmp_path / "keys"))
    with running_server(*options, directory=artifacts, log=tmp_path / "log", variables=variables) as running:
        body = {"instances": [{"fare": 12.5}]}
        assert httpx.get(f"{running.url}/isalive").status_code == 200
        assert httpx.get(f"{running.url}/metrics").status_code == 401
        refused = httpx.post(f"{running.url}/guess", json=body, headers={"authorization": "Bearer firs"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        for headers in ({"authorization": "Bearer first"}, {"x-api-key": "second key"}):
            assert httpx.post(f"{running.url}/guess", json=body, headers=headers).status_code == 200
        assert running.stop(signal.SIGINT) == 0
    assert "every accepted request was answered" in (tmp_path / "log").read_text()


def test_an_exported_model_is_served_by_the_engine_that_was_chosen(artifacts: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` brings it")
    from burnish.commands.export import export

    copied = shutil.copytree(artifacts / "rides", tmp_path / "rides")
    export(str(copied))
    draw = random.Random(7)
    rows = [some_ride(draw) for _ in range(20)]
    with running_server("rides", "--engine", "onnx", directory=tmp_path, log=tmp_path / "server.log") as running:
        answer = httpx.post(f"{running.url}/v1/predict", json={"instances": rows}, timeout=30).json()["predictions"]
    mine = json.loads(predicted(artifacts, "rides", json.dumps({"instances": rows}).encode()))["predictions"]
    for said, wanted in zip(answer, mine, strict=True):
        assert said["predicted"] == wanted["predicted"]
        assert said["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-4)
