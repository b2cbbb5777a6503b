//===- BuilderTest.cpp - attention.forward built from C++ -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a compiler that emits attention.forward writes must be what a user would
// have written in text.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/InitAllDialects.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
struct BuilderTest : testing::Test {
  BuilderTest() {
    DialectRegistry registry;
    fa3::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A function with an argument per type and an empty body.
  func::FuncOp createFunction(ArrayRef<Type> types) {
    OpBuilder builder(&context);
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "f",
                                         builder.getFunctionType(types, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    func::ReturnOp::create(builder, builder.getUnknownLoc());
    return function;
  }

  /// Verifies the module and compares it with one given as text.
  void expectModule(StringRef text) {
    ASSERT_TRUE(succeeded(verify(*module)));
    auto expected = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(expected);
    EXPECT_TRUE(OperationEquivalence::isEquivalentTo(
        *module, *expected, OperationEquivalence::IgnoreLocations));
  }

  Type tensor(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  const int64_t dynamic = ShapedType::kDynamic;
};
} // namespace

TEST_F(BuilderTest, InfersResults) {
  Builder types(&context);
  Type q = tensor({2, dynamic, 8, 64}, types.getF16Type());
  Type k = tensor({2, dynamic, 2, 64}, types.getF16Type());
  Type v = tensor({2, dynamic, 2, 32}, types.getF16Type());
  func::FuncOp f = createFunction({q, k, v});
  OpBuilder b(f.getBody().front().getTerminator());
  ForwardOp::create(b, f.getLoc(), f.getArgument(0), f.getArgument(1),
                    f.getArgument(2), {CausalAttr::get(&context)}, {}, {},
                    Layout::bshd);
  ForwardOp::create(b, f.getLoc(), f.getArgument(0), f.getArgument(1),
                    f.getArgument(2), {}, {}, {}, Layout::bshd,
                    /*withLse=*/false);
  expectModule(R"mlir(
    func.func @f(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x32xf16>) {
      %o:2 = attention.forward %q, %k, %v layout bshd mods [#attention.causal]
        : (tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>) -> (tensor<2x?x8x32xf16>, tensor<2x8x?xf32>)
      %p = attention.forward %q, %k, %v layout bshd
        : (tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16>) -> tensor<2x?x8x32xf16>
      return
    })mlir");
}

TEST_F(BuilderTest, TakesAllOperandsAndMods) {
  Builder types(&context);
  Type t = tensor({1, 2, dynamic, 64}, types.getBF16Type());
  Type slopes = tensor({2}, types.getF32Type());
  func::FuncOp f = createFunction({t, slopes, types.getF32Type()});
  OpBuilder b(f.getBody().front().getTerminator());
  Value x = f.getArgument(0);
  ForwardOp::create(b, f.getLoc(), x, x, x,
                    {SoftcapAttr::get(&context, 30.0),
                     AlibiAttr::get(&context, 0),
                     WindowAttr::get(&context, 128, std::nullopt),
                     PrefixAttr::get(&context, 16)},
                    f.getArgument(1), f.getArgument(2));
  expectModule(R"mlir(
    func.func @f(%x: tensor<1x2x?x64xbf16>, %slopes: tensor<2xf32>, %scale: f32) {
      %o:2 = attention.forward %x, %x, %x aux(%slopes : tensor<2xf32>) scale %scale
        mods [#attention.softcap<30.0>, #attention.alibi<aux = 0>, #attention.window<left = 128>, #attention.prefix<16>]
        : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) -> (tensor<1x2x?x64xbf16>, tensor<1x2x?xf32>)
      return
    })mlir");
}

TEST_F(BuilderTest, RegionsFromCallbacks) {
  Builder types(&context);
  Type t = tensor({1, 2, dynamic, 64}, types.getBF16Type());
  func::FuncOp f = createFunction({t});
  OpBuilder b(f.getBody().front().getTerminator());
  Value x = f.getArgument(0);
  auto op =
      ForwardOp::create(b, f.getLoc(), x, x, x, {CausalAttr::get(&context)}, {},
                        {}, Layout::bhsd, /*withLse=*/false);
  auto twice = [](ImplicitLocOpBuilder &b, const ModContext &, Value score) {
    return arith::AddFOp::create(b, score, score).getResult();
  };
  auto square = [](ImplicitLocOpBuilder &b, const ModContext &, Value score) {
    return arith::MulFOp::create(b, score, score).getResult();
  };
  op.prependScoreMod([](ImplicitLocOpBuilder &, const ModContext &,
                        Value score) { return score; });
  EXPECT_TRUE(op.getScoreMod().empty());
  op.prependScoreMod(square);
  op.prependScoreMod(twice); // in front of the square
  op.prependMaskMod([](ImplicitLocOpBuilder &b, const ModContext &context) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, context.key,
                                 context.head)
        .getResult();
  });
  expandMods(op);
  expectModule(R"mlir(
    func.func @f(%x: tensor<1x2x?x64xbf16>) {
      %o = attention.forward %x, %x, %x
        : (tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16>
        score_mod (%s, %b, %h, %i, %j) {
          %two = arith.addf %s, %s : f32
          %square = arith.mulf %two, %two : f32
          attention.yield %square : f32
        }
        mask_mod (%b, %h, %i, %j) {
          %sk = attention.length key
          %sq = attention.length query
          %offset = arith.subi %sk, %sq : index
          %last = arith.addi %i, %offset : index
          %causal = arith.cmpi sle, %j, %last : index
          %own = arith.cmpi sge, %j, %h : index
          %keep = arith.andi %causal, %own : i1
          attention.yield %keep : i1
        }
      return
    })mlir");
}
