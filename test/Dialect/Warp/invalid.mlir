// RUN: fa3-opt %s -split-input-file -verify-diagnostics

// Types.

// ring C1
// expected-error @+1 {{!warp.ring expects a depth of at least 1, got 0}}
func.func private @depth(!warp.ring<0, [i32]>)

// -----

// ring C2
// expected-error @+1 {{!warp.ring expects payload types that are statically shaped tensors, integers, index or !warp.token, got 'f32'}}
func.func private @payload(!warp.ring<1, [f32]>)

// -----

// ring C2
// expected-error @+1 {{!warp.ring expects payload types that are statically shaped tensors, integers, index or !warp.token, got 'tensor<?x8xf32>'}}
func.func private @dynamic(!warp.ring<1, [i32, tensor<?x8xf32>]>)

// -----

// ring C2
// expected-error @+1 {{!warp.ring expects payload types that are statically shaped tensors, integers, index or !warp.token, got 'tensor<8xindex>'}}
func.func private @indices(!warp.ring<1, [tensor<8xindex>]>)

// -----

// ring C2
// expected-error @+2 {{expected non-function type}}
// expected-error @+1 {{failed to parse Warp_RingType parameter 'payload'}}
func.func private @no_payload(!warp.ring<1, []>)

// -----

// ring C3
// expected-error @+1 {{!warp.ring expects at least 1 part, got 0}}
func.func private @parts(!warp.ring<1, [i32], parts = 0>)

// -----

// ring C4
// expected-error @+1 {{!warp.ring expects initial entries (3) between 0 and the depth (2)}}
func.func private @initial(!warp.ring<2, [i32], initial = 3>)

// -----

// ring C4
// expected-error @+1 {{!warp.ring expects initial entries (-1) between 0 and the depth (2)}}
func.func private @negative_initial(!warp.ring<2, [i32], initial = -1>)

// -----

// ring C5
// expected-error @+1 {{!warp.ring of scope 'cluster' is not supported}}
func.func private @scope(!warp.ring<2, [i32], scope = cluster>)

// -----

// expected-error @+1 {{expects scope 'cta' or 'cluster', got 'grid'}}
func.func private @no_scope(!warp.ring<2, [i32], scope = grid>)

// -----

// expected-error @+1 {{'parts' is given twice}}
func.func private @again(!warp.ring<2, [i32], parts = 2, initial = 1, parts = 2>)

// -----

// expected-error @+1 {{expects 'parts', 'initial' or 'scope', got 'readers'}}
func.func private @option(!warp.ring<2, [i32], readers = 1>)

// -----

// expected-error @+1 {{expected integer value}}
func.func private @option_value(!warp.ring<2, [i32], parts = two>)

// -----

// expected-error @+2 {{expected integer value}}
// expected-error @+1 {{failed to parse Warp_RingType parameter 'depth'}}
func.func private @no_depth(!warp.ring<[i32]>)

// -----

// expected-error @+2 {{expected one of [read, write] for the end of a ring a cursor or slot belongs to, got: both}}
// expected-error @+1 {{failed to parse Warp_CursorType parameter 'side'}}
func.func private @side(!warp.cursor<both>)

// -----

// slot C1
// expected-error @+1 {{!warp.slot expects payload types that are statically shaped tensors, integers, index or !warp.token, got 'f32'}}
func.func private @slot(!warp.slot<read, [f32]>)

// -----

// expected-error @+1 {{expected ','}}
func.func private @slot_payload(!warp.slot<read>)

// -----

// expected-error @+1 {{unknown  type `queue` in dialect `warp`}}
func.func private @unknown(!warp.queue<1>)

// -----

// warp.cursor

// C1
func.func @part() {
  %k = warp.ring : !warp.ring<1, [i32], parts = 2>
  // expected-error @+1 {{expects part (2) less than the parts of the ring (2)}}
  %c = warp.cursor write %k part 2 : !warp.ring<1, [i32], parts = 2>
  return
}

// -----

// C1
func.func @negative_part() {
  %k = warp.ring : !warp.ring<1, [i32]>
  // expected-error @+1 {{expects part (-1) less than the parts of the ring (1)}}
  %c = warp.cursor write %k part -1 : !warp.ring<1, [i32]>
  return
}

