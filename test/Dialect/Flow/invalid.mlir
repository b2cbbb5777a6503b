// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Types.

// ring C1
// expected-error @+1 {{!flow.ring expects a depth of at least 1, got 0}}
func.func private @depth(!flow.ring<0, [i32]>)

// -----

// ring C2
// expected-error @+1 {{!flow.ring expects payload types that are statically shaped tensors, integers, index or !flow.token, got 'f32'}}
func.func private @payload(!flow.ring<1, [f32]>)

// -----

// ring C2
// expected-error @+1 {{!flow.ring expects payload types that are statically shaped tensors, integers, index or !flow.token, got 'tensor<?x8xf32>'}}
func.func private @dynamic(!flow.ring<1, [i32, tensor<?x8xf32>]>)

// -----

// ring C2
// expected-error @+1 {{!flow.ring expects payload types that are statically shaped tensors, integers, index or !flow.token, got 'tensor<8xindex>'}}
func.func private @indices(!flow.ring<1, [tensor<8xindex>]>)

// -----

// ring C2
// expected-error @+2 {{expected non-function type}}
// expected-error @+1 {{failed to parse Flow_RingType parameter 'payload'}}
func.func private @no_payload(!flow.ring<1, []>)

// -----

// ring C3
// expected-error @+1 {{!flow.ring expects at least 1 part, got 0}}
func.func private @parts(!flow.ring<1, [i32], parts = 0>)

// -----

// ring C4
// expected-error @+1 {{!flow.ring expects initial entries (3) between 0 and the depth (2)}}
func.func private @initial(!flow.ring<2, [i32], initial = 3>)

// -----

// ring C4
// expected-error @+1 {{!flow.ring expects initial entries (-1) between 0 and the depth (2)}}
func.func private @negative_initial(!flow.ring<2, [i32], initial = -1>)

// -----

// ring C5
// expected-error @+1 {{!flow.ring of scope 'cluster' is not supported}}
func.func private @scope(!flow.ring<2, [i32], scope = cluster>)

// -----

// expected-error @+1 {{expects scope 'cta' or 'cluster', got 'grid'}}
func.func private @no_scope(!flow.ring<2, [i32], scope = grid>)

// -----

// expected-error @+1 {{'parts' is given twice}}
func.func private @again(!flow.ring<2, [i32], parts = 2, initial = 1, parts = 2>)

// -----

// expected-error @+1 {{expects 'parts', 'initial' or 'scope', got 'readers'}}
func.func private @option(!flow.ring<2, [i32], readers = 1>)

// -----

// expected-error @+1 {{expected integer value}}
func.func private @option_value(!flow.ring<2, [i32], parts = two>)

// -----

// expected-error @+2 {{expected integer value}}
// expected-error @+1 {{failed to parse Flow_RingType parameter 'depth'}}
func.func private @no_depth(!flow.ring<[i32]>)

// -----

// expected-error @+2 {{expected one of [read, write] for the end of a ring a cursor or slot belongs to, got: both}}
// expected-error @+1 {{failed to parse Flow_CursorType parameter 'side'}}
func.func private @side(!flow.cursor<both>)

// -----

// slot C1
// expected-error @+1 {{!flow.slot expects payload types that are statically shaped tensors, integers, index or !flow.token, got 'f32'}}
func.func private @slot(!flow.slot<read, [f32]>)

// -----

// expected-error @+1 {{expected ','}}
func.func private @slot_payload(!flow.slot<read>)

// -----

// expected-error @+1 {{unknown  type `queue` in dialect `flow`}}
func.func private @unknown(!flow.queue<1>)

// -----

// flow.cursor

// C1
func.func @part() {
  %k = flow.ring : !flow.ring<1, [i32], parts = 2>
  // expected-error @+1 {{expects part (2) less than the parts of the ring (2)}}
  %c = flow.cursor write %k part 2 : !flow.ring<1, [i32], parts = 2>
  return
}

// -----

