// RUN: fa3-opt %s -hopper-check-protocol | FileCheck %s
// RUN: fa3-opt %s -hopper-check-protocol=happens-before=%t.svg -o /dev/null
// RUN: FileCheck %s --check-prefix=SVG < %t.svg

// CHECK-LABEL: gpu.func @persistent
// CHECK: hopper.tma.store

// SVG: <svg xmlns="http://www.w3.org/2000/svg"
// SVG-DAG: >@load</text>
// SVG-DAG: >@math replica 0</text>
// SVG-DAG: >wait full A[0]</text>
// SVG-DAG: >arrive empty A[{{[01]}}]</text>
// SVG-DAG: >wgmma 64x64x64 registers A</text>
// SVG: >A: !hopper.buffer&lt;2, tensor&lt;64x64xf16&gt;, 128&gt;</text>
// SVG: </svg>

// A persistent kernel: tiles in an outer loop, a ring of two slots, one product
// in flight, rows stored through a private buffer. check-protocol-mutants.test
// breaks it line by line.
#acc = #hopper.fragment<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], repeat = []>
!map = !hopper.tensormap<[64, 64], f16, 128>
!ring = !hopper.buffer<2, tensor<64x64xf16>, 128>
!stage = !hopper.buffer<1, tensor<64x64xf16>, 128>
!full = !hopper.barrier<2, 1>
!empty = !hopper.barrier<2, 2>
!desc = !hopper.desc<64, f16, 128, k>
!p = vector<32xf16>
!o = vector<32xf32>
gpu.module @kernels {
  gpu.func @persistent(%in: !map, %out: !map, %tiles: i32, %steps: i32) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %buf = hopper.smem.alloc offset 0 : !ring
    %full = hopper.barrier.alloc offset 32768 : !full
    %empty = hopper.barrier.alloc offset 32784 : !empty
    hopper.barrier.init %full, %empty : !full, !empty
    gpu.barrier
    warp.specialize {
      warp.group @load warps 1 at 0 (%g) {
        hopper.setmaxnreg decrease 24
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c64 = arith.constant 64 : i32
        %block = gpu.block_id x
        %first = arith.index_cast %block : index to i32
        %blocks = gpu.grid_dim x
        %stride = arith.index_cast %blocks : index to i32
        %end:2 = scf.for %t = %first to %tiles step %stride iter_args(%i0 = %c0, %p0 = %c1) -> (i32, i32) : i32 {
          %r:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%i = %i0, %p = %p0) -> (i32, i32) : i32 {
            %row = arith.muli %k, %c64 : i32
            hopper.barrier.wait %empty[%i] parity %p : !empty
            hopper.barrier.expect_tx %full[%i], 8192 : !full
            hopper.tma.load %in[%row, %c0] to %buf[%i, %c0, %c0] signal %full[%i] : !map, !ring, !full
            %i1 = arith.xori %i, %c1 : i32
            %p1 = arith.xori %p, %i : i32
            scf.yield %i1, %p1 : i32, i32
          }
          scf.yield %r#0, %r#1 : i32, i32
        }
      }
      warp.group @math warps 4 replicas 2 at 4 (%g) {
        hopper.setmaxnreg increase 240
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c64 = arith.constant 64 : i32
        %zero = arith.constant dense<0.0> : !o
        %x = arith.constant dense<1.0> : !p
        %own = hopper.smem.alloc offset 16384 : !stage
        %replica = arith.index_cast %g : index to i32
        %id = arith.addi %replica, %c1 : i32
        %last = arith.subi %steps, %c1 : i32
        %any = arith.cmpi sgt, %steps, %c0 : i32
        %block = gpu.block_id x
        %first = arith.index_cast %block : index to i32
        %blocks = gpu.grid_dim x
        %stride = arith.index_cast %blocks : index to i32
        %end:2 = scf.for %t = %first to %tiles step %stride iter_args(%i0 = %c0, %p0 = %c0) -> (i32, i32) : i32 {
          %s:3 = scf.if %any -> (!o, i32, i32) {
            hopper.barrier.wait %full[%i0] parity %p0 : !full
            %d0 = hopper.desc %buf[%i0, %c0, %c0] : !ring -> !desc
            %a0 = hopper.wgmma.fence (%x : !p)
            %s0 = hopper.wgmma.mma %a0, %d0 m 64 n 64 k 64 : !p, !desc -> !hopper.inflight<!o>
            %g0 = hopper.wgmma.commit
            %i1 = arith.xori %i0, %c1 : i32
            %p1 = arith.xori %p0, %i0 : i32
            %r:5 = scf.for %k = %c0 to %last step %c1 iter_args(%acc = %s0, %grp = %g0, %old = %i0, %i = %i1, %p = %p1) -> (!hopper.inflight<!o>, !hopper.group, i32, i32, i32) : i32 {
              hopper.barrier.wait %full[%i] parity %p : !full
              %d = hopper.desc %buf[%i, %c0, %c0] : !ring -> !desc
              %a = hopper.wgmma.fence (%x : !p)
              %n = hopper.wgmma.mma %a, %d acc %acc : !hopper.inflight<!o> m 64 n 64 k 64 : !p, !desc -> !hopper.inflight<!o>
              %gn = hopper.wgmma.commit
              hopper.wgmma.wait %grp pending 1
              hopper.barrier.arrive %empty[%old] : !empty
              %in1 = arith.xori %i, %c1 : i32
              %pn1 = arith.xori %p, %i : i32
              scf.yield %n, %gn, %i, %in1, %pn1 : !hopper.inflight<!o>, !hopper.group, i32, i32, i32
            }
            %sum = hopper.wgmma.wait %r#1 inflight(%r#0 : !hopper.inflight<!o>) pending 0
            hopper.barrier.arrive %empty[%r#2] : !empty
            scf.yield %sum, %r#3, %r#4 : !o, i32, i32
          } else {
            scf.yield %zero, %i0, %p0 : !o, i32, i32
          }
          %h = arith.truncf %s#0 : !o to !p
          hopper.tma.wait_read pending 0
          hopper.named_barrier.sync %id threads 128
          hopper.smem.store %h to %own[%c0, %c0, %c0] of #acc : !p, !stage
          hopper.fence.proxy_async
          hopper.named_barrier.sync %id threads 128
          %row = arith.muli %t, %c64 : i32
          hopper.tma.store %own[%c0, %c0, %c0] to %out[%row, %c0] : !stage, !map
          hopper.tma.commit
          scf.yield %s#1, %s#2 : i32, i32
        }
        hopper.tma.wait_read pending 0
      }
    }
    gpu.return
  }
}
