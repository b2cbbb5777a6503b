//===- PipelinePasses.td - passes that overlap and order ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_TILE_PIPELINE_PASSES
#define FA3_TILE_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Options.td"

def Schedule : Pass<"tile-schedule"> {
  let summary = "loops with asynchronous products -> with stages and positions";
  let description = [{
    Input: groups with asynchronous products. Every innermost loop with a product
    becomes a problem (fa3/Scheduling/PipelineProblem.h): dependences with their
    distances in iterations, and for each operation its latency and the units it
    occupies, of one replica that has the multiprocessor for itself. Products
    that add to each other are one operation. Not so a
    loop whose iterations are whole tiles, from several products to a store, and
    that carries none: two at a time would need the registers of two tiles. A solver
    gives each operation a stage and a position in the pipelined body; the answer
    is verified, then written as `tile.slotting`. Loops of other groups that feed
    the same rings follow the stages of their readers.

    `list` goes by kinds of operations: products that consume what another
    product of the iteration yields come one stage later, if `stages` allows, and
    a step issues what is ready, then computes, then waits. `stages=0` gives a loop
    two stages, but one where the results of two products of a step meet in element
    code without that one of the two needs the other: the next step's two tiles would
    be in registers beside all of this one's. `modulo` looks for
    the least interval between two iterations by times. `print` writes problems
    with their answers as text, which `fa3-schedule` reads.

    Copies that a loop both makes and waits for (tile-specialize without
    `warp-specialize`) are one more stage, ahead of the products: the wait for a
    copy is in a later stage than the copy, and a step starts its copies behind
    its products. Products of a tile that replicas exchange come behind the meeting
    for it, first those that read what was exchanged; the entry for it is acquired
    when all but the last product that the tile is made of are worked off. A tile
    that is converted for one product and multiplied with what another gives is
    converted behind that, which spares registers. Scalars that a later stage needs
    are computed there, or a stage earlier if the loop carries fewer values then.

    Where groups compute different things and rings have one entry, products of a
    step whose operands no other product of it reads are issued in front of
    independent ones whose operands are read again, which are given back last and
    arrive last.

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
    Option_Stages, Option_Solver, Option_LateProducts,
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
    Input: loops with `tile.slotting` on every operation, or on none (left
    alone). Expands with upstream's scf pipeliner into prologue, steady loop and
    epilogue, under a test that there are enough iterations. Sets the depth of
    each ring to the most entries a reader holds at once, and of one that the
    loop fills itself to the most from the copy to the release. Values converted into
    registers that a product in flight still reads are kept behind its
    `tile.await`. A slot may be used in several stages: it is carried from
    iteration to iteration, and each stage borrows a view of its own.

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
    Moves every `warp.release` up to behind the last operation that uses the slot
    or gives a token it waits for; where that is a branch, into both of its arms.
    After pipelining, a slot that lives through a loop (Q) is thus free while the
    group still works on the end of its tile, and the next tile's copy into it
    is under way earlier. Where nothing but the release waits for a product that the
    loop carries in flight, it stays where the schedule has put it. A slot whose
    numbers of rows or columns threads have read is given back behind the next
    publication of what threads have written, for which they meet anyway; what is
    still in front of the release of another slot that threads have read is given
    back together with that one.
  }];
  let statistics = [Statistic<"hoisted", "releases-hoisted", "releases moved">];
}

