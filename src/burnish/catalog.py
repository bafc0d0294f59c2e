"""The names that Burnish itself provides: kind → name → address. Nothing is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """Where a component lives, and the short names it also answers to."""

    address: str
    aliases: tuple[str, ...] = ()


_METRICS = "burnish.metrics"
_OPTIM = "burnish.optim"

CATALOG: Mapping[str, Mapping[str, Entry]] = {
    "tasks": {
        "text_classification": Entry("burnish.tasks.text_classification:TextClassification"),
        "token_classification": Entry("burnish.tasks.token_classification:TokenClassification"),
        "multiple_choice": Entry("burnish.tasks.multiple_choice:MultipleChoice"),
        "question_answering": Entry("burnish.tasks.question_answering:QuestionAnswering"),
        "tabular": Entry("burnish.tasks.tabular:Tabular"),
        "masked_lm": Entry("burnish.tasks.language_modeling:MaskedLm"),
        "permutation_lm": Entry("burnish.tasks.language_modeling:PermutationLm"),
        "replaced_tokens": Entry("burnish.tasks.language_modeling:ReplacedTokens"),
        "pretraining": Entry("burnish.tasks.language_modeling:Pretraining"),
        "causal_lm": Entry("burnish.tasks.language_modeling:CausalLm"),
        "retrieval": Entry("burnish.tasks.embedding:Retrieval"),
        "similarity": Entry("burnish.tasks.embedding:Similarity"),
        "multi": Entry("burnish.tasks.multi:Multi"),
        "text_and_columns": Entry("burnish.tasks.text_and_columns:TextAndColumns"),
    },
    "data": {
        "files": Entry("burnish.data.files:Files"),
        "hub": Entry("burnish.data.hub:Hub"),
        "glue": Entry("burnish.data.hub:Glue"),
        "several": Entry("burnish.data.hub:Several"),
        "prepared": Entry("burnish.run.prepared:PreparedFolder"),
    },
    "models": {
        "transformer": Entry("burnish.models.transformer:Transformer"),
        "linear": Entry("burnish.models.tabular.models:Linear"),
        "deep": Entry("burnish.models.tabular.models:Deep"),
        "wide_deep": Entry("burnish.models.tabular.models:WideDeep"),
        "tab_m": Entry("burnish.models.tabular.models:TabM"),
        "gbdt": Entry("burnish.models.tabular.models:Gbdt"),
    },
    "truncations": {
        "head": Entry("burnish.data.truncation:Head"),
        "tail": Entry("burnish.data.truncation:Tail"),
        "head_tail": Entry("burnish.data.truncation:HeadTail", ("ht",)),
        "random_spans": Entry("burnish.data.truncation:RandomSpans", ("rs",)),
        "random_spans_overlapping": Entry("burnish.data.truncation:RandomSpansOverlapping", ("rso",)),
        "random_spans_deleting": Entry("burnish.data.truncation:RandomSpansDeleting", ("rsd",)),
        "windows": Entry("burnish.data.truncation:Windows"),
    },
    "optimizers": {
        "adamw": Entry(f"{_OPTIM}.optimizers:AdamW"),
        "adam": Entry(f"{_OPTIM}.optimizers:Adam"),
        "adafactor": Entry(f"{_OPTIM}.optimizers:Adafactor"),
        "sgd": Entry(f"{_OPTIM}.optimizers:Sgd"),
        "lamb": Entry(f"{_OPTIM}.optimizers:Lamb"),
        "lion": Entry(f"{_OPTIM}.optimizers:Lion"),
        "adagrad": Entry(f"{_OPTIM}.optimizers:AdaGrad"),
        "ftrl": Entry(f"{_OPTIM}.optimizers:Ftrl"),
        "split": Entry(f"{_OPTIM}.optimizers:Split"),
    },
    "schedules": {
        "constant": Entry(f"{_OPTIM}.schedules:Constant"),
        "linear": Entry(f"{_OPTIM}.schedules:LinearDecay"),
        "cosine": Entry(f"{_OPTIM}.schedules:Cosine"),
        "cosine_restarts": Entry(f"{_OPTIM}.schedules:CosineRestarts"),
        "polynomial": Entry(f"{_OPTIM}.schedules:Polynomial"),
        "exponential": Entry(f"{_OPTIM}.schedules:Exponential"),
        "stepwise": Entry(f"{_OPTIM}.schedules:Stepwise"),
        "inverse_sqrt": Entry(f"{_OPTIM}.schedules:InverseSqrt"),
    },
    "metrics": {
        "accuracy": Entry(f"{_METRICS}.classification:Accuracy"),
        "f1": Entry(f"{_METRICS}.classification:F1"),
        "precision": Entry(f"{_METRICS}.classification:Precision"),
        "recall": Entry(f"{_METRICS}.classification:Recall"),
        "matthews": Entry(f"{_METRICS}.classification:Matthews"),
        "confusion": Entry(f"{_METRICS}.classification:Confusion"),
        "entities": Entry(f"{_METRICS}.language:Entities"),
        "token_accuracy": Entry(f"{_METRICS}.language:TokenAccuracy"),
        "perplexity": Entry(f"{_METRICS}.language:Perplexity"),
        "guess_accuracy": Entry(f"{_METRICS}.language:GuessAccuracy"),
        "pair_accuracy": Entry(f"{_METRICS}.language:PairAccuracy"),
        "log_loss": Entry(f"{_METRICS}.classification:LogLoss"),
        "calibration_error": Entry(f"{_METRICS}.classification:CalibrationError"),
        "answer_f1": Entry(f"{_METRICS}.language:AnswerF1"),
        "exact_match": Entry(f"{_METRICS}.language:ExactMatch"),
        "answerability": Entry(f"{_METRICS}.language:Answerability"),
        "best_threshold": Entry(f"{_METRICS}.language:BestThreshold"),
        "roc_auc": Entry(f"{_METRICS}.classification:RocAuc"),
        "pr_auc": Entry(f"{_METRICS}.classification:PrAuc"),
        "pearson": Entry(f"{_METRICS}.regression:Pearson"),
        "spearman": Entry(f"{_METRICS}.regression:Spearman"),
        "mse": Entry(f"{_METRICS}.regression:Mse"),
        "rmse": Entry(f"{_METRICS}.regression:Rmse"),
        "mae": Entry(f"{_METRICS}.regression:Mae"),
        "r2": Entry(f"{_METRICS}.regression:R2"),
        "poisson_deviance": Entry(f"{_METRICS}.regression:PoissonDeviance"),
        "gamma_deviance": Entry(f"{_METRICS}.regression:GammaDeviance"),
        "pinball": Entry(f"{_METRICS}.regression:Pinball"),
        "mrr": Entry(f"{_METRICS}.language:Mrr"),
        "recall_at": Entry(f"{_METRICS}.language:RecallAt"),
    },
    "trackers": {
        "tensorboard": Entry("burnish.tracking.tensorboard:TensorBoard"),
    },
}

MOVED: Mapping[str, str] = {
    "burnish.tasks.masked_lm:MaskedLm": "masked_lm",
    "burnish.tasks.causal_lm:CausalLm": "causal_lm",
    "burnish.tasks.permutation_lm:PermutationLm": "permutation_lm",
    "burnish.tasks.replaced_tokens:ReplacedTokens": "replaced_tokens",
    "burnish.tasks.pretraining:Pretraining": "pretraining",
    "burnish.tasks.retrieval:Retrieval": "retrieval",
    "burnish.tasks.similarity:Similarity": "similarity",
    "burnish.tasks.embedding.retrieval:Retrieval": "retrieval",
    "burnish.tasks.embedding.similarity:Similarity": "similarity",
    "burnish.models.linear:Linear": "linear",
    "burnish.models.deep:Deep": "deep",
    "burnish.models.wide_deep:WideDeep": "wide_deep",
    "burnish.models.tab_m:TabM": "tab_m",
    "burnish.models.gbdt:Gbdt": "gbdt",
    "burnish.optim.schedules:Linear": "linear",
    "burnish.metrics.ranking:RocAuc": "roc_auc",
    "burnish.metrics.ranking:PrAuc": "pr_auc",
    "burnish.metrics.probabilistic:LogLoss": "log_loss",
    "burnish.metrics.probabilistic:CalibrationError": "calibration_error",
    "burnish.metrics.deviance:Rmse": "rmse",
    "burnish.metrics.deviance:PoissonDeviance": "poisson_deviance",
    "burnish.metrics.deviance:GammaDeviance": "gamma_deviance",
    "burnish.metrics.deviance:Pinball": "pinball",
    "burnish.data.glue:Glue": "glue",
    "burnish.data.several:Several": "several",
    "burnish.metrics.answers:AnswerF1": "answer_f1",
    "burnish.metrics.answers:ExactMatch": "exact_match",
    "burnish.metrics.answers:Answerability": "answerability",
    "burnish.metrics.answers:BestThreshold": "best_threshold",
    "burnish.metrics.tagging:Entities": "entities",
    "burnish.metrics.tagging:TokenAccuracy": "token_accuracy",
    "burnish.metrics.perplexity:Perplexity": "perplexity",
    "burnish.metrics.perplexity:GuessAccuracy": "guess_accuracy",
    "burnish.metrics.perplexity:PairAccuracy": "pair_accuracy",
    "burnish.metrics.retrieval:Mrr": "mrr",
    "burnish.metrics.retrieval:RecallAt": "recall_at",
}
"""Addresses that configs of earlier versions may hold, and the names that lead to the same component today."""
