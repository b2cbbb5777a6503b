// Tiles of gradients beside lists of blocks: rows and columns divide a block.
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 128/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FUSED
// RUN: sed -e 's/DIM/64/g; s/MODS/#attention.causal, /; s/BLOCK/queries = 128, keys = 128/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FUSED
// RUN: sed -e 's/DIM/128/g; s/MODS//; s/BLOCK/queries = 128, keys = 128/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDE
// WIDE-LABEL: gpu.func @gradients_grads
// WIDE: tile.dot {{.*}} -> tensor<128x64xf32>
// WIDE-LABEL: gpu.func @gradients_dq
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 128/g' %s | fa3-opt --attention-expand-mods --attention-to-tile=deterministic | FileCheck %s --check-prefix=SPLIT

// The fused form.
// FUSED-LABEL: gpu.func @gradients_grads
// FUSED: tile.dot {{.*}} -> tensor<128x128xf32>
// FUSED-LABEL: gpu.func @gradients_dq
// FUSED-NOT: scf.for

// Of 80 columns and more that there would be room for, 64 divide a block.
// SPLIT-LABEL: gpu.func @gradients_dkdv
// SPLIT: tile.dot {{.*}} -> tensor<128x64xf32>
// SPLIT-LABEL: gpu.func @gradients_dq
// SPLIT: tile.dot {{.*}} -> tensor<128x64xf32>

// Blocks of 64 have tiles of one group, on the side that they are on.
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 64, keys = 128/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=QUERIES
// QUERIES-LABEL: gpu.func @gradients_dkdv
// QUERIES: tile.dot {{.*}} -> tensor<128x64xf32>
// QUERIES-LABEL: gpu.func @gradients_dq
// QUERIES: tile.dot {{.*}} -> tensor<64x64xf32>
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 64/g' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=KEYS
// KEYS-LABEL: gpu.func @gradients_dkdv
// KEYS: tile.dot {{.*}} -> tensor<64x64xf32>
// KEYS-LABEL: gpu.func @gradients_dq
// KEYS: tile.dot {{.*}} -> tensor<128x64xf32>

// What tiles are not made of.
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 48/g' %s | not fa3-opt --attention-expand-mods --attention-to-tile 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: error: 'attention.backward' op lists blocks of 48 keys, expects gradients to have tiles whose rows divide that, got 64 in the kernel of dkdv
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 128/g' %s | not fa3-opt --attention-expand-mods --attention-to-tile=block-n=48 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: 'attention.backward' op lists blocks of 128 queries, expects gradients to have tiles whose columns divide that, got 48 in the kernel of dkdv
// RUN: sed -e 's/DIM/64/g; s/MODS//; s/BLOCK/queries = 128, keys = 64/g' %s | not fa3-opt --attention-expand-mods --attention-to-tile=backward-form=fused 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: error: 'attention.backward' op has no fused form with lists of blocks of 128 queries and 64 keys, expects a multiple of 128 keys

!q = tensor<1x2x4096xDIMxf16>
!rows = tensor<1x2x4096xf32>
func.func @gradients(%q: !q, %l: !rows, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>) -> (!q, !q, !q) {
  %dq, %dk, %dv = attention.backward %q, %q, %q, %q, %l, %q
    aux(%count, %index : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [MODS#attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, BLOCK>,
          #attention.blocks<count = 0, index = 1, full_count = 0, full_index = 1, BLOCK, by = key>]
    : (!q, !q, !q, !q, !rows, !q) -> (!q, !q, !q)
  return %dq, %dk, %dv : !q, !q, !q
}
