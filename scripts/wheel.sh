#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/fa3_compiler-<version>-py3-none-manylinux_<glibc>_x86_64.whl, the Python
# package with the compiler inside, of what the build tree has compiled. auditwheel
# says with which glibc it works. And dist/fa3_compiler_tools-<version>-*.whl, the
# command lines in one program.
#
#   scripts/wheel.sh [--bundle | --no-bundle] [--install] [--test]
#
# Ready-made kernels (python/fa3/cli/common_kernels.json) are put in, so that their
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
# FA3_PROJECT_URL: where the repository is shown, for the links of the wheel's
# description; else what the remote origin is, or links are left out.
#
# PyPI, or what pip is configured for, has to have scikit-build-core, wheel,
# auditwheel and twine.
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
fa3_build_released fa3 fa3_runtime fa3_native fa3-tools

tools=$fa3_build/python/tools
fa3_wheel_tools
prebuilt=$(cd "$fa3_build" && pwd)

# fa3_describe_wheel <folder>: what the wheel in the folder says of itself.
fa3_describe_wheel() {
  local wheel time commit ref url
  time=$(git log -1 --format=%ct 2>/dev/null || date +%s)
  commit=$(git describe --always --dirty --tags 2>/dev/null || echo unknown)
  ref=$(git describe --exact-match --tags 2>/dev/null ||
    git rev-parse HEAD 2>/dev/null || echo main)
  url=${FA3_PROJECT_URL:-$(git remote get-url origin 2>/dev/null || true)}
  url=$(sed -E 's,^git@([^:]+):,https://\1/,; s,\.git$,,' <<<"$url")
  [[ $url == https://* ]] || url=
  [ -n "$url" ] || echo "wheel.sh: no FA3_PROJECT_URL: a description without links"
  wheel=$(echo "$1"/*.whl)
  "$tools/bin/wheel" unpack --dest "$1/unpacked" "$wheel" >/dev/null
  scripts/wheel_contents.py --time "$time" --commit "$commit" --url "$url" --ref "$ref" "$1"/unpacked/*
  scripts/wheel_contents.py --check "$1"/unpacked/*
  rm "$wheel"
  SOURCE_DATE_EPOCH=$time "$tools/bin/wheel" pack --dest-dir "$1" "$1"/unpacked/* >/dev/null
  rm -rf "$1/unpacked"
  "$tools/bin/twine" check --strict "$1"/*.whl
}

# fa3_tag_wheel <folder>: the wheel there gets the tag of what it needs, in $tag.
fa3_tag_wheel() {
  local needs
  tag=$("$tools/bin/auditwheel" show --json "$1"/*.whl 2>"$prebuilt/python/auditwheel.log" |
    "$tools/bin/python" -c 'import json, sys; print(json.load(sys.stdin)["overall_tag"])') || {
    cat "$prebuilt/python/auditwheel.log" >&2
    return 1
  }
  needs=$(sed -n 's/^manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/p' <<<"$tag")
  if [ "$(printf '%s\n' "${needs:-none}" $glibc | sort -V | tail -1)" != $glibc ]; then
    echo "wheel.sh: auditwheel says $tag; expected glibc $glibc or older" >&2
    "$tools/bin/auditwheel" show "$1"/*.whl >&2
    return 1
  fi
  "$tools/bin/wheel" tags --remove --platform-tag "$tag" "$1"/*.whl >/dev/null
}

# fa3_keep_wheel <folder>: to dist, if it is small enough; its name in $wheel.
fa3_keep_wheel() {
  local bytes
  wheel=$(basename "$1"/*.whl)
  mv "$1/$wheel" dist/
  bytes=$(stat -c %s "dist/$wheel")
  echo "wheel.sh: dist/$wheel, $bytes bytes"
  if [ "$bytes" -gt $most_bytes ]; then
    echo "wheel.sh: the wheel has more than $most_bytes bytes" >&2
    return 1
  fi
}

(cd "$prebuilt" && for target in fa3 fa3-tools; do
  ninja -t commands $target | tail -1
done) >"$prebuilt/python/link.txt"
scripts/release_documents.py --check-links "$prebuilt/python/link.txt"
ready=$fa3_build/python/bundle
if [ $bundle != none ]; then
  # As fa3.build.driver.find_ptxas looks for it.
  find_ptxas() {
    PYTHONPATH=python "$tools/bin/python" -c \
      'from fa3.build.driver import find_ptxas; print(find_ptxas())'
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
# Licenses, parts and links in it.
fa3_describe_wheel "$stage"
fa3_tag_wheel "$stage"
fa3_keep_wheel "$stage"
main_wheel=$wheel

# The tools.
source=$fa3_build/python/compiler_tools
rm -rf "$source" "$stage"
mkdir -p "$stage"
cp -r python/compiler_tools LICENSE "$fa3_build/python/"
mv "$fa3_build/python/LICENSE" "$source/"
sed -n 's/^project(fa3 VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt >"$source/VERSION"
FA3_PREBUILT=$prebuilt "$tools/bin/pip" wheel -q --no-deps \
  --no-build-isolation --wheel-dir "$stage" "$source"
fa3_describe_wheel "$stage"
fa3_tag_wheel "$stage"
fa3_keep_wheel "$stage"
tools_wheel=$wheel wheel=$main_wheel

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
begin=$SECONDS
"$scratch/venv/bin/pip" install -q --no-deps "dist/$wheel"
env -i PATH=/usr/bin:/bin HOME="$scratch" "$scratch/venv/bin/python" -m fa3 demo
echo "wheel.sh: installed, and the demo run, in $((SECONDS - begin)) s"
cp test/Python/Inputs/installed.py examples/causal_gqa.mlir "$scratch/"
"$scratch/venv/bin/pip" install -q --no-deps "dist/$tools_wheel"
scripts/check_elf.py --release --glibc $glibc --own "$fa3_build/lib" \
  "$scratch"/venv/lib/python*/site-packages/fa3*
(cd "$scratch" && env -i PATH=/usr/bin:/bin HOME="$scratch" \
  venv/bin/python installed.py causal_gqa.mlir)
for tool in fa3-opt fa3-translate fa3-run fa3-tune fa3-lsp-server; do
  env -i PATH=/usr/bin:/bin "$scratch/venv/bin/$tool" --version
done
(cd "$scratch" && env -i PATH="$scratch/venv/bin:/usr/bin:/bin" fa3-translate \
  --mlir-to-ptx causal_gqa.mlir -o causal_gqa.ptx \
  --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline)')
echo "wheel.sh: the wheels work by themselves"

# As a system with the glibc of the tag installs it, used with the one of Debian 11.
# That has Python 3.9, which the package does not promise: what is tried keeps to it.
if fa3_debian11_make; then
  tried=$fa3_debian11/tried
  rm -rf "$tried"
  mkdir "$tried"
  "$tools/bin/pip" install -q --no-deps --only-binary :all: --python-version 3.10 \
    --platform "$tag" --target "$tried/site" "dist/$wheel" "dist/$tools_wheel"
  cp -r examples test/OldGlibc/modules.py test/Python/Inputs/installed.py "$tried/"
  fa3_in_debian11 sh -c 'getconf GNU_LIBC_VERSION && cd /tried &&
    export PYTHONPATH=site FA3_CACHE_DIR=/tried/cache &&
    python3.9 -m compileall -q site &&
    python3.9 installed.py examples/causal_gqa.mlir &&
    exec python3.9 -m fa3 demo'
  modules=(examples/*.mlir examples/masks/*.mlir)
  "$tools/bin/python" test/OldGlibc/modules.py "$prebuilt/lib/libfa3.so" \
    "${modules[@]}" >"$tried/expected.txt"
  fa3_in_debian11 sh -c 'cd /tried && exec python3.9 modules.py "$@"' sh \
    site/fa3/_lib/libfa3.so "${modules[@]}" >"$tried/made.txt"
  cmp "$tried/expected.txt" "$tried/made.txt"
  # The tools, with the PTX of this machine.
  fa3_in_debian11 sh -c 'cd /tried &&
    PYTHONPATH=site python3.9 -c "import fa3_compiler_tools as t; t.translate()" \
      --mlir-to-ptx examples/causal_gqa.mlir -o causal_gqa.ptx \
      --pass-pipeline="builtin.module(fa3-lower-to-nvvm-pipeline)" &&
    site/fa3_compiler_tools/bin/fa3-tools fa3-run --cpu examples/causal_gqa.mlir \
      --dims b=1,sq=40,sk=40 --check-heads 1'
  cmp "$tried/causal_gqa.ptx" "$scratch/causal_gqa.ptx"
  fa3_build_released fa3-old-glibc fa3-old-glibc-library
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
