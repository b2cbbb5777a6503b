//===- Pipelines.h - named compositions of passes ---------------*- C++ -*-===//
//
// Each pipeline is a list of passes and nothing else. The whole one, if there
// is a tuning table, is a pass that runs that list with the options it finds.
//
//===----------------------------------------------------------------------===//

#ifndef FA3_PIPELINES_PIPELINES_H
#define FA3_PIPELINES_PIPELINES_H

#include "fa3/Machine/Chip.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace fa3 {

/// Options of the whole pipeline. A value of 0 lets the pass choose.
struct PipelineOptions : public mlir::PassPipelineOptions<PipelineOptions> {
  Option<int64_t> blockM{*this, "block-m",
                         llvm::cl::desc("query rows per CTA (0: choose)"),
                         llvm::cl::init(0)};
  Option<int64_t> blockN{*this, "block-n",
                         llvm::cl::desc("keys per step (0: choose)"),
                         llvm::cl::init(0)};
  Option<std::string> rescale{
      *this, "rescale",
      llvm::cl::desc("when the accumulator is rescaled: lazy, eager, or never, "
                     "for scores with bounds"),
      llvm::cl::init("lazy")};
  Option<double> rescaleThreshold{
      *this, "rescale-threshold",
      llvm::cl::desc("log2 of the growth that lazy rescaling tolerates (-1: 8, "
                     "with 8-bit operands 4)"),
      llvm::cl::init(-1.0)};
  Option<std::string> loads{
      *this, "loads",
      llvm::cl::desc("who loads tiles for score code: bulk copies, threads, or "
                     "auto: bulk where static extents allow it"),
      llvm::cl::init("auto")};
  Option<std::string> twoLevel{
      *this, "two-level-accumulation",
      llvm::cl::desc("add the product of every step to the output in fp32: "
                     "true, false, or auto, for many 8-bit keys"),
      llvm::cl::init("auto")};
  Option<int64_t> twoLevelSteps{
      *this, "two-level-steps",
      llvm::cl::desc("steps whose products are added up before they go to the "
                     "sum in fp32 (0: choose)"),
      llvm::cl::init(0)};
  Option<std::string> packGqa{
      *this, "pack-gqa",
      llvm::cl::desc("the heads of a group as rows of one tile: auto (for few "
                     "queries and masks by query), true or false"),
      llvm::cl::init("auto")};
  Option<std::string> lastBlock{
      *this, "last-block",
      llvm::cl::desc(
          "known keys that do not fill a block: whole, narrow, or "
          "auto (narrow without mask, auxiliary tensors and ping-pong, "
          "if it spares 32 columns behind three whole blocks)"),
      llvm::cl::init("auto")};
  Option<std::string> mode{
      *this, "mode",
      llvm::cl::desc("cta: one CTA per tile; one per SM: static, dynamic; "
                     "auto"),
      llvm::cl::init("auto")};
  Option<std::string> order{
      *this, "order",
      llvm::cl::desc("order of tiles: auto, rows, longest-first or pairs"),
      llvm::cl::init("auto")};
  Option<std::string> heights{
      *this, "heights",
      llvm::cl::desc("whether tiles may have fewer rows than others, for known "
                     "extents: even, auto"),
      llvm::cl::init("auto")};
  Option<int64_t> sms{*this, "sms",
                      llvm::cl::desc("SMs of the device, for heights=auto"),
                      llvm::cl::init(132)};
  Option<int64_t> l2Bytes{
      *this, "l2-bytes",
      llvm::cl::desc("bytes of L2 cache for what tiles of a section share "
                     "(0: no sections)"),
      llvm::cl::init(32 << 20)};
  Option<int64_t> sectionRounds{
      *this, "section-rounds",
      llvm::cl::desc("tiles that a section has for every SM (0: as many "
                     "as l2-bytes holds)"),
      llvm::cl::init(3)};
  Option<int64_t> replicas{
      *this, "replicas",
      llvm::cl::desc("replicas of the math group (0: one per 64 rows)"),
      llvm::cl::init(0)};
  Option<bool> warpSpecialize{
      *this, "warp-specialize",
      llvm::cl::desc("whether copies have warps of their own; else those that "
                     "compute make them"),
      llvm::cl::init(true)};
  Option<std::string> sums{
      *this, "sums",
      llvm::cl::desc("sums of what a product multiplies: auto, exact or "
                     "rounded"),
      llvm::cl::init("auto")};
  Option<std::string> store{*this, "store",
                            llvm::cl::desc("auto, staged, in-place or direct"),
                            llvm::cl::init("auto")};
  Option<int64_t> stages{*this, "stages",
                         llvm::cl::desc("greatest number of pipeline stages"),
                         llvm::cl::init(2)};
  Option<std::string> solver{
      *this, "solver",
      llvm::cl::desc("what finds stages and positions: list, modulo"),
      llvm::cl::init("list")};
  Option<std::string> pingPong{
      *this, "ping-pong",
      llvm::cl::desc(
          "ping-pong: replicas issue their products in turns: on, off"),
      llvm::cl::init("off")};
  Option<std::string> hold{
      *this, "hold",
      llvm::cl::desc("32-byte steps of each row of left operands that loops do "
                     "not change which are held in registers: auto, or a "
                     "number"),
      llvm::cl::init("auto")};
  Option<int64_t> producerRegisters{
      *this, "producer-registers",
      llvm::cl::desc("registers per thread of warp groups that load or "
                     "convert; the others get the rest (0: as many as that "
                     "takes)"),
      llvm::cl::init(0)};
  Option<int64_t> maxDepth{*this, "max-depth",
                           llvm::cl::desc("greatest depth of a ring"),
                           llvm::cl::init(4)};
  Option<int64_t> smemBudget{*this, "smem-budget",
                             llvm::cl::desc("bytes of shared memory for rings"),
                             llvm::cl::init(kSharedMemoryBudget)};
  Option<bool> check{*this, "check",
                     llvm::cl::desc("prove that groups neither deadlock nor "
                                    "race (warp-check, hopper-check-protocol)"),
                     llvm::cl::init(true)};
  Option<std::string> earlyVotes{
      *this, "early-votes",
      llvm::cl::desc(
          "votes on maxima across lanes by what each lane has: auto, "
          "integers, floats or none"),
      llvm::cl::init("auto")};
  Option<bool> shortenTanh{
      *this, "shorten-tanh",
      llvm::cl::desc("tanh by a polynomial in warps all of whose arguments are "
                     "small"),
      llvm::cl::init(true)};
  Option<std::string> scaleOperands{
      *this, "scale-operands",
      llvm::cl::desc("scale an operand of products whose tanh are polynomials, "
                     "which spares one of their multiplications and rounds "
                     "that operand: auto (where sums of rows only divide), "
                     "always or never"),
      llvm::cl::init("auto")};
  Option<double> exponentialShare{
      *this, "exponential-share",
      llvm::cl::desc("share of the exponentials that are polynomials, 0 to "
                     "0.75"),
      llvm::cl::init(0.0)};
  Option<int64_t> exponentialDegree{
      *this, "exponential-degree",
      llvm::cl::desc("degree of these polynomials, 3 to 5"), llvm::cl::init(3)};
  Option<int64_t> record{
      *this, "record",
      llvm::cl::desc("CTAs whose events are recorded (0: none)"),
      llvm::cl::init(0)};
  Option<std::string> barrierWait{
      *this, "barrier-wait",
      llvm::cl::desc("wait for mbarriers in one asm loop or by intrinsic"),
      llvm::cl::init("asm")};
  Option<std::string> wgmmaAsm{
      *this, "wgmma-asm",
      llvm::cl::desc("one asm per instruction or per chain of products"),
      llvm::cl::init("instruction")};
  Option<std::string> llvmPasses{
      *this, "llvm-passes",
      llvm::cl::desc("passes on LLVM IR, as --opt of fa3-translate takes them "
                     "and unless that is given (empty: its default)"),
      llvm::cl::init("")};
  Option<std::string> tuningTable{
      *this, "tuning-table",
      llvm::cl::desc("table of measured options that are set unless given "
                     "(empty: the shipped one; none); of the whole pipeline "
                     "only"),
      llvm::cl::init("")};
};

/// attention on tensors -> sequential tile kernels.
void buildTilePipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// sequential -> specialized, asynchronous groups.
void buildSpecializePipeline(mlir::OpPassManager &pm,
                             const PipelineOptions &options);
/// asynchronous -> software-pipelined.
void buildPipelinePipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);
/// pipelined -> laid out.
void buildLayoutPipeline(mlir::OpPassManager &pm,
                         const PipelineOptions &options);

/// laid out -> hopper kernels with waits, fences, registers and offsets.
void buildHopperPipeline(mlir::OpPassManager &pm,
                         const PipelineOptions &options);
/// laid out -> llvm and nvvm operations.
void buildPTXPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The whole way: attention on tensors, or tile kernels, -> llvm and nvvm
/// operations and the launch contract.
void buildLowerToNVVMPipeline(mlir::OpPassManager &pm,
                              const PipelineOptions &options);

/// Registers the pipelines by name.
void registerPipelines();

} // namespace fa3

#endif // FA3_PIPELINES_PIPELINES_H
