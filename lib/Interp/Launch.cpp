//===- Launch.cpp - kernels over their grid -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Core/Elementwise.h"
#include "Core/Engine.h"
#include "Hopper/Clock.h"
#include "Hopper/Machine.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

struct LaunchExtra : Extra {
  Operation *kernel = nullptr;
  int64_t threads = 1, smem = 0;
  bool onMachine = false, hasBlocks = false;
};

/// The kernel body as a group of its own, and everything it starts.
LogicalResult runBlock(Context &host, Cta &cta, const Function &kernel,
                       const LaunchExtra &launch, std::vector<Cell> &cells) {
  cta.groups.clear();
  cta.groups.push_back(std::make_unique<Group>());
  Group &body = *cta.groups.front();
  body.name = "the kernel body";
  body.threads = launch.threads;
  body.firstWarp = 0;
  Context context{host.engine, cells.data(), &cta, &body};
  cta.machine.reset();
  cta.clock.reset();
  if (launch.onMachine) {
    cta.machine = std::make_shared<Machine>(host.engine, cta, launch.smem);
    if (failed(cta.machine->layOut(launch.kernel)))
      return failure();
    const Options &options = host.engine.getOptions();
    if (options.timed) {
      BlockTimeline *timeline = nullptr;
      if (options.timelines)
        timeline = &options.timelines->emplace_back();
      cta.clock = std::make_shared<Clock>(timeline);
    }
    if (options.exploreStates) {
      cta.protocol = std::make_unique<Protocol>();
      cta.protocol->agents.push_back({body.name, {}});
    }
  }
  cta.scheduler.spawn(body.name, [&]() -> LogicalResult {
    if (failed(runCode(context, kernel.body)))
      return failure();
    return cta.machine ? cta.machine->finishGroup(context) : success();
  });
  bool random =
      cta.machine && host.engine.getOptions().completion == Completion::Random;
  if (failed(cta.scheduler.run([&] {
        if (random)
          cta.machine->completeRandom();
      })))
    return failure();
  if (cta.machine && failed(cta.machine->finish(context)))
    return failure();
  return cta.protocol ? host.engine.exploreBlock(cta) : success();
}

LogicalResult runLaunch(Context &c, const Instr &in) {
  const auto &launch = in.get<LaunchExtra>();
  CodeOptions codeOptions;
  codeOptions.threads = launch.threads;
  const Options &options = c.engine.getOptions();
  if (launch.onMachine) {
    codeOptions.indexFormat = Format::I32;
    codeOptions.timed = options.timed;
  }
  const Function *kernel = c.engine.getFunction(launch.kernel, codeOptions);
  if (!kernel)
    return failure();
  ArrayRef<CellId> arguments = in.in;
  int64_t blocks = 1;
  if (launch.hasBlocks) {
    blocks = c.integer(arguments.front());
    arguments = arguments.drop_front();
    if (blocks < 0)
      return c.error(in) << "launches " << blocks << " blocks";
  }
  if (kernel->body.arguments.size() != arguments.size())
    return c.error(in) << "launches a kernel with memory attributions, which "
                          "the interpreter does not know";
  Cta cta(options.scheduleSeed, options.timed);
  cta.kernel = launch.kernel;
  cta.blocks = blocks;
  cta.threads = launch.threads;
  std::vector<Cell> cells(kernel->numCells);
  int64_t last = blocks;
  if (options.timed && options.timedBlocks)
    last = std::min(last, options.timedBlocks);
  for (cta.block = 0; cta.block < last; ++cta.block) {
    for (auto [to, from] : llvm::zip(kernel->body.arguments, arguments))
      cells[to] = c.cells[from];
    if (failed(runBlock(c, cta, *kernel, launch, cells)))
      return failure();
  }
  return success();
}

template <typename OpType>
FailureOr<LaunchExtra *> makeLaunch(Decoder &d, OpType op) {
  if (op->template getParentOfType<gpu::GPUFuncOp>()) {
    op.emitError("'") << op->getName() << "' cannot be run in a kernel";
    return failure();
  }
  auto *extra = d.makeExtra<LaunchExtra>();
  extra->kernel = SymbolTable::lookupNearestSymbolFrom(op, op.getKernelAttr());
  if (!isa_and_nonnull<gpu::GPUFuncOp>(extra->kernel)) {
    op.emitError("launches ")
        << op.getKernelAttr()
        << ", which is no gpu.func; lowered kernels cannot be run";
    return failure();
  }
  return extra;
}

