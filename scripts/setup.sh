#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the packages that fa3 is built from are installed.
#
#   scripts/setup.sh [check] [package] [wheel]
#
# Building and running the tests is always covered; `check` adds what
# scripts/check.sh needs besides, `package` what scripts/package.sh needs, `wheel`
# what scripts/wheel.sh needs.
#
# On Debian 12 missing packages are installed with apt-get, as root or through
# sudo without a password. Otherwise the command to run is printed and the exit
# code is 1. If nothing is missing, nothing is done.
set -euo pipefail

packages=(g++ cmake ninja-build ccache llvm-22-dev libmlir-22-dev mlir-22-tools
          llvm-22-tools lld-22 zlib1g-dev libzstd-dev libgtest-dev python3)
for purpose in "$@"; do
  case $purpose in
    check) packages+=(clang-format-22 git xz-utils) ;;
    package) packages+=(mmdebstrap xz-utils) ;;
    wheel) packages+=(binutils mmdebstrap python3-dev python3-venv) ;;
    *)
      echo "setup.sh: expects check, package or wheel, got '$purpose'" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is no Debian; what Debian 12 calls ${packages[*]}" \
    "has to be installed by other means" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

privileged=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "setup.sh: packages are missing; run as root:" >&2
    echo "  apt-get update && apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  privileged=(sudo -n)
fi
echo "setup.sh: installing ${missing[*]}"
"${privileged[@]}" apt-get update -q
"${privileged[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}"
