#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes what reads text (test/Fuzz/Targets) with libFuzzer for a while:
# manifests with load and launch, formulas, scheduling problems, .npy files.
#
#   scripts/fuzz.sh [minutes] [target...]
#
# 60 minutes of each by default, one process per target, at the lowest priority.
# Needs clang-22 and libclang-rt-22-dev. The corpus, logs and inputs that failed
# stay in build-fuzz/fuzz; new finds belong to test/Fuzz/Targets/corpus once
# they are mended. FA3_BUILD_FUZZ: another build tree.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

tree=${FA3_BUILD_FUZZ:-$fa3_root/build-fuzz}
minutes=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(manifest formula problem npy)

fa3_configure "$tree" -DCMAKE_C_COMPILER=clang-22 \
  -DCMAKE_CXX_COMPILER=clang++-22
fa3_make "$tree" fa3-fuzz-targets
cp -r test/Fuzz/Targets/corpus "$tree/fuzz/"

pids=()
for target in "${targets[@]}"; do
  nice -n 19 "$tree/fuzz/fuzz-$target" -max_total_time=$((60 * minutes)) \
    -dict="test/Fuzz/Targets/$target.dict" -timeout=120 -print_final_stats=1 \
    -artifact_prefix="$tree/fuzz/$target-" "$tree/fuzz/corpus/$target" \
    >"$tree/fuzz/$target.log" 2>&1 &
  pids+=($!)
done
failed=0
for i in "${!targets[@]}"; do
  log=$tree/fuzz/${targets[$i]}.log
  if wait "${pids[$i]}"; then
    echo "${targets[$i]}: no failure," \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs," \
      "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)," \
      "$(find "$tree/fuzz/corpus/${targets[$i]}" -type f | wc -l) in the corpus"
  else
    echo "${targets[$i]}: failed, see $log" >&2
    failed=1
  fi
done
exit $failed
