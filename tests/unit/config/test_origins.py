from burnish.config.origins import DEFAULT, Origin


def test_an_origin_says_file_and_line() -> None:
    assert str(Origin("mine.yaml", 2)) == "set by mine.yaml:2"


def test_an_override_says_its_own_text() -> None:
    assert str(Origin("task.max_length=900 on the command line")) == "set by task.max_length=900 on the command line"


def test_a_chain_reads_newest_first() -> None:
    older = Origin("glue/sst2.yaml", 4, value="128")
    middle = Origin("mine.yaml", 2, value="256").after(older)
    newest = Origin("a=3 on the command line", value="3").after(middle)
    assert newest.lines() == (
        "set by a=3 on the command line",
        "replacing 256 from mine.yaml:2",
        "replacing 128 from glue/sst2.yaml:4",
    )


def test_a_default_has_no_lines() -> None:
    assert (str(DEFAULT), DEFAULT.lines(), DEFAULT.is_default) == ("default", (), True)


def test_a_default_of_the_task_names_it_and_is_not_told_as_replaced() -> None:
    silent = Origin("default of task tabular", is_default=True)
    assert (str(silent), silent.lines()) == ("default of task tabular", ("default of task tabular",))
    assert Origin("mine.yaml", 2).after(silent).lines() == ("set by mine.yaml:2",)
