"""Mosec: a server in Rust in front of Python workers; requires mosec."""

import json

from mosec import Server, Worker
from text_model import load


class Predict(Worker):
    def __init__(self):
        self.model = load()

    def deserialize(self, data):
        return json.loads(data)["instances"][0]

    def forward(self, data):
        return self.model.predict(data)

    def serialize(self, data):
        return json.dumps({"predictions": [data]}).encode()


if __name__ == "__main__":
    server = Server()
    server.append_worker(Predict, num=2, max_batch_size=32, max_wait_time=5)
    server.run()
