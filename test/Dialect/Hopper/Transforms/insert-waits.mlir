// RUN: fa3-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-waits)))' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %stages-window --pass hopper-insert-waits --run=--completion=random --run=--schedule-seed=2

!desc = !hopper.desc<64, f16, 128, k>
!frag = !hopper.inflight<vector<32xf32>>

// CHECK-LABEL: @straight
gpu.module @m {
  gpu.func @straight(%a: !desc, %b: !desc) kernel {
    %x = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g0 = hopper.wgmma.commit
    %y = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g1 = hopper.wgmma.commit
    // CHECK: wgmma.wait %{{.*}} inflight({{.*}}) pending 1
    %xv = hopper.wgmma.wait %g0 inflight(%x : !frag)
    // CHECK: wgmma.wait %{{.*}} inflight({{.*}}) pending 0
    %yv = hopper.wgmma.wait %g1 inflight(%y : !frag)
    // CHECK: wgmma.wait %{{.*}} pending -1
    hopper.wgmma.wait %g0
    gpu.return
  }

  // A chain: the wait on two groups takes the younger one.
  // CHECK-LABEL: @youngest
  gpu.func @youngest(%a: !desc, %b: !desc) kernel {
    %x = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g0 = hopper.wgmma.commit
    %y = hopper.wgmma.mma %a, %b acc %x : !frag m 64 n 64 k 64 : !desc, !desc -> !frag
    %g1 = hopper.wgmma.commit
    %g2 = hopper.wgmma.commit
    // CHECK: wgmma.wait %{{.*}}, %{{.*}} inflight({{.*}}) pending 1
    %yv = hopper.wgmma.wait %g0, %g1 inflight(%y : !frag)
    gpu.return
  }

  // The release of the previous iteration's slot: one group may stay.
  // CHECK-LABEL: @carried
  gpu.func @carried(%a: !desc, %b: !desc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant dense<0.0> : vector<32xf32>
    %i = hopper.inflight.ready %z : vector<32xf32> -> !frag
    %r = hopper.group.ready
    // CHECK: scf.for
    %e:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %i, %old = %r) -> (!frag, !hopper.group) {
      %x = hopper.wgmma.mma %a, %b acc %acc : !frag m 64 n 64 k 64 : !desc, !desc -> !frag
      %g = hopper.wgmma.commit
      // CHECK: wgmma.wait %{{.*}} pending 1
      hopper.wgmma.wait %old
      scf.yield %x, %g : !frag, !hopper.group
    }
    // CHECK: }
    // CHECK: wgmma.wait %{{.*}} inflight({{.*}}) pending 0
    %v = hopper.wgmma.wait %e#1 inflight(%e#0 : !frag)
    gpu.return
  }

  // Nothing younger can be in flight on the path that commits nothing.
  // CHECK-LABEL: @branch
  gpu.func @branch(%a: !desc, %b: !desc, %c: i1) kernel {
    %x = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g0 = hopper.wgmma.commit
    scf.if %c {
      %g1 = hopper.wgmma.commit
    }
    // CHECK: } else {
    // CHECK: wgmma.wait %{{.*}} pending 0
    // CHECK: wgmma.wait %{{.*}} pending 0
    scf.if %c {
    } else {
      hopper.wgmma.wait %g0
    }
    %v = hopper.wgmma.wait %g0 inflight(%x : !frag)
    gpu.return
  }

  // Two groups of an iteration, the first waited for with the second in
  // flight, the second at the start of the next iteration.
  // CHECK-LABEL: @overlap
  gpu.func @overlap(%a: !desc, %b: !desc, %n: index) kernel {
    %z = arith.constant dense<0.0> : vector<32xf32>
    %i = hopper.inflight.ready %z : vector<32xf32> -> !frag
    %r = hopper.group.ready
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: scf.while
    %e:3 = scf.while (%k = %c0, %o = %i, %go = %r) : (index, !frag, !hopper.group) -> (index, !frag, !hopper.group) {
      %more = arith.cmpi slt, %k, %n : index
      scf.condition(%more) %k, %o, %go : index, !frag, !hopper.group
    } do {
    ^bb0(%k: index, %o: !frag, %go: !hopper.group):
      %s = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
      %gs = hopper.wgmma.commit
      // CHECK: wgmma.wait %{{.*}} inflight({{.*}}) pending 1
      %ov = hopper.wgmma.wait %go inflight(%o : !frag)
      %o1 = hopper.wgmma.mma %a, %b acc %ov : vector<32xf32> m 64 n 64 k 64 : !desc, !desc -> !frag
      %g1 = hopper.wgmma.commit
      // CHECK: wgmma.wait %{{.*}} inflight({{.*}}) keep({{.*}}) pending 1
      %sv, %ks = hopper.wgmma.wait %gs inflight(%s : !frag) keep(%z : vector<32xf32>)
      %k1 = arith.addi %k, %c1 : index
      scf.yield %k1, %o1, %g1 : index, !frag, !hopper.group
    }
    %v = hopper.wgmma.wait %e#2 inflight(%e#1 : !frag)
    gpu.return
  }
}

// -----

!desc = !hopper.desc<64, f16, 128, k>
!frag = !hopper.inflight<vector<32xf32>>
gpu.module @m {
  gpu.func @younger(%a: !desc, %b: !desc) kernel {
    %g0 = hopper.wgmma.commit
    // expected-note@+1 {{it stems from here}}
    %x = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g1 = hopper.wgmma.commit
    // expected-error@+1 {{expects its groups to cover every in-flight fragment, but fragment 0 may still be written after it}}
    %v = hopper.wgmma.wait %g0 inflight(%x : !frag)
    gpu.return
  }
}

// -----

!desc = !hopper.desc<64, f16, 128, k>
!frag = !hopper.inflight<vector<32xf32>>
gpu.module @m {
  gpu.func @not_committed(%a: !desc, %b: !desc) kernel {
    // expected-note@+1 {{it stems from here}}
    %x = hopper.wgmma.mma %a, %b m 64 n 64 k 64 : !desc, !desc -> !frag
    %g = hopper.group.ready
    // expected-error@+1 {{may still be written after it}}
    %v = hopper.wgmma.wait %g inflight(%x : !frag)
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other_control_flow(%i: index) kernel {
    // expected-error@+1 {{is control flow that hopper-insert-waits does not follow}}
    scf.index_switch %i
    case 0 {
      // expected-note@+1 {{it holds this operation}}
      %g = hopper.wgmma.commit
      scf.yield
    }
    default {
    }
    gpu.return
  }
}
