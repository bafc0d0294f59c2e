"""A variant that says nothing of worth is never taken for one that lost nothing."""

import math

import numpy as np
import pytest

from burnish.artifact.variants import EngineSpeed, Proof, TaskProof
from burnish.errors import ServeError
from burnish.export.prove import prove_task
from burnish.metrics.regression import Mse, Pearson
from burnish.spec.values import Array, Outcome

TRUTH = np.linspace(0, 1, 40)
SPEED = EngineSpeed(one_row_seconds=1.0, rows_per_second=1.0, num_bytes=1)


def numbers(said: Array, *, truth: Array | None = TRUTH) -> Outcome:
    return Outcome("regression", np.arange(len(said)), said, said, truth)


def is_within(proof: TaskProof) -> bool:
    proofs, speeds = {"": proof}, {"torch": SPEED, "own": SPEED}
    return Proof(tasks=proofs, split="test", tolerance=0.01, **speeds, machine="", processor="").is_within


def test_a_variant_whose_score_is_not_defined_is_not_within_any_tolerance() -> None:
    proof = prove_task(numbers(TRUTH), numbers(np.full(40, 0.5)), metric=Pearson())
    assert (proof.score, proof.torch_value, proof.value, proof.loss) == ("pearson", pytest.approx(1.0), None, None)
    assert not is_within(proof)
    assert not is_within(TaskProof.model_validate_json(proof.model_dump_json()))


def test_a_score_that_torch_has_not_either_says_nothing_against_a_variant() -> None:
    dead = numbers(np.full(40, 0.5))
    assert is_within(prove_task(dead, dead, metric=Pearson()))


@pytest.mark.parametrize("truth", [TRUTH, None])
def test_answers_that_only_the_variant_lacks_are_refused(truth: Array | None) -> None:
    lost = np.where(TRUTH > 0.9, math.nan, TRUTH)
    with pytest.raises(ServeError, match="4 of 40 rows have an answer by torch and none by the exported graph"):
        prove_task(numbers(TRUTH, truth=truth), numbers(lost, truth=truth), metric=Mse())
    assert prove_task(numbers(lost, truth=truth), numbers(lost, truth=truth), metric=Mse()).max_error == 0
