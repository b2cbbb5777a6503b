# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: a Debian 11 to try in what is released, whose C library is
# glibc 2.31. It is in the build tree and made once, of the packages that are listed
# here, from the mirror that apt is configured for.

fa3_debian11=$fa3_build/debian-11
fa3_debian11_packages=bash,coreutils,dash,diffutils,grep,libc-bin,mawk,python3.9,sed

# fa3_debian11_make: fails, and says so, where it cannot be made or entered.
fa3_debian11_make() {
  local list=$fa3_debian11/packages mirror
  if [ "$(cat "$list" 2>/dev/null)" != $fa3_debian11_packages ]; then
    rm -rf "$fa3_debian11"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
      'Created-By: Packages' 'Component: main' 'Release: bookworm' | head -1)
    mmdebstrap --quiet --variant=extract --include=$fa3_debian11_packages \
      bullseye "$fa3_debian11" "${mirror%/}" 2>"$fa3_build/debian-11.log" || {
      cat "$fa3_build/debian-11.log" >&2
      return 1
    }
    mkdir -p "$fa3_debian11"/{tmp,root}
    ln -s mawk "$fa3_debian11/usr/bin/awk"
    echo $fa3_debian11_packages >"$list"
  fi
  fa3_in_debian11 ls / >/dev/null
}

# fa3_in_debian11 <command>...: with an empty environment.
fa3_in_debian11() {
  local enter=(chroot)
  [ "$(id -u)" = 0 ] || enter=(unshare --user --map-root-user chroot)
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    "$(command -v "${enter[0]}")" "${enter[@]:1}" "$fa3_debian11" "$@"
}
