//===- Passes.td - passes on the tile dialect --------------*- tablegen -*-===//

#ifndef FA3_TILE_PASSES
#define FA3_TILE_PASSES

include "mlir/Pass/PassBase.td"

// All passes work on the kernels (gpu.func) inside the operation that they run
// on; those with a module as anchor change host functions too.

def ShrinkBounds : Pass<"tile-shrink-bounds"> {
  let summary = "loops guarded by a predicate -> loops over its possible range";
  let description = [{
    Input: sequential tile kernels. Where the body of an `scf.for` of step 1 does
    nothing unless `tile.any_possible` of a mask holds, and the mask is false for
    all elements on an end of the range, that end is cut off. The range comes
    from the corners of the box of coordinates (see PredicateRange.h), so it is
    found for any affine mask: causal, windows, prefixes, padding, and their
    conjunctions and disjunctions. The guard stays: true for the tile of a CTA
    does not mean true for the rows of one warp group.

    Before and after, for `j0 + c <= i0 + r` with 128 rows and 64 columns:
    ```mlir
    scf.for %t = %c0 to %n step %c1 { scf.if %live { ... } }
    scf.for %t = %c0 to min(%n, (%i0 + 127) floordiv 64 + 1) step %c1 { scf.if %live { ... } }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"shrunk", "loops-shrunk", "loops whose bounds changed">];
}

def StrengthReduce : Pass<"tile-strength-reduce"> {
  let summary = "element code on coordinates and constant factors -> less of it";
  let description = [{
    Four rewrites of element code, each exact or allowed by the flags of the
    operations that are rewritten.

    *Coordinates as numbers.* The conversion of an index tile of rank 2 to f32,
    affine in row and column, becomes the sum of a converted tile of rows and of
    the converted column number within the tile:
    `sitofp(j0 + j - i) = sitofp(j0 - i) + sitofp(j)`. In registers that is one
    conversion per row and one addition of an immediate per element, where it was
    one addition and one conversion per element, at a quarter of the rate. The sum
    is exact if all numbers are below 2^24, which is proved from static extents and
    bounds of loops; otherwise the pass does it only where every use, through
    signs and absolute values, is a float operation with the flag `reassoc`.

    *Signs.* |x| becomes x or -x where the sign of the number x, affine in row and
    column, follows from a mask: every use of |x| ends in an `arith.select` whose
    condition implies the sign. With causal masks |j - i| is i - j.

    *Factors.* (x * a) * b with a and b the same for the whole tile becomes
    x * (a * b) if both multiplications have the flag `reassoc`.

    *Terms of rows.* In x + broadcast(r), r a number per row, the sum is moved
    along its uses, through sums, products with factors of rows and masks by -inf,
    where each of them has the flag `reassoc` or is exact, and taken out where all
    of them end in a maximum of the row, max(x) + r, or in a fused product whose
    addend is a number per row, fma(x, c, broadcast(fma(r, c, s))). The term then
    costs an operation per row instead of one per element, and what is left of
    slope * (j - i) is the same for all rows, one product per column.

    Example, under `%keep` = `j <= i`:
    ```mlir
    %d = arith.sitofp %jmi : tensor<64x32xi32> to tensor<64x32xf32>
    %far = math.absf %d : tensor<64x32xf32>
    %s1 = arith.select %keep, (%s - %far * %slope), %low
    // becomes
    %d = arith.addf %rows, %columns : tensor<64x32xf32>   // broadcast from rank 1
    %far = arith.negf %d : tensor<64x32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numNumbers", "numbers", "conversions of coordinates divided">,
    Statistic<"numSigns", "signs", "absolute values whose sign is known">,
    Statistic<"numFactors", "factors", "multiplications joined">,
    Statistic<"numRowTerms", "row-terms", "terms of rows taken out">
  ];
}

def MapGrid : Pass<"tile-map-grid", "::mlir::ModuleOp"> {
  let summary = "tile.grid -> block indices and the number of blocks at the launch";
  let description = [{
    Input: kernels with a `tile.grid` whose bounds are computed from kernel
    arguments. Output: the body, preceded by the decoding of a linear tile
    number; `tile.launch` gets its `blocks`.

    `mode=cta`: one CTA per tile. `mode=static`: one CTA per processor, each in a
    loop over every n-th tile. `mode=dynamic`: one CTA per processor, each in a
    loop over tiles that it claims when it is ready for them (`tile.share`); the
    group that loads tiles does so, and a kernel without one gets one CTA per
    tile (a remark, if no kernel has one).
    `mode=auto`: a loop over tiles if registers are left for its state; dynamic
    if the work differs between tiles, static if not, unless loops are known to
    be so long that starting a CTA per tile costs nothing.

    `order=rows`: the first grid index runs fastest.
    `order=longest-first`: the first grid index runs slowest and backwards, the
    others run fastest, so that with work growing in the first index (causal
    masks) the longest tiles start first. `order=auto` takes the latter where
    the bound of a loop grows with the first grid index. `order=pairs`, for
    static grids: a CTA's tiles are pairs of a long and a short one (an error for
    others).

    `heights=auto`: where all tiles have the same work, extents are known, and all
    stores end at their tile's end of rows (`below`), rows are cut into full tiles
    and shorter ones, of fewer replicas, that come last: as many that by estimate
    the launch ends first on `processors` processors. 10.4 rounds of full tiles
    take 11; 9 rounds and two of tiles of 2/3 of the rows end earlier. The
    estimate gives a tile of a part of the rows 0.3 + 0.7 * part of the time.
    Otherwise the last tile ends with the last replica that has rows.

    Tiles that differ in the first index alone read the same parts of the arrays
    that their loops load from. With longest-first order they are far apart, so
    the other indices are cut into sections whose parts fit `l2-bytes`: one
    section is done for all first indices, then the next. Of an array that a loop
    walks in a range of bounded length (the keys of a window) the part is that
    range. The number of sections is computed at the launch and becomes a kernel
    argument.

    Of the other indices those run fastest on which the place of some loaded tile
    does not depend (the batch, where all batches read the same bias): tiles that
    share it are then worked on at the same time. Behind them follow, from the
    last on, indices of dimensions whose stride the launch gives in an array of
    which threads read tiles in bulk: an array that is one for all batches often
    comes with a stride of zero. What does not change from tile to tile, such as
    scales in memory, is computed or read in front of the loop over tiles.

    Fails on a grid bound that is no index arithmetic on kernel arguments, and on
    a second grid.

    Example, `mode=cta order=rows`:
    ```mlir
    tile.grid (%m, %h) in (%tiles, %heads) { ... }
    // becomes
    %id = gpu.block_id x
    %m = arith.remui %id, %tiles : index
    %h = arith.divui %id, %tiles : index
    ...
    // and in front of the launch, from the extents of its operands
    %blocks = arith.muli %tiles, %heads : index
    tile.launch @kernels::@k blocks %blocks args(...)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"", "auto, cta, static or dynamic">,
    Option<"order", "order", "std::string", "\"auto\"",
           "auto, rows, longest-first or pairs">,
    Option<"l2Bytes", "l2-bytes", "int64_t", "33554432",
           "bytes of L2 cache that a section may fill (0: no sections)">,
    Option<"heights", "heights", "std::string", "\"even\"",
           "whether tiles may have fewer rows than others: even, auto">,
    Option<"processors", "processors", "int64_t", "132",
           "processors that heights=auto expects">,
    Option<"loads", "loads", "std::string", "\"auto\"",
           "as tile-assign-roles will take it: auto, bulk or threads">
  ];
  let statistics = [
    Statistic<"numPersistent", "persistent-kernels", "kernels with a loop over tiles">,
    Statistic<"numPartitioned", "partitioned-kernels", "kernels with tiles of different heights">
  ];
}

def RelabelContractions : Pass<"tile-relabel-contractions"> {
  let summary = "products of computed tiles -> sums in an order that needs no shuffles";
  let description = [{
    Input: sequential kernels. The left operand of a product that is computed
    from the result of another one is in registers, in the layout of an
    accumulator. Where the tensor core wants its left operand in another layout,
    the order in which the product sums is changed: both operands are relabelled
    along K by the permutation of coordinate bits under which the first layout
    becomes the second without an element leaving its thread. It is computed
    from the two layouts: the identity for 16-bit elements, [0, 3, 1, 2] for 8
    bits (FlashAttention-3, arXiv 2407.08608, section 3.3).

    Where K runs along the columns of the right operand, whose neighbours no
    copy separates, its order stays. The left operand is then computed in the
    inverse order from the start: the rows of the loaded operand of the product
    that it depends on are relabelled, element code on the way is repeated for
    it, masks and whatever else varies with the column are relabelled. Maxima
    and sums along the columns do not see it. If something else does, the
    columns of the right operand are relabelled after all.

    Fails where no such permutation exists.

    Example, 8-bit elements:
    ```mlir
    %o = tile.dot %p, %v, %acc lhs mk rhs kn : ...
    // becomes
    %p1 = tile.relabel %p dim 1 bits [0, 3, 1, 2] : ...
    %v1 = tile.relabel %v dim 0 bits [0, 3, 1, 2] : ...
    %o = tile.dot %p1, %v1, %acc lhs mk rhs kn : ...
    ```
    The left one is relabelled in front of its conversion to the narrow type.
  }];
  let statistics = [
    Statistic<"relabeled", "relabeled", "products whose order of summation changed">
  ];
}

def TransposeOperands : Pass<"tile-transpose-operands"> {
  let summary = "operands that wgmma cannot read -> transposed operands";
  let description = [{
    Input: sequential kernels. Tensor cores read 16-bit operands in shared memory
    along rows or columns, 8-bit ones along K only. An 8-bit operand whose K runs
    along its columns' neighbours is transposed first.

    Example:
    ```mlir
    %o = tile.dot %p, %v, %acc lhs mk rhs kn : tensor<64x96xf8E4M3FN>, tensor<96x128xf8E4M3FN> -> ...
    // becomes
    %t = tile.transpose %v : tensor<96x128xf8E4M3FN> -> tensor<128x96xf8E4M3FN>
    %o = tile.dot %p, %t, %acc lhs mk rhs nk : ...
    ```
  }];
  let statistics = [
    Statistic<"transposed", "transposed", "operands transposed">
  ];
}

def SumByProducts : Pass<"tile-sum-by-products"> {
  let summary = "sums of what a product multiplies -> products with a constant";
  let description = [{
    Input: sequential kernels. Partial sums along the columns of a tile
    (`tile.reduce add .. modulo 8`) that is also the left operand of a product
    take an addition per element. The tensor core can add them up, as a product
    of that operand, which is in registers already, with a constant of 8 columns.
    Each column gets all of the sum divided by 8, which is exact: the constant is
    1/8. So all that is done with the partial sums has to be linear, and they
    have to be summed in the end.

    What is summed is then the operand as the product takes it, converted to its
    type: sums and product see the same rounding, and a quotient of the two loses
    nothing. A sum that is told to others, say by its logarithm, is off by at most
    the type's unit roundoff. Every sum starts from zero: the tensor core keeps
    about 14 bits of long sums of 8-bit operands.

    | `sums` | |
    |---|---|
    | `auto` | by products where that is faster and the sum only divides: 8-bit operands of products with up to 64 columns, no loaded tiles in element code |
    | `rounded` | by products wherever that is possible |
    | `exact` | by additions of what has not been rounded |

    Example:
    ```mlir
    %s = tile.reduce add %p dim 1 modulo 8 : tensor<64x96xf32> -> tensor<64x8xf32>
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %o = tile.dot %h, %v, %acc lhs mk rhs nk : ...
    // becomes
    %h = arith.truncf %p : tensor<64x96xf32> to tensor<64x96xf8E4M3FN>
    %c = arith.constant dense<1.250000e-01> : tensor<8x96xf8E4M3FN>
    %s = tile.dot %h, %c, %zero lhs mk rhs nk : ...
    ```
  }];
  let options = [
    Option<"sums", "sums", "std::string", "\"auto\"",
           "what is summed: auto, exact or rounded">
  ];
  let statistics = [
    Statistic<"replaced", "replaced", "sums that became products">
  ];
}

def AssignRoles : Pass<"tile-assign-roles"> {
  let summary = "tile operations -> with the role that performs them";
  let description = [{
    Input: kernels without `tile.grid`. Loads that a bulk copy can perform get the
    role "load" if their tile only feeds products, or if `loads` allows it and only
    element code uses it; all other operations with effects "math". The attribute is advisory: without it everything is "math".
    `tile.relabel` and `tile.transpose` on the way from such a load to its
    products get the role "convert".

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

    A load under a guard (`tile.any_possible`) moves in front of it when it gets
    the role "load": rings run in step whether a replica has work or not.

    Example:
    ```mlir
    %k = tile.load %K[...] {tile.role = "load"} : ...       // operand of a product
    %b = tile.load %bias[...] {tile.role = "load"} : ...    // added to scores
    %m = tile.load %odd[...] {tile.role = "math"} : ...     // rows of 77 elements
    ```
  }];
  let options = [
    Option<"loads", "loads", "std::string", "\"auto\"",
           "who loads tiles for element code: auto, bulk or threads">
  ];
  let statistics = [
    Statistic<"numLoads", "loads", "loads given to the load role">,
    Statistic<"numElementLoads", "element-loads",
              "of these, loads of tiles for element code">
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
    window by window through registers, unless its rows alone are relabelled: the
    copy brings them in that order (`tile.load.async .. rows`). A load of fewer
    rows in front of the loop around another load of the same columns uses the
    first rows of the other's entries. Cursors are threaded through the loops and
    branches around them. The result is still one stream
    of instructions, and legal: each entry is written before it is read.

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
      %sw, %nw = flow.acquire %ring[%cw]   %w = tile.view %sw[%c0, %c0]
      tile.load.async %K[%j, %c0], %w      flow.publish %sw
      %sr, %nr = flow.acquire %ring[%cr]   %k = tile.view %sr[%c0, %c0]
      %s = tile.dot %q, %k, %zero lhs mk rhs nk : ...
      flow.release %sr
      scf.yield %nw, %nr
    }
    ```
  }];
  let dependentDialects = ["::fa3::flow::FlowDialect"];
  let statistics = [Statistic<"rings", "rings", "rings created">];
}

