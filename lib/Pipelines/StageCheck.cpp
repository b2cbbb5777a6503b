//===- StageCheck.cpp - stages that come too early ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "StageCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace fa3;

namespace {
class StageCheck : public PassWrapper<StageCheck, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageCheck)

  StageCheck() = default;
  explicit StageCheck(Stage theStage) {
    stage = static_cast<int64_t>(theStage);
  }
  StageCheck(const StageCheck &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "check-stage"; }
  StringRef getDescription() const override {
    return "what a stage takes -> the same, or an error that names the stages "
           "before it";
  }
  void runOnOperation() override;

private:
  /// The error, with the stages that are missing, from `first` on.
  void fail(Operation *op, const Twine &what, Stage first);

  Option<int64_t> stage{*this, "stage",
                        llvm::cl::desc("number of the stage, from fa3-tile on"),
                        llvm::cl::init(1)};
};
} // namespace

static constexpr StringLiteral kStages[] = {
    "fa3-tile", "fa3-specialize", "fa3-pipeline", "fa3-layout", "fa3-hopper"};

void StageCheck::fail(Operation *op, const Twine &what, Stage first) {
  ArrayRef<StringLiteral> missing(kStages);
  size_t begin = static_cast<size_t>(first);
  missing = missing.slice(begin, static_cast<size_t>(stage) - begin);
  InFlightDiagnostic diagnostic = op->emitOpError(what);
  diagnostic.attachNote() << (missing.size() == 1 ? "this stage comes first: "
                                                  : "these stages come first: ")
                          << llvm::join(missing, ", ")
                          << "; fa3-lower-to-nvvm-pipeline runs all of them";
  signalPassFailure();
}

/// Whether a kernel has an operation of the tile dialect, or of that name.
static bool has(gpu::GPUFuncOp kernel, StringRef name) {
  return kernel
      .walk([&](Operation *op) {
        StringRef own = op->getName().getStringRef();
        return own == name || (name == "tile" &&
                               op->getName().getDialectNamespace() == name)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// An operation whose result is a tile without a layout. Constants have none
/// where only products read them.
static Operation *findWithoutLayout(gpu::GPUFuncOp kernel) {
  Operation *found = nullptr;
  kernel.walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return WalkResult::advance();
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && !tensor.getEncoding()) {
        found = op;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return found;
}

void StageCheck::runOnOperation() {
  bool hasKernels = false;
  WalkResult result = getOperation()->walk([&](Operation *op) {
    // Calls stay where the program is.
    if (op->getName().getDialectNamespace() == "attention" &&
        op->getName().getStringRef() != "attention.call" &&
        !op->hasTrait<OpTrait::IsTerminator>()) {
      fail(op, "is no kernel yet", Stage::Tile);
      return WalkResult::interrupt();
    }
    auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
    if (!kernel)
      return WalkResult::advance();
    hasKernels = true;
    auto last = static_cast<Stage>(static_cast<int64_t>(stage));
    if (last == Stage::Specialize || !has(kernel, "tile"))
      return WalkResult::skip();
    if (!has(kernel, "warp.specialize")) {
      fail(kernel, "has no groups of warps (warp.specialize) yet",
           Stage::Specialize);
      return WalkResult::interrupt();
    }
    if (last == Stage::Hopper)
      if (Operation *tile = findWithoutLayout(kernel)) {
        fail(tile, "is a tile without a layout yet", Stage::Layout);
        return WalkResult::interrupt();
      }
    return WalkResult::skip();
  });
  if (!hasKernels && !result.wasInterrupted())
    getOperation().emitWarning("has no kernels (gpu.func): the stage does "
                               "nothing; fa3-tile makes them of attention");
}

std::unique_ptr<Pass> fa3::createStageCheck(Stage stage) {
  return std::make_unique<StageCheck>(stage);
}
