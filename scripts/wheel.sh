#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/fa3_compiler-<version>-py3-none-manylinux_<glibc>_x86_64.whl, the Python
# package with the compiler inside, of what the build tree has compiled. auditwheel
# says with which glibc it works.
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
# Python with torch and JAX, in a second one beside these as well. Then it is used
# in a Debian 11, where one can be made.
#
# PyPI, or what pip is configured for, has to have scikit-build-core, wheel and
# auditwheel.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/debian11.sh"
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

# The oldest C library that the wheel has to work with.
glibc=2.28
most_bytes=40000000

scripts/setup.sh wheel
fa3_configure "$fa3_build" -DFA3_WERROR=ON -DFA3_HARDENED=ON
fa3_make "$fa3_build" fa3 fa3_runtime

tools=$fa3_build/python/tools
if [ ! -x "$tools/bin/auditwheel" ]; then
  fa3_python_tools "scikit-build-core>=0.10" wheel "auditwheel>=6.3"
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
# What it needs, and so its tag.
tag=$("$tools/bin/auditwheel" show --json "$stage"/*.whl |
  "$tools/bin/python" -c 'import json, sys; print(json.load(sys.stdin)["overall_tag"])')
needs=$(sed -n 's/^manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/p' <<<"$tag")
if [ "$(printf '%s\n' "${needs:-none}" $glibc | sort -V | tail -1)" != $glibc ]; then
  echo "wheel.sh: auditwheel says $tag; expected glibc $glibc or older" >&2
  "$tools/bin/auditwheel" show "$stage"/*.whl >&2
  exit 1
fi
"$tools/bin/wheel" tags --remove --platform-tag "$tag" "$stage"/*.whl >/dev/null
wheel=$(basename "$stage"/*.whl)
mv "$stage/$wheel" dist/
bytes=$(stat -c %s "dist/$wheel")
echo "wheel.sh: dist/$wheel, $bytes bytes"
if [ "$bytes" -gt $most_bytes ]; then
  echo "wheel.sh: the wheel has more than $most_bytes bytes" >&2
  exit 1
fi

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
scripts/check_elf.py --release --glibc $glibc --own "$fa3_build/lib" "$scratch"/venv/lib/python*/site-packages/fa3
(cd "$scratch" && env -i PATH=/usr/bin:/bin HOME="$scratch" \
  venv/bin/python installed.py causal_gqa.mlir)
echo "wheel.sh: the wheel works by itself"

# As a system with the glibc of the tag installs it, used with the one of Debian 11.
# That has Python 3.9, which the package does not promise: what is tried keeps to it.
if fa3_debian11_make; then
  tried=$fa3_debian11/tried
  rm -rf "$tried"
  mkdir "$tried"
  "$tools/bin/pip" install -q --no-deps --only-binary :all: --python-version 3.10 \
    --platform "$tag" --target "$tried/site" "dist/$wheel"
  cp -r examples test/OldGlibc/modules.py test/Python/Inputs/installed.py "$tried/"
  fa3_in_debian11 sh -c 'getconf GNU_LIBC_VERSION && cd /tried &&
    PYTHONPATH=site exec python3.9 installed.py examples/causal_gqa.mlir'
  modules=(examples/*.mlir examples/masks/*.mlir)
  "$tools/bin/python" test/OldGlibc/modules.py "$prebuilt/lib/libfa3.so" \
    "${modules[@]}" >"$tried/expected.txt"
  fa3_in_debian11 sh -c 'cd /tried && exec python3.9 modules.py "$@"' sh \
    site/fa3/_lib/libfa3.so "${modules[@]}" >"$tried/made.txt"
  cmp "$tried/expected.txt" "$tried/made.txt"
  fa3_make "$fa3_build" fa3-old-glibc fa3-old-glibc-library
  cp "$fa3_build"/test/OldGlibc/*fa3-old-glibc* "$tried/"
  fa3_in_debian11 /tried/fa3-old-glibc /tried/libfa3-old-glibc-library.so
  echo "wheel.sh: the wheel works in a Debian 11:" \
    "the same PTX of ${#modules[@]} modules, exceptions, threads"
else
  echo "wheel.sh: NOT TESTED WITH AN OLDER C LIBRARY: no Debian 11 can be made" >&2
fi
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
