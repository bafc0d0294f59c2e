"""What was learned from is not scored, however it is written."""

from bench.unseen_reviews import unseen_of, words_of

KNOWN = ["it 's a déjà vu -lrb- of sorts -rrb- , and no fun", "dull"]


def test_a_sentence_that_shares_five_words_is_left_out() -> None:
    labels = {
        "they say it's a deja vu of a kind": "0",
        "Dull .": "0",
        "vu of sorts, they say": "1",
        "Vu of sorts they say!": "1",
    }
    assert unseen_of(labels, KNOWN) == {"vu of sorts, they say": "1"}


def test_words_are_those_of_either_way_of_writing() -> None:
    assert words_of(KNOWN[0]) == words_of("It's a deja vu (of sorts), and no fun!")
