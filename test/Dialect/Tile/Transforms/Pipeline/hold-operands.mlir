// RUN: fa3-opt %s -split-input-file -tile-hold-operands=hold=1 | FileCheck %s
// RUN: fa3-opt %s -split-input-file -tile-hold-operands=hold=9 | FileCheck %s --check-prefix=ALL
// RUN: fa3-opt %s -split-input-file -tile-hold-operands | FileCheck %s --check-prefix=AUTO
// RUN: fa3-opt %s -split-input-file -tile-hold-operands=hold=0 | FileCheck %s --check-prefix=NONE
// RUN: not fa3-opt %s -split-input-file -tile-hold-operands=hold=some 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not fa3-opt %s -split-input-file -tile-hold-operands=hold=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: %stages-window --pass tile-hold-operands --options 'block-m=128 block-n=64 hold=1'
// RUN: %stages-window --pass tile-hold-operands --options 'mode=static block-m=128 block-n=32 hold=4' --run=--completion=random --run=--schedule-seed=3
// RUN: %stages-chain --pass tile-hold-operands --options 'hold=1'
// Two ways to compute a step take the registers.
// RUN: sed 's/^\( .*\) = arith.truncf \(.*\) : !S to/%%tanh = math.tanh \2 : !S\n\1 = arith.truncf %%tanh : !S to/' %s | fa3-opt -split-input-file -tile-hold-operands | FileCheck %s --check-prefix=TANH
// TANH-LABEL: gpu.func @invariant
// TANH-NOT: tile.read
// TANH: math.tanh
// TANH-NOT: tile.read
// TANH: gpu.return

// RUN: sed 's/^ *%%x = arith.truncf %%s/%%s1 = arith.mulf %%s, %%s : !S\n%%s2 = arith.mulf %%s1, %%s : !S\n%%s3 = arith.addf %%s2, %%s1 : !S\n%%s4 = arith.subf %%s3, %%s : !S\n%%s5 = arith.mulf %%s4, %%s2 : !S\n%%x = arith.truncf %%s5/' %s | fa3-opt -split-input-file -tile-hold-operands | FileCheck %s --check-prefix=CODE
// CODE-LABEL: gpu.func @one_stage_long
// CODE-NOT: tile.read
// CODE: gpu.return
// RUN: sed 's/^ *warp.specialize {/&\nwarp.group @other warps 4 (%%h) {\n}/' %s | fa3-opt -split-input-file -tile-hold-operands | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/^ *warp.group @math .*/&\n%%places = memref.alloca() : memref<4xi32>\n%%origin = arith.constant 0 : index\n%%place = tile.scalar_load %%places[%%origin] : memref<4xi32>/' %s | fa3-opt -split-input-file -tile-hold-operands | FileCheck %s --check-prefix=OTHER
// OTHER-LABEL: gpu.func @one_stage_long
// OTHER-NOT: tile.read
// OTHER: gpu.return

// WORD: error: tile-hold-operands: expects hold 'auto' or a number of at least 0, got 'some'
// NEGATIVE: error: tile-hold-operands: expects hold 'auto' or a number of at least 0, got '-1'
// NONE-NOT: tile.read