// C1
func.func @negative_part() {
  %k = flow.ring : !flow.ring<1, [i32]>
  // expected-error @+1 {{expects part (-1) less than the parts of the ring (1)}}
  %c = flow.cursor write %k part -1 : !flow.ring<1, [i32]>
  return
}

// -----

// C1
func.func @read_part() {
  %k = flow.ring : !flow.ring<1, [i32], parts = 2>
  // expected-error @+1 {{expects part 0 on the read side, got 1}}
  %c = flow.cursor read %k part 1 : !flow.ring<1, [i32], parts = 2>
  return
}

// -----

// C2
func.func @fork() {
  %k = flow.ring : !flow.ring<2, [i32]>
  flow.specialize {
    flow.group @a warps 1 (%g) {
      // expected-note @+1 {{the first is here}}
      %c0 = flow.cursor read %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{is the second cursor of its group on this side of the ring}}
      %c1 = flow.cursor read %k : !flow.ring<2, [i32]>
    }
  }
  return
}

// -----

func.func @cursor_side() {
  %k = flow.ring : !flow.ring<1, [i32]>
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'side' [read, write]}}
  %c = flow.cursor both %k : !flow.ring<1, [i32]>
  return
}

// -----

func.func @cursor_type(%x: !flow.done) {
  // expected-error @+1 {{invalid kind of type specified}}
  %c = flow.cursor read %x : !flow.done
  return
}

// -----

func.func @inferred(%k: !flow.ring<1, [i32]>) {
  // expected-error @+2 {{'flow.cursor' op inferred type(s) '!flow.cursor<read>' are incompatible with return type(s) of operation '!flow.cursor<write>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %c = "flow.cursor"(%k) <{side = 0 : i32}> : (!flow.ring<1, [i32]>) -> !flow.cursor<write>
  return
}

// -----

// flow.acquire