// -----

// C1
func.func @read_part() {
  %k = warp.ring : !warp.ring<1, [i32], parts = 2>
  // expected-error @+1 {{expects part 0 on the read side, got 1}}
  %c = warp.cursor read %k part 1 : !warp.ring<1, [i32], parts = 2>
  return
}

// -----

// C2
func.func @fork() {
  %k = warp.ring : !warp.ring<2, [i32]>
  warp.specialize {
    warp.group @a warps 1 (%g) {
      // expected-note @+1 {{the first is here}}
      %c0 = warp.cursor read %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{is the second cursor of its group on this side of the ring}}
      %c1 = warp.cursor read %k : !warp.ring<2, [i32]>
    }
  }
  return
}

// -----

func.func @cursor_side() {
  %k = warp.ring : !warp.ring<1, [i32]>
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'side' [read, write]}}
  %c = warp.cursor both %k : !warp.ring<1, [i32]>
  return
}

// -----

func.func @cursor_type(%x: !warp.done) {
  // expected-error @+1 {{invalid kind of type specified}}
  %c = warp.cursor read %x : !warp.done
  return
}

// -----

func.func @inferred(%k: !warp.ring<1, [i32]>) {
  // expected-error @+2 {{'warp.cursor' op inferred type(s) '!warp.cursor<read>' are incompatible with return type(s) of operation '!warp.cursor<write>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %c = "warp.cursor"(%k) <{side = 0 : i32}> : (!warp.ring<1, [i32]>) -> !warp.cursor<write>
  return
}

// -----

// warp.acquire

