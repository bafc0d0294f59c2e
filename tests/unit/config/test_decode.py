from pathlib import Path

import pytest

from burnish.config import load
from burnish.config.nodes import Branch
from burnish.config.resolve import resolve
from burnish.config.sources import override
from burnish.errors import ConfigError
from burnish.registry import default_registry
from burnish.spec.experiment import Experiment
from tests.unit.config import fakes
from tests.unit.config.fakes import fake_registry, layer

FRONT = {"truncation": fakes.Front()}
GOLDEN = Path(__file__).parents[2] / "golden" / "config"


def decoded(text: str, *overrides: str) -> Experiment:
    stack: list[Branch] = [layer(text), *map(override, overrides)]
    return resolve(stack, registry=fake_registry()).experiment


def problems(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        decoded(text, *overrides)
    return [str(problem) for problem in caught.value.problems]


def only(text: str, *overrides: str) -> str:
    (problem,) = problems(text, *overrides)
    return problem


def test_defaults_fill_what_nobody_wrote() -> None:
    experiment = decoded("task: guess")
    assert (type(experiment.data), type(experiment.model)) == (fakes.Table, fakes.Net)
    assert type(experiment.task.truncation) is fakes.Front  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("overrides", "path", "kept"),
    [
        (["model=tab_m", "model.numbers.size=8"], "model.numbers", {"kind": "piecewise_linear", "size": 8}),
        (["model=tab_m", "model.numbers=periodic"], "model.numbers", {"kind": "periodic", "size": 16}),
        (["task={type: permutation_lm, masking: 0.2}"], "task.masking", {"probability": 0.2, "spans": "ngram"}),
        (["task={type: replaced_tokens, masking: {whole_words: true}}"], "task.masking", {"masked": 1, "random": 0}),
    ],
)
def test_a_section_keeps_the_defaults_of_its_field_that_it_does_not_write(
    overrides: list[str], path: str, kept: dict[str, object]
) -> None:
    named = "taxi/tips" if path.startswith("model") else "demo/reviews"
    value = load(named, overrides=overrides).experiment
    for name in path.split("."):
        value = getattr(value, name)
    assert {name: getattr(value, name) for name in kept} == kept


def test_the_fields_type_decides_how_text_is_read() -> None:
    experiment = decoded(
        "task: {type: guess, text: no, labels: [on, 1], views: 3, weights: [1, 2.5]}\n"
        "optimizer: {learning_rate: 3e-5}\ndata: {header: no, path: 1e3}\ntrain: {length: 500 steps, patience: null}"
    )
    task, data = experiment.task, experiment.data
    assert (task.text, task.labels, task.views, task.weights) == ("no", ("on", "1"), 3, (1.0, 2.5))  # type: ignore[attr-defined]
    assert (data.header, data.path, experiment.optimizer.learning_rate) == (False, "1e3", 3e-5)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("word", "value"), [("true", True), ("yes", True), ("on", True), ("false", False), ("no", False), ("off", False)]
)
def test_yes_and_no_may_be_written_in_many_ways(word: str, value: bool) -> None:
    assert decoded("task: guess", f"data.header={word}").data.header is value  # type: ignore[attr-defined]


def test_a_scalar_is_a_list_of_one() -> None:
    experiment = decoded("task: {type: guess, labels: good}", "metrics=right", "data.cuts=7")
    assert experiment.task.labels == ("good",)  # type: ignore[attr-defined]
    assert experiment.metrics == (fakes.Right(),)
    assert experiment.data.cuts == (fakes.Cut(rows=7),)  # type: ignore[attr-defined]


