# SPDX-License-Identifier: Apache-2.0
# Configuration of the regression tests; run by `ninja check-fa3`.
import os
import shutil
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "fa3"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fa3_obj_root, "test")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.fa3_tools_dir, append_path=True)
llvm_config.use_default_substitutions()

# check-fa3-asan: a folder with programs that take the place of the tools.
tools_dirs = [config.fa3_tools_dir, config.llvm_tools_dir]
if "tools" in lit_config.params:
    tools_dirs.insert(0, lit_config.params["tools"])
    config.available_features.add("sanitized")
    llvm_config.with_environment("PATH", tools_dirs[0], append_path=True)

tools = [
    "fa3-opt",
    "fa3-translate",
    "fa3-mutate",
    "fa3-reduce",
    "fa3-run",
    "fa3-tune",
    "fa3-lsp-server",
    "mlir-opt",
    "split-file",
]
llvm_config.add_tool_substitutions(
    [tool for tool in tools if llvm_config.use_llvm_tool(tool, required=False)],
    tools_dirs,
)
config.substitutions.append(("%fa3_libs", config.fa3_lib_dir))
config.substitutions.append(("%fa3_src", config.fa3_src_root))
config.substitutions.append(("%fa3_tools", config.fa3_tools_dir))
# A driver that executes nothing, for tests of what surrounds a launch.
fake_cuda = os.path.join(config.fa3_obj_root, "unittests", "libfa3_fake_cuda.so")
config.substitutions.append(("%fake_cuda", fake_cuda))
if os.path.exists(fake_cuda):
    config.available_features.add("fake-cuda")

# Values before and after a pass, on programs beside the script.
inputs = os.path.join(config.test_source_root, "Inputs")
stages = f"{sys.executable} {inputs}/stages.py"
# The inner loop compares values for one size only, and leaves out what takes long.
if "quick" in lit_config.params:
    stages += " --quick"
else:
    config.available_features.add("full")
config.substitutions += [
    ("%stages-window", f"{stages} {inputs}/window.mlir "
     "--options 'block-m=128 block-n=64' --atol 4e-3 "
     "--dims b=1,h=2,hk=1,sq=150,sk=333 --dims b=2,h=1,hk=1,sq=129,sk=65"),
    ("%stages-gemm", f"{stages} {config.fa3_src_root}/examples/gemm.mlir "
     f"--reference {inputs}/gemm-reference.mlir --run=--distribution=uniform "
     "--dims m=150,n=304,k=200 --dims m=1,n=8,k=8"),
    ("%stages-chain", f"{stages} {config.fa3_src_root}/examples/chain.mlir "
     f"--reference {inputs}/chain-reference.mlir --atol 0.5 "
     "--run=--distribution=uniform --dims m=150,n=300 --dims m=64,n=1"),
    ("%stages", stages),
    ("%python", sys.executable),
]

# Tests of PTX that need the assembler, and tests that need a Hopper GPU.
ptxas = shutil.which("ptxas") or shutil.which(
    "ptxas", path="/usr/local/cuda/bin"
)
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
cc = shutil.which("cc") or shutil.which("gcc")
if cc:
    config.available_features.add("cc")
    config.substitutions.append(("%cc", cc))
if shutil.which("cmake"):
    config.available_features.add("cmake")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("gpu")
if config.fa3_self_contained:
    config.available_features.add("self-contained")

# Programs that hold attention, in MLIR's ExecutionEngine.
llvm_root = os.path.dirname(config.llvm_tools_dir)
compiler = os.path.join(config.fa3_lib_dir, "libfa3.so")
embedding = (f"--llvm {llvm_root} "
             f"--plugin {config.fa3_lib_dir}/FA3Plugin.so "
             f"--runtime {config.fa3_lib_dir}/libfa3_runtime.so")
if config.fa3_self_contained:
    embedding += f" --compiler {compiler}"
# Of another file than the test: %embedding_run FILE.
run_program = f"{sys.executable} %S/Inputs/run.py {embedding}"
config.substitutions += [("%embedding_run", run_program),
                         ("%embedding", f"{run_program} %s"),
                         ("%llvm_root", llvm_root)]
if os.path.exists(os.path.join(config.llvm_tools_dir, "mlir-runner")):
    config.available_features.add("mlir-runner")
# The upstream optimizer with the plugin.
plugin = os.path.join(config.fa3_lib_dir, "FA3Plugin.so")
if os.path.exists(plugin):
    config.available_features.add("plugin")
config.substitutions.append(
    ("%mlir_fa3", f"mlir-opt --load-dialect-plugin={plugin} "
     f"--load-pass-plugin={plugin}"))
