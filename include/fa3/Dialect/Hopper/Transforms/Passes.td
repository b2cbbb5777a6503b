//===- Passes.td - passes on the hopper dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_HOPPER_PASSES
#define FA3_HOPPER_PASSES

include "mlir/Pass/PassBase.td"
include "fa3/Options/Effects.td"
include "fa3/Options/Options.td"

def InsertWaits : Pass<"hopper-insert-waits", "::mlir::gpu::GPUFuncOp"> {
  let summary = "waits on groups of products -> counts of groups left in flight";
  let description = [{
    Sets `pending` of every `hopper.wgmma.wait`: how many younger groups may
    still be in flight when the groups it names have retired.

    The *age* of a group is the least number of `hopper.wgmma.commit` executed
    after its own on any path; a wait on several groups takes the least age.
    Ages flow through `scf.for`, `scf.if`, `scf.while` and `arith.select`; those
    of loop-carried groups are a fixpoint. A group that every path has already
    waited for has retired: a wait on retired groups only gets -1, no
    instruction.

    Input: waits with or without `pending` (it is derived anew). Output: every
    wait has `pending`. Fails if a fragment given to a wait may still be in
    flight after it, that is, its products are not committed or their group is
    younger than all groups the wait names.

    Example:
    ```mlir
    %g0 = hopper.wgmma.commit
    %g1 = hopper.wgmma.commit
    hopper.wgmma.wait %g0              // pending 1
    hopper.wgmma.wait %g1              // pending 0
    hopper.wgmma.wait %g0              // pending -1
    ```
  }];
  let statistics = [
    Statistic<"numWaits", "num-waits", "waits that need an instruction">,
    Statistic<"numRetired", "num-retired", "waits on groups that have retired">,
  ];
}

