//===- ReferenceTest.cpp - the reference against plain loops --------------===//
//
// Every feature of attention.forward against the formula written as C++ loops.
//
//===----------------------------------------------------------------------===//

#include "fa3/Reference/Reference.h"
#include "fa3/InitAllDialects.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace fa3;

static const double kInf = std::numeric_limits<double>::infinity();

namespace {
/// One attention and what it should compute.
struct Problem {
  int64_t batch = 2, heads = 2, keyHeads = 2, queries = 7, keys = 9;
  int64_t headDim = 16, valueHeadDim = 16;
  bool isBshd = false;
  double scale = 0; ///< 1 / sqrt(headDim) if 0
  /// Clauses of attention.forward between the operands and the types, and its
  /// regions.
  std::string clauses, regions;
  /// Further arguments of the function and their values.
  std::string parameters;
  std::vector<ReferenceArgument> extra;
  /// Meaning of `clauses` and `regions`.
  std::function<double(double s, int64_t b, int64_t h, int64_t i, int64_t j)>
      score;
  std::function<bool(int64_t i, int64_t j)> keep;
};

class ReferenceTest : public testing::TestWithParam<const char *> {
protected:
  ReferenceTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    f32 = Float32Type::get(&context);
    element = GetParam() == std::string("f16")
                  ? FloatType(Float16Type::get(&context))
                  : FloatType(BFloat16Type::get(&context));
  }

  SmallVector<int64_t> shape(const Problem &p, int64_t heads, int64_t length,
                             int64_t dim) {
    if (p.isBshd)
      return {p.batch, length, heads, dim};
    return {p.batch, heads, length, dim};
  }

  std::string getSource(const Problem &p);
  /// Makes random inputs, runs the reference in both forms of its output and
  /// compares with loops in double.
  void check(const Problem &p);
  void computeExpected(const Problem &p, const HostTensor &q,
                       const HostTensor &k, const HostTensor &v,
                       std::vector<double> &o, std::vector<double> &lse);
  std::unique_ptr<Reference> create(StringRef source,
                                    const ReferenceOptions &options = {});
  /// The first error message of `action`, which must fail.
  std::string getError(function_ref<LogicalResult()> action);

  MLIRContext context;
  FloatType f32, element;
};
} // namespace

std::string ReferenceTest::getSource(const Problem &p) {
  auto type = [&](StringRef dims, StringRef elementType) {
    return ("tensor<" + dims + "x" + elementType + ">").str();
  };
  auto dims = [&](int64_t dim) { return "?x?x?x" + std::to_string(dim); };
  std::string q = type(dims(p.headDim), GetParam());
  std::string v = type(dims(p.valueHeadDim), GetParam());
  return "func.func @f(%q: " + q + ", %k: " + q + ", %v: " + v + p.parameters +
         ") -> (" + v + ", tensor<?x?x?xf32>) {\n" +
         "  %o, %lse = attention.forward %q, %k, %v " + p.clauses +
         (p.isBshd ? " layout bshd" : "") + " : (" + q + ", " + q + ", " + v +
         ") -> (" + v + ", tensor<?x?x?xf32>)\n" + p.regions +
         "\n  return %o, %lse : " + v + ", tensor<?x?x?xf32>\n}\n";
}

std::unique_ptr<Reference>
ReferenceTest::create(StringRef source, const ReferenceOptions &options) {
  auto module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return nullptr;
  auto reference = Reference::create(*module, "f", options);
  return failed(reference) ? nullptr : std::move(*reference);
}

std::string ReferenceTest::getError(function_ref<LogicalResult()> action) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(action()));
  return message;
}

void ReferenceTest::computeExpected(const Problem &p, const HostTensor &q,
                                    const HostTensor &k, const HostTensor &v,
                                    std::vector<double> &o,
                                    std::vector<double> &lse) {
  auto at = [&](const HostTensor &x, int64_t b, int64_t h, int64_t s,
                int64_t c) -> double {
    return p.isBshd ? x.get({b, s, h, c}) : x.get({b, h, s, c});
  };
  double scale =
      p.scale ? p.scale : 1 / std::sqrt(static_cast<double>(p.headDim));
  std::vector<double> s(p.keys);
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h)
      for (int64_t i = 0; i < p.queries; ++i) {
        int64_t hk = h / (p.heads / p.keyHeads);
        double max = -kInf, sum = 0;
        for (int64_t j = 0; j < p.keys; ++j) {
          double dot = 0;
          for (int64_t c = 0; c < p.headDim; ++c)
            dot += at(q, b, h, i, c) * at(k, b, hk, j, c);
          s[j] = dot * scale;
          if (p.score)
            s[j] = p.score(s[j], b, h, i, j);
          if (p.keep && !p.keep(i, j))
            s[j] = -kInf;
          max = std::max(max, s[j]);
        }
        for (int64_t j = 0; j < p.keys; ++j)
          sum += s[j] == -kInf ? 0 : std::exp(s[j] - max);
        lse.push_back(max == -kInf ? -kInf : max + std::log(sum));
        for (int64_t c = 0; c < p.valueHeadDim; ++c) {
          double value = 0;
          for (int64_t j = 0; j < p.keys; ++j)
            if (s[j] != -kInf)
              value += std::exp(s[j] - max) / sum * at(v, b, hk, j, c);
          o.push_back(value);
        }
      }
}

