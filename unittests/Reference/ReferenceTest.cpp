//===- ReferenceTest.cpp - the reference against plain loops --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every feature of attention.forward against the formula written as C++ loops.
//===----------------------------------------------------------------------===//

#include "ReferenceFixture.h"
#include <cmath>

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, Full) { check(Problem()); }

TEST_P(ReferenceTest, GroupedHeads) {
  Problem p;
  p.heads = 8;
  check(p); // 4 query heads share one
  p.keyHeads = 1;
  check(p); // all do
}

TEST_P(ReferenceTest, UnequalHeadDims) {
  Problem p;
  p.valueHeadDim = 40;
  check(p);
}

TEST_P(ReferenceTest, SequenceBeforeHeads) {
  Problem p;
  p.isBshd = true;
  p.heads = 4;
  p.valueHeadDim = 24;
  check(p);
}

TEST_P(ReferenceTest, NoKeys) {
  Problem p;
  p.keys = 0;
  check(p);
}

TEST_P(ReferenceTest, NothingToDo) {
  Problem p;
  p.queries = 0;
  check(p);
  p.queries = 7;
  p.batch = 0;
  check(p);
}

TEST_P(ReferenceTest, ScaleArgument) {
  Problem p;
  p.scale = 0.75;
  p.clauses = "scale %scale";
  p.parameters = ", %scale: f32";
  p.extra.emplace_back(f32, 0.75);
  check(p);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, Causal) {
  Problem p;
  p.clauses = "mods [#attention.causal]";
  p.keep = [](int64_t i, int64_t j) { return j <= i + 2; };
  check(p);
  // More queries than keys: the first see nothing.
  p.queries = 9;
  p.keys = 5;
  p.keep = [](int64_t i, int64_t j) { return j <= i - 4; };
  check(p);
}

TEST_P(ReferenceTest, Window) {
  Problem p;
  p.clauses = "mods [#attention.window<left = 2, right = 1>]";
  p.keep = [](int64_t i, int64_t j) { return i <= j && j <= i + 3; };
  check(p);
  p.clauses = "mods [#attention.window<left = 2>]";
  p.keep = [](int64_t i, int64_t j) { return i <= j; };
  check(p);
  p.clauses = "mods [#attention.window<right = 0>]";
  p.keep = [](int64_t i, int64_t j) { return j <= i + 2; };
  check(p);
}

TEST_P(ReferenceTest, Prefix) {
  Problem p;
  p.keys = 7;
  p.clauses = "mods [#attention.prefix<3>]";
  p.keep = [](int64_t i, int64_t j) { return j < 3 || j <= i; };
  check(p);
}

TEST_P(ReferenceTest, KeepRegionWithCapture) {
  Problem p;
  p.parameters = ", %limit: index";
  p.extra.emplace_back(IndexType::get(&context), int64_t(4));
  p.clauses = "mods [#attention.causal]";
  p.regions = R"(
    mask_mod (%b, %h, %i, %j) {
      %keep = arith.cmpi slt, %j, %limit : index
      attention.yield %keep : i1
    })";
  p.keep = [](int64_t i, int64_t j) { return j <= i + 2 && j < 4; };
  check(p);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, Softcap) {
  Problem p;
  p.scale = 2;
  p.clauses = "scale %scale mods [#attention.softcap<4.0>]";
  p.parameters = ", %scale: f32";
  p.extra.emplace_back(f32, 2.0);
  p.score = [](double s, int64_t, int64_t, int64_t, int64_t) {
    return 4 * std::tanh(s / 4);
  };
  check(p);
}

TEST_P(ReferenceTest, Alibi) {
  Problem p;
  p.heads = 4;
  HostTensor slopes(f32, {4});
  slopes.setValues({0.5f, 0.25f, 0.125f, 0.0625f});
  p.clauses = "aux(%slopes : tensor<?xf32>) "
              "mods [#attention.alibi<aux = 0>, #attention.causal]";
  p.parameters = ", %slopes: tensor<?xf32>";
  p.extra.emplace_back(slopes);
  p.score = [](double s, int64_t, int64_t h, int64_t i, int64_t j) {
    return s - std::exp2(-1 - h) * std::abs(static_cast<double>(i + 2 - j));
  };
  p.keep = [](int64_t i, int64_t j) { return j <= i + 2; };
  check(p);
}

TEST_P(ReferenceTest, Bias) {
  Problem p;
  auto setUp = [&](HostTensor &bias, const std::string &type, auto read) {
    bias.fillNormal(4);
    p.clauses = "aux(%bias : " + type + ") mods [#attention.bias<aux = 0>]";
    p.parameters = ", %bias: " + type;
    p.extra.assign(1, bias);
    p.score = [&bias, read](double s, int64_t b, int64_t h, int64_t i,
                            int64_t j) { return s + read(bias, b, h, i, j); };
  };
  HostTensor whole(element, {2, 2, 7, 9});
  setUp(whole, std::string("tensor<?x?x?x?x") + GetParam() + ">",
        [](HostTensor &x, int64_t b, int64_t h, int64_t i, int64_t j) {
          return x.get({b, h, i, j});
        });
  check(p);
  HostTensor shared(f32, {1, 2, 1, 9});
  setUp(shared, "tensor<1x?x1x9xf32>",
        [](HostTensor &x, int64_t, int64_t h, int64_t, int64_t j) {
          return x.get({0, h, 0, j});
        });
  check(p);
  // A dynamic dimension repeated by its stride.
  HostTensor repeated(f32, {2, 2, 7, 9}, {0, 9, 0, 1});
  setUp(repeated, "tensor<?x?x?x?xf32>",
        [](HostTensor &x, int64_t b, int64_t h, int64_t i, int64_t j) {
          return x.get({b, h, i, j});
        });
  check(p);
}

TEST_P(ReferenceTest, ModsInOrderThenRegion) {
  Problem p;
  HostTensor slopes(f32, {2});
  slopes.setValues({0.5f, 0.25f});
  p.clauses = "aux(%slopes : tensor<?xf32>) "
              "mods [#attention.softcap<1.0>, #attention.alibi<aux = 0>]";
  p.parameters = ", %slopes: tensor<?xf32>";
  p.extra.emplace_back(slopes);
  p.regions = R"(
    score_mod (%s, %b, %h, %i, %j) {
      %square = arith.mulf %s, %s : f32
      attention.yield %square : f32
    })";
  p.score = [](double s, int64_t, int64_t h, int64_t i, int64_t j) {
    double edited = std::tanh(s) - std::exp2(-1 - h) *
                                       std::abs(static_cast<double>(i + 2 - j));
    return edited * edited;
  };
  check(p);
}

INSTANTIATE_TEST_SUITE_P(Types, ReferenceTest, testing::Values("f16", "bf16"),
                         [](const auto &info) { return info.param; });