// C1
func.func @other_ring() {
  %a = flow.ring : !flow.ring<2, [i32]>
  %b = flow.ring : !flow.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c = flow.cursor read %a : !flow.ring<2, [i32]>
  // expected-error @+1 {{expects a cursor of the ring it acquires from}}
  %s, %n = flow.acquire %b[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
  return
}

// -----

// C1, through loops and branches
func.func @followed(%lower: index, %c: i1) {
  %a = flow.ring : !flow.ring<2, [i32]>
  %b = flow.ring : !flow.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c0 = flow.cursor read %a : !flow.ring<2, [i32]>
  %c1 = scf.for %i = %lower to %lower step %lower iter_args(%x = %c0) -> !flow.cursor<read> {
    %s, %n = flow.acquire %a[%x] : !flow.ring<2, [i32]>, !flow.cursor<read>
    scf.yield %n : !flow.cursor<read>
  }
  %c2 = scf.if %c -> !flow.cursor<read> {
    scf.yield %c1 : !flow.cursor<read>
  } else {
    scf.yield %c1 : !flow.cursor<read>
  }
  %c3 = scf.while (%x = %c2) : (!flow.cursor<read>) -> !flow.cursor<read> {
    scf.condition(%c) %x : !flow.cursor<read>
  } do {
  ^bb0(%x: !flow.cursor<read>):
    scf.yield %x : !flow.cursor<read>
  }
  // expected-error @+1 {{expects a cursor of the ring it acquires from}}
  %s, %n = flow.acquire %b[%c3] : !flow.ring<2, [i32]>, !flow.cursor<read>
  return
}

// -----

// C1, inside loops
func.func @followed_inside(%lower: index, %c: i1) {
  %a = flow.ring : !flow.ring<2, [i32]>
  %b = flow.ring : !flow.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c0 = flow.cursor read %a : !flow.ring<2, [i32]>
  %c3 = scf.while (%x = %c0) : (!flow.cursor<read>) -> !flow.cursor<read> {
    scf.condition(%c) %x : !flow.cursor<read>
  } do {
  ^bb0(%x: !flow.cursor<read>):
    %c1 = scf.for %i = %lower to %lower step %lower iter_args(%y = %x) -> !flow.cursor<read> {
      // expected-error @+1 {{expects a cursor of the ring it acquires from}}
      %s, %n = flow.acquire %b[%y] : !flow.ring<2, [i32]>, !flow.cursor<read>
      scf.yield %n : !flow.cursor<read>
    }
    scf.yield %c1 : !flow.cursor<read>
  }
  return
}

// -----

// A loop that is not well formed is its own verifier's matter.
func.func @malformed_for(%lower: index) {
  %a = flow.ring : !flow.ring<2, [i32]>
  // expected-error @+1 {{different number of inits and region iter_args: 0 != 1}}
  "scf.for"(%lower, %lower, %lower) ({
  ^bb0(%i: index, %x: !flow.cursor<read>):
    %s, %n = flow.acquire %a[%x] : !flow.ring<2, [i32]>, !flow.cursor<read>
    "scf.yield"(%n) : (!flow.cursor<read>) -> ()
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @malformed_while(%c: i1) {
  %a = flow.ring : !flow.ring<2, [i32]>
  %c0 = flow.cursor read %a : !flow.ring<2, [i32]>
  // expected-error @+1 {{expects the 'before' region to terminate with 'scf.condition'}}
  %c1 = "scf.while"(%c0) ({
  ^bb0(%x: !flow.cursor<read>):
    // expected-note @+1 {{terminator here}}
    "scf.yield"(%x) : (!flow.cursor<read>) -> ()
  }, {
  ^bb0(%x: !flow.cursor<read>):
    %s, %n = flow.acquire %a[%x] : !flow.ring<2, [i32]>, !flow.cursor<read>
    "scf.yield"(%n) : (!flow.cursor<read>) -> ()
  }) : (!flow.cursor<read>) -> !flow.cursor<read>
  return
}

// -----

func.func @acquire_type(%k: !flow.ring<2, [i32]>, %c: !flow.done) {
  // expected-error @+1 {{invalid kind of type specified: expected flow.cursor, but found '!flow.done'}}
  %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.done
  return
}

// -----

// flow.publish C1
func.func @publish(%s: !flow.slot<read, [i32]>) {
  // expected-error @+1 {{expects a write slot, got '!flow.slot<read, [i32]>'}}
  flow.publish %s : !flow.slot<read, [i32]>
  return
}

// -----

// flow.release C1
func.func @release(%s: !flow.slot<write, [i32]>) {
  // expected-error @+1 {{expects a read slot, got '!flow.slot<write, [i32]>'}}
  flow.release %s : !flow.slot<write, [i32]>
  return
}

// -----

// flow.release C2
!entry = tensor<64x64xf16>
func.func @early(%k: !flow.ring<2, [!entry]>, %c: !flow.cursor<read>, %z: tensor<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %slot, %next = flow.acquire %k[%c] : !flow.ring<2, [!entry]>, !flow.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !flow.slot<read, [!entry]> -> !tile.view<!entry>
  // expected-note @+1 {{this access may still be in flight}}
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  flow.release %slot : !flow.slot<read, [!entry]>
  return
}

// -----

// flow.release C2: an older token does not cover a younger product.
!entry = tensor<64x64xf16>
func.func @older(%k: !flow.ring<2, [!entry]>, %c: !flow.cursor<read>, %z: tensor<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %slot, %next = flow.acquire %k[%c] : !flow.ring<2, [!entry]>, !flow.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !flow.slot<read, [!entry]> -> !tile.view<!entry>
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-note @+1 {{this access may still be in flight}}
  %b, %db = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  flow.release %slot after %da : !flow.slot<read, [!entry]>
  return
}

// -----

// flow.release C2: a store to global memory is not a product.
!entry = tensor<64x64xf16>
func.func @store(%k: !flow.ring<2, [!entry]>, %c: !flow.cursor<read>, %z: tensor<64x64xf32>, %m: memref<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %slot, %next = flow.acquire %k[%c] : !flow.ring<2, [!entry]>, !flow.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !flow.slot<read, [!entry]> -> !tile.view<!entry>
  // expected-note @+1 {{this access may still be in flight}}
  %ds = tile.store.async %v, %m[%c0, %c0] : !tile.view<!entry>, memref<64x64xf16>
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  flow.release %slot after %da : !flow.slot<read, [!entry]>
  return
}

// -----

func.func @after_type(%s: !flow.slot<read, [i32]>, %x: i1) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%x' expects different type than prior uses: '!flow.done' vs 'i1'}}
  flow.release %s after %x : !flow.slot<read, [i32]>
  return
}

// -----

// flow.specialize

// C1
func.func @not_a_group(%m: memref<i32>) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
    }
    // expected-error @+1 {{is not allowed directly in 'flow.specialize', which holds groups only}}
    %c = arith.constant 0 : i32
  }
  return
}