// C1
func.func @other_ring() {
  %a = warp.ring : !warp.ring<2, [i32]>
  %b = warp.ring : !warp.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c = warp.cursor read %a : !warp.ring<2, [i32]>
  // expected-error @+1 {{expects a cursor of the ring it acquires from}}
  %s, %n = warp.acquire %b[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
  return
}

// -----

// C1, through loops and branches
func.func @followed(%lower: index, %c: i1) {
  %a = warp.ring : !warp.ring<2, [i32]>
  %b = warp.ring : !warp.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c0 = warp.cursor read %a : !warp.ring<2, [i32]>
  %c1 = scf.for %i = %lower to %lower step %lower iter_args(%x = %c0) -> !warp.cursor<read> {
    %s, %n = warp.acquire %a[%x] : !warp.ring<2, [i32]>, !warp.cursor<read>
    scf.yield %n : !warp.cursor<read>
  }
  %c2 = scf.if %c -> !warp.cursor<read> {
    scf.yield %c1 : !warp.cursor<read>
  } else {
    scf.yield %c1 : !warp.cursor<read>
  }
  %c3 = scf.while (%x = %c2) : (!warp.cursor<read>) -> !warp.cursor<read> {
    scf.condition(%c) %x : !warp.cursor<read>
  } do {
  ^bb0(%x: !warp.cursor<read>):
    scf.yield %x : !warp.cursor<read>
  }
  // expected-error @+1 {{expects a cursor of the ring it acquires from}}
  %s, %n = warp.acquire %b[%c3] : !warp.ring<2, [i32]>, !warp.cursor<read>
  return
}

// -----

// C1, inside loops
func.func @followed_inside(%lower: index, %c: i1) {
  %a = warp.ring : !warp.ring<2, [i32]>
  %b = warp.ring : !warp.ring<2, [i32]>
  // expected-note @+1 {{the cursor is created here}}
  %c0 = warp.cursor read %a : !warp.ring<2, [i32]>
  %c3 = scf.while (%x = %c0) : (!warp.cursor<read>) -> !warp.cursor<read> {
    scf.condition(%c) %x : !warp.cursor<read>
  } do {
  ^bb0(%x: !warp.cursor<read>):
    %c1 = scf.for %i = %lower to %lower step %lower iter_args(%y = %x) -> !warp.cursor<read> {
      // expected-error @+1 {{expects a cursor of the ring it acquires from}}
      %s, %n = warp.acquire %b[%y] : !warp.ring<2, [i32]>, !warp.cursor<read>
      scf.yield %n : !warp.cursor<read>
    }
    scf.yield %c1 : !warp.cursor<read>
  }
  return
}

// -----

// A loop that is not well formed is its own verifier's matter.
func.func @malformed_for(%lower: index) {
  %a = warp.ring : !warp.ring<2, [i32]>
  // expected-error @+1 {{different number of inits and region iter_args: 0 != 1}}
  "scf.for"(%lower, %lower, %lower) ({
  ^bb0(%i: index, %x: !warp.cursor<read>):
    %s, %n = warp.acquire %a[%x] : !warp.ring<2, [i32]>, !warp.cursor<read>
    "scf.yield"(%n) : (!warp.cursor<read>) -> ()
  }) : (index, index, index) -> ()
  return
}

// -----

func.func @malformed_while(%c: i1) {
  %a = warp.ring : !warp.ring<2, [i32]>
  %c0 = warp.cursor read %a : !warp.ring<2, [i32]>
  // expected-error @+1 {{expects the 'before' region to terminate with 'scf.condition'}}
  %c1 = "scf.while"(%c0) ({
  ^bb0(%x: !warp.cursor<read>):
    // expected-note @+1 {{terminator here}}
    "scf.yield"(%x) : (!warp.cursor<read>) -> ()
  }, {
  ^bb0(%x: !warp.cursor<read>):
    %s, %n = warp.acquire %a[%x] : !warp.ring<2, [i32]>, !warp.cursor<read>
    "scf.yield"(%n) : (!warp.cursor<read>) -> ()
  }) : (!warp.cursor<read>) -> !warp.cursor<read>
  return
}

// -----

func.func @acquire_type(%k: !warp.ring<2, [i32]>, %c: !warp.done) {
  // expected-error @+1 {{invalid kind of type specified: expected warp.cursor, but found '!warp.done'}}
  %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.done
  return
}

// -----

// warp.publish C1
func.func @publish(%s: !warp.slot<read, [i32]>) {
  // expected-error @+1 {{expects a write slot, got '!warp.slot<read, [i32]>'}}
  warp.publish %s : !warp.slot<read, [i32]>
  return
}

// -----

// warp.release C1
func.func @release(%s: !warp.slot<write, [i32]>) {
  // expected-error @+1 {{expects a read slot, got '!warp.slot<write, [i32]>'}}
  warp.release %s : !warp.slot<write, [i32]>
  return
}

// -----

// warp.release C2
!entry = tensor<64x64xf16>
func.func @early(%k: !warp.ring<2, [!entry]>, %c: !warp.cursor<read>, %z: tensor<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %slot, %next = warp.acquire %k[%c] : !warp.ring<2, [!entry]>, !warp.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !warp.slot<read, [!entry]> -> !tile.view<!entry>
  // expected-note @+1 {{this access may still be in flight}}
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  warp.release %slot : !warp.slot<read, [!entry]>
  return
}

// -----

// warp.release C2: an older token does not cover a younger product.
!entry = tensor<64x64xf16>
func.func @older(%k: !warp.ring<2, [!entry]>, %c: !warp.cursor<read>, %z: tensor<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %slot, %next = warp.acquire %k[%c] : !warp.ring<2, [!entry]>, !warp.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !warp.slot<read, [!entry]> -> !tile.view<!entry>
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-note @+1 {{this access may still be in flight}}
  %b, %db = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  warp.release %slot after %da : !warp.slot<read, [!entry]>
  return
}

// -----

// warp.release C2: a store to global memory is not a product.
!entry = tensor<64x64xf16>
func.func @store(%k: !warp.ring<2, [!entry]>, %c: !warp.cursor<read>, %z: tensor<64x64xf32>, %m: memref<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %slot, %next = warp.acquire %k[%c] : !warp.ring<2, [!entry]>, !warp.cursor<read>
  %v = tile.view %slot[%c0, %c0] : !warp.slot<read, [!entry]> -> !tile.view<!entry>
  // expected-note @+1 {{this access may still be in flight}}
  %ds = tile.store.async %v, %m[%c0, %c0] : !tile.view<!entry>, memref<64x64xf16>
  %a, %da = tile.dot.async %v, %v, %z lhs mk rhs nk : !tile.view<!entry>, !tile.view<!entry>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  // expected-error @+1 {{expects 'after' to cover every asynchronous access to the slot}}
  warp.release %slot after %da : !warp.slot<read, [!entry]>
  return
}

// -----

func.func @after_type(%s: !warp.slot<read, [i32]>, %x: i1) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%x' expects different type than prior uses: '!warp.done' vs 'i1'}}
  warp.release %s after %x : !warp.slot<read, [i32]>
  return
}

