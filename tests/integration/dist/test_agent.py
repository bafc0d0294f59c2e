"""What the parent of several processes makes of their ends."""

import pytest
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from burnish.launch.agent_torch import first_to_fail


def failure(rank: int, exitcode: int) -> ProcessFailure:
    return ProcessFailure(local_rank=rank, pid=100 + rank, exitcode=exitcode, error_file="")


@pytest.mark.parametrize(
    ("codes", "rank"),
    [
        ([6, -9], 1),  # the other one lost its peer
        ([-15, 4], 1),  # the other one was told to end
        ([-15, -9], 1),
        ([75, 75], 0),
        ([-15, -15], 0),
    ],
)
def test_the_process_that_took_the_others_with_it_is_found(codes: list[int], rank: int) -> None:
    failures = {number: failure(number, code) for number, code in enumerate(codes)}
    assert first_to_fail(failures)[0] == rank
