from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run(*arguments: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_kernel_gives_the_bits_of_torch_operations():
    assert run(str(HERE / "interpreted_kernel.py"), TRITON_INTERPRET="1") == "equal"


COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from samerun.digest.mix128_triton import _add_lanes, _add_lanes_of_many
many = {"table": "*i64", "rows": "*i64", "first": "i32", "BLOCK": "constexpr"}
source = ASTSource(_add_lanes_of_many, many, {"BLOCK": 1024})
print("many", len(compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]) > 0)
for unit in (8, 4, 2, 1):
    source = ASTSource(
        _add_lanes,
        {
            "data": "*i" + str(8 * unit), "rows": "*i64", "slot": "i32", "nbytes": "i64", "seed": "i64",
            "UNIT": "constexpr", "BLOCK": "constexpr",
        },
        {"UNIT": unit, "BLOCK": 1024},
    )
    print(unit, len(compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]) > 0)
"""


def test_the_kernel_compiles_for_a_gpu(tmp_path):
    """The interpreter accepts more than the compiler does."""
    built = run("-c", COMPILE, TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")
    assert built.splitlines() == ["many True", "8 True", "4 True", "2 True", "1 True"]


def test_importing_it_without_triton():
    code = (
        "import sys; sys.modules['triton'] = None\n"
        "from samerun.digest.mix128_triton import launch; print(launch)"
    )
    assert run("-c", code) == "None"


def test_digesting_does_not_import_triton():
    code = (
        "import sys, torch; before = 'triton' in sys.modules\n"
        "from samerun.digest.device import DeviceSlots\n"
        "slots = DeviceSlots('cpu'); slots.add(torch.ones(3)); slots.read()\n"
        "print('triton' in sys.modules and not before)"
    )
    assert run("-c", code) == "False"