// -----

// C1
func.func @no_group() {
  // expected-error @+1 {{expects at least one group}}
  flow.specialize {
  }
  return
}

// -----

// C1
func.func @same_name() {
  flow.specialize {
    flow.group @a warps 1 (%g) {
    }
    // expected-error @+1 {{expects distinct group names, 'a' is taken}}
    flow.group @a warps 2 (%g) {
    }
  }
  return
}

// -----

// C2
func.func @captured_tile(%x: tensor<8xf32>, %m: memref<8xf32>) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      // expected-error @+1 {{captures a value of type 'tensor<8xf32>' from outside 'flow.specialize'; groups share scalars, memory and rings only}}
      tile.store %x, %m[%g] : tensor<8xf32>, memref<8xf32>
    }
  }
  return
}

// -----

// C2
func.func @captured_cursor() {
  %k = flow.ring : !flow.ring<2, [i32]>
  %c = flow.cursor read %k : !flow.ring<2, [i32]>
  flow.specialize {
    flow.group @a warps 1 (%g) {
      // expected-error @+1 {{captures a value of type '!flow.cursor<read>' from outside 'flow.specialize'; groups share scalars, memory and rings only}}
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      flow.release %s : !flow.slot<read, [i32]>
    }
  }
  return
}

// -----

func.func @arguments() {
  // expected-error @+1 {{region should have no arguments}}
  "flow.specialize"() ({
  ^bb0(%x: index):
    flow.group @a warps 1 (%g) {
    }
  }) : () -> ()
  return
}

// -----

// flow.group

func.func @outside() {
  // expected-error @+1 {{'flow.group' op expects parent op 'flow.specialize'}}
  flow.group @a warps 1 (%g) {
  }
  return
}

// -----

func.func @end() {
  // expected-error @+1 {{'flow.end' op expects parent op 'flow.group'}}
  flow.end
}

// -----

// C1
func.func @warps() {
  flow.specialize {
    // expected-error @+1 {{expects 1, 2 or a multiple of 4 warps, got 3}}
    flow.group @a warps 3 (%g) {
    }
  }
  return
}

// -----

// C1
func.func @no_warps() {
  flow.specialize {
    // expected-error @+1 {{expects 1, 2 or a multiple of 4 warps, got 0}}
    flow.group @a warps 0 (%g) {
    }
  }
  return
}

// -----

// C2
func.func @replicas() {
  flow.specialize {
    // expected-error @+1 {{expects at least 1 replica, got -1}}
    flow.group @a warps 1 replicas -1 (%g) {
    }
  }
  return
}

// -----

// C3
func.func @argument() {
  flow.specialize {
    // expected-error @+1 {{expects one body argument of type index}}
    "flow.group"() <{sym_name = "a", warps = 1 : i64}> ({
    ^bb0(%g: i32):
      flow.end
    }) : () -> ()
  }
  return
}

// -----

// C3
func.func @no_argument() {
  flow.specialize {
    // expected-error @+1 {{expects one body argument of type index}}
    "flow.group"() <{sym_name = "a", warps = 1 : i64}> ({
      flow.end
    }) : () -> ()
  }
  return
}

