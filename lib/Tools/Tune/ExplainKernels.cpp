//===- ExplainKernels.cpp - kernels of tiles in words ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the passes make of kernels that no cost model knows: their groups, rings
// and products, read off the module at the end of two stages.
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa3;

static OwningOpRef<ModuleOp> lowerTo(Stage stage, ModuleOp module,
                                     const PipelineOptions &options) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  PassManager passes(module.getContext());
  buildPipelineTo(stage, passes, options);
  if (failed(passes.run(*lowered)))
    return nullptr;
  return lowered;
}

/// "64x128xf16", without a layout.
static void printTile(raw_ostream &os, Type type) {
  if (auto view = dyn_cast<tile::ViewType>(type))
    type = view.getTile();
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    for (int64_t extent : tensor.getShape())
      os << extent << 'x';
    type = tensor.getElementType();
  }
  os << type;
}

static void printRing(raw_ostream &os, warp::RingOp op) {
  warp::RingType ring = op.getRing().getType();
  int64_t depth = ring.getDepth();
  os << "    ring of " << depth << (depth == 1 ? " entry of " : " entries of ");
  llvm::interleave(
      ring.getPayload(), os, [&](Type type) { printTile(os, type); }, " and ");
  os << ", " << depth * ring.getEntryBytes() << " bytes\n";
}

/// The products of a group, those of one kind once.
static void printProducts(raw_ostream &os, warp::GroupOp group) {
  SmallVector<std::pair<std::string, int64_t>> products;
  group.walk([&](tile::DotAsyncOp dot) {
    std::string name;
    llvm::raw_string_ostream stream(name);
    printTile(stream, dot.getLhs().getType());
    stream << (dot.getLhsOrder() == tile::LhsOrder::mk ? "" : " turned")
           << " by ";
    printTile(stream, dot.getRhs().getType());
    stream << (dot.getRhsOrder() == tile::RhsOrder::kn ? "" : " turned");
    auto *known = llvm::find_if(
        products, [&](auto &product) { return product.first == name; });
    if (known == products.end())
      products.push_back({name, 1});
    else
      ++known->second;
  });
  for (const auto &[name, count] : products)
    os << "    product " << name << (count == 1 ? "" : ", in several places")
       << '\n';
}

/// What a thread of a group may hold, by the kernel that is launched.
static std::optional<int64_t> getRegisters(gpu::GPUFuncOp kernel,
                                           StringRef name) {
  std::optional<int64_t> registers;
  kernel.walk([&](warp::GroupOp group) {
    if (group.getSymName() == name)
      group.walk(
          [&](hopper::SetMaxRegistersOp op) { registers = op.getRegisters(); });
  });
  return registers;
}

static void printKernel(raw_ostream &os, gpu::GPUFuncOp kernel,
                        ModuleOp lowered) {
  os << "kernel '" << kernel.getName() << "'";
  gpu::GPUFuncOp last;
  lowered.walk([&](gpu::GPUFuncOp other) {
    if (other.getName() == kernel.getName())
      last = other;
  });
  lowered.walk([&](hopper::LaunchOp launch) {
    if (launch.getKernel().getLeafReference() == kernel.getName())
      os << ": " << launch.getThreads() << " threads, " << launch.getSmem()
         << " bytes of shared memory";
  });
  os << '\n';
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto ring = dyn_cast<warp::RingOp>(op))
      printRing(os, ring);
    auto group = dyn_cast<warp::GroupOp>(op);
    if (!group)
      return;
    os << "  @" << group.getSymName() << ": " << group.getWarps()
       << (group.getWarps() == 1 ? " warp" : " warps");
    if (group.getReplicas() > 1)
      os << ", " << group.getReplicas() << " times";
    if (std::optional<int64_t> registers =
            last ? getRegisters(last, group.getSymName()) : std::nullopt)
      os << ", " << *registers << " registers a thread";
    os << '\n';
    printProducts(os, group);
  });
}

LogicalResult fa3::tune::explainKernels(raw_ostream &os, ModuleOp module) {
  PipelineOptions options;
  options.tuningTable = "none";
  OwningOpRef<ModuleOp> laidOut = lowerTo(Stage::Layout, module, options);
  OwningOpRef<ModuleOp> lowered;
  if (laidOut)
    lowered = lowerTo(Stage::Hopper, module, options);
  if (!lowered)
    return failure();
  bool hasKernels = false;
  laidOut->walk([&](gpu::GPUFuncOp kernel) {
    hasKernels = true;
    printKernel(os, kernel, *lowered);
  });
  if (!hasKernels)
    return module.emitError("has neither attention nor kernels (gpu.func)");
  os << "points: fa3-tune --measure MODULE.mlir --dims .. times it with other "
        "options\n";
  return success();
}
