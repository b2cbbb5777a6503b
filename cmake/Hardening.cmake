# SPDX-License-Identifier: Apache-2.0
# What makes mistakes harder to use and easier to find.

# No entry of a table that calls go through can be written once a program runs.
add_link_options(-Wl,-z,relro -Wl,-z,now)

# For releases. The runtime has the first of them always.
option(FA3_HARDENED "Stack protector and checked copies in everything" OFF)
if(FA3_HARDENED)
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE
    -D_FORTIFY_SOURCE=2)
endif()

# "address;undefined" or "thread": a build tree for check-fa3-sanitized. LLVM
# stays as Debian compiled it, so that vtables and containers of both sides meet.
set(FA3_SANITIZE "" CACHE STRING "Sanitizers to compile everything with")
if(FA3_SANITIZE)
  string(REPLACE ";" "," fa3_sanitizers "${FA3_SANITIZE}")
  set(fa3_sanitize_options -fsanitize=${fa3_sanitizers} -fno-sanitize=vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${fa3_sanitize_options})
  add_link_options(${fa3_sanitize_options})
endif()
