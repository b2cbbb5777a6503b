//===- GroupPasses.td - from one thread of control to groups *- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_GROUP_PASSES
#define FA3_TILE_GROUP_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def AssignRoles : Pass<"tile-assign-roles"> {
  let summary = "tile operations -> with the role that performs them";
  let description = [{
    Input: kernels without `tile.grid`. Loads that a bulk copy can perform get the
    role "load" if their tile only feeds products, or if `loads` allows it and only
    element code uses it; all other operations with effects "math". The attribute is advisory: without it everything is "math".
    `tile.relabel` and `tile.transpose` on the way from such a load to its
    products get the role "convert". Elementwise operations on the way, of the
    tile and constants and with its type, do not stop a left operand from being
    loaded so: whoever multiplies computes them in place.

    A bulk copy can perform a load of a tile of rank 2 from an array of rank up to
    5 whose last dimension is contiguous. Rows of the array have to start at
    multiples of 16 bytes, which the launch checks. For operands of products that
    is a condition of the kernel; tiles for element code can be read by threads
    instead, whatever the strides:

    | `loads` | tiles for element code come |
    |---|---|
    | `auto` | in bulk if the last extent of the array is known and fills whole units of 16 bytes, by threads if not |
    | `bulk` | in bulk; arrays with other rows are refused at the launch |
    | `threads` | by threads, element by element |

    A load of a tile of rank 1 for element code keeps a role "load" that it has:
    whoever wrote it knows that rows of the array fill whole units. So numbers
    of columns come with the columns. With `loads=threads` it does not.

    A load under a guard (`tile.any_possible`) moves in front of it when it gets
    the role "load": rings run in step whether a replica has work or not.

    Sums of 64 rows that a loop carries from product to product, and that one warp
    group has no registers for, are divided among groups: those for which there is
    no room get the roles "math1" and on, and with them the products, and
    everything that follows from a sum. A `tile.where` with results of several
    roles is taken apart, and guards (`tile.any_possible`) are true: all groups do
    every step. Nothing is assigned where something follows from sums of
    two roles.

    Additions in one order (`tile.ordered`) and their ends get the role "store" with
    `warp-specialize`: a warp of its own then waits for other tiles. That warp has to
    follow loops and branches around them, so it does not get them where a
    condition depends on what is loaded or computed, or a loop has another guard.

    Example:
    ```mlir
    %k = tile.load %K[...] {tile.role = "load"} : ...       // operand of a product
    %b = tile.load %bias[...] {tile.role = "load"} : ...    // added to scores
    %m = tile.load %odd[...] {tile.role = "math"} : ...     // rows of 77 elements
    ```
  }];
  let options = [Option_Loads, Option_WarpSpecialize];
  let statistics = [
    Statistic<"numLoads", "loads", "loads given to the load role">,
    Statistic<"numElementLoads", "element-loads",
              "of these, loads of tiles for element code">,
    Statistic<"numSums", "further-sums", "sums given to further groups">
  ];
}