def InsertFences : Pass<"hopper-insert-fences", "::mlir::gpu::GPUFuncOp"> {
  let summary = "accesses of shared memory -> with fences between the proxies";
  let description = [{
    Inserts `hopper.fence.proxy_async` between writes of a buffer by threads
    (`smem.store`) and accesses of the same buffer by the async proxy
    (`tma.load`, `tma.store`, `wgmma.mma` through a descriptor) that follow, and
    `hopper.fence.acq_rel` between reads by threads (`smem.load`) and refills by
    TMA: a barrier lets the refill begin while reads of other threads are still
    on their way to shared memory, which products keep busy, and the fence waits
    for them.

    The fence stands in front of the last named barrier of the group before the
    access itself, or before an arrival that lets the access begin: one at an
    mbarrier for which a group waits that issues such accesses (any arrival, if
    no such group waits for one of this group's). Without a named barrier in
    between it stands in front of the access or arrival. One fence serves all
    accesses before it.

    Input: any kernel. Output: the same with fences; running it again changes
    nothing. Fails if a buffer operand is not the result of a
    `hopper.smem.alloc`.

    Example:
    ```mlir
    hopper.smem.store %x to %b[%i, %r, %c] of #f : vector<32xf16>, !hopper.buffer<1, tensor<64x64xf16>, 128>
    hopper.fence.proxy_async           // inserted
    hopper.named_barrier.sync %id threads 128
    hopper.tma.store %b[%i, %r, %c] to %map[%j, %k] : ...
    ```
  }];
  let statistics = [
    Statistic<"numFences", "num-fences", "fences between the proxies inserted">,
    Statistic<"numReadFences", "num-read-fences", "fences of reads inserted">,
  ];
}

def PackWarpgroups : Pass<"hopper-pack-warpgroups", "::mlir::ModuleOp"> {
  let summary = "groups of warps -> groups at their place in the block";
  let description = [{
    Decides which warps run which `warp.group`. Groups of 1 or 2 warps share warp
    groups, from warp 0 on, groups of 2 first so that none straddles two warp
    groups; warps left over in the last of them stay idle, because
    `setmaxnreg` and the register pool work on whole warp groups. The others
    follow in their order, each at a multiple of 4 warps.

    Input: kernels with at most one `warp.specialize`. Output: `at` of every
    group, `known_block_size` of the kernel, `threads` of its launches. A kernel
    without groups keeps the threads of its launches. Fails above 1024 threads,
    and if launches of a kernel without groups disagree.

    Example:
    ```mlir
    warp.group @load warps 1 (%g) {}                   // at 0, warps 1 to 3 idle
    warp.group @math warps 4 replicas 3 (%g) {}        // at 4; 512 threads
    ```
  }];
  let statistics = [
    Statistic<"numIdle", "num-idle-warps", "warps without work">,
  ];
}

def AssignRegisters : Pass<"hopper-assign-registers", "::mlir::gpu::GPUFuncOp"> {
  let summary = "groups at their place -> with registers moved to those who compute";
  let description = [{
    A block starts with floor8(65536 / threads) registers per thread. Warp
    groups whose groups hold no fragments (loaders) give theirs up, the others
    share what is left: the largest multiple of 8, up to 240, that fits.
    Inserts `hopper.setmaxnreg` at the start of every group that changes.

    Input: groups with `at`, a kernel with `known_block_size` (see
    hopper-pack-warpgroups). Output: groups of one warp group agree in their
    `setmaxnreg`. A kernel of one warp group is left alone. Fails if the
    registers asked for exceed the pool.

    Example: 512 threads, one warp group of loaders and three that compute.
    ```mlir
    warp.group @load warps 1 at 0 (%g) { hopper.setmaxnreg decrease 32 ... }
    warp.group @math warps 4 replicas 3 at 4 (%g) { hopper.setmaxnreg increase 160 ... }
    ```
  }];
  let options = [
    Option_ProducerRegisters,
    Option<"consumerRegisters", "consumer-registers", "int64_t", "0",
           "registers per thread of the other warp groups (0: the most that fits)">,
  ];
  let statistics = [
    Statistic<"registers", "consumer-registers", "registers per computing thread">,
  ];
  let dependentDialects = ["::fa3::hopper::HopperDialect"];
}

def AllocateSmem : Pass<"hopper-allocate-smem", "::mlir::ModuleOp"> {
  let summary = "buffers and barriers -> with offsets in dynamic shared memory";
  let description = [{
    Gives every `hopper.smem.alloc` (multiples of 1024 bytes) and
    `hopper.barrier.alloc` (multiples of 8) of a kernel an `offset`, and the
    total to the launches of the kernel. No two overlap: buffers live from the
    start of the kernel to its end, because groups run side by side.

    An allocation in a replicated group is private to each replica: room for all
    of them is reserved and `offset` is that of replica 0. The allocation stays
    in its group; its lowering adds replica * `getReplicaBytes()`, so slot
    numbers of accesses are the same in every replica.

    Fails if the total exceeds 232448 bytes, listing what takes how much.

    Example:
    ```mlir
    %k = hopper.smem.alloc offset 0 : !hopper.buffer<2, tensor<80x128xf16>, 128>
    %f = hopper.barrier.alloc offset 40960 : !hopper.barrier<2, 1>
    ```
  }];
  let statistics = [
    Statistic<"bytes", "bytes", "bytes of shared memory">,
  ];
}

def OverlapLaunches : Pass<"hopper-overlap-launches", "::mlir::ModuleOp"> {
  let summary = "kernels one behind the other -> each starts while one ends";
  let description = [{
    A host function that launches several kernels pays for the start of each:
    the next one is brought to the multiprocessors when the last block of the one
    in front has ended. With programmatic dependent launch it is there already,
    and waits.

    A kernel that another launch of a host function may precede (launches in
    different branches exclude each other) gets `nvvm.griddepcontrol wait` in
    front of the first operation that takes an address or a tensor map, where
    all threads pass. So it has not touched memory before all kernels in front
    of it have ended, whatever they read or write, and what is behind it may rely
    on the same. It is brought when all blocks in front of it have ended but their
    writes may be on their way, or, where its blocks take more than half of the
    shared memory of a multiprocessor, when all blocks in front of it run: then
    that kernel begins with `nvvm.griddepcontrol launch_dependents`. Small blocks
    would gather on the few multiprocessors that have room first.

    A kernel that waits for flags (`hopper.flag.await`) does so in place of that,
    where the launch right in front of it, whichever that is, sets some: blocks
    run beside those whose results they wait for, and for the end of that kernel
    its last block alone waits, at its own end. Then the one in front lets it
    start when its flag is cleared (`hopper.flag.clear .. start`), and itself
    waits for all that is in front of it.

    Whether a launch may begin early is a property of its kernel, which the
    manifest states (`waits`) and the runtime uses where a kernel of the same
    call is in front. Nothing is wrong without: then a wait is over at once.

    Output: `hopper-check-protocol` and `convert-hopper-to-nvvm` verify where
    waits stand. Running the pass again changes nothing.

    Example, a kernel that merges what another has computed:
    ```mlir
    gpu.func @merge(%parts: !llvm.ptr<1>, ..) kernel {
      %block = gpu.block_id x
      nvvm.griddepcontrol wait
      %x = hopper.fragment.load %parts[..] ..
    ```
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numWaits", "num-waits", "kernels that wait for others">,
    Statistic<"numReleases", "num-releases", "kernels that let others start">,
  ];
}

def HoistReciprocals : Pass<"hopper-hoist-reciprocals", "::mlir::ModuleOp"> {
  let summary = "divisions by what the host knows -> multiplications";
  let description = [{
    Unsigned 32-bit divisions and remainders in kernels by integer arithmetic on
    kernel arguments become multiplications by ceil(2^62 / divisor), a new
    argument that every launch computes. A division by a variable is a sequence of
    dependent instructions, and decoding the number of a tile takes several in a
    row. Divisors may be quotients of arguments; the host divides by 1 at least.

    Numbers that are divided are taken to be less than 2^31, as extents and
    numbers of tiles are by the launch contract.

    Example:
    ```mlir
    %q = arith.divui %n, %rows : i32
    // becomes, with %m = ceil(2^62 / %rows) from the host
    %q = (%n * %m) >> 62
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"replaced", "divisions-replaced", "divisions replaced">,
  ];
}

def ShortenFunctions
    : Pass<"hopper-shorten-functions", "::mlir::gpu::GPUFuncOp">, Approximates {
  let summary = "functions of small arguments -> polynomials, by a vote";
  let description = [{
    A function has a cheaper form on a range, which a vote proves all arguments to
    be in. `ShortForm.h` has the functions; tanh is the one that there is.

    tanh and 2^x of every score, as a soft cap asks for, keep the special-function
    unit as busy as products keep the tensor cores. For |z| up to 0.25 tanh(z) is
    z (a + b z^2) with an absolute error of 7.8e-6, that is, of a score
    cap * tanh(score / cap) up to a quarter of the cap with 7.8e-6 of the cap.
    Its relative error is 1.6e-4 at most, that of `tanh.approx.f32` by the PTX ISA
    4.9e-4 (5e-7 was found for such arguments on an H200). Where `tile-scale-operands`
    has made the cubic coefficient of c tanh(k x) -1, x (c a k - x^2) takes a
    multiplication less.

    [Notes](PassNotes.md#hopper-shorten-functions) say more.

    Example:
    ```mlir
    %y = math.tanh %kx : vector<40xf32>            // %kx = %x * k
    %part = hopper.fragment.reduce max %y ...
    %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
    %grown = arith.cmpf ogt, (%max * c - %old), %threshold : vector<2xf32>
    %new = arith.select %grown, %max * c, %old : vector<2xi1>, vector<2xf32>
    %p = math.exp2 (%y * c - %new) : vector<40xf32>
    // becomes
    %waits = hopper.vote.any %negative : vector<1xi1>
    %size = hopper.warp_if_else %waits : vector<1xi32> {
      hopper.yield 2147483647
    } else {
      hopper.yield maximum of |%x| as bits
    }
    %large = arith.cmpi sge, %size, %limit : vector<1xi32>
    %any = hopper.vote.any %large
    %grown, %new, %p, %limit', %negative' = hopper.warp_if_else %any : ... {
      ...                                          // as above, and the limit of %new
    } else {
      %r = math.fma (%x * %x), b k^3 c, a k c : vector<40xf32>
      %p = math.exp2 (%x * %r - %old) : vector<40xf32>
      hopper.yield %false, %old, %p, %limit, %negative
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"shortened", "steps-shortened",
              "vectors of functions that became polynomials by a vote">,
  ];
}

def VoteEarly : Pass<"hopper-vote-early", "::mlir::gpu::GPUFuncOp"> {
  let summary = "votes on maxima across lanes -> votes on what each lane has";
  let description = [{
    A branch that warps take if a maximum which lanes find together (`lane.reduce
    max`) fulfils a condition waits for the exchange between lanes, and so does
    all else that the condition decides. A maximum is one of the numbers it is
    of, so if the condition holds of it, it holds of some lane's part. The pass
    lets lanes vote on their parts, and moves the maximum, the condition and what
    is chosen by it into a branch (`warp_if`) that is taken after such a vote;
    elsewhere the condition is false and the choice is what it is otherwise. The
    branches that hung on the old vote hang on the new one if they give what they
    give otherwise for all elements for which the condition is false.

    So a reference that is seldom replaced is known before the maximum is: with
    lazy rescaling, exponentials need not wait for it.

    Where the parts are maxima of floats and the condition compares them with a
    limit that is a function of what a loop carries, the maxima are those of
    their bits as signed integers: ptxas makes one instruction of two (VIMNMX3).
    They order floats of which one is positive; with a limit below 0, or a factor
    that is, the branch is always taken. The limit is computed in the branch and
    carried from there. It is a 64th of the threshold lower than asked, more than
    rounding makes of it; in the branch the condition itself decides.

    Fails if the option is none of these.

    [Notes](PassNotes.md#hopper-vote-early) say more.

    Example, `early-votes=floats`:
    ```mlir
    %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
    %grown = arith.cmpf ogt, %max, %old : vector<2xf32>
    %new = arith.select %grown, %max, %old : vector<2xi1>, vector<2xf32>
    %any = hopper.vote.any %grown : vector<2xi1>
    // becomes
    %some = arith.cmpf ogt, %part, %old : vector<2xf32>
    %any = hopper.vote.any %some : vector<2xi1>
    %grown, %new = hopper.warp_if %any else %false, %old : vector<2xi1>, vector<2xf32> {
      %max = hopper.lane.reduce max %part over [0, 1] : vector<2xf32>
      ...
    }
    ```
  }];
  let options = [Option_EarlyVotes];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"rewritten", "votes-moved", "votes on maxima across lanes that "
              "became votes on their parts">,
  ];
}

def InsertRecords : Pass<"hopper-insert-records", "::mlir::ModuleOp"> {
  let summary = "complete kernels -> the same, writing down when things happen";
  let description = [{
    Inserts `hopper.record` at the borders of stages of every group: its begin
    and end, waits for mbarriers, arrivals, copies, issue of products and waits
    for them, barriers of threads, stores. The records of the first `ctas` CTAs
    go to an array that becomes the last argument of the host function, of
    `ctas` x groups x `capacity` i64; its attribute `hopper.records` says what
    each event means. Entries that were not written keep what the host put there.

    Input: kernels at the end of `fa3-hopper`, each launched once by a host
    function that nobody calls. Output: the same with records; a kernel without
    groups is left alone, with a remark. Fails on `scf.while`.

    Example:
    ```mlir
    hopper.barrier.wait %full[%i] parity %p : !hopper.barrier<2, 1>
    // becomes
    %1 = hopper.record 4 at %0 in %records capacity 1024
    hopper.barrier.wait %full[%i] parity %p : !hopper.barrier<2, 1>
    %2 = hopper.record 5 at %1 in %records capacity 1024
    ```
  }];
  let options = [
    Option<"ctas", "ctas", "int64_t", "1", "CTAs whose events are recorded">,
    Option<"capacity", "capacity", "int64_t", "4096",
           "events per group and CTA, a power of two; later ones are dropped">,
  ];
  let statistics = [
    Statistic<"numRecords", "num-records", "records inserted">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def CheckProtocol : Pass<"hopper-check-protocol", "::mlir::ModuleOp"> {
  let summary = "complete kernels -> the same, proven free of deadlocks and races";
  let description = [{
    Proves of every kernel with groups, for all trip counts:

    1. *Barriers*: mbarriers are initialized before the groups; their arrivals
       are those of the parties; no phase is waited for with the wrong parity,
       completed twice before a waiter has seen it, or collects two arrivals of
       one party; named barriers have an id of their own and the threads that
       use them.
    2. *Bytes*: copies bring the bytes that their phase expects.
    3. *Progress*: no relative state of the groups has all of them waiting.
    4. *Order*: conflicting accesses to shared memory are ordered by arrivals,
       waits, named barriers and waits for products or stores, with a proxy
       fence where writes of threads are followed by it, and a fence where
       their reads are; buffers that share bytes included. Nothing is in flight
       when a group ends.
    5. *Registers*: products are fenced; no operation uses or overwrites the
       registers of a product in flight; every wait covers the groups and
       fragments it names; the registers of all warp groups fit the block.

    Input: kernels with waits, fences, registers and, if they are to be checked,
    offsets of shared memory. Output: unchanged. Fails with an error at the
    operation and notes that say what is not ordered, who waits for what since
    where, and how many iterations each group has begun. docs/Protocol.md says
    what the proof rests on.

    Example of an error:
    ```
    error: 'hopper.tma.load' op writes to slot 0 of a buffer that @math replica 0 may still read
    note: nothing orders this access before it
    ```
  }];
  let options = [
    Option<"happensBefore", "happens-before", "std::string", "",
           "file for a drawing (SVG) of what orders one iteration of the longest "
           "loop with products of the first kernel">,
    Option<"mostStates", "most-states", "unsigned", "50000",
           "relative states after which a part of a kernel, or all of it, counts "
           "as not proven">,
  ];
  let statistics = [
    Statistic<"numStates", "num-states", "relative states explored">,
  ];
}

#endif // FA3_HOPPER_PASSES
