# SPDX-License-Identifier: Apache-2.0
# What makes mistakes harder to use and easier to find.

# No entry of a table that calls go through can be written once a program runs.
add_link_options(-Wl,-z,relro -Wl,-z,now)

# What is released is compiled in the tree of everything else, so all of it is. The
# checks of copies need an optimizer.
option(FA3_HARDENED "Stack protector and checked copies in everything" ON)
if(FA3_HARDENED)
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE
    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
endif()
