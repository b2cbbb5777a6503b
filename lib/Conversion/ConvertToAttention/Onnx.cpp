//===- Onnx.cpp - attention of ONNX without a cache -----------------------===//
//
// As onnx-mlir has them, `onnx.Attention` and `onnx.Custom` with a function
// name and a domain, and as torch-mlir's importer prints them, `torch.operator`
// with attributes `torch.onnx.*`.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Onnx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa3::convert;

/// The function of ONNX that an operation is, of those that are converted;
/// empty for everything else.
static StringRef getFunction(Operation *op) {
  StringRef name = getName(op);
  static constexpr StringLiteral standard[] = {"Attention", "RotaryEmbedding",
                                               "TensorScatter"},
                                 microsoft[] = {"GroupQueryAttention",
                                                "RotaryEmbedding"};
  if (StringRef own = name;
      own.consume_front("onnx.") && llvm::is_contained(standard, own))
    return own;
  auto text = [&](StringRef attribute) {
    auto value = dyn_cast_or_null<StringAttr>(op->getAttr(attribute));
    return value ? value.getValue() : StringRef();
  };
  StringRef function;
  if (name == "onnx.Custom") {
    // Attention of com.microsoft is something else: with its projections.
    function = text("function_name");
    return llvm::is_contained(microsoft, function) ? function : StringRef();
  }
  if (name != "torch.operator")
    return {};
  function = text("name");
  if (!function.consume_front("onnx."))
    return {};
  return llvm::is_contained(standard, function) ||
                 llvm::is_contained(microsoft, function)
             ? function
             : StringRef();
}

bool fa3::convert::isOnnxAttention(Operation *op) {
  return !getFunction(op).empty();
}

LogicalResult fa3::convert::readOnnxTensors(AttentionProblem &problem,
                                            OnnxShape &shape, int64_t heads,
                                            int64_t keyHeads) {
  Operation *op = problem.op;
  Labels &labels = problem.labels;
  RankedTensorType types[] = {
      getTensorType(op->getOperand(0)), getTensorType(op->getOperand(1)),
      getTensorType(op->getOperand(2)), getTensorType(op->getResult(0))};
  for (RankedTensorType type : types)
    if (!type || type.getRank() != types[0].getRank() ||
        (type.getRank() != 3 && type.getRank() != 4))
      return refuse(op, "expects q, k, v and the result to be of rank 3 or 4");
  bool isFlat = types[0].getRank() == 3;
  if (!isFlat) {
    heads = types[0].getDimSize(1);
    keyHeads = types[1].getDimSize(1);
  }
  auto isKnown = [](int64_t number) {
    return !ShapedType::isDynamic(number) && number > 0;
  };
  if (heads != keyHeads || isFlat)
    if (!isKnown(heads) || !isKnown(keyHeads) || heads % keyHeads)
      return refuse(op, "expects known numbers of heads, those of q a multiple "
                        "of those of k, got " +
                            Twine(heads) + " and " + Twine(keyHeads));
  auto create = [&] { return labels.create(ShapedType::kDynamic); };
  shape.b = create(), shape.i = create(), shape.j = create();
  Label head = labels.create(heads);
  shape.head = shape.keyHead = {head};
  if (heads != keyHeads) {
    auto parts = labels.split(head, keyHeads, heads / keyHeads);
    shape.head = {parts.first, parts.second};
    shape.keyHead = {parts.first};
  }
  // Elements of a head follow from those of all.
  auto getElements = [&](RankedTensorType type, int64_t heads) -> int64_t {
    int64_t extent = type.getShape().back();
    if (!isFlat)
      return extent;
    return ShapedType::isDynamic(extent) || extent % heads
               ? ShapedType::kDynamic
               : extent / heads;
  };
  shape.c = labels.create(getElements(types[0], heads));
  shape.e = labels.create(getElements(types[2], keyHeads));
  auto read = [&](Value tensor, const Group &head, Label row, Label column) {
    if (!isFlat)
      return makeState(labels, tensor, Dims{{shape.b}, head, {row}, {column}});
    Group last = head;
    last.push_back(column);
    return makeState(labels, tensor, Dims{{shape.b}, {row}, last});
  };
  auto q = read(op->getOperand(0), shape.head, shape.i, shape.c),
       k = read(op->getOperand(1), shape.keyHead, shape.j, shape.c),
       v = read(op->getOperand(2), shape.keyHead, shape.j, shape.e),
       o = read(op->getResult(0), shape.head, shape.i, shape.e);
  if (failed(q) || failed(k) || failed(v) || failed(o))
    return refuse(op, "the shapes of its operands do not fit together");
  problem.q = *q, problem.k = *k, problem.v = *v, problem.o = *o;
  return success();
}

LogicalResult fa3::convert::readOnnxScale(AttentionProblem &problem,
                                          const Attributes &attributes) {
  if (double scale = attributes.getNumber("scale"); scale != 0)
    problem.scale = scale;
  double cap = attributes.getNumber("softcap");
  if (cap == 0)
    return success();
  MLIRContext *context = problem.op->getContext();
  // The attribute has a verifier, which reports to nobody here.
  auto number = FloatAttr::get(Float64Type::get(context), cap);
  ScopedDiagnosticHandler handler(context,
                                  [](Diagnostic &) { return success(); });
  auto mod = fa3::attention::SoftcapAttr::getChecked(
      [&] { return emitError(problem.op->getLoc()); }, context, number);
  if (!mod)
    return failure();
  problem.mods.push_back(mod);
  return success();
}

