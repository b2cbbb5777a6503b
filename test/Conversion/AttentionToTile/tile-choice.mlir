// Rows and keys of a tile where nobody asks for other ones.
// RUN: sed -e 's/DIM/72/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FOUR
// Rows of 144 bytes begin within a sector of memory.
// FOUR: tile.dot {{.*}} : {{.*}} -> tensor<256x48xf32>
// RUN: sed -e 's/DIM/80/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=THREE
// THREE: tile.dot {{.*}} : {{.*}} -> tensor<192x112xf32>
// RUN: sed -e 's/DIM/80/g; s/MODS/mods [#attention.causal]/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FOUR
// Of 1024 queries 192 rows would waste a ninth.
// RUN: sed -e 's/DIM/80/g; s/MODS//; s/8x?x/8x1024x/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FOUR
// RUN: sed -e 's/DIM/80/g; s/MODS//; s/8x?x/8x2048x/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=THREE
// Two ways to compute a step (hopper-shorten-functions) beside a mask and unknown
// lengths take registers for 16 keys.
// RUN: sed -e 's/DIM/128/g; s/MODS/mods [#attention.softcap<30.0>, #attention.causal]/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=GIVEN
// RUN: sed -e 's/DIM/128/g; s/MODS/mods [#attention.softcap<30.0>]/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDER
// RUN: sed -e 's/DIM/128/g; s/MODS/mods [#attention.softcap<30.0>, #attention.causal]/; s/8x?x/8x2048x/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDER
// WIDER: tile.dot {{.*}} : {{.*}} -> tensor<192x80xf32>

// Rows leave room for a number of keys that is given.
// RUN: sed -e 's/DIM/72/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile=block-n=48 | FileCheck %s --check-prefix=FOUR
// RUN: sed -e 's/DIM/72/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile=block-n=64 | FileCheck %s --check-prefix=GIVEN
// GIVEN: tile.dot {{.*}} : {{.*}} -> tensor<192x64xf32>
// RUN: sed -e 's/DIM/72/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile=block-n=128 | FileCheck %s --check-prefix=TWO
// TWO: tile.dot {{.*}} : {{.*}} -> tensor<128x128xf32>
// RUN: sed -e 's/DIM/72/g; s/MODS//' %s | fa3-opt --attention-expand-mods --attention-to-tile="block-m=256 block-n=64" | FileCheck %s --check-prefix=BOTH
// BOTH: tile.dot {{.*}} : {{.*}} -> tensor<256x64xf32>

func.func @attention(%q: tensor<2x8x?xDIMxf16>, %k: tensor<2x8x?xDIMxf16>, %v: tensor<2x8x?xDIMxf16>) -> tensor<2x8x?xDIMxf16> {
  %o = attention.forward %q, %k, %v MODS
    : (tensor<2x8x?xDIMxf16>, tensor<2x8x?xDIMxf16>, tensor<2x8x?xDIMxf16>) -> tensor<2x8x?xDIMxf16>
  return %o : tensor<2x8x?xDIMxf16>
}