// -----

// C4
func.func @twice(%k: !flow.ring<2, [i32]>) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor read %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!flow.slot<read, [i32]>' is consumed more than once}}
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      flow.release %s : !flow.slot<read, [i32]>
      // expected-note @+1 {{also consumed here}}
      flow.release %s : !flow.slot<read, [i32]>
    }
  }
  return
}

// -----

// C4: a cursor may be dropped but not used twice.
func.func @forked_cursor(%k: !flow.ring<2, [i32]>) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      // expected-error @+1 {{linear value of type '!flow.cursor<read>' is consumed more than once}}
      %c = flow.cursor read %k : !flow.ring<2, [i32]>
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      flow.release %s : !flow.slot<read, [i32]>
      // expected-note @+1 {{also consumed here}}
      %t, %m = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      flow.release %t : !flow.slot<read, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @one_arm(%k: !flow.ring<2, [i32]>, %x: i1) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor read %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!flow.slot<read, [i32]>' is not consumed on every path}}
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      scf.if %x {
        flow.release %s : !flow.slot<read, [i32]>
      }
    }
  }
  return
}

// -----

// C4: consumed in one arm and after the branch.
func.func @arm_and_after(%k: !flow.ring<2, [i32]>, %x: i1) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor write %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!flow.slot<write, [i32]>' is consumed more than once}}
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<write>
      scf.if %x {
        flow.publish %s : !flow.slot<write, [i32]>
      }
      // expected-note @+1 {{also consumed here}}
      flow.publish %s : !flow.slot<write, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @dropped(%k: !flow.ring<2, [i32]>) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor write %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!flow.slot<write, [i32]>' is not consumed on every path}}
      %s, %n = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<write>
    }
  }
  return
}

// -----

// C4: a loop-carried slot that the body drops.
func.func @dropped_argument(%k: !flow.ring<2, [i32]>, %n: index) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor write %k : !flow.ring<2, [i32]>
      %s, %c1 = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<write>
      // expected-error @+1 {{linear value of type '!flow.slot<write, [i32]>' is not consumed on every path}}
      %t, %c2 = scf.for %i = %n to %n step %n iter_args(%x = %s, %y = %c1) -> (!flow.slot<write, [i32]>, !flow.cursor<write>) {
        %u, %c3 = flow.acquire %k[%y] : !flow.ring<2, [i32]>, !flow.cursor<write>
        scf.yield %u, %c3 : !flow.slot<write, [i32]>, !flow.cursor<write>
      }
      flow.publish %t : !flow.slot<write, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @captured_by_loop(%k: !flow.ring<2, [i32]>, %n: index) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor write %k : !flow.ring<2, [i32]>
      // expected-error @+1 {{captures a linear value of type '!flow.cursor<write>'; pass it as a loop-carried value}}
      scf.for %i = %n to %n step %n {
        %s, %c1 = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<write>
        flow.publish %s : !flow.slot<write, [i32]>
      }
    }
  }
  return
}

// -----

// C4
func.func @select(%k: !flow.ring<2, [i32]>, %x: i1) {
  flow.specialize {
    flow.group @a warps 1 (%g) {
      %c = flow.cursor read %k : !flow.ring<2, [i32]>
      %s, %c1 = flow.acquire %k[%c] : !flow.ring<2, [i32]>, !flow.cursor<read>
      %t, %c2 = flow.acquire %k[%c1] : !flow.ring<2, [i32]>, !flow.cursor<read>
      // expected-error @+1 {{must not choose between linear values of type '!flow.slot<read, [i32]>'}}
      %u = arith.select %x, %s, %t : !flow.slot<read, [i32]>
      flow.release %u : !flow.slot<read, [i32]>
    }
  }
  return
}

// -----

// C5
func.func @first_warp() {
  flow.specialize {
    // expected-error @+1 {{expects a first warp of at least 0 that is a multiple of 4 for warp groups, got 2}}
    flow.group @a warps 4 at 2 (%g) {
    }
  }
  return
}