def test_null_takes_a_list_away() -> None:
    assert decoded("data: {cuts: [{rows: 7}]}\ntask: guess", "data.cuts=null").data.cuts == ()  # type: ignore[attr-defined]
    assert decoded("task: {type: guess, labels: [a]}", "task.labels=null").task.labels is None  # type: ignore[attr-defined]
    layers = [layer("data: {train: a, test: b}\ntask: text_classification\nmodel: here"), override("data.test=null")]
    assert resolve(layers, registry=default_registry()).experiment.data.test == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("task.max_length=900", "task.max_length must be at most 512, got 900"),
        ("task.max_length=0", "task.max_length must be at least 1, got 0"),
        ("task.max_length=1.5", "task.max_length must be a whole number, got 1.5"),
        ("task.max_length=null", "task.max_length must be a whole number, got null"),
        ("optimizer.learning_rate=fast", "optimizer.learning_rate must be a number, got 'fast'"),
        ("optimizer.learning_rate=0", "optimizer.learning_rate must be more than 0, got 0"),
        ("optimizer.betas=[1,x]", "optimizer.betas[1] must be a number, got 'x'"),
        ("data.header=maybe", "data.header must be true or false, got 'maybe'"),
        ("runtime.device=cude", "runtime.device must be one of auto, cpu, cuda, mps, got 'cude'. Did you mean `cuda`?"),
        ("runtime.precision=[1]", "runtime.precision must be one of auto, fp32, bf16, fp16, got a list"),
        ("task.views=2", "task.views must be one of 1, 3, got 2"),
        ("task.weights=heavy", "task.weights must be one of none, balanced or a list, got 'heavy'"),
        ("task.text=[a]", "task.text must be text, got a list"),
        ("data.filter=x", "data.filter must be a mapping, got 'x'"),
        ("train.length=3", 'train.length needs a unit: "3 steps", "3 epochs", "3 examples" or "3 minutes", got 3'),
        ("runtime.device=gpu", "runtime.device must be one of auto, cpu, cuda, mps, got 'gpu'. Did you mean `cuda`?"),
        ("runtime.device=tpu", "runtime.device must be one of auto, cpu, cuda, mps, got 'tpu'. There is no TPU"),
        ("metrics=acc", "metrics[0].type: no metric is called 'acc'. Did you mean `metrics=accuracy`?"),
        ("metrics=[right, acc]", "metrics[1].type: no metric is called 'acc'. Did you mean `accuracy`?"),
        ("train.ema=2", "train.ema.decay must be less than 1, got 2"),
        ("train.batch=[1]", "train.batch must be a section of options, got a list"),
        ("train=5", "train must be a section of options, got 5"),
        ("train=null", "train must not be null"),
        ("model=null", "model must not be null"),
        ("model.type=null", "model.type must be the name of a component"),
        ("data={cut: {seed: 1}}", "data.cut.rows is required"),
        ("data=named", "data.set is required"),
        ("schedule=liner", "schedule.type: no schedule is called 'liner'. Did you mean `linear`?"),
        ("schedule={low: 3, high: 2}", "schedule needs `low` to be at most `high`"),
        ("train.batch={examples: 3, tokens: 4}", "train.batch takes `examples` or `tokens`, not both; null "
        "removes one"),
        ("metrics=[right, {type: mean, average: x}]", "metrics[1].average must be one of micro, macro, got 'x'"),
        ("metrics=[wrong]", "metrics[0].type: no metric is called 'wrong'"),
        ("train.batch_size=3", "train.batch_size: no such option. Did you mean `train.batch=3`?"),
        ("batch_size=3", "batch_size: no such option. Did you mean `train.batch=3`?"),
        ("train.lenght=3", "train.lenght: no such option. Did you mean `train.length=\"3 steps\"` or "
        "`train.length=\"3 epochs\"`?"),
        ("train.seed=3", "train.seed: no such option. Did you mean `runtime.seed=3`?"),
        ("task.truncation.shar=0.1", "task.truncation.shar: no such option. "),
        ("model={tpye: line}", "model.tpye: no such option. Did you mean `model.type`?"),
        ("task.metrics.0=x", "task.metrics: no such option. Did you mean `metrics`?"),
    ],
)  # fmt: skip
def test_a_problem_is_a_sentence_with_its_origin(change: str, said: str) -> None:
    problem = only("task: guess", change)
    assert problem.startswith(said)
    assert f"set by {change} on the command line" in problem


