//===- OperandsTest.cpp - operands of attention by role -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operand and result of an operation has the role that its name in ODS
// says; values by role come in the order of Operands.def.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/InitAllDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa3::attention;

namespace {
struct OperandsTest : testing::Test {
  OperandsTest() {
    DialectRegistry registry;
    fa3::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  template <typename Op>
  Op parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    Op found;
    module->walk([&](Op op) { found = op; });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(OperandsTest, Forward) {
  auto op = parse<ForwardOp>(R"mlir(
    func.func @f(%q: tensor<1x2x8x64xf16>, %k: tensor<1x2x8x64xf16>,
                 %qv: tensor<1x2x8x32xf16>, %v: tensor<1x2x8x32xf16>,
                 %bias: tensor<2xf32>, %scale: f32, %sinks: tensor<2xf32>,
                 %o: tensor<1x2x8x32xf16>, %lse: tensor<1x2x8xf32>)
        -> (tensor<1x2x8x32xf16>, tensor<1x2x8xf32>) {
      %out:2 = attention.forward %q, %k, %v qv(%qv : tensor<1x2x8x32xf16>)
          aux(%bias : tensor<2xf32>) scale %scale sinks(%sinks : tensor<2xf32>)
          previous(%o, %lse : tensor<1x2x8x32xf16>, tensor<1x2x8xf32>)
        : (tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x32xf16>)
          -> (tensor<1x2x8x32xf16>, tensor<1x2x8xf32>)
        score_mod (%s, %b, %h, %i, %j) {
          %x = tensor.extract %bias[%h] : tensor<2xf32>
          %y = arith.addf %s, %x : f32
          attention.yield %y : f32
        }
      return %out#0, %out#1 : tensor<1x2x8x32xf16>, tensor<1x2x8xf32>
    })mlir");
  ASSERT_TRUE(op);
  EXPECT_EQ(op.getRoles(),
            SmallVector<Role>({Role::q, Role::k, Role::v, Role::qv, Role::aux,
                               Role::scale, Role::sinks, Role::previousO,
                               Role::previousLse, Role::o, Role::lse}));
  Operands operands = Operands::get(op);
  EXPECT_EQ(operands.q, op.getQ());
  EXPECT_EQ(operands.qv, op.getQv());
  EXPECT_EQ(operands.scale, op.getScale());
  EXPECT_EQ(operands.sinks, op.getSinks());
  EXPECT_EQ(operands.previousO, op.getPreviousO());
  EXPECT_EQ(operands.previousLse, op.getPreviousLse());
  EXPECT_EQ(operands.o, op.getO());
  EXPECT_EQ(operands.lse, op.getLse());
  ASSERT_EQ(operands.aux.size(), 1u);
  EXPECT_EQ(operands.aux.front(), op.getAux().front());
  EXPECT_FALSE(operands.maxLogits);
  EXPECT_EQ(operands.list(),
            SmallVector<Value>({op.getQ(), op.getK(), op.getV(), op.getQv(),
                                op.getAux().front(), op.getO(), op.getLse(),
                                op.getScale(), op.getSinks(), op.getPreviousO(),
                                op.getPreviousLse()}));
  Operands other = operands.map([&](Value) { return op.getK(); });
  EXPECT_EQ(other.list(), SmallVector<Value>(11, op.getK()));
  EXPECT_FALSE(other.maxQ);
}

TEST_F(OperandsTest, Backward) {
  auto op = parse<BackwardOp>(R"mlir(
    func.func @f(%q: tensor<1x2x8x64xf16>, %lse: tensor<1x2x8xf32>)
        -> (tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>) {
      %g:3 = attention.backward %q, %q, %q, %q, %lse, %q
        : (tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>,
           tensor<1x2x8x64xf16>, tensor<1x2x8xf32>, tensor<1x2x8x64xf16>)
          -> (tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>)
      return %g#0, %g#1, %g#2
        : tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>, tensor<1x2x8x64xf16>
    })mlir");
  ASSERT_TRUE(op);
  Operands operands = Operands::get(op);
  EXPECT_EQ(operands.outGrad, op.getOutGrad());
  EXPECT_EQ(operands.lse, op.getLse());
  EXPECT_EQ(operands.dq, op.getDq());
  EXPECT_EQ(operands.dv, op.getDv());
  EXPECT_FALSE(operands.lseGrad);
  EXPECT_TRUE(operands.auxGrads.empty());
}

/// What host functions, checks, tiles, shards and costs are told of a role.
TEST_F(OperandsTest, Info) {
  EXPECT_EQ(getInfo(Role::previousLse).name, "previous_lse");
  EXPECT_EQ(getInfo(Role::previousLse).columns, Columns::None);
  EXPECT_EQ(getInfo(Role::q).columns, Columns::Terms);
  EXPECT_EQ(getInfo(Role::dk).rows, Rows::Key);
  EXPECT_EQ(getInfo(Role::sinks).rows, Rows::Head);
  EXPECT_EQ(getInfo(Role::aux).rows, Rows::None);
}