LogicalResult decodeTileLaunch(Decoder &d, tile::LaunchOp op) {
  auto extra = makeLaunch(d, op);
  if (failed(extra))
    return failure();
  SmallVector<CellId> in;
  if (op.getBlocks()) {
    (*extra)->hasBlocks = true;
    in.push_back(d.cell(op.getBlocks()));
  }
  for (Value argument : op.getKernelArgs())
    in.push_back(d.cell(argument));
  d.emit(op, runLaunch, in, {}, *extra);
  return success();
}

LogicalResult decodeHopperLaunch(Decoder &d, hopper::LaunchOp op) {
  auto extra = makeLaunch(d, op);
  if (failed(extra))
    return failure();
  (*extra)->hasBlocks = (*extra)->onMachine = true;
  (*extra)->threads = op.getThreads();
  (*extra)->smem = op.getSmem();
  SmallVector<CellId> in = {d.cell(op.getBlocks())};
  for (Value argument : op.getKernelArgs())
    in.push_back(d.cell(argument));
  d.emit(op, runLaunch, in, {}, *extra);
  return success();
}

//===----------------------------------------------------------------------===//
// tile.grid and indices
//===----------------------------------------------------------------------===//

struct GridExtra : Extra {
  Code body;
};

LogicalResult runGrid(Context &c, const Instr &in) {
  const Code &body = in.get<GridExtra>().body;
  SmallVector<int64_t> bounds = c.integers(in.in);
  SmallVector<int64_t> point(bounds.size(), 0);
  for (int64_t bound : bounds)
    if (bound <= 0)
      return success();
  while (true) {
    for (auto [id, index] : llvm::zip_equal(body.arguments, point))
      c.cells[id].i = index;
    if (failed(runCode(c, body)))
      return failure();
    // The first index runs fastest.
    size_t dim = 0;
    while (dim < point.size() && ++point[dim] == bounds[dim])
      point[dim++] = 0;
    if (dim == point.size())
      return success();
  }
}

LogicalResult decodeGrid(Decoder &d, tile::GridOp op) {
  auto *extra = d.makeExtra<GridExtra>();
  if (failed(d.decodeRegion(op.getBody(), extra->body)))
    return failure();
  d.emit(op, runGrid, extra);
  return success();
}

LogicalResult runSmCount(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.engine.getOptions().sms;
  return success();
}

LogicalResult runBlockId(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.cta->block;
  return success();
}
LogicalResult runGridDim(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.cta->blocks;
  return success();
}
LogicalResult runBlockDim(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = c.cta->threads;
  return success();
}
template <int64_t value>
LogicalResult runFixed(Context &c, const Instr &in) {
  c.cells[in.out[0]].i = value;
  return success();
}

/// Grids and blocks have one dimension.
template <typename OpType>
void addIndex(Registry &registry, Handler inX, Handler otherwise) {
  registry.add<OpType>([=](Decoder &d, OpType op) {
    d.emit(op, op.getDimension() == gpu::Dimension::x ? inX : otherwise);
    return success();
  });
}

LogicalResult runThreadId(Context &c, const Instr &in) {
  if (!c.group->firstWarp)
    return c.error(in) << "'gpu.thread_id' in a group that is not placed on "
                          "warps yet";
  int64_t threads = c.group->threads;
  Buffer &out = c.makeBuffer(in.out[0], Lane::I64, threads);
  for (int64_t i = 0; i < threads; ++i)
    out.data<int64_t>()[i] = *c.group->firstWarp * kSm90a.threadsPerWarp + i;
  return success();
}

LogicalResult decodeThreadId(Decoder &d, gpu::ThreadIdOp op) {
  if (!d.isVarying(op.getResult()))
    return op.emitError("'gpu.thread_id' has a meaning only in a kernel of a "
                        "'hopper.launch'");
  if (op.getDimension() != gpu::Dimension::x)
    return op.emitError("'gpu.thread_id' expects dimension x, blocks have one "
                        "dimension");
  d.emit(op, runThreadId);
  return success();
}

} // namespace

void fa3::interp::populateLaunch(Registry &r) {
  r.add<tile::LaunchOp>(decodeTileLaunch);
  r.add<hopper::LaunchOp>(decodeHopperLaunch);
  r.add<tile::GridOp>(decodeGrid);
  r.addPlain<tile::SmCountOp>(runSmCount);
  r.addPlain<hopper::SmCountOp>(runSmCount);
  addIndex<gpu::BlockIdOp>(r, runBlockId, runFixed<0>);
  addIndex<gpu::GridDimOp>(r, runGridDim, runFixed<1>);
  addIndex<gpu::BlockDimOp>(r, runBlockDim, runFixed<1>);
  r.add<gpu::ThreadIdOp>(decodeThreadId);
}
