//===- CheckResult.cpp - what was computed against a reference ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/CheckResult.h"
#include "Fail.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

/// Relative error of exponentials and reciprocals of sm_90 together: 2^-22 and
/// 2^-23 each by the PTX ISA (ex2.approx, rcp.approx), and three roundings.
static constexpr double kApproximate = 0x1p-20;

//===----------------------------------------------------------------------===//
// Attention by definition
//===----------------------------------------------------------------------===//

namespace {
/// The results of attention among the arguments of its host function, which
/// takes those of the function on tensors and then its results.
struct Results {
  attention::ScoredOpInterface op;
  /// o, or the gradients, which have the type of the operands.
  SmallVector<unsigned> outputs;
  /// lse and the largest scores, which are f32.
  SmallVector<unsigned> ofRows;
};
} // namespace

static FailureOr<Results> findResults(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return module.emitError("has no function '") << name << "'";
  Results results;
  attention::ForwardOp forward = attention::findForward(function);
  attention::BackwardOp backward = attention::findBackward(function);
  if (!forward && !backward)
    return function.emitError("has no attention to compare with");
  if (forward)
    results.op = forward;
  else
    results.op = backward;
  Operation *end = function.getBody().back().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    unsigned argument = function.getNumArguments() + i;
    if (value.getDefiningOp() != results.op)
      continue;
    if (forward && forward.isOfRows(value))
      results.ofRows.push_back(argument);
    else
      results.outputs.push_back(argument);
  }
  if (results.outputs.empty())
    return results.op->emitError("expects its results to be returned");
  return results;
}

static LogicalResult runReference(ModuleOp module, StringRef function,
                                  const ReferenceOptions &options,
                                  ArrayRef<ProblemArgument> arguments,
                                  const ReferenceSample &sample) {
  FailureOr<std::unique_ptr<Reference>> reference =
      Reference::create(module, function, options);
  if (failed(reference))
    return failure();
  SmallVector<ReferenceArgument> values;
  for (const ProblemArgument &argument : arguments) {
    if (const interp::Array *array = argument.getArray())
      values.emplace_back(array->getFirst(), array->getShape(),
                          array->getStrides(),
                          cast<MemRefType>(argument.type).getElementType());
    else if (const auto *integer = std::get_if<int64_t>(&argument.value))
      values.emplace_back(argument.type, *integer);
    else
      values.emplace_back(cast<FloatType>(argument.type),
                          std::get<double>(argument.value));
  }
  return (*reference)->run(values, sample);
}

LogicalResult fa3::run::runAttention(ModuleOp module, StringRef function,
                                     const Problem &problem) {
  return runReference(module, function, {}, problem.getArguments(), {});
}

//===----------------------------------------------------------------------===//
// Operands of backward
//===----------------------------------------------------------------------===//

/// Makes a function with attention.backward one that returns o and lse of the
/// forward.
static void replaceByForward(func::FuncOp function,
                             attention::BackwardOp backward) {
  OpBuilder builder(backward);
  SmallVector<Attribute> mods;
  auto ofGradients = [](Attribute attribute) {
    auto blocks = dyn_cast<attention::BlocksAttr>(attribute);
    return blocks && blocks.getBy() == attention::Sequence::key;
  };
  if (ArrayAttr given = backward.getModsAttr())
    llvm::copy_if(given, std::back_inserter(mods), std::not_fn(ofGradients));
  SmallVector<Value> aux(backward.getAux());
  auto forward = attention::ForwardOp::create(
      builder, backward.getLoc(), backward.getQ(), backward.getK(),
      backward.getV(), mods, aux, backward.getScale(), backward.getLayout());
  // Where scores are products of 8-bit copies, lse is that of those.
  if (backward.hasScales()) {
    for (unsigned i = 0; i < 3; ++i)
      forward->setOperand(i, backward.getCopies()[i]);
    forward.getScalesMutable().assign(backward.getScales().take_front(3));
  }
  forward.getScoreMod().takeBody(backward.getScoreMod());
  forward.getMaskMod().takeBody(backward.getMaskMod());
  forward.getKeepMod().takeBody(backward.getKeepMod());
  forward.setKeptScaleAttr(backward.getKeptScaleAttr());
  if (backward.getSequences())
    forward.getSequencesMutable().assign(backward.getSequences());
  if (backward.getBlocks())
    forward.getBlocksMutable().assign(backward.getBlocks());
  Operation *end = function.getBody().back().getTerminator();
  end->setOperands(forward->getResults());
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           forward->getResultTypes()));
  function.removeResAttrsAttr();
  // Names are those of what stays.
  function.removeArgAttrsAttr();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (&op == backward || (op.use_empty() && isPure(&op) &&
                            !op.hasTrait<OpTrait::IsTerminator>()))
      op.erase();
}