// -----

// C5
func.func @negative_warp() {
  flow.specialize {
    // expected-error @+1 {{expects a first warp of at least 0 that is a multiple of 4 for warp groups, got -1}}
    flow.group @a warps 1 at -1 (%g) {
    }
  }
  return
}

// -----

func.func @no_name() {
  flow.specialize {
    // expected-error @+1 {{expected valid '@'-identifier for symbol name}}
    flow.group warps 1 (%g) {
    }
  }
  return
}

// -----

func.func @no_replica() {
  flow.specialize {
    // expected-error @+1 {{expected '('}}
    flow.group @a warps 1 {
    }
  }
  return
}

// -----

func.func @warps_text() {
  flow.specialize {
    // expected-error @+1 {{expected integer value}}
    flow.group @a warps many (%g) {
    }
  }
  return
}

// -----

// A value inside of what uses it.
gpu.module @kernels {
  gpu.func @inside(%a: i32) kernel {
    flow.specialize {
      flow.group @g warps 4 (%r) {
        // expected-error @+1 {{operand is unlinked}}
        scf.if %x {
          %x = arith.cmpi sgt, %a, %a : i32
        }
      }
    }
    gpu.return
  }
}

// -----

// order C1
func.func @two_groups() {
  // expected-error @+1 {{expects one group to take its turns, got 'a' and 'b'}}
  %order = flow.order
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      %turn = flow.take %order
      flow.pass %turn
    }
    flow.group @b warps 4 replicas 2 (%g) {
      // expected-note @+1 {{the second takes a turn here}}
      %turn = flow.take %order
      flow.pass %turn
    }
  }
  return
}

// -----

// take C1
func.func @alone() {
  %order = flow.order
  flow.specialize {
    flow.group @a warps 4 (%g) {
      // expected-error @+1 {{expects a group of at least 2 replicas, got 1}}
      %turn = flow.take %order
      flow.pass %turn
    }
  }
  return
}

// -----

// take C1
func.func @no_group() {
  %order = flow.order
  // expected-error @+1 {{expects to be in a group}}
  %turn = flow.take %order
  flow.pass %turn
  return
}

// -----

// take C2
func.func @private() {
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      %order = flow.order
      // expected-error @+1 {{expects an order that is created outside its group, which all replicas share}}
      %turn = flow.take %order
      flow.pass %turn
    }
  }
  return
}

// -----

// pass C1
func.func @elsewhere(%c: i1) {
  %order = flow.order
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      // expected-note @+1 {{it is taken here}}
      %turn = flow.take %order
      scf.if %c {
        // expected-error @+1 {{expects a turn that is taken in the same block}}
        flow.pass %turn
      } else {
        flow.pass %turn
      }
    }
  }
  return
}

// -----

// A turn is linear.
func.func @kept() {
  %order = flow.order
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{linear value of type '!flow.turn' is not consumed on every path}}
      %turn = flow.take %order
    }
  }
  return
}

// -----

func.func @twice() {
  %order = flow.order
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{linear value of type '!flow.turn' is consumed more than once}}
      %turn = flow.take %order
      flow.pass %turn
      // expected-note @+1 {{also consumed here}}
      flow.pass %turn
    }
  }
  return
}

// -----

func.func @leading_reader() {
  %ring = flow.ring : !flow.ring<1, [i32]>
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{expects 'leader' on the write side only}}
      %c = flow.cursor read %ring leader : !flow.ring<1, [i32]>
    }
  }
  return
}

// -----

func.func @leader_of_one() {
  flow.specialize {
    flow.group @a warps 4 replicas 2 (%g) {
      %ring = flow.ring : !flow.ring<1, [i32]>
      // expected-error @+1 {{expects 'leader' for rings that replicas share, not for one of each replica}}
      %c = flow.cursor write %ring leader : !flow.ring<1, [i32]>
    }
  }
  return
}
