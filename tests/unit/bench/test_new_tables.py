"""The tables that `new` is scored on are drawn once and for all, and those kept aside are others."""

from bench.new_tables import draw, read_truth


def test_the_tables_kept_aside_are_others_and_always_the_same() -> None:
    drawn = draw(read_truth())
    assert (len(drawn["worked"]), len(drawn["blind"])) == (40, 20)
    names = [table.name for tables in drawn.values() for table in tables]
    assert len(names) == len(set(names)) == len(read_truth())
    assert draw(read_truth()[::-1]) == drawn


def test_every_truth_names_kinds_that_there_are() -> None:
    for table in read_truth():
        assert {kind for kinds in table.targets.values() for kind in kinds.split("|")} <= {
            *("binary", "multiclass", "regression")
        }
        kinds = {kind for kinds in table.columns.values() for kind in kinds.split("|")}
        assert kinds <= {"number", "category", "boolean", "datetime", "hash", "drop"}
