//===- ReferenceFixture.cpp - one attention against plain loops -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReferenceFixture.h"
#include "fa3/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

using namespace mlir;
using namespace fa3;

static const double kInf = std::numeric_limits<double>::infinity();

ReferenceTest::ReferenceTest() {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  f32 = Float32Type::get(&context);
  element = GetParam() == std::string("f16")
                ? FloatType(Float16Type::get(&context))
                : FloatType(BFloat16Type::get(&context));
}

SmallVector<int64_t> ReferenceTest::shape(const Problem &p, int64_t heads,
                                          int64_t length, int64_t dim) {
  if (p.isBshd)
    return {p.batch, length, heads, dim};
  return {p.batch, heads, length, dim};
}

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

void ReferenceTest::runInBothPrecisions(const Problem &p,
                                        ArrayRef<ReferenceArgument> exact,
                                        ArrayRef<ReferenceArgument> rounded) {
  ReferenceOptions options;
  auto wide = create(getSource(p), options);
  options.precision = attention::Precision::low;
  auto low = create(getSource(p), options);
  ASSERT_TRUE(wide && low);
  ASSERT_TRUE(succeeded(wide->run(exact)));
  ASSERT_TRUE(succeeded(low->run(rounded)));
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