LogicalResult fa3::run::fillForwardResults(ModuleOp module, StringRef name,
                                           const ProblemOptions &options,
                                           Problem &problem) {
  auto isArgument = [&](Value value) { return isa<BlockArgument>(value); };
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  auto function = copy->lookupSymbol<func::FuncOp>(name);
  attention::BackwardOp backward;
  if (function)
    backward = attention::findBackward(function);
  if (!backward || !isArgument(backward.getO()) ||
      !isArgument(backward.getLse()))
    return success();
  unsigned o = cast<BlockArgument>(backward.getO()).getArgNumber();
  unsigned lse = cast<BlockArgument>(backward.getLse()).getArgNumber();
  for (unsigned number : {o, lse}) {
    StringRef given = problem.getArguments()[number].name;
    if (options.inputs.contains(given) || options.fills.contains(given))
      return success();
  }
  SmallVector<ProblemArgument, 0> arguments(
      problem.getArguments().take_front(function.getNumArguments()));
  for (unsigned number : {o, lse})
    arguments.push_back(problem.getArguments()[number]);
  replaceByForward(function, backward);
  return runReference(*copy, name, {}, arguments, {});
}

//===----------------------------------------------------------------------===//
// Comparison with the definition
//===----------------------------------------------------------------------===//

/// Arguments of the reference: inputs are the problem's, outputs new arrays
/// full of poison, those that are not of rows as f32 if `wide`. What is read
/// and written is what it was before.
static SmallVector<ProblemArgument, 0>
makeArguments(const Problem &problem, const Results &results, bool wide) {
  SmallVector<ProblemArgument, 0> arguments(problem.getArguments());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    const interp::Array *array = argument.getArray();
    bool isOutput = llvm::is_contained(results.outputs, i);
    bool isWide = wide && isOutput;
    if (argument.initial)
      argument.value = argument.initial->clone();
    if (!isOutput && !llvm::is_contained(results.ofRows, i))
      continue;
    interp::Format format = isWide ? interp::Format::F32 : array->getFormat();
    if (isWide) {
      auto type = cast<MemRefType>(argument.type);
      argument.type =
          MemRefType::get(type.getShape(), Float32Type::get(type.getContext()));
    }
    argument.value = interp::Array::allocate(format, array->getShape());
  }
  return arguments;
}

namespace {
/// Collects what is wrong with an array.
class Collector {
public:
  Collector(StringRef name, double bound) {
    result.name = name.str();
    result.bound = bound;
  }

  void add(ArrayRef<int64_t> index, bool isWritten, double value,
           double reference, bool isRight) {
    ++result.elements;
    double error = value == reference ? 0 : std::abs(value - reference);
    // A NaN is as wrong as can be.
    result.error = std::max(result.error, error == error ? error : INFINITY);
    if (isRight || result.wrong++)
      return;
    llvm::raw_string_ostream os(result.complaint);
    os << "first at [";
    llvm::interleaveComma(index, os);
    os << "]: ";
    isWritten ? os << llvm::format("%.9g", value) : os << "not written";
    os << " against " << llvm::format("%.9g", reference);
  }

  /// An element that the reference does not write.
  void addUntouched(ArrayRef<int64_t> index, bool isWritten) {
    if (!isWritten || result.wrong++)
      return;
    llvm::raw_string_ostream os(result.complaint);
    os << "first at [";
    llvm::interleaveComma(index, os);
    os << "]: written, the reference does not";
  }

  CheckResult take() { return std::move(result); }

private:
  CheckResult result;
};
} // namespace

static double load(const interp::Array &array, ArrayRef<int64_t> index) {
  return interp::loadAsDouble(array.getFormat(), array.at(index));
}
static bool isPoison(const interp::Array &array, ArrayRef<int64_t> index) {
  return interp::Array::isPoison(array.getFormat(), array.at(index));
}

/// The largest finite absolute value of what is written.
static double getLargest(const interp::Array &array) {
  double largest = 0;
  array.forEach([&](ArrayRef<int64_t> index, uint8_t *) {
    double value = isPoison(array, index) ? 0 : std::abs(load(array, index));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  });
  return largest;
}

