// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{reduction-chains=1},canonicalize,cse))' | FileCheck %s --check-prefix=ONE
// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(convert-hopper-to-nvvm{reduction-chains=4},canonicalize,cse))' | FileCheck %s --check-prefix=FOUR

// A lane has eight elements of each of its rows: a chain of seven maxima, or
// four of one, whose ends meet in a tree.
#f = #hopper.fragment<[64, 32], reg = [[0, 1], [8, 0], [0, 8], [0, 16]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
gpu.module @m {
  // ONE-LABEL: llvm.func @reduce
  // ONE: %[[A:.*]] = arith.maxnumf
  // ONE: %[[B:.*]] = arith.maxnumf %[[A]],
  // ONE: %[[C:.*]] = arith.maxnumf %[[B]],
  // ONE: %[[D:.*]] = arith.maxnumf %[[C]],
  // ONE: %[[E:.*]] = arith.maxnumf %[[D]],
  // ONE: %[[F:.*]] = arith.maxnumf %[[E]],
  // ONE: arith.maxnumf %[[F]],
  // FOUR-LABEL: llvm.func @reduce
  // FOUR: %[[A:.*]] = arith.maxnumf
  // FOUR: %[[B:.*]] = arith.maxnumf
  // FOUR: %[[C:.*]] = arith.maxnumf
  // FOUR: %[[D:.*]] = arith.maxnumf
  // FOUR: %[[AC:.*]] = arith.maxnumf %[[A]], %[[C]]
  // FOUR: %[[BD:.*]] = arith.maxnumf %[[B]], %[[D]]
  // FOUR: arith.maxnumf %[[AC]], %[[BD]]
  gpu.func @reduce(%out: !llvm.ptr<1>, %n: i32, %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %j = hopper.coord dim 1 offset %n of #f : vector<16xi32>
    %x = arith.sitofp %j : vector<16xi32> to vector<16xf32>
    %m = hopper.fragment.reduce max %x dim 1 of #f : vector<16xf32> -> vector<2xf32>
    %y = vector.shuffle %m, %m [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
    hopper.fragment.store %y, %out[%c0, %c0] strides(%stride, %stride) bounds(%n, %n) of #f : vector<16xf32>
    gpu.return
  }
}
