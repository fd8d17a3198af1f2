"""Compiles an entry for eight H100s without a GPU and prints the optimized module, for comparisons.

It needs `jax-cuda12-plugin` and `jax-cuda12-pjrt` for the installed JAX, and neither a driver nor the CUDA wheels:

    python h100.py programs/fsdp.py entry > module.txt
"""

import importlib.util
import inspect
import os
import sys
from pathlib import Path

os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", TF_CPP_MIN_LOG_LEVEL="2")
# Without a GPU there is no autotuning and no Triton matmul; what is moved between devices does not depend on them.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=8 --xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
)

sys.path.insert(0, str(Path(__file__).parents[2] / "server" / "meshlens" / "tracing"))

from worker import plugin
from worker.tracing import trace


def main(file: str, name: str) -> None:
    plugin.present(plugin.devices(8, 8))
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = getattr(module, name)()
    # A context that an entry enters before it yields stays entered until the end.
    function, args, *_ = next(made) if inspect.isgenerator(made) else made
    if not hasattr(function, "trace") or not type(function).__module__.startswith("jax"):
        lowered = trace(function, args, {}).lower()
    else:
        lowered = function.trace(*args).lower()
    sys.stdout.write(lowered.compile().as_text())


if __name__ == "__main__":
    main(*sys.argv[1:3])