/// Each element that the reference writes, within `bound` of it; if `isWhole`,
/// no other one is written.
static CheckResult checkWithin(const ProblemArgument &mine,
                               const interp::Array &exact, double bound,
                               bool isWhole) {
  const interp::Array &array = *mine.getArray();
  Collector collector(mine.name, bound);
  exact.forEach([&](ArrayRef<int64_t> index, uint8_t *) {
    if (isPoison(exact, index)) {
      if (isWhole)
        collector.addUntouched(index, !isPoison(array, index));
      return;
    }
    double value = load(array, index), reference = load(exact, index);
    // Infinities are equal and not near.
    collector.add(index, !isPoison(array, index), value, reference,
                  value == reference || std::abs(value - reference) <= bound);
  });
  return collector.take();
}

/// How far an output may be: `factor` times what rounding in other places
/// makes.
static double getOutputBound(const interp::Array &exact,
                             const interp::Array &low, FloatType type,
                             double factor) {
  std::vector<float> exactValues, lowValues;
  exact.forEach([&](ArrayRef<int64_t> index, uint8_t *) {
    if (isPoison(exact, index))
      return;
    exactValues.push_back(load(exact, index));
    lowValues.push_back(load(low, index));
  });
  double bound = getErrorBound(lowValues, exactValues, type, factor);
  // Results of f32 show that ex2.approx and rcp.approx are no more than that.
  if (type.isF32())
    bound += kApproximate * getLargest(exact);
  return bound;
}

static bool hasSoftcap(attention::ScoredOpInterface op) {
  ArrayAttr mods = op.getModsAttr();
  return mods && llvm::any_of(mods, llvm::IsaPred<attention::SoftcapAttr>);
}

static std::string describe(const Comparison &comparison) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "first at [";
  llvm::interleaveComma(comparison.index, os);
  os << "]: ";
  comparison.isWritten ? os << llvm::format("%.9g", comparison.value)
                       : os << "not written";
  os << " against ";
  comparison.isReferenceWritten
      ? os << llvm::format("%.9g", comparison.reference)
      : os << "not written";
  return text;
}

static CheckResult checkArray(StringRef name, const interp::Array &mine,
                              const interp::Array &theirs, Tolerance allowed) {
  Comparison comparison = compare(mine, theirs, allowed);
  CheckResult check;
  check.name = name.str();
  check.error = comparison.maxAbsolute;
  check.bound = allowed.atol;
  check.elements = comparison.elements;
  check.wrong = comparison.mismatches;
  if (check.wrong)
    check.complaint = describe(comparison);
  check.comparison = std::move(comparison);
  return check;
}

/// Sums in another order move a scale by units in its last place, and with it a
/// number between two of the 8-bit format to the other one.
static Tolerance getQuantizedTolerance(interp::Format format) {
  switch (format) {
  case interp::Format::F8E4M3FN:
    return {0x1p-9, 0x1p-3};
  case interp::Format::F8E5M2:
    return {0x1p-16, 0x1p-2};
  case interp::Format::I8:
    return {1, 0};
  default:
    return {0, 0x1p-20};
  }
}

/// What is read and written, as a cache of keys: no order of a sum changes it,
/// so bit for bit.
static void checkOthers(ArrayRef<ProblemArgument> mine,
                        ArrayRef<ProblemArgument> exact, const Results &results,
                        SmallVectorImpl<CheckResult> &checks) {
  for (auto [i, own, other] : llvm::enumerate(mine, exact))
    if (own.initial && !llvm::is_contained(results.ofRows, i) &&
        !llvm::is_contained(results.outputs, i))
      checks.push_back(
          checkArray(own.name, *own.getArray(), *other.getArray(), {0, 0}));
}

/// Of a mean of parts: twice the spacing of numbers of the format, and 2^-16 of
/// the largest for exponentials and the order of sums.
static Tolerance getMergedTolerance(const interp::Array &exact) {
  double relative = 0x1p-20;
  if (exact.getFormat() == interp::Format::F16)
    relative = 0x1p-10;
  else if (exact.getFormat() == interp::Format::BF16)
    relative = 0x1p-7;
  return {0x1p-16 * getLargest(exact), relative};
}

