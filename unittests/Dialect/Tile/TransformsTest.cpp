//===- TransformsTest.cpp - mechanisms of passes as functions -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A function, called where a pass would call it, does what the pass does; and
// does it to that place only.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Tile/Transforms/Transforms.h"
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static constexpr StringLiteral kForward = R"mlir(
  func.func @f(%q: tensor<?x2x?x64xf16>, %k: tensor<?x2x?x64xf16>,
               %v: tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16> {
    %o = attention.forward %q, %k, %v mods [#attention.causal]
      : (tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
        -> tensor<?x2x?x64xf16>
    return %o : tensor<?x2x?x64xf16>
  })mlir";
/// What attention-to-tile needs, and that itself.
static constexpr StringLiteral kToTile =
    "attention-expand-mods,attention-to-tile,canonicalize,cse";

namespace {
struct TransformsTest : testing::Test {
  TransformsTest() {
    static bool isRegistered =
        (fa3::registerAllPasses(), registerTransformsPasses(), true);
    (void)isRegistered;
    DialectRegistry registry;
    fa3::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The module after some passes.
  OwningOpRef<ModuleOp> run(StringRef text, const Twine &passes) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    PassManager pm(&context);
    EXPECT_TRUE(succeeded(parsePassPipeline(passes.str(), pm)));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return module;
  }

  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  template <typename Op>
  static SmallVector<Op> collect(ModuleOp module) {
    SmallVector<Op> ops;
    module.walk([&](Op op) { ops.push_back(op); });
    return ops;
  }

  /// Compares with what `passes` make of the same text.
  void expect(ModuleOp module, StringRef text, const Twine &passes) {
    ASSERT_TRUE(succeeded(verify(module)));
    EXPECT_EQ(print(module), print(*run(text, passes)));
  }

  MLIRContext context;
};
} // namespace

TEST_F(TransformsTest, MapGrid) {
  auto module = run(kForward, kToTile);
  auto launches = collect<LaunchOp>(*module);
  MapGridOptions options;
  options.mode = options::Mode::Static;
  auto kernels = collect<gpu::GPUFuncOp>(*module);
  ASSERT_EQ(kernels.size(), 1u);
  FailureOr<std::optional<GridMapping>> mapping =
      mapGrid(kernels.front(), launches, options);
  ASSERT_TRUE(succeeded(mapping) && *mapping);
  EXPECT_TRUE((*mapping)->isPersistent);
  expect(*module, kForward, kToTile + ",tile-map-grid{mode=static}");
  // There is no second grid to map.
  mapping = mapGrid(kernels.front(), launches, options);
  ASSERT_TRUE(succeeded(mapping));
  EXPECT_FALSE(mapping->has_value());
}

TEST_F(TransformsTest, InsertRing) {
  std::string before = (kToTile + ",tile-map-grid,tile-assign-roles").str();
  auto module = run(kForward, before);
  gpu::GPUFuncOp kernel = collect<gpu::GPUFuncOp>(*module).front();
  SmallVector<LoadOp> loads;
  for (LoadOp load : collect<LoadOp>(*module))
    if (auto role = load->getAttrOfType<StringAttr>(TileDialect::kRoleAttrName);
        role && role == "load")
      loads.push_back(load);
  ASSERT_EQ(loads.size(), 3u);
  ASSERT_TRUE(succeeded(insertRing(kernel, loads.front())));
  EXPECT_EQ(collect<warp::RingOp>(*module).size(), 1u);
  for (LoadOp load : ArrayRef(loads).drop_front())
    ASSERT_TRUE(succeeded(insertRing(kernel, load)));
  expect(*module, kForward, before + ",tile-insert-rings");
}

TEST_F(TransformsTest, SplitByPredicate) {
  std::string before =
      (kToTile + ",tile-map-grid,tile-assign-roles,tile-insert-rings,"
                 "canonicalize,cse,tile-specialize,tile-resolve-guards,"
                 "canonicalize,cse")
          .str();
  auto module = run(kForward, before);
  auto loops = collect<scf::ForOp>(*module);
  int64_t split = 0;
  for (scf::ForOp loop : loops)
    split += splitByPredicate(loop, options::Edges::Apart);
  // That of the products: the one of copies has no mask.
  EXPECT_EQ(split, 1);
  EXPECT_GT(collect<scf::ForOp>(*module).size(), loops.size());
  expect(*module, kForward, before + ",tile-split-by-predicate");
}

TEST_F(TransformsTest, PipelineLoop) {
  std::string before =
      (kToTile + ",tile-map-grid,tile-assign-roles,tile-insert-rings,"
                 "canonicalize,cse,tile-specialize,canonicalize,cse,"
                 "tile-make-async,canonicalize,tile-schedule{stages=2}")
          .str();
  auto module = run(kForward, before);
  int64_t pipelined = 0;
  for (scf::ForOp loop : collect<scf::ForOp>(*module)) {
    bool isScheduled = llvm::any_of(*loop.getBody(), [](Operation &op) {
      return op.hasAttr(TileDialect::kSlottingAttrName);
    });
    if (!isScheduled)
      continue;
    ASSERT_TRUE(succeeded(pipelineLoop(loop)));
    ++pipelined;
  }
  EXPECT_EQ(pipelined, 1);
  expect(*module, kForward, before + ",tile-pipeline");
}

/// A product whose right operand is computed, which the tensor core takes from
/// shared memory only.
TEST_F(TransformsTest, ExchangeOperand) {
  constexpr StringLiteral kText = R"mlir(
    gpu.module @m {
      gpu.func @k(%x: memref<64x64xf16>, %y: memref<64x64xf32>) kernel {
        %c0 = arith.constant 0 : index
        %a = tile.load %x[%c0, %c0] : memref<64x64xf16> -> tensor<64x64xf16>
        %b = arith.addf %a, %a : tensor<64x64xf16>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %d = tile.dot %a, %b, %zero lhs mk rhs kn
          : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
        tile.store %d, %y[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
        gpu.return
      }
    })mlir";
  auto module = run(kText, "canonicalize");
  gpu::GPUFuncOp kernel = collect<gpu::GPUFuncOp>(*module).front();
  DotOp dot = collect<DotOp>(*module).front();
  Value tile = dot.getRhs();
  ASSERT_TRUE(succeeded(exchangeOperand(kernel, &dot.getRhsMutable())));
  EXPECT_TRUE(isa<ViewType>(dot.getRhs().getType()));
  EXPECT_TRUE(isa<RankedTensorType>(dot.getLhs().getType()));
  auto writes = collect<WriteOp>(*module);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes.front()->getOperand(0), tile);
  expect(*module, kText, "canonicalize,tile-exchange-operands");
}
