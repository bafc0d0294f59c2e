"""What other tools call our options: every entry leads somewhere, and every name that people bring is answered."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from burnish.cli.main import app
from burnish.commands.imports.draft import OTHER_SECTIONS
from burnish.config import load
from burnish.config.foreign import Foreign, find_foreign, foreign_names
from burnish.config.suggest import every_option
from burnish.registry import default_registry

TABLE = foreign_names()
TOOLS = "trainer determined model_garden samples spans ludwig autogluon keras sklearn lightning other"
OPTIONS = {option.path for option in every_option(default_registry())}
TYPED = """
    task_name train_file output_dir seq_func_params job_dir task.train_data.input_path task.validation_data.input_path
    task.hub_module_url task.init_checkpoint runtime.distribution_strategy trainer.train_steps hyperparameters
    experiment mode model_dir config_file params_override tpu job-dir batch-size data_dir bucket
    gradient_accumulation_steps searcher pad_to_max_length target seq_len_func model_name_or_path do_lower_case
    fp16 save_steps no_cuda adam_epsilon per_gpu_train_batch_size learning-rate epochs resume overwrite report_to
"""
DETERMINED = """
    dataset_name dataset_config_name validation_split_percentage validation_file num_labels cache_dir use_fast
    pretrained_model_name_or_path adafactor lr_scheduler_type num_warmup_steps use_apex_amp model_mode
    records_per_epoch min_validation_period checkpoint_policy entrypoint resources environment max_restarts
"""
SPANS = """
    model_type config_name tokenizer_name max_seq_length do_train do_eval evaluate_during_training
    per_gpu_eval_batch_size weight_decay max_grad_norm num_train_epochs max_steps warmup_steps logging_steps
    eval_all_checkpoints overwrite_output_dir overwrite_cache seed fp16_opt_level local_rank server_ip
"""
GARDEN = """
    checkpoint_interval max_to_keep validation_interval best_checkpoint_eval_metric best_checkpoint_metric_comp
    loss_upper_bound recovery_max_trials mixed_precision_dtype num_gpus steps_per_loop train_data.global_batch_size