def AcquireLate : Pass<"tile-acquire-late"> {
  let summary = "acquires for reading -> as late as their first use allows";
  let description = [{
    Moves every `warp.acquire` that reads, with its views, down to the first
    operation that needs the entry, if a product is issued on the way: a group
    then waits for the values of a step when it multiplies them, not before the
    scores. Acquires keep their order, and innermost loops that of their schedule,
    unless several groups compute and no ring that a loop reads has a second entry,
    or gets one by tile-size-rings.
    Then entries are on their way when a step begins, and acquires pass whatever
    does not use them: two waits in a row may change places, and what is handed over
    before a wait instead of behind it helps whoever waits for that. In any loop an
    entry that a product goes on with, which adds to the sum of another one, is
    waited for while that runs.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"sunk", "acquires-sunk", "acquires moved">];
}

def OrderCopies : Pass<"tile-order-copies"> {
  let summary = "copies of a step -> in the order in which their entries are given back";
  let description = [{
    A group that fills rings waits for one entry after the other. In a loop of a
    kernel in which several groups compute, copies whose entries are given back
    early in a step come first, by the products that a reader has issued until then:
    they are on their way while what is kept to the end is still being read. Copies
    that are given back together keep their order, and so do those of a loop whose
    rings all have a second entry, or get one by tile-size-rings.

    A block with anything else than copies and code without effects between them
    stays as it is.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numOrdered", "loops-ordered", "loops whose copies have another order">];
}

def InsertPingPong : Pass<"tile-insert-ping-pong"> {
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
    Operands of the products are acquired before the turn is taken.

    Whether that pays is measured: with three and four replicas, and where
    element code runs under products already, turns cost up to 6 %
    (docs/Performance.md), so pipelines ask for none.

    Declines with a remark: groups of one replica, and loops
    whose first product reads no entry that is acquired in the loop from another
    group.

    Example:

    ```mlir
    %k, %k1 = warp.acquire %kr[%ck]    %v, %v1 = warp.acquire %vr[%cv]
    %turn = warp.take_turn %order
    %s, %d = tile.dot.async %q, %kv, %zero lhs mk rhs nk : ...
    %o, %e = tile.dot.async %p, %vv, %acc lhs mk rhs kn : ...
    warp.pass_turn %turn
    ```
  }];
  let options = [
    Option<"pingPong", Option_PingPong.argument, Option_PingPong.type,
           "::fa3::options::Switch::On", Option_PingPong.description>
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
    columns). In groups whose element code reads tiles of 16 bits from shared
    memory, too, it holds up to four: every step makes room for those; and so it
    does of long operands in loops of one stage. A number holds at most so many
    steps, whatever is left; 0 none.

    [Notes](PassNotes.md#tile-hold-operands) say more.

    Example: with hold=1,

    ```mlir
    %q = tile.view %s[%r, %c0] : !warp.slot<read, [tensor<64x96xf16>]> -> !tile.view<tensor<64x96xf16>>
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
  let options = [Option_Hold];
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
           "limit per thread (0: what the register file allows)">,
    Option_ProducerRegisters
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
    first, those of one depth of nesting evenly. Where one is used in three loops
    around each other all have two at most: with more, groups could be ahead of
    each other in more ways than hopper-check-protocol explores. Where there is no
    room for all of a loop, those whose entries products read get deeper, or of these
    those that copies fill. One that a group
    writes for itself stays as deep as its steps need. Fails if they do not fit at the
    depth they have, with the bytes of each.

    Example: `!warp.ring<1, [tensor<80x128xf16>]>` becomes
    `!warp.ring<2, [tensor<80x128xf16>]>`, 40960 bytes.
  }];
  let dependentDialects = ["::fa3::tile::TileDialect"];
  let options = [Option_SmemBudget, Option_MaxDepth];
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
    are proved empty are not made. Where there are pieces in front of that range
    and behind it, they are loops of their own, or with `edges=together` one loop
    in two rounds, so that the body is not there three times. With `edges=none`
    no range is split. What the mask asks for that is the same in all steps is
    asked once: a branch, whose other arm has the loop as it was. A comparison that
    is part of the mask and chooses between scalars is a constant in pieces where it
    holds, or fails.

    Example:
    ```mlir
    scf.for %t = %lo to %hi iter_args(...) { %s = arith.select %keep, %x, %inf ... }
    // becomes
    %a = scf.for %t = %lo to %all iter_args(...) { %s = arith.select %keep, %x, %inf ... }
    %b = scf.for %t = %all to %hi iter_args(%a) { ... uses %x ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option_Edges];
  let statistics = [Statistic<"splitLoops", "loops-split", "loops split">];
}

#endif // FA3_TILE_PIPELINE_PASSES