// -----

// warp.specialize

// C1
func.func @not_a_group(%m: memref<i32>) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
    }
    // expected-error @+1 {{is not allowed directly in 'warp.specialize', which holds groups only}}
    %c = arith.constant 0 : i32
  }
  return
}

// -----

// C1
func.func @no_group() {
  // expected-error @+1 {{expects at least one group}}
  warp.specialize {
  }
  return
}

// -----

// C1
func.func @same_name() {
  warp.specialize {
    warp.group @a warps 1 (%g) {
    }
    // expected-error @+1 {{expects distinct group names, 'a' is taken}}
    warp.group @a warps 2 (%g) {
    }
  }
  return
}

// -----

// C2
func.func @captured_tile(%x: tensor<8xf32>, %m: memref<8xf32>) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      // expected-error @+1 {{captures a value of type 'tensor<8xf32>' from outside 'warp.specialize'; groups share scalars, memory and rings only}}
      tile.store %x, %m[%g] : tensor<8xf32>, memref<8xf32>
    }
  }
  return
}

// -----

// C2
func.func @captured_cursor() {
  %k = warp.ring : !warp.ring<2, [i32]>
  %c = warp.cursor read %k : !warp.ring<2, [i32]>
  warp.specialize {
    warp.group @a warps 1 (%g) {
      // expected-error @+1 {{captures a value of type '!warp.cursor<read>' from outside 'warp.specialize'; groups share scalars, memory and rings only}}
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      warp.release %s : !warp.slot<read, [i32]>
    }
  }
  return
}

// -----

func.func @arguments() {
  // expected-error @+1 {{region should have no arguments}}
  "warp.specialize"() ({
  ^bb0(%x: index):
    warp.group @a warps 1 (%g) {
    }
  }) : () -> ()
  return
}

// -----

// warp.group

func.func @outside() {
  // expected-error @+1 {{'warp.group' op expects parent op 'warp.specialize'}}
  warp.group @a warps 1 (%g) {
  }
  return
}

// -----

func.func @end() {
  // expected-error @+1 {{'warp.end' op expects parent op 'warp.group'}}
  warp.end
}

// -----

// C1
func.func @warps() {
  warp.specialize {
    // expected-error @+1 {{expects 1, 2 or a multiple of 4 warps, got 3}}
    warp.group @a warps 3 (%g) {
    }
  }
  return
}

// -----

// C1
func.func @no_warps() {
  warp.specialize {
    // expected-error @+1 {{expects 1, 2 or a multiple of 4 warps, got 0}}
    warp.group @a warps 0 (%g) {
    }
  }
  return
}

// -----

// C2
func.func @replicas() {
  warp.specialize {
    // expected-error @+1 {{expects at least 1 replica, got -1}}
    warp.group @a warps 1 replicas -1 (%g) {
    }
  }
  return
}

// -----

// C3
func.func @argument() {
  warp.specialize {
    // expected-error @+1 {{expects one body argument of type index}}
    "warp.group"() <{sym_name = "a", warps = 1 : i64}> ({
    ^bb0(%g: i32):
      warp.end
    }) : () -> ()
  }
  return
}

// -----

// C3
func.func @no_argument() {
  warp.specialize {
    // expected-error @+1 {{expects one body argument of type index}}
    "warp.group"() <{sym_name = "a", warps = 1 : i64}> ({
      warp.end
    }) : () -> ()
  }
  return
}

// -----

// C4
func.func @twice(%k: !warp.ring<2, [i32]>) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor read %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!warp.slot<read, [i32]>' is consumed more than once}}
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      warp.release %s : !warp.slot<read, [i32]>
      // expected-note @+1 {{also consumed here}}
      warp.release %s : !warp.slot<read, [i32]>
    }
  }
  return
}

// -----

