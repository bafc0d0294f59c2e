"""What a refusal says."""

from burnish.errors import ConfigError, Problem


def test_of_very_many_problems_the_first_are_shown_and_the_others_counted() -> None:
    error = ConfigError([Problem(f"key{number} is wrong") for number in range(100)])
    assert str(error).startswith("the experiment has 100 problems\n\nkey0 is wrong\n\n")
    assert str(error).endswith("key29 is wrong\n\n… and 70 more, which are shown when these are solved")
    assert len(error.problems) == 100