void ReferenceTest::check(const Problem &p) {
  HostTensor q(element, shape(p, p.heads, p.queries, p.headDim));
  HostTensor k(element, shape(p, p.keyHeads, p.keys, p.headDim));
  HostTensor v(element, shape(p, p.keyHeads, p.keys, p.valueHeadDim));
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  std::vector<double> expectedO, expectedLse;
  computeExpected(p, q, k, v, expectedO, expectedLse);

  for (bool wide : {true, false}) {
    ReferenceOptions options;
    options.wideOutput = wide;
    auto reference = create(getSource(p), options);
    ASSERT_TRUE(reference);
    // o with gaps between its rows, to use the strides.
    FloatType type = wide ? f32 : element;
    SmallVector<int64_t> oShape = shape(p, p.heads, p.queries, p.valueHeadDim);
    int64_t s2 = p.valueHeadDim + 5, s1 = oShape[2] * s2 + 3;
    HostTensor o(type, oShape, {oShape[1] * s1, s1, s2, 1});
    HostTensor lse(f32, {p.batch, p.heads, p.queries});
    std::vector<ReferenceArgument> arguments = {q, k, v};
    llvm::append_range(arguments, p.extra);
    arguments.push_back(o);
    arguments.push_back(lse);
    ASSERT_TRUE(succeeded(reference->run(arguments)));

    size_t n = 0;
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.heads; ++h)
        for (int64_t i = 0; i < p.queries; ++i) {
          double want = expectedLse[n / p.valueHeadDim];
          float have = lse.get({b, h, i});
          bool isEmpty = want == -kInf;
          if (isEmpty) {
            EXPECT_EQ(have, want);
          } else {
            EXPECT_NEAR(have, want, 2e-6 * (1 + std::abs(want)));
          }
          for (int64_t c = 0; c < p.valueHeadDim; ++c) {
            double value = expectedO[n++];
            float result = p.isBshd ? o.get({b, i, h, c}) : o.get({b, h, i, c});
            // Score regions compute in f32.
            double unit = wide ? 4e-6 : type.isF16() ? 0x1p-11 : 0x1p-8;
            double floor = wide && p.score ? 1 : 1e-2;
            EXPECT_NEAR(result, value, unit * (std::abs(value) + floor))
                << b << ' ' << h << ' ' << i << ' ' << c;
            if (isEmpty) {
              EXPECT_EQ(result, 0);
            }
          }
        }
  }
}

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
    keep (%b, %h, %i, %j) {
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
    score (%s, %b, %h, %i, %j) {
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

//===----------------------------------------------------------------------===//
// Low precision
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, LowPrecisionRoundsEveryStep) {
  Problem p;
  p.batch = p.heads = p.keyHeads = 1;
  p.queries = p.keys = 64;
  p.headDim = p.valueHeadDim = 32;
  HostTensor q(element, {1, 1, 64, 32}), k = q, v = q, low = q, high = q;
  HostTensor lse(f32, {1, 1, 64});
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  ReferenceOptions options;
  auto exact = create(getSource(p), options);
  options.precision = attention::Precision::low;
  auto rounded = create(getSource(p), options);
  ASSERT_TRUE(exact && rounded);
  ASSERT_TRUE(succeeded(exact->run({q, k, v, high, lse})));
  ASSERT_TRUE(succeeded(rounded->run({q, k, v, low, lse})));

  // The same steps by hand. Sums may be made in another order and then round
  // differently here and there, so the mean distance is what tells.
  std::vector<float> byHand;
  float scale = static_cast<float>(1 / std::sqrt(32.0));
  for (int64_t i = 0; i < 64; ++i) {
    std::vector<float> s(64);
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < 64; ++j) {
      float dot = 0;
      for (int64_t c = 0; c < 32; ++c)
        dot +=
            q.get({0, 0, i, c}) * roundTo(element, k.get({0, 0, j, c}) * scale);
      s[j] = roundTo(element, dot);
      max = std::max(max, s[j]);
    }
    for (int64_t j = 0; j < 64; ++j)
      sum += s[j] = std::exp(s[j] - max);
    for (int64_t c = 0; c < 32; ++c) {
      float value = 0;
      for (int64_t j = 0; j < 64; ++j)
        value += roundTo(element, s[j] / sum) * v.get({0, 0, j, c});
      byHand.push_back(roundTo(element, value));
    }
  }
  auto getMeanError = [](const std::vector<float> &a,
                         const std::vector<float> &b) {
    double sum = 0;
    for (auto [x, y] : llvm::zip(a, b))
      sum += std::abs(static_cast<double>(x) - y);
    return sum / a.size();
  };
  std::vector<float> lowValues = low.getValues(), highValues = high.getValues();
  double rounding = getMeanError(lowValues, highValues);
  EXPECT_GT(rounding, 0);
  EXPECT_LT(getMeanError(lowValues, byHand), 0.1 * rounding);

  double bound = getErrorBound(lowValues, highValues, element);
  EXPECT_GT(bound, 2 * getMaxError(lowValues, highValues));
  EXPECT_LT(bound, element.isF16() ? 8e-3 : 6e-2);
  // In f32 the reference's own rounding hardly counts.
  double tight = getErrorBound(lowValues, highValues, f32);
  EXPECT_LT(tight, 2 * getMaxError(lowValues, highValues) + 1e-6);
}

