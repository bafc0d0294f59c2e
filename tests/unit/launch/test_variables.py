"""Values of a job's variables stay out of what is recorded, however their options are written."""

import pytest

from burnish.launch.variables import mask_words


@pytest.mark.parametrize("flag", ["-l", "-l=", "--launch=", "--launch.", "--launch ", "-l "])
def test_a_flag_that_is_joined_to_a_variable_hides_it_no_less(flag: str) -> None:
    assert mask_words([f"{flag}env.A=s3cret", f"{flag}env=s3cret"]) == [f"{flag}env.A=***", f"{flag}env=***"]
    plain = [f"{flag}environment=1", f"{flag}machine=env"]
    assert mask_words(plain) == plain