!Q = tensor<128x40xf16>
!K = tensor<32x40xf16>
!V = tensor<32x40xf16>
!S = tensor<64x32xf32>
!O = tensor<64x40xf32>
!qr = !warp.ring<1, [!Q]>
!kr = !warp.ring<2, [!K]>
!read = !warp.cursor<read>
gpu.module @m {
  // The queries do not change in the loop; the keys and the weights do. 40
  // columns are two steps and a half.
  // CHECK-LABEL: gpu.func @invariant
  // CHECK: %[[Q:.*]], %{{.*}} = warp.acquire
  // CHECK: %[[HEAD:.*]] = tile.view %[[Q]][%[[ROW:.*]], %c0] : {{.*}} -> <tensor<64x16xf16>>
  // CHECK: %[[HELD:.*]] = tile.read %[[HEAD]] : <tensor<64x16xf16>> -> tensor<64x16xf16>
  // CHECK: %[[TAIL:.*]] = tile.view %[[Q]][%[[ROW]], %c16{{.*}}] : {{.*}} -> <tensor<64x24xf16>>
  // CHECK: scf.for
  // CHECK: %[[K:.*]], %{{.*}} = warp.acquire
  // CHECK-DAG: %[[K0:.*]] = tile.view %[[K]][%c0, %c0] : {{.*}} -> <tensor<32x16xf16>>
  // CHECK-DAG: %[[K1:.*]] = tile.view %[[K]][%c0, %c16{{.*}}] : {{.*}} -> <tensor<32x24xf16>>
  // CHECK: %[[P:.*]], %{{.*}} = tile.dot.async %[[HELD]], %[[K0]], %{{.*}} lhs mk rhs nk : tensor<64x16xf16>
  // CHECK: %[[S:.*]], %[[DONE:.*]] = tile.dot.async %[[TAIL]], %[[K1]], %[[P]] lhs mk rhs nk : !tile.view<tensor<64x24xf16>>, !tile.view<tensor<32x24xf16>>, !tile.pending<tensor<64x32xf32>>
  // CHECK: tile.await %[[S]]
  // CHECK: warp.release %[[K]] after %[[DONE]]
  // CHECK-NOT: tile.read
  // ALL-LABEL: gpu.func @invariant
  // ALL: tile.read %{{.*}} : <tensor<64x32xf16>> -> tensor<64x32xf16>
  // ALL: tile.dot.async %{{.*}} : tensor<64x32xf16>
  // ALL: tile.dot.async %{{.*}} : !tile.view<tensor<64x8xf16>>
  // AUTO-LABEL: gpu.func @invariant
  // AUTO: tile.read %{{.*}} : <tensor<64x32xf16>> -> tensor<64x32xf16>
  gpu.func @invariant(%n: index, %w: tensor<64x32xf16>) kernel {
    %q = warp.ring : !qr
    %k = warp.ring : !kr
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : !O
        %first = arith.constant dense<1.0> : tensor<64x32xf16>
        %row = arith.muli %g, %c64 : index
        %qc = warp.cursor read %q : !qr
        %kc = warp.cursor read %k : !kr
        %sq, %nq = warp.acquire %q[%qc] : !qr, !read
        %qv = tile.view %sq[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<tensor<64x40xf16>>
        %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %kc, %sum = %none, %x = %first) -> (!read, !O, tensor<64x32xf16>) {
          %sk, %nk = warp.acquire %k[%c] : !kr, !read
          %kv = tile.view %sk[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %p, %d = tile.dot.async %qv, %kv, %zero lhs mk rhs nk : !tile.view<tensor<64x40xf16>>, !tile.view<!K>, !S -> !tile.pending<!S>
          %po, %do = tile.dot.async %x, %kv, %sum lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!V>, !O -> !tile.pending<!O>
          %s = tile.await %p : !tile.pending<!S>
          %o = tile.await %po : !tile.pending<!O>
          %y = arith.truncf %s : !S to tensor<64x32xf16>
          warp.release %sk after %d, %do : !warp.slot<read, [!K]>
          scf.yield %nk, %o, %y : !read, !O, tensor<64x32xf16>
        }
        warp.release %sq : !warp.slot<read, [!Q]>
      }
    }
    gpu.return
  }
}

// -----