TEST_P(ReferenceTest, LowPrecisionOfMaskedAndCappedScores) {
  Problem p;
  p.queries = 9;
  p.keys = 5;
  p.clauses = "mods [#attention.softcap<4.0>, #attention.causal]";
  HostTensor q(element, {2, 2, 9, 16}), k(element, {2, 2, 5, 16}), v = k;
  HostTensor low = q, high = q, lse(f32, {2, 2, 9}), lowLse = lse;
  q.fillNormal(1);
  k.fillNormal(2);
  v.fillNormal(3);
  ReferenceOptions options;
  auto exact = create(getSource(p), options);
  options.precision = attention::Precision::low;
  auto rounded = create(getSource(p), options);
  ASSERT_TRUE(exact && rounded);
  ASSERT_TRUE(succeeded(exact->run({q, k, v, high, lse})));
  ASSERT_TRUE(succeeded(rounded->run({q, k, v, low, lowLse})));
  double unit = element.isF16() ? 0x1p-11 : 0x1p-8;
  EXPECT_LT(getMaxError(low.getValues(), high.getValues()), 16 * unit);
  EXPECT_LT(getMaxError(lowLse.getValues(), lse.getValues()), 16 * unit);
  EXPECT_EQ(lowLse.get({0, 0, 3}), -INFINITY);
  EXPECT_EQ(low.get({0, 0, 3, 0}), 0);
}

//===----------------------------------------------------------------------===//
// Arguments that do not fit
//===----------------------------------------------------------------------===//

TEST_P(ReferenceTest, RefusesArguments) {
  Problem p;
  p.clauses = "scale %scale";
  p.parameters = ", %scale: f32";
  auto reference = create(getSource(p));
  ASSERT_TRUE(reference);
  HostTensor q(element, {2, 2, 7, 16}), k(element, {2, 2, 9, 16}), v = k, o = q;
  HostTensor lse(f32, {2, 2, 7});
  ReferenceArgument scale(f32, 1.0);
  auto error = [&](ArrayRef<ReferenceArgument> arguments) {
    return getError([&] { return reference->run(arguments); });
  };
  EXPECT_EQ(error({q, k}), "the reference takes 6 arguments, got 2");
  EXPECT_EQ(error({scale, k, v, scale, o, lse}),
            std::string("argument 'q' of the reference expects an array of ") +
                "'" + GetParam() + "', got a scalar of 'f32'");
  EXPECT_EQ(error({q, k, v, scale, lse, o}),
            std::string("argument 'o' of the reference expects an array of ") +
                "'" + GetParam() + "', got an array of 'f32'");
  HostTensor flat(element, {7, 16}), wide(element, {2, 2, 9, 32});
  EXPECT_EQ(error({flat, k, v, scale, o, lse}),
            "argument 'q' of the reference expects rank 4, got 2 extents and "
            "2 strides");
  EXPECT_EQ(error({q, wide, v, scale, o, lse}),
            "argument 'k' of the reference expects extent 16 in dimension 3, "
            "got 32");
  HostTensor columns(element, {2, 2, 9, 16}, {288, 144, 1, 9});
  EXPECT_EQ(error({q, k, columns, scale, o, lse}),
            "argument 'v' of the reference expects stride 1 in dimension 3, "
            "got 9");
  ReferenceArgument null(nullptr, q.getShape(), q.getStrides(), element);
  EXPECT_EQ(error({null, k, v, scale, o, lse}),
            "argument 'q' of the reference expects a pointer that is aligned "
            "to its elements");
  ReferenceArgument odd(static_cast<char *>(q.getData()) + 1, q.getShape(),
                        q.getStrides(), element);
  EXPECT_EQ(error({odd, k, v, scale, o, lse}),
            "argument 'q' of the reference expects a pointer that is aligned "
            "to its elements");
  ReferenceArgument negative(q.getData(), {2, -2, 7, 16}, q.getStrides(),
                             element);
  EXPECT_EQ(error({negative, k, v, scale, o, lse}),
            "argument 'q' of the reference expects extent 0 or more in "
            "dimension 1, got -2");
}

