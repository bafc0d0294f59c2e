"""What a process is set to before it learns."""

import subprocess
import sys

import pytest
import torch

from burnish.config import load
from burnish.engine.device_torch import _precision, prepare, slow_precision
from burnish.engine.infer_torch import Autocast, PrecisionName
from burnish.errors import ConfigError
from burnish.spec.experiment import Runtime


def test_numbers_too_small_to_be_normal_are_flushed_to_zero_on_every_thread() -> None:
    threads = torch.get_num_threads()
    try:
        prepare(Runtime(threads=2, device="cpu"))
        tiny = torch.full((200_000,), 1e-39)
        assert float((tiny * 0.5).abs().max()) == 0.0
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


@pytest.mark.parametrize(("has_bf16", "expected"), [(True, "bf16"), (False, "fp16")])
def test_a_gpu_without_bfloat16_gets_float16(monkeypatch: pytest.MonkeyPatch, has_bf16: bool, expected: str) -> None:
    asked: list[bool] = []

    def is_supported(including_emulation: bool = True) -> bool:
        asked.append(including_emulation)
        return has_bf16

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported)
    assert _precision("auto", torch.device("cuda")) == expected
    assert asked == [False]


def test_a_stated_precision_is_taken() -> None:
    assert _precision("fp16", torch.device("cpu")) == "fp16"


@pytest.mark.parametrize(
    ("name", "stated", "expected"),
    [("demo/taxi", "auto", "fp32"), ("demo/taxi", "bf16", "bf16"), ("demo/reviews", "auto", "auto")],
)
def test_a_table_is_computed_in_float32_unless_stated_otherwise(name: str, stated: str, expected: str) -> None:
    experiment = load(name, overrides=[f"runtime.precision={stated}"]).experiment
    assert experiment.settled_runtime.precision == expected
    assert experiment.runtime.precision == stated


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_device_that_is_not_here_is_a_problem_of_the_experiment() -> None:
    with pytest.raises(ConfigError, match=r"runtime\.device is 'cuda' and this machine has none; leave it at auto, or"):
        prepare(Runtime(device="cuda"))


@pytest.mark.parametrize("is_wanted", [True, False])
def test_determinism_is_asked_for_without_the_compiler(is_wanted: bool) -> None:
    script = (
        "import sys, torch\n"
        "from burnish.engine.device_torch import prepare\n"
        "from burnish.spec.experiment import Runtime\n"
        f"prepare(Runtime(device='cpu', deterministic={is_wanted}))\n"
        "print(torch.are_deterministic_algorithms_enabled(), 'torch._inductor' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said == f"{is_wanted} False\n"


@pytest.mark.parametrize(
    ("name", "flags", "is_slow"),
    [
        ("fp32", {"avx2"}, False),
        ("bf16", {"avx2", "avx512f"}, True),
        ("bf16", {"avx512f", "avx512_bf16"}, False),
        ("bf16", {"amx_bf16"}, False),
        ("bf16", {"asimd", "bf16"}, False),
        ("fp16", {"avx512_bf16"}, True),
        ("fp16", {"avx512_fp16"}, False),
    ],
)
def test_a_precision_without_instructions_is_warned_of(name: PrecisionName, flags: set[str], is_slow: bool) -> None:
    precision = Autocast(torch.device("cpu"), name)
    expected = (
        f"runtime.precision is {name}, which this processor has no instructions for: a matrix product takes 20 times "
        "as long as in fp32 here. Leave it at auto, or set runtime.precision: fp32"
    )
    said = slow_precision(precision, flags=flags, measure=lambda _name: 20.0)
    assert said == (expected if is_slow else None)


def test_a_precision_that_is_fast_all_the_same_is_not_warned_of() -> None:
    precision = Autocast(torch.device("cpu"), "bf16")
    assert slow_precision(precision, flags=set(), measure=lambda _name: 1.1) is None


def test_how_much_slower_it_is_is_measured_here() -> None:
    said = slow_precision(Autocast(torch.device("cpu"), "fp16"), flags=set())
    assert said is None or float(said.partition("takes ")[2].partition(" times")[0]) >= 1.5


def test_a_gpu_is_not_judged_by_the_processor() -> None:
    assert slow_precision(Autocast(torch.device("cuda"), "fp16"), flags=set()) is None