!Q = tensor<128x40xf16>
!K = tensor<32x40xf16>
!V = tensor<32x40xf16>
!S = tensor<64x32xf32>
!O = tensor<64x40xf32>
!qr = !warp.ring<1, [!Q]>
!kr = !warp.ring<2, [!K]>
!read = !warp.cursor<read>
!QL = tensor<128x256xf16>
!KL = tensor<32x256xf16>
!OL = tensor<64x256xf32>
!qlr = !warp.ring<1, [!QL]>
!klr = !warp.ring<2, [!KL]>
gpu.module @m {
  // The second product takes registers when the first is no longer under way: the
  // conversion to NVVM writes those that are held anew. By itself the pass holds
  // steps of long operands only (one_stage_long).
  // CHECK-LABEL: gpu.func @one_stage
  // CHECK: tile.read %{{.*}} : <tensor<64x16xf16>> -> tensor<64x16xf16>
  // CHECK: scf.for
  // CHECK: tile.dot.async %{{.*}} lhs mk rhs nk : tensor<64x16xf16>
  // AUTO-LABEL: gpu.func @one_stage
  // AUTO-NOT: tile.read
  // AUTO: gpu.return
  gpu.func @one_stage(%n: index, %w: tensor<64x32xf16>) kernel {
    %q = warp.ring : !qr
    %k = warp.ring : !kr
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : !O
        %row = arith.muli %g, %c64 : index
        %qc = warp.cursor read %q : !qr
        %kc = warp.cursor read %k : !kr
        %sq, %nq = warp.acquire %q[%qc] : !qr, !read
        %qv = tile.view %sq[%row, %c0] : !warp.slot<read, [!Q]> -> !tile.view<tensor<64x40xf16>>
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %kc, %sum = %none) -> (!read, !O) {
          %sk, %nk = warp.acquire %k[%c] : !kr, !read
          %kv = tile.view %sk[%c0, %c0] : !warp.slot<read, [!K]> -> !tile.view<!K>
          %p, %d = tile.dot.async %qv, %kv, %zero lhs mk rhs nk : !tile.view<tensor<64x40xf16>>, !tile.view<!K>, !S -> !tile.pending<!S>
          %s = tile.await %p : !tile.pending<!S>
          %x = arith.truncf %s : !S to tensor<64x32xf16>
          %po, %do = tile.dot.async %x, %kv, %sum lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!V>, !O -> !tile.pending<!O>
          %o = tile.await %po : !tile.pending<!O>
          warp.release %sk after %d, %do : !warp.slot<read, [!K]>
          scf.yield %nk, %o : !read, !O
        }
        warp.release %sq : !warp.slot<read, [!Q]>
      }
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @one_stage_long
  // AUTO-LABEL: gpu.func @one_stage_long
  // AUTO: tile.read %{{.*}} : <tensor<64x64xf16>> -> tensor<64x64xf16>
  // AUTO: scf.for
  // AUTO: tile.dot.async %{{.*}} lhs mk rhs nk : tensor<64x64xf16>
  gpu.func @one_stage_long(%n: index, %w: tensor<64x32xf16>) kernel {
    %q = warp.ring : !qlr
    %k = warp.ring : !klr
    warp.specialize {
      warp.group @math warps 4 replicas 2 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %zero = arith.constant dense<0.0> : !S
        %none = arith.constant dense<0.0> : !OL
        %row = arith.muli %g, %c64 : index
        %qc = warp.cursor read %q : !qlr
        %kc = warp.cursor read %k : !klr
        %sq, %nq = warp.acquire %q[%qc] : !qlr, !read
        %qv = tile.view %sq[%row, %c0] : !warp.slot<read, [!QL]> -> !tile.view<tensor<64x256xf16>>
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %kc, %sum = %none) -> (!read, !OL) {
          %sk, %nk = warp.acquire %k[%c] : !klr, !read
          %kv = tile.view %sk[%c0, %c0] : !warp.slot<read, [!KL]> -> !tile.view<!KL>
          %p, %d = tile.dot.async %qv, %kv, %zero lhs mk rhs nk : !tile.view<tensor<64x256xf16>>, !tile.view<!KL>, !S -> !tile.pending<!S>
          %s = tile.await %p : !tile.pending<!S>
          %x = arith.truncf %s : !S to tensor<64x32xf16>
          %po, %do = tile.dot.async %x, %kv, %sum lhs mk rhs kn : tensor<64x32xf16>, !tile.view<!KL>, !OL -> !tile.pending<!OL>
          %o = tile.await %po : !tile.pending<!OL>
          warp.release %sk after %d, %do : !warp.slot<read, [!KL]>
          scf.yield %nk, %o : !read, !OL
        }
        warp.release %sq : !warp.slot<read, [!QL]>
      }
    }
    gpu.return
  }
}


// -----

!Q = tensor<64x64xf8E4M3FN>
!V = tensor<128x64xf8E4M3FN>
!O = tensor<64x128xf32>
!qr = !warp.ring<1, [!Q]>
!vr = !warp.ring<2, [!V]>
!read = !warp.cursor<read>
gpu.module @m {
  // A step of 8-bit elements is 32 columns. K of the right operand may run
  // along its rows. 128 columns take the tensor core long enough: auto leaves
  // the product alone.
  // CHECK-LABEL: gpu.func @whole
  // CHECK: tile.read %{{.*}} : <tensor<64x32xf8E4M3FN>> -> tensor<64x32xf8E4M3FN>
  // CHECK: tile.dot.async
  // CHECK: tile.dot.async
  // ALL-LABEL: gpu.func @whole
  // ALL: tile.read %{{.*}} : <tensor<64x64xf8E4M3FN>> -> tensor<64x64xf8E4M3FN>
  // ALL: scf.for
  // ALL: tile.dot.async %{{.*}} lhs mk rhs nk : tensor<64x64xf8E4M3FN>, !tile.view<tensor<128x64xf8E4M3FN>>
  // ALL-NOT: tile.dot.async
  // AUTO-LABEL: gpu.func @whole
  // AUTO-NOT: tile.read
  gpu.func @whole(%n: index) kernel {
    %q = warp.ring : !qr
    %k = warp.ring : !vr
    warp.specialize {
      warp.group @math warps 4 (%g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !O
        %qc = warp.cursor read %q : !qr
        %kc = warp.cursor read %k : !vr
        %sq, %nq = warp.acquire %q[%qc] : !qr, !read
        %qv = tile.view %sq[%c0, %c0] : !warp.slot<read, [!Q]> -> !tile.view<!Q>
        %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %kc) -> (!read) {
          %sk, %nk = warp.acquire %k[%c] : !vr, !read
          %kv = tile.view %sk[%c0, %c0] : !warp.slot<read, [!V]> -> !tile.view<!V>
          %p, %d = tile.dot.async %qv, %kv, %zero lhs mk rhs nk : !tile.view<!Q>, !tile.view<!V>, !O -> !tile.pending<!O>
          %s = tile.await %p : !tile.pending<!O>
          warp.release %sk after %d : !warp.slot<read, [!V]>
          scf.yield %nk : !read
        }
        warp.release %sq : !warp.slot<read, [!Q]>
      }
    }
    gpu.return
  }
}