def InsertRings : Pass<"tile-insert-rings"> {
  let summary = "tiles that cross roles -> rings";
  let description = [{
    Input: sequential kernels with roles. For every load of the load role: a ring
    of depth 1, an acquire, asynchronous load and publish in place of the load,
    and an acquire, view and release around its uses. Element code gets a
    `tile.read` right before each use, so that few registers hold what was read. A
    tile that is converted on the way goes through two rings; between them the convert role copies it
    window by window through registers, unless its rows alone are relabeled: the
    copy brings them in that order (`tile.load.async .. rows`). What is computed of
    a left operand before its products is read, computed and written back to the
    entry by the math role: replicas divide its rows. A load of fewer rows in front
    of the loop around another load of the same columns, perhaps in a branch, uses
    the first rows of the other's entries. Cursors are threaded through the loops
    and branches around them. The result is still one stream of instructions, and
    legal: each entry is written before it is read.

    Fails where a load lies in control flow other than `scf.for` and `scf.if`,
    because a position cannot be carried through it.

    Example:
    ```mlir
    scf.for ... {
      %k = tile.load %K[%j, %c0] {tile.role = "load"} : ...
      %s = tile.dot %q, %k, %zero lhs mk rhs nk : ...
    }
    // becomes
    scf.for ... iter_args(%cw = %write, %cr = %read) {
      %sw, %nw = warp.acquire %ring[%cw]   %w = tile.view %sw[%c0, %c0]
      tile.load.async %K[%j, %c0], %w      warp.publish %sw
      %sr, %nr = warp.acquire %ring[%cr]   %k = tile.view %sr[%c0, %c0]
      %s = tile.dot %q, %k, %zero lhs mk rhs nk : ...
      warp.release %sr
      scf.yield %nw, %nr
    }
    ```
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"rings", "rings", "rings created">];
}

def ExchangeOperands : Pass<"tile-exchange-operands"> {
  let summary = "computed tiles that products read from shared memory -> rings";
  let description = [{
    Input: sequential kernels with rings. A right operand, or a left one in the
    order `km`, that is a tile and no constant goes through a ring: it is
    written, published, acquired again and read by the products as a view. All
    that is the math role's, which is at both ends of the ring. A tile that is
    also a left operand in the order `mk` stays in registers for that.

    What follows from the sums of a further role ("math1", ...) uses tiles that
    "math" computes. They go through rings as well, written by "math" and read by
    that role: operands of products as views, others with `tile.read`. A vector
    crosses before it is repeated along rows, a tile before it is extended.
    Coordinates, and what follows from them alone, are computed by each role, and
    conditions again from what crosses. Rows that a `tile.where` multiplies by a
    vector are multiplied by `select(condition, vector, 1)` instead, where that is
    not 1: so the condition need not cross. Operands of products are handed over
    with vectors that the other role uses behind them, unless its product is the
    longer one. What a loop hands over and what comes behind the loop share a ring,
    if they have one type. What the store role stores goes through a ring, too,
    written in front of the store.

    Example:
    ```mlir
    %y = tile.dot %p, %b, %z lhs km rhs kn : tensor<128x64xf16>, !tile.view<tensor<128x64xf16>> -> tensor<64x64xf32>
    // becomes
    %s, %n = warp.acquire %ring[%c]   %w = tile.view %s[%c0, %c0]
    tile.write %p, %w                 warp.publish %s
    %r, %m = warp.acquire %ring[%d]   %v = tile.view %r[%c0, %c0]
    %y = tile.dot %v, %b, %z lhs km rhs kn : !tile.view<tensor<128x64xf16>>, ...
    warp.release %r
    ```
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect", "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"rings", "rings", "rings created">];
}

def PostNumbers : Pass<"tile-post-numbers"> {
  let summary = "numbers that lists say, and stores need -> fields of entries";
  let description = [{
    Input: sequential kernels with rings. Where the steps of a loop are those of a
    list in memory, and what a step computes is added to memory at a place that the
    list says (gradients, dq), the place is known to who copies the step's tiles. It
    posts the number to the entry of a tile that is copied there, and those who
    compute receive it with the tile, instead of reading the list a second time:
    its address, bounds and entries would be alive beside the sums.

    Numbers stay where they are that no copy of the loop needs, or whose entry is
    not acquired in the loop's body by both sides; and so do those of kernels in
    which several groups compute.

    Example:
    ```mlir
    %n = tile.scalar_load %list[%t]
    %s, %c1 = warp.acquire %ring[%c]   tile.load.async %q[%n, %c0], ...
    %r, %d1 = warp.acquire %ring[%d]   ... tile.store %dq, %sums[%n, %c0] add
    // becomes
    %s, %c1 = warp.acquire %ring[%c]   %p = tile.view %s[%c0] field 1
    tile.post %n, %p                   tile.load.async %q[%n, %c0], ...
    %r, %d1 = warp.acquire %ring[%d]   %v = tile.view %r[%c0] field 1
    %m = tile.receive %v               ... tile.store %dq, %sums[%m, %c0] add
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numPosted", "numbers-posted", "numbers that became fields of entries">];
}

def Specialize : Pass<"tile-specialize"> {
  let summary = "one stream of operations with roles -> groups of warps";
  let description = [{
    Input: kernels with rings. Output: `warp.specialize` with one `warp.group` per
    role, each holding the slice of the program that its operations need; scalars
    are repeated. The math group gets replicas, one per 64 rows of its products
    unless `replicas` says otherwise: the rows of every tile that depends on the
    rows of a product are divided among them. A product with fewer rows than others
    is divided by its columns. A ring that the math group fills itself gets a part
    for every replica, its own rows; what reads it reads all parts.

    Without `warp-specialize` the math group makes the copies itself, its first
    replica for all, ahead of the products (tile-schedule): what
    FlashAttention-3 calls no warp specialization (arXiv 2407.08608, section 4.2).

    A store with an end of rows (`below`) becomes one without where that end
    does not divide the rows of a replica: one whose rows start at or after it
    stores outside of the array. Where it may, the store keeps it, and threads
    ask row by row.

    Fails if a tile would have to be divided along two dimensions, or along one
    that a product or reduction sums over, or if replicas would write the same tile
    to a ring.

    Example, 128 rows:
    ```mlir
    warp.specialize {
      warp.group @load warps 1 (%g) { ... acquire, load.async, publish ... }
      warp.group @math warps 4 replicas 2 (%g) {
        %row = arith.muli %g, %c64 : index
        %q = tile.view %slot[%row, %c0] : ... -> !tile.view<tensor<64x64xf16>>
        ...
      }
    }
    ```
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
  let options = [Option_Replicas, Option_WarpSpecialize];
  let statistics = [
    Statistic<"numGroups", "groups", "groups made">,
    Statistic<"mostReplicas", "replicas", "most replicas of a group">
  ];
}

def ResolveGuards : Pass<"tile-resolve-guards"> {
  let summary = "guards on predicates -> loops without guards";
  let description = [{
    Input: specialized kernels. A loop with a guard `tile.any_possible` is split:
    ends of the range where the mask is false for all elements of the replica
    become loops that only keep the rings moving, the rest runs unguarded (a
    guard may always be taken as true). A part of the mask that is the same in all
    steps becomes a branch around the loop, whose other arm keeps the rings moving.
    Guards that are not in such a loop are true.

    Example:
    ```mlir
    scf.for %t = %lo to %hi { acquire K; scf.if %live { step }; release K }
    // becomes
    scf.for %t = %lo to %first { acquire K; release K }
    scf.for %t = %first to %hi { acquire K; step; release K }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"resolved", "guards-resolved", "guards removed">,
    Statistic<"dead", "dead-ranges", "loops split off in which the guard is false">
  ];
}

def JoinRings : Pass<"tile-join-rings"> {
  let summary = "numbers that come beside a tile -> further fields of its ring";
  let description = [{
    Input: specialized kernels. A ring of rank 1 that copies fill (statistics of
    rows, scales, places) costs its groups a position, a wait and an arrival for
    each of its entries. Where the same groups fill and give back the entries of a
    ring of tiles in the same blocks, and hold those from before the first to behind
    the last access to the numbers, the numbers become a field of that ring: they
    are given back no later than they were needed, and no tile is. Of several
    such rings it is the one that is held longest, whose last product is made of
    the numbers most likely.

    Rings stay apart that are written by threads, that are held over more than one
    block, or of which only one is filled or given back in some block; and so do
    those of kernels in which several groups compute: they have one entry, and each
    copy is to be on its way as soon as its own is given back. Beside functions
    that get a short form (`hopper-shorten-functions`) ptxas spills, and where
    numbers of many columns meet coordinates that change, in a loop that ends at a
    constant, rings apart are measured to be faster.

    Example:
    ```mlir
    %t, %t1 = warp.acquire %tiles[%c]    %n, %n1 = warp.acquire %numbers[%d]
    ... tile.view %t[%c0, %c0] ...       ... tile.view %n[%c0] ...
    warp.release %t                      warp.release %n
    // becomes
    %t, %t1 = warp.acquire %tiles[%c]
    ... tile.view %t[%c0, %c0] ...       ... tile.view %t[%c0] field 1 ...
    warp.release %t
    ```
  }];
  let statistics = [Statistic<"numJoined", "rings-joined", "rings that became fields of others">];
}

def MakeAsync : Pass<"tile-make-async"> {
  let summary = "products and stores -> asynchronous products and stores";
  let description = [{
    Input: specialized kernels. `tile.dot` becomes `tile.dot.async` with a
    `tile.await` before the first use of the result; a chain of products through
    a loop-carried accumulator stays pending throughout, and so does a product
    that only the next one of the block adds to. Releases of slots that a product
    reads name its completion token. A left operand that is a tile value stays
    in registers.

    `store=staged` sends stores of tiles of rank 2 and 8 or 16 bits, to arrays whose
    rows are whole units of 16 bytes, through a private ring and an
    asynchronous store: whole, or, where that does not fit `smem-budget`, block of
    columns by block through a ring of two entries, so that one is written under
    the copy of the other; `direct` leaves them to the threads that hold the values;
    `in-place` writes them over the window of a slot that only this replica reads
    and has read to the end, and releases the slot when the copy out of it is
    done. A tile with wider elements than the window, or more columns, goes
    through its rows piece by piece: whole blocks of columns, each written when
    the copy of the one before has read it (`warp.wait`). `auto` stages
    where `smem-budget` leaves room beside two entries of the rings of the innermost
    loops, three of those that products read where threads convert tiles on the
    way, and one of others. It stores in place where there is such a slot and no
    room, or where two entries of the rings of all loops fit without the staging and
    not with it. Stores that have neither are direct. Those of the store group
    are copies out of the slot that it holds, whatever `store` says.
  }];
  let dependentDialects = ["::fa3::warp::WarpDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [Option_Store, Option_SmemBudget];
  let statistics = [
    Statistic<"products", "products", "products made asynchronous">,
    Statistic<"stores", "stores", "stores staged">
  ];
}

#endif // FA3_TILE_GROUP_PASSES
