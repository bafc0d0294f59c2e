"""The trace of a tiny run counts what lies between the plan, the first loss and the predictions."""

from pathlib import Path

from bench.trace_run import trace


def test_a_run_is_traced_to_its_loss_and_its_predictions(tmp_path: Path) -> None:
    found = trace(tmp_path)
    loss, predictions = found["loss"], found["predictions"]
    names = [name for _, name in found["calls"]]
    assert names[: loss["functions"]].count("Learner.step") == 1
    assert names.index("prepare") < names.index("build_learner") < names.index("fit") < loss["functions"]
    assert names.index("finish") < predictions["functions"]
    assert all(loss[key] < predictions[key] for key in ("functions", "files", "switches"))
    # Limits only shrink: someone who follows a row reads this far.
    assert loss["functions"] <= 725
    assert loss["files"] <= 115