// C4: a cursor may be dropped but not used twice.
func.func @forked_cursor(%k: !warp.ring<2, [i32]>) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      // expected-error @+1 {{linear value of type '!warp.cursor<read>' is consumed more than once}}
      %c = warp.cursor read %k : !warp.ring<2, [i32]>
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      warp.release %s : !warp.slot<read, [i32]>
      // expected-note @+1 {{also consumed here}}
      %t, %m = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      warp.release %t : !warp.slot<read, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @one_arm(%k: !warp.ring<2, [i32]>, %x: i1) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor read %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!warp.slot<read, [i32]>' is not consumed on every path}}
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      scf.if %x {
        warp.release %s : !warp.slot<read, [i32]>
      }
    }
  }
  return
}

// -----

// C4: consumed in one arm and after the branch.
func.func @arm_and_after(%k: !warp.ring<2, [i32]>, %x: i1) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor write %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!warp.slot<write, [i32]>' is consumed more than once}}
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<write>
      scf.if %x {
        warp.publish %s : !warp.slot<write, [i32]>
      }
      // expected-note @+1 {{also consumed here}}
      warp.publish %s : !warp.slot<write, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @dropped(%k: !warp.ring<2, [i32]>) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor write %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{linear value of type '!warp.slot<write, [i32]>' is not consumed on every path}}
      %s, %n = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<write>
    }
  }
  return
}

// -----

// C4: a loop-carried slot that the body drops.
func.func @dropped_argument(%k: !warp.ring<2, [i32]>, %n: index) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor write %k : !warp.ring<2, [i32]>
      %s, %c1 = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<write>
      // expected-error @+1 {{linear value of type '!warp.slot<write, [i32]>' is not consumed on every path}}
      %t, %c2 = scf.for %i = %n to %n step %n iter_args(%x = %s, %y = %c1) -> (!warp.slot<write, [i32]>, !warp.cursor<write>) {
        %u, %c3 = warp.acquire %k[%y] : !warp.ring<2, [i32]>, !warp.cursor<write>
        scf.yield %u, %c3 : !warp.slot<write, [i32]>, !warp.cursor<write>
      }
      warp.publish %t : !warp.slot<write, [i32]>
    }
  }
  return
}

// -----

// C4
func.func @captured_by_loop(%k: !warp.ring<2, [i32]>, %n: index) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor write %k : !warp.ring<2, [i32]>
      // expected-error @+1 {{captures a linear value of type '!warp.cursor<write>'; pass it as a loop-carried value}}
      scf.for %i = %n to %n step %n {
        %s, %c1 = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<write>
        warp.publish %s : !warp.slot<write, [i32]>
      }
    }
  }
  return
}

// -----

// C4
func.func @select(%k: !warp.ring<2, [i32]>, %x: i1) {
  warp.specialize {
    warp.group @a warps 1 (%g) {
      %c = warp.cursor read %k : !warp.ring<2, [i32]>
      %s, %c1 = warp.acquire %k[%c] : !warp.ring<2, [i32]>, !warp.cursor<read>
      %t, %c2 = warp.acquire %k[%c1] : !warp.ring<2, [i32]>, !warp.cursor<read>
      // expected-error @+1 {{must not choose between linear values of type '!warp.slot<read, [i32]>'}}
      %u = arith.select %x, %s, %t : !warp.slot<read, [i32]>
      warp.release %u : !warp.slot<read, [i32]>
    }
  }
  return
}

// -----

// C5
func.func @first_warp() {
  warp.specialize {
    // expected-error @+1 {{expects a first warp of at least 0 that is a multiple of 4 for warp groups, got 2}}
    warp.group @a warps 4 at 2 (%g) {
    }
  }
  return
}

// -----

// C5
func.func @negative_warp() {
  warp.specialize {
    // expected-error @+1 {{expects a first warp of at least 0 that is a multiple of 4 for warp groups, got -1}}
    warp.group @a warps 1 at -1 (%g) {
    }
  }
  return
}

// -----

func.func @no_name() {
  warp.specialize {
    // expected-error @+1 {{expected valid '@'-identifier for symbol name}}
    warp.group warps 1 (%g) {
    }
  }
  return
}

// -----

