"""Tasks with two sequences, with columns, and from outside: killed and resumed, on two processes, and served."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.config import check
from burnish.commands.predict import predict, predict_file
from burnish.dist.world import Solo
from burnish.run.directory import RunDirectory
from burnish.run.plan import settle_plan
from burnish.testing.faults import Fault
from burnish.testing.fork_server import ForkServer, fork_server
from tests.faults.conftest import Scene, Tally, undisturbed
from tests.integration.dist.test_two_processes import start_ranks
from tests.integration.tasks.outcomes import outcome_of
from tests.project import BAD, GOOD, PLAIN

ROOT = Path(__file__).parents[3]
SHORT = "train: {length: 12 steps, batch: 8, evaluate_every: 6 steps, checkpoint_every: 4 steps, keep: 2}"
LONG = SHORT.replace("12 steps", "120 steps").replace("6 steps", "60 steps").replace("4 steps", "40 steps")
TASKS = {
    "own": ("{type: 'examples.own_task.tickets:Tickets', max_length: 16}", SHORT),
    "retrieval": ("{type: retrieval, max_length: 16, negative: unlike}", SHORT),
    "similarity": ("{type: similarity, max_length: 16, label: alike}", SHORT),
    "text_and_columns": ("{type: text_and_columns, max_length: 16, columns: [place, price], hidden: [32]}", LONG),
}


def sentence(draw: random.Random, words: tuple[str, ...]) -> str:
    chosen = [*draw.choices(PLAIN, k=draw.randint(1, 7)), *draw.choices(words, k=2)]
    draw.shuffle(chosen)
    return " ".join(chosen)


def write_rows(path: Path, count: int = 168) -> None:
    """Write rows that all tasks can read; the class is told by text and place only together."""
    draw = random.Random(3)
    with path.open("w") as stream:
        for _ in range(count):
            is_good, is_dear, place = draw.random() < 0.5, draw.random() < 0.5, draw.choice(("town", "coast"))
            words = GOOD if is_good else BAD
            other = draw.choice((GOOD, BAD))
            row = {
                "text": sentence(draw, words),
                "pair": sentence(draw, other),
                "alike": 5.0 * (other is words) + draw.random(),
                "price": None
                if draw.random() < 0.05
                else round(draw.uniform(5, 9) if is_dear else draw.uniform(1, 4), 2),
                "place": place,
                "unlike": sentence(draw, PLAIN),
                "label": f"{'good' if is_good else 'bad'} at the {place}",
            }
            told = {"query": row["text"], "passage": row["pair"], "subject": row["pair"], "body": row["text"]}
            stream.write(json.dumps({**row, **told, "queue": row["label"]}) + "\n")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    root = tmp_path_factory.mktemp("fused")
    write_rows(root / "rows.jsonl")
    for name, (task, policy) in TASKS.items():
        (root / f"{name}.yaml").write_text(
            f"task: {task}\ndata: {{train: {root}/rows.jsonl, split: {{validation: 24, test: 24}}}}\n"
            f"model: {tiny_bert}\noptimizer: {{learning_rate: 3e-3}}\nruntime: {{threads: 1}}\n{policy}\n"
        )
    return root


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with fork_server() as server:
        yield server


@pytest.fixture(scope="module", params=TASKS)
def scene(request: pytest.FixtureRequest, root: Path, server: ForkServer) -> Scene:
    return undisturbed(root / request.param, server, check(str(root / f"{request.param}.yaml")))


@pytest.mark.timeout(900)  # a busy machine takes its time
def test_killed_in_a_save_it_ends_with_the_same_bits(scene: Scene) -> None:
    tally, run = Tally(), scene.plan("killed")
    point = next(point for point in scene.points_of_save(1) if point.kind == "tensors")
    scene.killed(run, Fault(point.kind, point.number, "within"), tally)
    assert tally.kills == 1
    scene.resume(run, tally)
    scene.assert_same(run, tally)


@pytest.mark.timeout(900)  # a busy machine takes its time
def test_an_artifact_answers_as_the_run_did(scene: Scene, root: Path) -> None:
    run = scene.undisturbed
    predictor = Predictor.load(run.artifact)  # which replays the golden rows
    golden = json.loads((run.artifact / "golden.json").read_text())
    said = predictor.predict(golden["rows"])
    served = answer(predictor, json.dumps(golden["rows"]).encode(), format="json")
    answers = json.loads(served.body)["predictions"]
    assert len(said) == len(answers) == 8
    name = root.joinpath(run.path).parent.name
    if name == "retrieval":
        np.testing.assert_allclose(answers[0]["embedding"], golden["outputs"][0], atol=1e-6)
    else:
        told = pq.read_table(run.predictions / "validation.parquet").slice(0, 8)["predicted"].to_pylist()
        assert [each["predicted"] for each in answers] == pytest.approx(told, abs=1e-5)


@pytest.mark.timeout(900)  # a busy machine takes its time
def test_outcomes_of_two_processes_are_those_of_one_to_the_last_digit(root: Path, tmp_path: Path) -> None:
    runs = [RunDirectory(root / name / "planned") for name in TASKS]
    for run in runs:
        settle_plan(run, check(str(root / f"{run.path.parent.name}.yaml")))
    alone = {key: value for run in runs for key, value in outcome_of(run.path, Solo()).items()}
    module = "tests.integration.tasks.outcomes"
    processes = start_ranks(module, str(tmp_path), *(str(run.path) for run in runs))
    assert [process.wait(timeout=800) for process in processes] == [0, 0]
    for rank in range(2):
        found = dict(np.load(tmp_path / f"rank{rank}.npz"))
        assert [key for key in alone if not np.array_equal(alone[key], found[key])] == []


@pytest.mark.parametrize("scene", ["text_and_columns"], indirect=True)
def test_text_and_columns_together_tell_what_neither_does_alone(scene: Scene) -> None:
    run = scene.undisturbed
    scores = json.loads(run.scores.read_text())["scores"]
    assert scores["test"]["accuracy"]["value"] >= 0.95  # the text or the column alone: a half
    insights = json.loads(run.insights.read_text())["importance"]
    assert min(insights["text"], insights["place"]) > 0.2 > abs(insights["price"])
    [said] = predict(str(run.path), [{"text": "a good film"}])
    assert said.label is not None  # what is not given takes its default
    [unseen] = predict(str(run.path), [{"text": "a good film", "place": "moon", "price": None}])
    assert unseen.label in ("good at the town", "good at the coast")


@pytest.mark.parametrize("scene", ["retrieval"], indirect=True)
def test_a_file_gets_a_column_of_embeddings(scene: Scene, tmp_path: Path) -> None:
    source = tmp_path / "asked.csv"
    source.write_text("query\na good film\nthe story is cold\n")
    assert predict_file(str(scene.undisturbed.path), source=str(source), out=tmp_path / "out.parquet") == 2
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    [one] = predict(str(scene.undisturbed.path), [{"text": "a good film"}])
    assert one.answer is not None
    np.testing.assert_allclose(rows[0]["embedding"], one.answer["embedding"], atol=1e-6)
    assert np.linalg.norm(rows[0]["embedding"]) == pytest.approx(1, abs=1e-5)
