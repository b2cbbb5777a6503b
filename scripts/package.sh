#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/fa3-<version>-linux-x86_64.tar.xz: the tools without LLVM beside
# them, the runtime, examples and device tests, for a machine with a GPU and
# nothing else. It needs glibc 2.28 or newer; Python 3 for the device tests.
#
#   scripts/package.sh [--test]
#
# --test unpacks the archive elsewhere and runs what is in it, with an empty
# environment, then in a Debian 11, where one can be made.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/debian11.sh"
cd "$fa3_root"

check_archive=false
case ${1-} in
  "") ;;
  --test) check_archive=true ;;
  *)
    echo "package.sh: expects --test or nothing, got '$1'" >&2
    exit 2
    ;;
esac

scripts/setup.sh package
version=$(sed -n 's/^project(fa3 VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=fa3-$version-linux-x86_64
tools=(fa3-opt fa3-translate fa3-run fa3-tune fa3-lsp-server)

# In the build tree of everything else: what is compiled there is only linked.
fa3_build_released fa3-tools fa3_runtime

stage=$fa3_build/static/package/$name
rm -rf "$stage"
mkdir -p "$stage"/{bin,lib,include/fa3,test,scripts,docs} dist
cmake --install "$fa3_build" --component release --strip --prefix "$stage" \
  >"$fa3_build/static/install.log"
for tool in "${tools[@]}"; do
  ln -s fa3-tools "$stage/bin/$tool"
done
cp -r include/fa3/Runtime "$stage/include/fa3/"
cp -r python examples benchmarks LICENSE SECURITY.md "$stage/"
cp docs/Runtime.md "$stage/docs/"
cp scripts/demo.sh scripts/common.sh scripts/release_documents.py \
  "$stage/scripts/"
[ ! -d test/Device ] || cp -r test/Device "$stage/test/"
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
cat >"$stage/README.md" <<TEXT
fa3 $version for Linux on x86-64, glibc 2.28 or newer. Nothing to install.

    scripts/demo.sh            # examples/causal_gqa.mlir to PTX, checked, run
    bin/fa3-opt --help         # passes and pipelines
    bin/fa3-translate --help   # MLIR to PTX and manifest
    bin/fa3-run --help         # runs it, on the GPU or in the interpreter
    bin/fa3-tune --help        # options by cost model and measurement
    bin/fa3-lsp-server --help  # for editors

They are one program, bin/fa3-tools, under several names.
lib/libfa3_runtime.so with include/fa3/Runtime/fa3_runtime.h and
python/fa3_runtime launch what fa3-translate wrote: docs/Runtime.md.

THIRD-PARTY-NOTICES.txt has the licenses of what is linked in, sbom.spdx.json
lists it, SHA256SUMS is for sha256sum --check, SECURITY.md says what is trusted.
TEXT
time=$(git log -1 --format=%ct 2>/dev/null || date +%s)
scripts/release_documents.py --version "$version" --time "$time" "$stage"
archive=dist/$name.tar.xz
tar --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@$time" \
  -C "$fa3_build/static/package" -c "$name" | xz -T0 -6 >"$archive"
echo "package.sh: $archive, $(stat -c %s "$archive") bytes"
$check_archive || exit 0

# The archive alone: no LLVM in the environment, no checkout around it.
fa3_lib=$(cd "$fa3_build/lib" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -C "$scratch" -xf "$archive"
cd "$scratch/$name"
clean=(env -i PATH=/usr/bin:/bin HOME="$scratch")
sha256sum --check --quiet SHA256SUMS
"$fa3_root/scripts/release_documents.py" --check .
"$fa3_root/scripts/check_elf.py" --release --glibc 2.28 --own "$fa3_lib" bin lib
# No library from where one happens to be.
mkdir "$scratch/planted"
for library in libm.so.6 libdl.so.2 libstdc++.so.6; do
  echo "not a library" >"$scratch/planted/$library"
done
for tool in "${tools[@]}"; do
  (cd "$scratch/planted" && "${clean[@]}" "$scratch/$name/bin/$tool" --version)
done
"${clean[@]}" PYTHONPATH=python python3 -c \
  'import fa3_runtime; print("fa3_runtime", fa3_runtime.__path__[0])' |
  sed "s,$scratch/,,"
"${clean[@]}" bash scripts/demo.sh
echo "package.sh: the archive works by itself"

cd "$fa3_root"
if fa3_debian11_make; then
  rm -rf "$fa3_debian11/package"
  mv "$scratch/$name" "$fa3_debian11/package"
  rm -rf "$fa3_debian11/package/demo"
  fa3_in_debian11 bash /package/scripts/demo.sh
  fa3_in_debian11 /package/bin/fa3-tune --help >/dev/null
  echo "package.sh: the archive works in a Debian 11"
else
  echo "package.sh: NOT TESTED WITH AN OLDER C LIBRARY: no Debian 11 can be made" >&2
fi
