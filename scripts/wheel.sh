#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/fa3_compiler-<version>-py3-none-manylinux_2_36_x86_64.whl, the Python
# package with the compiler inside, of what the build tree has compiled.
#
#   scripts/wheel.sh [--bundle | --no-bundle] [--install] [--test]
#
# Ready-made kernels (python/fa3/common_kernels.json) are put in, so that their
# first call compiles nothing: cubins by the ptxas of the PATH or of the package
# nvidia-cuda-nvcc, which is installed for it. Where there is neither they are
# left out, which is said here and by `python -m fa3 info`; with --bundle that
# is an error. --no-bundle leaves them out, and saves a minute.
# --install installs it in an environment of its own, build/venv (FA3_VENV), and
# shows what it finds there. --test installs it in a new one, outside of the
# checkout, compiles an example and runs one on the CPU; where FA3_PYTHON names a
# Python with torch and JAX, in a second one beside these as well.
#
# PyPI, or what pip is configured for, has to have scikit-build-core and wheel.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

bundle=wanted install=false check=false
for argument in "$@"; do
  case $argument in
    --bundle) bundle=needed ;;
    --no-bundle) bundle=none ;;
    --install) install=true ;;
    --test) check=true ;;
    *)
      echo "wheel.sh: expects --bundle, --no-bundle, --install or --test, got '$argument'" >&2
      exit 2
      ;;
  esac
done

# The oldest C library that the wheel works with: that of Debian 12.
glibc=2.36
most_bytes=40000000

scripts/setup.sh wheel
fa3_configure "$fa3_build" -DFA3_WERROR=ON -DFA3_HARDENED=ON
fa3_make "$fa3_build" fa3 fa3_runtime

tools=$fa3_build/python/tools
if [ ! -x "$tools/bin/wheel" ]; then
  fa3_python_tools "scikit-build-core>=0.10" wheel
fi
prebuilt=$(cd "$fa3_build" && pwd)
ready=$fa3_build/python/bundle
if [ $bundle != none ]; then
  # As fa3.driver.find_ptxas looks for it.
  find_ptxas() {
    PYTHONPATH=python "$tools/bin/python" -c \
      'from fa3.driver import find_ptxas; print(find_ptxas())'
  }
  if [ -z "$(find_ptxas)" ] &&
    ! "$tools/bin/pip" install -q nvidia-cuda-nvcc >&2; then
    echo "wheel.sh: the package nvidia-cuda-nvcc cannot be installed" >&2
  fi
  if [ -n "$(find_ptxas)" ]; then
    # Keys of kernels name the compiler by its hash: it must be this one.
    FA3_LIBRARY=$prebuilt/lib/libfa3.so \
      FA3_RUNTIME_LIBRARY=$prebuilt/lib/libfa3_runtime.so \
      FA3_LIBCUDA=/nonexistent PYTHONPATH=python \
      "$tools/bin/python" -m fa3 warm --common --ptx-version 90 --out "$ready"
    cubins=$(find "$ready" -name kernel.cubin | wc -l)
    echo "wheel.sh: $cubins ready-made kernels in the wheel"
  else
    echo "wheel.sh: found no ptxas: NO READY-MADE KERNELS in the wheel" >&2
    [ $bundle = wanted ] || exit 1
    bundle=none
  fi
fi
[ $bundle != none ] || rm -rf "$ready"
stage=$fa3_build/python/wheel
rm -rf "$stage"
mkdir -p "$stage" dist
FA3_PREBUILT=$prebuilt "$tools/bin/pip" wheel -q --no-deps \
  --no-build-isolation --wheel-dir "$stage" .
"$tools/bin/wheel" tags --remove --platform-tag \
  "manylinux_${glibc/./_}_x86_64" "$stage"/*.whl >/dev/null
wheel=$(basename "$stage"/*.whl)
mv "$stage/$wheel" dist/
bytes=$(stat -c %s "dist/$wheel")
echo "wheel.sh: dist/$wheel, $bytes bytes"
if [ "$bytes" -gt $most_bytes ]; then
  echo "wheel.sh: the wheel has more than $most_bytes bytes" >&2
  exit 1
fi

# What the tag promises.
for library in libfa3.so libfa3_runtime.so; do
  newest=$(objdump -T "$fa3_build/lib/$library" |
    sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)
  if [ "$(printf '%s\n' "$newest" $glibc | sort -V | tail -1)" != $glibc ]; then
    echo "wheel.sh: $library needs glibc $newest, the tag says $glibc" >&2
    exit 1
  fi
  echo "wheel.sh: $library needs glibc $newest"
done

if $install; then
  venv=${FA3_VENV:-$fa3_build/venv}
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q --no-deps --force-reinstall "dist/$wheel"
  echo "wheel.sh: installed in $venv"
  "$venv/bin/python" -m fa3 info
fi
$check || exit 0

# The wheel alone, in an empty environment.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --no-deps "dist/$wheel"
cp test/Python/Inputs/installed.py examples/causal_gqa.mlir "$scratch/"
scripts/check_elf.py --release --own "$fa3_build/lib" "$scratch"/venv/lib/python*/site-packages/fa3
(cd "$scratch" && env -i PATH=/usr/bin:/bin HOME="$scratch" \
  venv/bin/python installed.py causal_gqa.mlir)
echo "wheel.sh: the wheel works by itself"
if [ -z "${FA3_PYTHON:-}" ]; then
  echo "wheel.sh: NOT TESTED beside torch and JAX: FA3_PYTHON is not set"
  exit 0
fi

# An environment that has the wheel and sees what FA3_PYTHON has.
"$FA3_PYTHON" -m venv "$scratch/beside"
"$scratch/beside/bin/pip" install -q --no-deps "dist/$wheel"
"$FA3_PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
  >"$(echo "$scratch"/beside/lib/python*/site-packages)/others.pth"
cp test/Python/Inputs/beside.py examples/attention.py "$scratch/"
cd "$scratch"
alone=(env -i PATH=/usr/bin:/bin HOME="$scratch" JAX_PLATFORMS=cpu)
"${alone[@]}" beside/bin/python -m fa3 info
"${alone[@]}" beside/bin/python beside.py causal_gqa.mlir
"${alone[@]}" timeout 60 beside/bin/python attention.py
echo "wheel.sh: the wheel works beside torch and JAX"