"""


def commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield command
        yield from commands(command) if hasattr(command, "commands") else ()


FLAGS = {
    flag
    for command in commands(typer.main.get_command(app))
    for param in command.params
    for flag in param.opts
    if flag.startswith("--")
}


@pytest.mark.parametrize("name", (TYPED + DETERMINED + SPANS + GARDEN).split())
def test_a_name_that_people_bring_is_answered(name: str) -> None:
    entry = find_foreign(name)
    assert entry is not None
    assert entry.ours or entry.note


def test_every_training_argument_is_answered() -> None:
    transformers = pytest.importorskip("transformers")
    fields = [each.name for each in dataclasses.fields(transformers.TrainingArguments)]
    entries = {name: find_foreign(name, tool="trainer") for name in fields}
    assert [name for name, entry in entries.items() if entry is None or "trainer" not in entry.tools] == []


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.names[0])
def test_an_entry_leads_to_something_that_is_there(entry: Foreign) -> None:
    assert all(isinstance(name, str) and name == name.strip() for name in entry.names)
    assert set(entry.tools) <= set(TOOLS.split())
    assert entry.tools
    assert entry.ours or entry.note
    assert entry.note == "" or entry.note.endswith(".")
    if entry.of is None:
        assert [each for each in entry.ours if not is_there(each)] == []
    elif entry.of in default_registry().kinds():
        kind = entry.of
        types = [each.split(",")[0].removeprefix("{type: ") for each in entry.ours]
        assert all(default_registry().knows(kind, each) for each in types)
    else:
        assert entry.of in OPTIONS or find_foreign(entry.of) is not None


def test_no_name_has_two_answers() -> None:
    counts = Counter(
        (entry.of, name.lower().replace("-", "_"), tool)
        for entry in TABLE
        for name in entry.names
        for tool in entry.tools
    )
    assert [name for name, count in counts.items() if count > 1] == []


def test_no_name_for_elsewhere_is_ours_already() -> None:
    roots = {path for path in OPTIONS if "." not in path}
    assert [name for entry in TABLE if entry.of is None for name in entry.names if name in roots] == []


@pytest.mark.parametrize(
    ("name", "given", "written"),
    [
        ("num_train_epochs", "2", "2 epochs"),
        ("warmup_ratio", "0.06", "6%"),
        ("warmup_ratio", "much", None),
        ("fp16", "True", "fp16"),
        ("learning_rate", "1e-4", "1e-4"),
        ("learning_rate", None, None),
        ("hub_module_url", "https://x/y", None),
        ("optim", "adafactor", "adafactor"),
        ("optim", "adamw_torch", "adamw"),
        ("warmup_steps", "100", "100 steps"),
        ("warmup_steps", "0.06", "6%"),
        ("warmup_steps", "0", "0 steps"),
        ("save_steps", "0.1", None),
        ("task_name", "mrpc", "burnish train glue/mrpc"),
        ("use_apex_amp", "false", "fp32"),
        ("type_vocab_size", "2", "{type_vocab_size: 2}"),
    ],
)
def test_their_value_is_written_our_way(name: str, given: str | None, written: str | None) -> None:
    entry = find_foreign(name)
    assert entry is not None
    assert entry.translate(given) == written


@pytest.mark.parametrize(
    ("name", "tool", "ours"),
    [
        ("reuse-job-dir", "samples", "burnish resume RUN"),
        ("eval-steps", "samples", "data.limit.validation"),
        ("eval_steps", "trainer", "train.evaluate_every"),
        ("use-wide-columns", "samples", "model"),
        ("source_trial_id", "determined", "model.name"),
        ("source_checkpoint_uuid", "determined", "model.checkpoint"),
        ("profiling", "determined", "runtime.profile"),
        ("recovery_begin_steps", "model_garden", None),
        ("pretrain_steps", "model_garden", None),
        ("eval_delay", "trainer", None),
        ("task_name", "spans", "name"),
        ("worker_hosts", "model_garden", "--nodes"),
        ("model-name", "samples", "--dir"),
        ("model_name", "trainer", "model.name"),
        ("task.model.encoder.bert.num_layers", "model_garden", "model.size.num_hidden_layers"),
        ("num-layers", "samples", "model.layers"),
        ("first-layer-size", "samples", "model.first"),
        ("task.model.encoder.bert.hidden_size", "model_garden", "model.size.hidden_size"),
        ("adamw.exclude_from_weight_decay", "model_garden", "optimizer.no_decay"),
        ("adamw.beta_1", "model_garden", "optimizer.betas"),
        ("learning_rate.polynomial.power", "model_garden", "schedule.power"),
        ("warmup.polynomial.power", "model_garden", "schedule.warmup_power"),
        ("learning_rate.polynomial.end_learning_rate", "model_garden", "schedule.end"),
        ("ema.start_step", "model_garden", "train.ema.start_step"),
        ("query_length", "model_garden", "task.max_question"),
        ("use_whole_word_masking", "model_garden", "task.masking.whole_words"),
        ("optimizations.gradient_compression", "determined", None),
        ("log_policies", "determined", None),
    ],
)
def test_a_name_means_what_it_means_in_its_tool(name: str, tool: str, ours: str | None) -> None:
    entry = find_foreign(name, tool=tool)
    assert entry is not None
    assert tool in entry.tools
    assert next(iter(entry.ours), None) == ours
    assert entry.ours or entry.note


def test_the_end_of_a_path_is_enough_and_the_longest_one_counts() -> None:
    assert find_foreign("a.b.learning_rate") == find_foreign("lr")
    assert find_foreign("task.train_data.input_path") != find_foreign("task.validation_data.input_path")
    assert find_foreign("--per-device-train-batch-size".lstrip("-")) == find_foreign("per_device_train_batch_size")
    assert find_foreign("xyzzy") is None


def test_the_table_is_read_only_when_something_has_to_be_explained() -> None:
    foreign_names.cache_clear()
    load("glue/sst2", overrides=["train.batch=16", "data.dir=a, b"])
    assert foreign_names.cache_info().currsize == 0


def is_there(ours: str) -> bool:
    if ours.startswith("--"):
        return ours in FLAGS
    if ours.startswith("burnish "):
        words = [word for word in ours.split()[1:] if word.islower() and not word.startswith("-")]
        command = typer.main.get_command(app)
        for word in words:
            command = command.commands[word]  # type: ignore[attr-defined]
        return True
    section, _, key = ours.partition(".")
    known = {*OTHER_SECTIONS.get(section, ()), *(OTHER_SECTIONS["kubernetes"] if section == "launch" else ())}
    return ours in OPTIONS or key.partition(".")[0] in known