/// A function that only prepares operands, or merges results: all that it
/// writes.
static FailureOr<SmallVector<CheckResult>>
checkQuantized(ModuleOp module, func::FuncOp function, const Problem &problem) {
  Problem exact = problem;
  for (ProblemArgument &argument : exact.getArguments())
    if (const interp::Array *array = argument.getArray(); argument.initial)
      argument.value = argument.initial->clone();
    else if (array && argument.access.written)
      argument.value =
          interp::Array::allocate(array->getFormat(), array->getShape());
  if (failed(runAttention(module, function.getName(), exact)))
    return failure();
  bool isMerge = !function.getBody().getOps<attention::MergeOp>().empty();
  SmallVector<CheckResult> checks;
  for (auto [mine, theirs] :
       llvm::zip_equal(problem.getArguments(), exact.getArguments())) {
    const interp::Array *array = theirs.getArray();
    if (!array || !theirs.access.written)
      continue;
    Tolerance allowed = isMerge ? getMergedTolerance(*array)
                                : getQuantizedTolerance(array->getFormat());
    checks.push_back(checkArray(mine.name, *mine.getArray(), *array, allowed));
  }
  return checks;
}

FailureOr<SmallVector<CheckResult>>
fa3::run::checkAttention(ModuleOp module, StringRef function,
                         const Problem &problem,
                         const ReferenceSample &sample) {
  auto source = module.lookupSymbol<func::FuncOp>(function);
  if (source && !attention::findForward(source) &&
      !attention::findBackward(source))
    return checkQuantized(module, source, problem);
  FailureOr<Results> results = findResults(module, function);
  if (failed(results))
    return failure();
  ReferenceOptions exactOptions, lowOptions;
  exactOptions.wideOutput = true;
  lowOptions.precision = attention::Precision::low;
  auto exact = makeArguments(problem, *results, /*wide=*/true);
  auto low = makeArguments(problem, *results, /*wide=*/false);
  if (failed(runReference(module, function, exactOptions, exact, sample)) ||
      failed(runReference(module, function, lowOptions, low, sample)))
    return failure();
  ArrayRef<ProblemArgument> mine = problem.getArguments();
  double factor = hasSoftcap(results->op) ? 3 : 2;
  SmallVector<CheckResult> checks;
  // A sample of heads leaves the others out.
  bool isWhole = sample.heads <= 0;
  for (unsigned i : results->outputs) {
    auto type =
        cast<FloatType>(cast<MemRefType>(mine[i].type).getElementType());
    double bound =
        getOutputBound(*exact[i].getArray(), *low[i].getArray(), type, factor);
    checks.push_back(
        checkWithin(mine[i], *exact[i].getArray(), bound, isWhole));
  }
  auto operand = getElementTypeOrSelf(results->op.getQ());
  bool isFloat8 =
      isa<FloatType>(operand) && operand.getIntOrFloatBitWidth() == 8;
  Tolerance ofRows = isFloat8 ? kFloat8LseTolerance : kLseTolerance;
  for (unsigned i : results->ofRows) {
    const interp::Array &reference = *exact[i].getArray();
    double bound = ofRows.atol + ofRows.rtol * getLargest(reference);
    checks.push_back(checkWithin(mine[i], reference, bound, isWhole));
  }
  checkOthers(mine, exact, *results, checks);
  return checks;
}

//===----------------------------------------------------------------------===//
// Another run
//===----------------------------------------------------------------------===//

/// Twice the spacing of numbers at the largest value of an array.
static Tolerance getDefaultTolerance(const interp::Array &array) {
  interp::Format format = array.getFormat();
  if (!interp::isFloat(format))
    return {};
  // The first number after 1 that the format has.
  double spacing = 1;
  while (interp::roundTo(format, 1 + spacing / 2) > 1 && spacing > 1e-16)
    spacing /= 2;
  return {2 * spacing * getLargest(array), 0};
}

SmallVector<CheckResult>
fa3::run::checkAgainst(const Problem &problem, const Problem &reference,
                       std::optional<Tolerance> tolerance) {
  SmallVector<CheckResult> checks;
  for (const ProblemArgument &theirs : reference.getArguments()) {
    const interp::Array *array = theirs.getArray();
    if (!array || !theirs.access.written)
      continue;
    const ProblemArgument *mine =
        llvm::find_if(problem.getArguments(), [&](const ProblemArgument &a) {
          return a.name == theirs.name;
        });
    Tolerance allowed = tolerance.value_or(getDefaultTolerance(*array));
    checks.push_back(
        checkArray(theirs.name, *mine->getArray(), *array, allowed));
  }
  return checks;
}