TEST_P(ReferenceTest, RefusesShapesThatDoNotAgree) {
  Problem p;
  p.clauses = "aux(%bias : tensor<?x?x?x?xf32>) scale %scale "
              "mods [#attention.bias<aux = 0>]";
  p.parameters = ", %scale: f32, %bias: tensor<?x?x?x?xf32>";
  auto reference = create(getSource(p));
  ASSERT_TRUE(reference);
  HostTensor lse(f32, {2, 4, 7}), bias(f32, {2, 4, 7, 9});
  auto make = [&](int64_t batch, int64_t heads, int64_t length) {
    return HostTensor(element, {batch, heads, length, 16});
  };
  auto error = [&](HostTensor q, HostTensor k, HostTensor v, HostTensor o,
                   HostTensor lse, HostTensor bias, double scale = 1) {
    std::string message = getError([&] {
      return reference->run(
          {q, k, v, ReferenceArgument(f32, scale), bias, o, lse});
    });
    StringRef prefix = "arguments of the reference do not fit: ";
    EXPECT_TRUE(StringRef(message).starts_with(prefix));
    return message.substr(std::min(message.size(), prefix.size()));
  };
  HostTensor q = make(2, 4, 7), k = make(2, 2, 9);
  EXPECT_EQ(error(q, make(1, 2, 9), k, q, lse, bias),
            "q and k differ in batch");
  EXPECT_EQ(error(q, k, make(3, 2, 9), q, lse, bias),
            "q and v differ in batch");
  EXPECT_EQ(error(q, k, make(2, 1, 9), q, lse, bias),
            "k and v differ in heads");
  EXPECT_EQ(error(q, k, make(2, 2, 8), q, lse, bias),
            "k and v differ in length");
  EXPECT_EQ(error(q, k, k, make(3, 4, 7), lse, bias),
            "q and o differ in batch");
  EXPECT_EQ(error(q, k, k, make(2, 2, 7), lse, bias),
            "q and o differ in heads");
  EXPECT_EQ(error(q, k, k, make(2, 4, 8), lse, bias),
            "q and o differ in length");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {1, 4, 7}), bias),
            "q and lse differ in batch");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {2, 2, 7}), bias),
            "q and lse differ in heads");
  EXPECT_EQ(error(q, k, k, q, HostTensor(f32, {2, 4, 6}), bias),
            "q and lse differ in length");
  EXPECT_EQ(error(q, make(2, 0, 9), make(2, 0, 9), q, lse, bias),
            "k has no heads");
  EXPECT_EQ(error(q, make(2, 3, 9), make(2, 3, 9), q, lse, bias),
            "the heads of q are not a multiple of the heads of k");
  EXPECT_EQ(error(q, k, k, q, lse, HostTensor(f32, {1, 4, 7, 9})),
            "aux0 has fewer entries in dimension 0 than there are batches");
  EXPECT_EQ(error(q, k, k, q, lse, HostTensor(f32, {2, 4, 7, 8})),
            "aux0 has fewer entries in dimension 3 than there are keys");
  EXPECT_EQ(error(q, k, k, q, lse, bias, 0), "scale is not positive");
  EXPECT_EQ(error(q, k, k, q, lse, bias, NAN), "scale is not positive");
}

TEST_P(ReferenceTest, RefusesOtherFunctions) {
  auto module = parseSourceString<ModuleOp>(
      "func.func private @declared(i32)\n"
      "func.func @blocks(%c: i1) { cf.br ^a\n ^a: return }\n",
      &context);
  ASSERT_TRUE(module);
  auto error = [&](StringRef name) {
    return getError([&] { return Reference::create(*module, name); });
  };
  EXPECT_EQ(error("absent"), "has no function 'absent' with a body");
  EXPECT_EQ(error("declared"), "has no function 'declared' with a body");
  EXPECT_EQ(error("blocks"),
            "expects straight-line code that returns nothing or one index, as "
            "attention-to-reference makes");
}

INSTANTIATE_TEST_SUITE_P(Types, ReferenceTest, testing::Values("f16", "bf16"),
                         [](const auto &info) { return info.param; });
