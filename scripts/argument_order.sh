#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls and constructors with two arguments that create operations. Which of them
# comes first is up to the compiler, so kernels would depend on it; arguments in
# braces are evaluated in order.
#
#   scripts/argument_order.sh [clang++]
#
# By hand, before a release: a build by Clang as in compare_compilers.sh, whose
# clang-query reads it. Fails if there is any.
set -euo pipefail
. "$(dirname "$0")/common.sh"
cd "$fa3_root"

clang=${1:-clang++-22}
tree=${FA3_BUILD_COMPILERS:-$fa3_root/build-compilers}/clang
fa3_configure "$tree" -DFA3_INCLUDE_TESTS=OFF \
  -DCMAKE_C_COMPILER="${clang/clang++/clang}" -DCMAKE_CXX_COMPILER="$clang"
fa3_make "$tree" fa3-translate # tables that are generated, precompiled headers
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ninja -C "$tree" -t compdb | python3 -c '
import json, sys
units = [one for one in json.load(sys.stdin)
         if "/lib/" in one["file"] and one["file"].endswith((".cpp", ".cxx"))]
for one in units:
    one["command"] = one["command"].removeprefix("ccache ")
json.dump(units, open(sys.argv[1] + "/compile_commands.json", "w"))
print(*(one["file"] for one in units), sep="\n")' "$scratch" >"$scratch/units"

# What makes a value: calls that give one, but those that look something up.
python3 - "$fa3_root" >"$scratch/query" <<'QUERY'
import itertools
import sys

LOOKS_UP = ("get[A-Za-z]*[0-9]*|lookup|find|front|back|operator[^(:]*|value|resolve|begin|"
            "dyn_cast|cast|isa|move|forward|Value|is")
VALUES = '"::mlir::Value","::mlir::OpFoldResult","::mlir::OpResult"'


def two(most):
    pairs = itertools.combinations(range(most), 2)
    return ",".join(f"allOf(hasArgument({a},C),hasArgument({b},C))" for a, b in pairs)


here = f'isExpansionInFileMatching("^{sys.argv[1]}/")'
print(f"""set output diag
set bind-root false
let made callExpr(callee(functionDecl(returns(hasCanonicalType(anyOf(
hasDeclaration(namedDecl(hasAnyName({VALUES},"::mlir::detail::TypedValue"))),
hasDeclaration(cxxRecordDecl(isDerivedFrom(hasAnyName("::mlir::Value","::mlir::OpState"))))))),
unless(matchesName("::({LOOKS_UP})[A-Za-z]*$")))))
let C expr(anyOf(made, hasDescendant(made)), unless(hasDescendant(lambdaExpr())),
unless(lambdaExpr()))
match callExpr({here}, unless(cxxOperatorCallExpr(hasAnyOperatorName("==","!="))),
anyOf({two(7)})).bind("two")
match cxxConstructExpr({here}, unless(isListInitialization()), anyOf({two(5)})).bind("two")
""".replace(",\n", ",").replace("(\n", "("))
QUERY

: >"$scratch/found"
while read -r unit; do
  "${clang/clang++/clang-query}" -p "$scratch" -f "$scratch/query" "$unit" 2>&1 |
    grep -A1 -E 'note: "two" binds here|error: ' >>"$scratch/found" || true
done <"$scratch/units"
sort -u "$scratch/found" | grep -E 'note:|error:' |
  sed "s|$fa3_root/||; s|note: .*|two arguments create operations|" || true
[ ! -s "$scratch/found" ]
