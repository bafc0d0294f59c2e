"""LitServe with its own batching; requires litserve."""

import sys

import litserve
from text_model import load


class Api(litserve.LitAPI):
    def setup(self, device):
        self.model = load()

    def decode_request(self, request):
        return request["instances"][0]

    def batch(self, inputs):
        return list(inputs)

    def predict(self, inputs):
        return self.model.predict(inputs)

    def unbatch(self, output):
        return output

    def encode_response(self, output):
        return {"predictions": [output]}


if __name__ == "__main__":
    server = litserve.LitServer(
        Api(max_batch_size=32, batch_timeout=0.005), accelerator="cpu", workers_per_device=2, track_requests=False
    )
    server.run(port=int(sys.argv[1]), host="127.0.0.1", generate_client_file=False, log_level="error")