func.func @no_replica() {
  warp.specialize {
    // expected-error @+1 {{expected '('}}
    warp.group @a warps 1 {
    }
  }
  return
}

// -----

func.func @warps_text() {
  warp.specialize {
    // expected-error @+1 {{expected integer value}}
    warp.group @a warps many (%g) {
    }
  }
  return
}

// -----

// A value inside of what uses it.
gpu.module @kernels {
  gpu.func @inside(%a: i32) kernel {
    warp.specialize {
      warp.group @g warps 4 (%r) {
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
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      %turn = warp.take_turn %order
      warp.pass_turn %turn
    }
    warp.group @b warps 4 replicas 2 (%g) {
      // expected-note @+1 {{the second takes a turn here}}
      %turn = warp.take_turn %order
      warp.pass_turn %turn
    }
  }
  return
}

// -----

// take C1
func.func @alone() {
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @a warps 4 (%g) {
      // expected-error @+1 {{expects a group of at least 2 replicas, got 1}}
      %turn = warp.take_turn %order
      warp.pass_turn %turn
    }
  }
  return
}

// -----

// take C1
func.func @no_group() {
  %order = warp.ordered_barrier
  // expected-error @+1 {{expects to be in a group}}
  %turn = warp.take_turn %order
  warp.pass_turn %turn
  return
}

// -----

// take C2
func.func @private() {
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      %order = warp.ordered_barrier
      // expected-error @+1 {{expects an order that is created outside its group, which all replicas share}}
      %turn = warp.take_turn %order
      warp.pass_turn %turn
    }
  }
  return
}

// -----

// pass C1
func.func @elsewhere(%c: i1) {
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-note @+1 {{it is taken here}}
      %turn = warp.take_turn %order
      scf.if %c {
        // expected-error @+1 {{expects a turn that is taken in the same block}}
        warp.pass_turn %turn
      } else {
        warp.pass_turn %turn
      }
    }
  }
  return
}

// -----

// A turn is linear.
func.func @kept() {
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{linear value of type '!warp.turn' is not consumed on every path}}
      %turn = warp.take_turn %order
    }
  }
  return
}

// -----

func.func @twice() {
  %order = warp.ordered_barrier
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{linear value of type '!warp.turn' is consumed more than once}}
      %turn = warp.take_turn %order
      warp.pass_turn %turn
      // expected-note @+1 {{also consumed here}}
      warp.pass_turn %turn
    }
  }
  return
}

// -----

// cursor C4
func.func @each_reader() {
  %ring = warp.ring : !warp.ring<1, [i32], parts = 2>
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{expects 'each' on the write side only, without 'leader'}}
      %c = warp.cursor read %ring each : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}

// -----

func.func @each_leader() {
  %ring = warp.ring : !warp.ring<1, [i32], parts = 2>
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{expects 'each' on the write side only, without 'leader'}}
      %c = warp.cursor write %ring leader each : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}

// -----

func.func @each_of_one() {
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      %ring = warp.ring : !warp.ring<1, [i32], parts = 2>
      // expected-error @+1 {{expects 'each' for rings that replicas share, not for one of each replica}}
      %c = warp.cursor write %ring each : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}

// -----

func.func @each_part() {
  %ring = warp.ring : !warp.ring<1, [i32], parts = 2>
  warp.specialize {
    warp.group @a warps 4 replicas 3 (%g) {
      // expected-error @+1 {{expects the ring to have a part for every replica (0 + 3), got 2}}
      %c = warp.cursor write %ring each : !warp.ring<1, [i32], parts = 2>
    }
  }
  return
}

// -----

func.func @leading_reader() {
  %ring = warp.ring : !warp.ring<1, [i32]>
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      // expected-error @+1 {{expects 'leader' on the write side only}}
      %c = warp.cursor read %ring leader : !warp.ring<1, [i32]>
    }
  }
  return
}

// -----

func.func @leader_of_one() {
  warp.specialize {
    warp.group @a warps 4 replicas 2 (%g) {
      %ring = warp.ring : !warp.ring<1, [i32]>
      // expected-error @+1 {{expects 'leader' for rings that replicas share, not for one of each replica}}
      %c = warp.cursor write %ring leader : !warp.ring<1, [i32]>
    }
  }
  return
}
