"""What a server counts, for Prometheus: requests, time by stage, batches, the queue, classes and drift."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from burnish.artifact.signature import Signature
from burnish.serve.drift import Drift
from burnish.serve.jobs import Chunk
from burnish.serve.queue import JobQueue

_MEASURES = {
    "missing_share": "Share of rows without a value.",
    "unseen_share": "Share of rows with a category that training did not see.",
    "outside_share": "Share of rows with a number outside of the range of training.",
    "length_mean": "Mean length of texts in characters.",
    "class_share": "Share of rows of each predicted class.",
}
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_TOKENS = (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536)


class Metrics:
    """The counters of a server, and those of each model by name."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.drifts: dict[str, Drift] = {}
        registry = self.registry
        self.requests = Counter(
            "burnish_requests_total", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self.seconds = Histogram(
            "burnish_request_seconds", "From request to reply.", ["path"], buckets=_SECONDS, registry=registry
        )
        self.stages = Histogram(
            "burnish_stage_seconds", "Time by stage.", ["model", "stage"], buckets=_SECONDS, registry=registry
        )
        self.batch_rows = Histogram(
            "burnish_batch_rows", "Features computed together.", ["model"], buckets=_ROWS, registry=registry
        )
        self.batch_tokens = Histogram(
            "burnish_batch_tokens", "Tokens, padding counted.", ["model"], buckets=_TOKENS, registry=registry
        )
        self.padding = Counter("burnish_padding_tokens_total", "Tokens of padding.", ["model"], registry=registry)
        self.queue_bytes = Gauge("burnish_queue_bytes", "Accepted, not computed.", ["model"], registry=registry)
        self.queue_seconds = Gauge(
            "burnish_queue_expected_seconds", "How long a request would wait.", ["model"], registry=registry
        )
        self.rows = Counter("burnish_rows_total", "Rows that were answered.", ["model"], registry=registry)
        registry.register(_DriftCollector(self.drifts))

    def text(self) -> bytes:
        """Write all counters as Prometheus reads them."""
        return generate_latest(self.registry)

    def add_model(self, name: str, signature: Signature) -> "ModelMetrics":
        """Begin to count for one model."""
        self.drifts[name] = Drift(signature)
        return ModelMetrics(self, name)


class ModelMetrics:
    """The counters of one model."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self.drift = metrics.drifts[name]
        self._stages = {
            stage: metrics.stages.labels(name, stage) for stage in ("read", "encode", "wait", "compute", "decide")
        }

    def watch(self, queue: JobQueue) -> None:
        """Show the state of a queue whenever someone looks."""
        self._metrics.queue_bytes.labels(self._name).set_function(lambda: queue.waiting_bytes)
        self._metrics.queue_seconds.labels(self._name).set_function(lambda: queue.expected_wait)

    def observe_stage(self, stage: str, seconds: float) -> None:
        """Count the time of one stage."""
        self._stages[stage].observe(seconds)

    def observe_batch(self, chunks: Sequence[Chunk], *, num_rows: int, began: float, computed: float) -> None:
        """Count one batch: its size, its time, how long its requests waited."""
        rows = sum(len(chunk.indices) for chunk in chunks)
        padded = max(chunk.length for chunk in chunks) * rows
        self._metrics.rows.labels(self._name).inc(num_rows)
        self._metrics.batch_rows.labels(self._name).observe(rows)
        self._metrics.batch_tokens.labels(self._name).observe(padded)
        self._metrics.padding.labels(self._name).inc(padded - sum(chunk.tokens for chunk in chunks))
        self._stages["compute"].observe(computed - began)
        self._stages["wait"].observe(max(began - chunk.job.arrived for chunk in chunks))


class _DriftCollector(Collector):
    """Show drift as gauges whenever someone looks: each share of the last rows, and that of the training rows."""

    def __init__(self, drifts: Mapping[str, Drift]) -> None:
        self._drifts = drifts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give one family of gauges a measure."""
        for measure, what in _MEASURES.items():
            place = "label" if measure == "class_share" else "column"
            family = GaugeMetricFamily(f"burnish_drift_{measure}", what, labels=["model", place, "source"])
            for model, drift in self._drifts.items():
                for source, shares in (("serving", drift.serving), ("training", drift.training)):
                    for name, value in shares.get(measure, {}).items():
                        family.add_metric([model, name, source], value)
            yield family
