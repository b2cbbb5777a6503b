// Tiles beside lists of blocks of 128 x 128: numbers of the lists stay in
// registers beside the code of a mask, so that wide heads leave room for 128
// keys only where that looks at the key once.
// RUN: sed -e 's/DIM/128/g; s/LENGTH/4096/g; s/MODS/#attention.document<aux = 0>/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDE
// RUN: sed -e 's/DIM/128/g; s/LENGTH/4096/g; s/MODS/#attention.causal/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDE
// RUN: sed -e 's/DIM/128/g; s/LENGTH/?/g; s/MODS/#attention.causal/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=WIDE
// WIDE: tile.dot {{.*}} : {{.*}} -> tensor<128x128xf32>

// An integer of each key where lengths are not known; two comparisons; heads
// that are wider.
// RUN: sed -e 's/DIM/128/g; s/LENGTH/?/g; s/MODS/#attention.document<aux = 0>/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=NARROW
// RUN: sed -e 's/DIM/128/g; s/LENGTH/4096/g; s/MODS/#attention.document<aux = 0>, #attention.causal/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=NARROW
// RUN: sed -e 's/DIM/128/g; s/LENGTH/4096/g; s/MODS/#attention.window<left = 127, right = 127>/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=NARROW
// RUN: sed -e 's/DIM/192/g; s/LENGTH/4096/g; s/MODS/#attention.causal/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=NARROW
// NARROW: tile.dot {{.*}} : {{.*}} -> tensor<128x64xf32>

// Blocks of 192 queries, which are three groups: 32 keys where integers of keys
// stay in registers beside lengths of the launch.
// RUN: sed -e 's/DIM/128/g; s/LENGTH/?/g; s/MODS/#attention.document<aux = 0>/; s/queries = 128/queries = 192/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=FEW
// FEW: tile.dot {{.*}} : {{.*}} -> tensor<192x32xf32>
// RUN: sed -e 's/DIM/128/g; s/LENGTH/4096/g; s/MODS/#attention.document<aux = 0>/; s/queries = 128/queries = 192/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=MORE
// RUN: sed -e 's/DIM/128/g; s/LENGTH/?/g; s/MODS/#attention.causal/; s/queries = 128/queries = 192/' %s | fa3-opt --attention-expand-mods --attention-to-tile | FileCheck %s --check-prefix=MORE
// MORE: tile.dot {{.*}} : {{.*}} -> tensor<192x64xf32>

func.func @attention(%q: tensor<1x2xLENGTHxDIMxf16>, %k: tensor<1x2xLENGTHxDIMxf16>, %v: tensor<1x2xLENGTHxDIMxf16>,
                     %documents: tensor<1xLENGTHxi32>, %count: tensor<1x1x?xi32>, %index: tensor<1x1x?x?xi32>,
                     %full_count: tensor<1x1x?xi32>, %full_index: tensor<1x1x?x?xi32>) -> tensor<1x2xLENGTHxDIMxf16> {
  %o = attention.forward %q, %k, %v
    aux(%documents, %count, %index, %full_count, %full_index : tensor<1xLENGTHxi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
    mods [MODS, #attention.blocks<count = 1, index = 2, full_count = 3, full_index = 4, queries = 128, keys = 128>]
    : (tensor<1x2xLENGTHxDIMxf16>, tensor<1x2xLENGTHxDIMxf16>, tensor<1x2xLENGTHxDIMxf16>) -> tensor<1x2xLENGTHxDIMxf16>
  return %o : tensor<1x2xLENGTHxDIMxf16>
}
