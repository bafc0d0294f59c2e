import pytest

from burnish.serve.settings import Settings


@pytest.mark.parametrize("deadline", [0.5, 1.0, 120.0])
def test_who_may_wait_until_the_deadline_may_do_so_while_the_server_ends(deadline: float) -> None:
    assert Settings(deadline_seconds=deadline).drain_seconds >= deadline + 30
