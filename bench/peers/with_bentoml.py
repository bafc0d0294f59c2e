"""BentoML with adaptive batching; requires bentoml."""

import bentoml
from text_model import load


@bentoml.service(workers=2, traffic={"timeout": 60, "max_concurrency": 4096})
class Predict:
    def __init__(self):
        self.model = load()

    @bentoml.api(batchable=True, max_batch_size=32, max_latency_ms=250)
    def predict(self, instances: list) -> list:
        return self.model.predict(instances)
