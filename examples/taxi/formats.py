"""A request format of your own: a ride a line, as `column=value` between semicolons; answers are lines of classes."""

from burnish.spec.component import Component


class Pairs(Component):
    """Read and write lines of pairs; values are checked as those of JSON are."""

    content_type: str = "text/x-rides"

    def decode(self, payload: bytes) -> list[dict[str, object]]:
        """Turn each line into a row."""
        lines = payload.decode().splitlines()
        return [dict(pair.split("=", 1) for pair in line.split(";")) for line in lines]

    def encode(self, answers: list[dict[str, object]]) -> bytes:
        """Write the predicted value of each row, or what is wrong with it."""
        return "".join(f"{each.get('predicted', each.get('error'))}\n" for each in answers).encode()