def Specialize : Pass<"tile-specialize"> {
  let summary = "one stream of operations with roles -> groups of warps";
  let description = [{
    Input: kernels with rings. Output: `flow.specialize` with one `flow.group` per
    role, each holding the slice of the program that its operations need; scalars
    are repeated. The math group gets replicas, one per 64 rows of its products
    unless `replicas` says otherwise: the rows of every tile that depends on the
    rows of a product are divided among them.

    A store with an end of rows (`below`) becomes one without: a replica whose
    rows start at or after it stores outside of the array.

    Fails if a tile would have to be divided along two dimensions, or along one
    that a product or reduction sums over, or if an end of rows may divide those
    of a replica.

    Example, 128 rows:
    ```mlir
    flow.specialize {
      flow.group @load warps 1 (%g) { ... acquire, load.async, publish ... }
      flow.group @math warps 4 replicas 2 (%g) {
        %row = arith.muli %g, %c64 : index
        %q = tile.view %slot[%row, %c0] : ... -> !tile.view<tensor<64x64xf16>>
        ...
      }
    }
    ```
  }];
  let dependentDialects = ["::fa3::flow::FlowDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
  let options = [
    Option<"replicas", "replicas", "int64_t", "0",
           "replicas of the math group (0: one per 64 rows)">
  ];
  let statistics = [
    Statistic<"numGroups", "groups", "groups made">,
    Statistic<"mostReplicas", "replicas", "most replicas of a group">
  ];
}

def ResolveGuards : Pass<"tile-resolve-guards"> {
  let summary = "guards on predicates -> loops without guards";
  let description = [{
    Input: specialised kernels. A loop with a guard `tile.any_possible` is split:
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

def MakeAsync : Pass<"tile-make-async"> {
  let summary = "products and stores -> asynchronous products and stores";
  let description = [{
    Input: specialised kernels. `tile.dot` becomes `tile.dot.async` with a
    `tile.await` before the first use of the result; a chain of products through
    a loop-carried accumulator stays pending throughout. Releases of slots that
    a product reads name its completion token. A left operand that is a tile
    value stays in registers.

    `store=staged` sends stores of tiles of rank 2 and 8 or 16 bits, to arrays whose
    rows are whole units of 16 bytes, through a private ring and an
    asynchronous store: whole, or, where that does not fit `smem-budget`, block of
    columns by block through a ring of two entries, so that one is written under
    the copy of the other; `direct` leaves them to the threads that hold the values;
    `in-place` writes them over the window of a slot that only this replica reads
    and has read to the end, and releases the slot when the copy out of it is
    done. A tile with wider elements than the window, or more columns, goes
    through its rows piece by piece: whole blocks of columns, each written when
    the copy of the one before has read it (`flow.wait`). `auto` stages
    where `smem-budget` leaves room beside two entries of the rings of the innermost
    loops, three of those that products read where threads convert tiles on the
    way, and one of others. It stores in place where there is such a slot and no
    room, or where two entries of the rings of all loops fit without the staging and
    not with it. Stores that have neither are direct.
  }];
  let dependentDialects = ["::fa3::flow::FlowDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"store", "store", "std::string", "\"auto\"", "auto, staged, in-place or direct">,
    Option<"smemBudget", "smem-budget", "int64_t", "231424",
           "bytes of shared memory for rings">
  ];
  let statistics = [
    Statistic<"products", "products", "products made asynchronous">,
    Statistic<"stores", "stores", "stores staged">
  ];
}

def Schedule : Pass<"tile-schedule"> {
  let summary = "loops with asynchronous products -> with stages and positions";
  let description = [{
    Input: groups with asynchronous products. Every innermost loop with a product
    becomes a problem (fa3/Scheduling/PipelineProblem.h): dependences with their
    distances in iterations, and for each operation its latency and the units it
    occupies, of one replica that has the multiprocessor for itself. Not so a
    loop whose iterations are whole tiles, from several products to a store: two
    at a time would need the registers of two tiles. A solver
    gives each operation a stage and a position in the pipelined body; the answer
    is verified, then written as `tile.slotting`. Loops of other groups that feed
    the same rings follow the stages of their readers.

    `list` goes by kinds of operations: products that consume what another
    product of the iteration yields come one stage later, if `stages` allows, and
    a step issues what is ready, then computes, then waits. `modulo` looks for
    the least interval between two iterations by times. `print` writes problems
    with their answers as text, which `fa3-schedule` reads.

    With two stages this is the overlap of softmax and products within a warp
    group of FlashAttention-3 (arXiv 2407.08608, section 3.2), with three and
    `modulo` that of its appendix. Fails on a loop that carries a value over more
    than one iteration.

    Example:
    ```mlir
    %S, %d = tile.dot.async %q, %k, %zero ... {tile.slotting = #tile.slotting<stage = 0, order = 2>}
    %O, %e = tile.dot.async %p, %v, %acc ...  {tile.slotting = #tile.slotting<stage = 1, order = 5>}
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "2", "greatest number of stages">,
    Option<"solver", "solver", "std::string", "\"list\"",
           "list: greedy, without times; modulo: by times of units">,
    Option<"print", "print", "bool", "false",
           "print instances and answers as text to standard output">,
  ];
  let statistics = [
    Statistic<"numScheduled", "loops-scheduled", "loops given stages">
  ];
}

def Pipeline : Pass<"tile-pipeline"> {
  let summary = "scheduled loops -> software-pipelined loops";
  let description = [{
    Input: loops with `tile.slotting` on every operation. Expands with upstream's
    scf pipeliner into prologue, steady loop and epilogue, under a test that
    there are enough iterations. Sets the depth of each ring to the most entries
    a reader holds at once. Values converted into registers that a product in
    flight still reads are kept behind its `tile.await`.

    Example: two stages, S(t) before O(t).
    ```mlir
    scf.if %some {                       // at least one iteration
      S(0)
      scf.for %t = %lo to %last { S(t + 1); O(t) }
      O(last)
    } else { the start values }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"pipelined", "loops-pipelined", "loops pipelined">];
}

def ReleaseEarly : Pass<"tile-release-early"> {
  let summary = "releases of slots -> as early as their last use allows";
  let description = [{
    Moves every `flow.release` up to behind the last operation that uses the slot
    or gives a token it waits for; where that is a branch, into both of its arms.
    After pipelining, a slot that lives through a loop (Q) is thus free while the
    group still works on the end of its tile, and the next tile's copy into it
    is under way earlier.
  }];
  let statistics = [Statistic<"hoisted", "releases-hoisted", "releases moved">];
}

def AcquireLate : Pass<"tile-acquire-late"> {
  let summary = "acquires for reading -> as late as their first use allows";
  let description = [{
    Moves every `flow.acquire` that reads, with its views, down to the first
    operation that needs the entry, if a product is issued on the way: a group
    then waits for the values of a step when it multiplies them, not before the
    scores. Acquires keep their order, and innermost loops that of their schedule.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"sunk", "acquires-sunk", "acquires moved">];
}

def InsertTurns : Pass<"tile-insert-turns"> {
  let summary = "products of replicas -> issued in turns";
  let description = [{
    Input: pipelined groups. The replicas of a group issue the products of a step
    one after another: the element code of one runs while the tensor core works
    on the products of the others (FlashAttention-3, arXiv 2407.08608, section
    3.1, pingpong scheduling).

    A step is an acquire of the ring that the first product of a pipelined loop
    reads. Every acquire of that ring, in whatever copy of the loop, gets one
    turn: from the first product of the block behind it to the last one before a
    product of them is awaited, or right behind the acquire where the block has
    no product (steps that a replica skips). All replicas acquire an entry of a
    ring between groups equally often, so they take equally many turns.
    What the products need is acquired before the turn is taken.

    Whether that pays is measured: with three and four replicas, and where
    element code runs under products already, turns cost up to 6 %
    (docs/Performance.md), so pipelines ask for none.

    Declines with a remark: groups of one replica, and loops
    whose first product reads no entry that is acquired in the loop from another
    group.

    Example:

    ```mlir
    %k, %k1 = flow.acquire %kr[%ck]    %v, %v1 = flow.acquire %vr[%cv]
    %turn = flow.take %order
    %s, %d = tile.dot.async %q, %kv, %zero lhs mk rhs nk : ...
    %o, %e = tile.dot.async %p, %vv, %acc lhs mk rhs kn : ...
    flow.pass %turn
    ```
  }];
  let options = [
    Option<"turns", "turns", "std::string", "\"on\"",
           "order replicas: on or off">
  ];
  let statistics = [Statistic<"inserted", "turns", "turns inserted">];
}

def HoldOperands : Pass<"tile-hold-operands"> {
  let summary = "left operands that a loop does not change -> partly registers";
  let description = [{
    Input: pipelined groups. A product reads a left operand in shared memory
    anew every time, which costs as much of shared memory's bandwidth as 64 of
    its right operand's rows. Of a window that a loop around the product does not
    change (the queries of a tile), the first columns are read into registers
    where the window is borrowed, and every product with it becomes a chain of
    two, whose second half goes on reading shared memory.

    A step is what one instruction takes, 32 bytes of each row: 4 registers per
    thread of a group of 64 rows. `auto` holds two steps where the estimate
    of tile-check-registers leaves registers for them and reading both operands
    takes shared memory most of the time that the product takes (up to 104
    columns); a number holds at most so many steps, whatever is left; 0 none.

    Leaves alone: products whose operands are no windows, or whose left operand
    has its K along the rows; windows of a product that its loop awaits before it
    issues another one with a left operand in registers (loops of one stage), since
    ptxas 13.0 may overwrite held registers there; groups that compute with tiles which they read or
    with numbers of columns, for which they need the registers.

    Example: with steps=1,

    ```mlir
    %q = tile.view %s[%r, %c0] : !flow.slot<read, [tensor<64x96xf16>]> -> !tile.view<tensor<64x96xf16>>
    scf.for ... {
      %p, %d = tile.dot.async %q, %k, %zero lhs mk rhs nk : ...
    ```

    becomes

    ```mlir
    %q0 = tile.view %s[%r, %c0] : ... -> !tile.view<tensor<64x16xf16>>
    %h = tile.read %q0 : !tile.view<tensor<64x16xf16>> -> tensor<64x16xf16>
    %q1 = tile.view %s[%r, %c16] : ... -> !tile.view<tensor<64x80xf16>>
    scf.for ... {
      %p0, %d0 = tile.dot.async %h, %k0, %zero lhs mk rhs nk : ...
      %p, %d = tile.dot.async %q1, %k1, %p0 lhs mk rhs nk : ...
    ```
  }];
  let options = [
    Option<"steps", "steps", "std::string", "\"auto\"",
           "32-byte steps of each row that are held: auto, or a number">
  ];
  let statistics = [Statistic<"held", "steps", "steps held in registers">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CheckRegisters : Pass<"tile-check-registers"> {
  let summary = "fails where a group needs more registers than it can have";
  let description = [{
    Estimates the registers per thread of each group (see RegisterEstimate.h)
    before layouts are chosen, so that a tile that cannot fit is refused here
    and not by spills or serialized products in the assembler. Changes nothing.

    Three consumers of 128 threads beside a producer may have 160 registers per
    thread, two 240. A thread holds rows * columns / 128 registers of a tile of
    f32, half of that for 16 bits.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", "0",
           "limit per thread (0: what the register file allows)">
  ];
  let statistics = [
    Statistic<"mostRegisters", "registers", "most registers per thread of a group">
  ];
}

def SizeRings : Pass<"tile-size-rings"> {
  let summary = "rings -> rings as deep as shared memory allows";
  let description = [{
    Grows the rings between groups that are used in loops to at most `max-depth`
    entries while all rings together fit `smem-budget`: those of inner loops
    first, those of one depth of nesting evenly. Fails if they do not fit at the
    depth they have, with the bytes of each.

    Example: `!flow.ring<1, [tensor<80x128xf16>]>` becomes
    `!flow.ring<2, [tensor<80x128xf16>]>`, 40960 bytes.
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let options = [
    Option<"smemBudget", "smem-budget", "int64_t", "231424",
           "bytes of shared memory for rings">,
    Option<"maxDepth", "max-depth", "int64_t", "4", "greatest depth of a ring">
  ];
  let statistics = [
    Statistic<"mostBytes", "bytes", "most bytes of the rings of a kernel">
  ];
}

def SplitByPredicate : Pass<"tile-split-by-predicate"> {
  let summary = "loops with selects on a mask -> loops with and without";
  let description = [{
    Splits the range of a loop where the mask of a select is true for all
    elements; there the select gives way to its true operand and the mask is not
    computed. Everything the loop carries flows through the pieces. Pieces that
    are proved empty are not made.

    Example:
    ```mlir
    scf.for %t = %lo to %hi iter_args(...) { %s = arith.select %keep, %x, %inf ... }
    // becomes
    %a = scf.for %t = %lo to %all iter_args(...) { %s = arith.select %keep, %x, %inf ... }
    %b = scf.for %t = %all to %hi iter_args(%a) { ... uses %x ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"splitLoops", "loops-split", "loops split">];
}

def AssignLayouts : Pass<"tile-assign-layouts"> {
  let summary = "tiles -> tiles with register layouts";
  let description = [{
    Results of products and tiles stored get the accumulator layout, reductions
    and broadcasts relate it to slices; everything else follows through
    elementwise operations and control flow. For 16-bit elements the
    accumulator layout is the layout of the next product's left operand, so no
    conversion is needed. A tile that would need two layouts is an error.

    Example:
    ```mlir
    %m = tile.reduce max %s dim 1 : tensor<64x80xf32, #tile.acc> -> tensor<64xf32, #tile.slice<1, #tile.acc>>
    ```
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let statistics = [
    Statistic<"numTiles", "tiles", "tiles given a layout">
  ];
}

def RealizeSmem : Pass<"tile-realize-smem"> {
  let summary = "rings of tiles -> rings of tiles laid out in shared memory";
  let description = [{
    Gives the tensors that rings carry an encoding `#tile.smem`: the widest
    swizzle (128, 64 or 32 bytes) whose blocks the tile fills, padding the last
    block. Fails where an access cannot use it: a bulk copy from an array
    whose last dimension is not contiguous, a tile of rank 1, rows that are no
    multiple of 8.

    Example: `!flow.ring<2, [tensor<80x72xf16>]>` becomes
    `!flow.ring<2, [tensor<80x72xf16, #tile.smem<128>>]>`: two blocks of 64
    columns, of which the second holds 8 and padding.
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let statistics = [
    Statistic<"numRings", "rings", "rings given a layout">
  ];
}

#endif // FA3_TILE_PASSES