namespace {
/// Which keys a query sees by its own place: negative for no bound.
struct Band {
  bool isCausal;
  int64_t left, right;
};
} // namespace

/// Queries and keys are counted from the first.
static LogicalResult addBand(AttentionProblem &problem, const OnnxShape &shape,
                             const Band &band) {
  MLIRContext *context = problem.op->getContext();
  int64_t queries = problem.labels.getExtent(shape.i),
          keys = problem.labels.getExtent(shape.j);
  if (band.isCausal)
    problem.mods.push_back(getCausal(context, queries, keys));
  if (band.left > fa3::attention::kGreatestExtent ||
      band.right > fa3::attention::kGreatestExtent)
    return refuse(problem.op, "its window is too large");
  if (band.left < 0 && band.right < 0)
    return success();
  auto side = [](int64_t size) {
    return size < 0 ? std::nullopt : std::optional<int64_t>(size);
  };
  problem.mods.push_back(fa3::attention::WindowAttr::get(
      context, side(band.left), side(band.right),
      fa3::attention::Alignment::top_left));
  return success();
}

/// Whether a key is in use and in the band: the last query stands at the last
/// key in use. Null if the length cannot be read.
static Value isKeyInUse(PointBuilder &point, Value lengths, Label batch,
                        const Band &band) {
  Value length = point.getElement({lengths, {{batch}}});
  if (!length)
    return {};
  length = point.toIndex(length);
  ImplicitLocOpBuilder &b = point.b;
  Value keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                     point.getKey(), length);
  Value queries = fa3::attention::LengthOp::create(
      b, b.getIndexType(), fa3::attention::Sequence::query);
  Value place = arith::AddIOp::create(
      b, point.getQuery(), arith::SubIOp::create(b, length, queries));
  auto bound = [&](arith::CmpIPredicate predicate, int64_t offset) {
    Value limit = arith::AddIOp::create(b, place, point.constantIndex(offset));
    keep = arith::AndIOp::create(
        b, keep, arith::CmpIOp::create(b, predicate, point.getKey(), limit));
  };
  if (band.isCausal)
    bound(arith::CmpIPredicate::sle, 0);
  if (band.right >= 0)
    bound(arith::CmpIPredicate::sle, band.right);
  if (band.left >= 0)
    bound(arith::CmpIPredicate::sge, -band.left);
  return keep;
}

/// Only the first keys of each batch are in use.
static LogicalResult addLengthCondition(AttentionProblem &problem,
                                        const OnnxShape &shape,
                                        const Band &band, Value lengths) {
  RankedTensorType type = getTensorType(lengths);
  if (!type || type.getRank() != 1 || !isa<IntegerType>(type.getElementType()))
    return refuse(problem.op, "its lengths are no integers for each batch");
  problem.conditions.push_back(
      [lengths, batch = shape.b, band](PointBuilder &point) -> Value {
        return isKeyInUse(point, lengths, batch, band);
      });
  return success();
}

/// A mask that has a column for every key, or one for all.
static LogicalResult addMask(AttentionProblem &problem, const OnnxShape &shape,
                             Value mask) {
  RankedTensorType type = getTensorType(mask);
  int64_t keys = problem.labels.getExtent(shape.j);
  if (type && type.getRank() > 0 && type.getShape().back() != 1 &&
      !type.isDynamicDim(type.getRank() - 1) && type.getShape().back() < keys)
    return refuse(problem.op, "its mask has fewer keys than there are");
  return readBroadcastMask(problem, mask, shape.getScores());
}

static LogicalResult convertAttention(Operation *op, FloatType castType) {
  Attributes attributes{op};
  if (getUsedResult(op, 3))
    return refuse(op,
                  "its 'qk_matmul_output' is used (mode " +
                      Twine(attributes.getInteger("qk_matmul_output_mode", 0)) +
                      "), which attention.forward does not have");
  if (isGiven(getOperand(op, 4)) || isGiven(getOperand(op, 5)) ||
      getUsedResult(op, 1) || getUsedResult(op, 2))
    return convertOnnxWithPast(op, castType);
  AttentionProblem problem(op, castType);
  OnnxShape shape;
  if (failed(readOnnxTensors(problem, shape,
                             attributes.getInteger("q_num_heads", -1),
                             attributes.getInteger("kv_num_heads", -1))))
    return failure();
  if (failed(readOnnxScale(problem, attributes)))
    return refuse(op, "its soft cap is not positive");
  Band band = {attributes.getInteger("is_causal", 0) != 0,
               attributes.getInteger("left_window_size", -1),
               attributes.getInteger("right_window_size", -1)};
  Value lengths = getOperand(op, 6);
  if (failed(isGiven(lengths)
                 ? addLengthCondition(problem, shape, band, lengths)
                 : addBand(problem, shape, band)))
    return failure();
  if (isGiven(getOperand(op, 3)) &&
      failed(addMask(problem, shape, op->getOperand(3))))
    return failure();
  return assemble(problem);
}

LogicalResult fa3::convert::convertOnnx(Operation *op, FloatType castType) {
  StringRef function = getFunction(op);
  if (op->getNumResults() < 1 || op->getNumOperands() < 2 ||
      (function.ends_with("Attention") && op->getNumOperands() < 3))
    return refuse(op, "expects three operands or more, and a result");
  if (function == "RotaryEmbedding")
    return convertOnnxRotary(op);
  if (function == "TensorScatter")
    return convertTensorScatter(op);
  return function == "Attention" ? convertAttention(op, castType)
                                 : convertGroupQuery(op, castType);
}