def test_options_from_elsewhere_are_answered_one_by_one_and_what_is_left_of_their_section_once() -> None:
    section = "hyperparameters: {learning_rate: 5e-5, global_batch_size: 32, shade: dark}"
    assert [each.splitlines() for each in problems(f"task: guess\n{section}")] == [
        ["hyperparameters.learning_rate: no such option. Did you mean `optimizer.learning_rate=5e-5`?",
         "  set by base.yaml:2"],
        ["hyperparameters.global_batch_size: no such option. Did you mean `train.batch=32`?", "  set by base.yaml:2"],
        ["hyperparameters: no such option. Options are in the sections task, data, model, optimizer, schedule, train "
         "and runtime; each has one value.", "  set by base.yaml:2"],
    ]  # fmt: skip


def test_a_task_is_required() -> None:
    assert only("name: x") == "task is required; choose one of guess"
    assert only("task: {max_length: 3}").startswith("task.type is required; choose one of guess")


def test_all_problems_are_told_at_once_and_checks_of_whole_sections_wait() -> None:
    told = problems(
        "task: guess", "schedule={low: 3, high: 2, warmpu: 1}", "optimizer.learning_rate=x", "runtme.seed=1"
    )
    assert [problem.split(":")[0].split(" ")[0] for problem in told] == [
        "runtme",
        "optimizer.learning_rate",
        "schedule.warmpu",
    ]


def test_what_was_replaced_is_told() -> None:
    problem = only("task:\n  type: guess\n  max_length: 128", "task.max_length=900")
    assert problem.splitlines() == [
        "task.max_length must be at most 512, got 900",
        "  set by task.max_length=900 on the command line",
        "  replacing 128 from base.yaml:3",
    ]


def test_a_complaint_about_several_options_tells_where_each_was_set() -> None:
    problem = only("task: guess\ntrain:\n  batch: 32", "train.batch.tokens=4096")
    assert problem.splitlines()[1:] == [
        "  `examples` set by base.yaml:3",
        "  `tokens` set by train.batch.tokens=4096 on the command line",
    ]


def test_the_error_reads_as_the_golden_file_says() -> None:
    mine = layer("train:\n  batch_siz: 32\noptimizer: {learning_rate: fast}", source="mine.yaml")
    base = layer("task:\n  type: guess\n  max_length: 128", source="glue/sst2.yaml")
    with pytest.raises(ConfigError) as caught:
        resolve([base, mine, override("task.max_length=900")], registry=fake_registry())
    assert f"error: {caught.value}\n" == (GOLDEN / "error.txt").read_text()


@pytest.mark.parametrize("change", ["metrics[1].average=macro", "metrics.1.average=macro"])
def test_an_element_of_a_list_cannot_be_set_alone(change: str) -> None:
    problem = only("task: guess\nmetrics: [accuracy, f1]", change)
    assert problem.splitlines() == [
        "metrics is a list, which can only be set as a whole, like metrics=[…]",
        f"  set by {change} on the command line",
        "  replacing [accuracy, f1] from base.yaml:2",
    ]


BUNDLE = f"type: {fakes.__name__}:Bundle"


def test_components_may_be_given_by_name() -> None:
    text = f"task: {{{BUNDLE}, tasks: {{one: guess, two: {{type: guess, text: body}}}}, scores: {{two: [right]}}}}"
    task = decoded(text, "task.tasks.one.text=head", "task.scores.one=right").task
    assert task.tasks == {"one": fakes.Guess(text="head", **FRONT), "two": fakes.Guess(text="body", **FRONT)}  # type: ignore[attr-defined]
    assert task.scores == {"two": (fakes.Right(),), "one": (fakes.Right(),)}  # type: ignore[attr-defined]


def test_every_problem_of_components_by_name_is_told_with_its_place() -> None:
    found = problems(f"task: {{{BUNDLE}, tasks: {{one: {{type: guess, max_length: 0}}, two: gess, three: [guess]}}}}")
    assert [each.splitlines()[0] for each in found] == [
        "task.tasks.one.max_length must be at least 1, got 0",
        "task.tasks.two.type: no task is called 'gess'. Did you mean `guess`?",
        "task.tasks.three must be a section of options, got a list",
    ]


def test_components_by_name_need_names() -> None:
    assert only(f"task: {{{BUNDLE}, tasks: [guess]}}").startswith(
        "task.tasks must be a section with a name for each, got a list"
    )
    assert only(f"task: {{{BUNDLE}}}").startswith("task.tasks is required")
