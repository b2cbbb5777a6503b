//===- StableHlo.cpp - stablehlo.custom_call of cuDNN's attention ---------===//
//
// (q, k, v[, bias][, lengths of queries, of keys]) with a JSON text of settings
// (`cudnn_fmha_backend_config`), as jax.nn.dot_product_attention makes it. The
// numbers of the two products say where batch and heads are.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Cudnn.h"
#include "Foreign.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fa3::convert;

StringRef fa3::convert::getCudnnTarget(Operation *op) {
  auto target = dyn_cast_or_null<StringAttr>(op->getAttr("call_target_name"));
  return target ? target.getValue() : StringRef();
}

bool fa3::convert::isCudnnAttention(Operation *op) {
  return getCudnnTarget(op).starts_with("__cudnn$fmha");
}

/// Numbers that protobuf's JSON may print as text.
static std::optional<int64_t> readInteger(const llvm::json::Value &value) {
  if (std::optional<int64_t> number = value.getAsInteger())
    return number;
  int64_t number;
  std::optional<llvm::StringRef> text = value.getAsString();
  if (!text || text->getAsInteger(10, number))
    return std::nullopt;
  return number;
}

static SmallVector<int64_t> readList(const llvm::json::Object *object,
                                     StringRef name) {
  SmallVector<int64_t> numbers;
  const llvm::json::Array *array = object ? object->getArray(name) : nullptr;
  if (array)
    for (const llvm::json::Value &value : *array)
      numbers.push_back(readInteger(value).value_or(-1));
  return numbers;
}

static bool isRowMajor(Attribute attribute) {
  auto layouts = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!layouts)
    return true;
  return llvm::all_of(layouts, [](Attribute layout) {
    auto order = getIntegers(layout);
    if (!order)
      return false;
    for (auto [i, dim] : llvm::enumerate(*order))
      if (dim != static_cast<int64_t>(order->size() - 1 - i))
        return false;
    return true;
  });
}

/// The object of settings, in JSON; null with a remark.
static FailureOr<llvm::json::Value> parseSettings(Operation *op) {
  auto text = dyn_cast_or_null<StringAttr>(op->getAttr("backend_config"));
  if (!text)
    return refuse(op, "expects a 'backend_config' of text");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text.getValue());
  if (!json) {
    std::string why = llvm::toString(json.takeError());
    return refuse(op, "its 'backend_config' is no JSON: " + why);
  }
  llvm::json::Object *all = json->getAsObject();
  llvm::json::Value *config =
      all ? all->get("cudnn_fmha_backend_config") : nullptr;
  if (!config || !config->getAsObject())
    return refuse(op,
                  "its 'backend_config' has no 'cudnn_fmha_backend_config'");
  return std::move(*config);
}

bool fa3::convert::isLengths(Value value) {
  RankedTensorType type = getTensorType(value);
  return type && type.getRank() == 1 && isa<IntegerType>(type.getElementType());
}

FailureOr<CudnnSettings> fa3::convert::readCudnnSettings(Operation *op,
                                                         StringRef product) {
  FailureOr<llvm::json::Value> json = parseSettings(op);
  if (failed(json))
    return failure();
  const llvm::json::Object *config = json->getAsObject();
  auto integer = [&](StringRef name) -> int64_t {
    const llvm::json::Value *value = config->get(name);
    return value ? readInteger(*value).value_or(-1) : 0;
  };
  if (config->getNumber("dropout_rate").value_or(0) != 0)
    return refuse(op, "it has a dropout");
  if (config->getBoolean("is_paged_attention").value_or(false))
    return refuse(op, "its keys are paged");
  if (integer("max_seg_per_batch") > 1)
    return refuse(op, "it has several segments in a batch");
  std::optional<double> scale = config->getNumber("fmha_scale");
  if (!scale)
    return refuse(op, "its 'backend_config' has no 'fmha_scale'");

  StringRef masked = config->getString("mask_type").value_or("NO_MASK");
  bool isCausal = masked == "CAUSAL" || masked == "PADDING_CAUSAL";
  bool isPadded = masked == "PADDING" || masked == "PADDING_CAUSAL";
  if (!isCausal && !isPadded && masked != "NO_MASK")
    return refuse(op, "it has a mask of the type '" + masked + "'");
  if (!isRowMajor(op->getAttr("operand_layouts")))
    return refuse(op, "its operands are not row-major");

  // (b, s, h, d) or (b, h, s, d), by the first product.
  const llvm::json::Object *first = config->getObject(product);
  SmallVector<int64_t> batch = readList(first, "lhs_batch_dimensions");
  bool isSequenceFirst = batch == ArrayRef<int64_t>{0, 2};
  if ((!isSequenceFirst && batch != ArrayRef<int64_t>{0, 1}) ||
      readList(first, "rhs_batch_dimensions") != batch ||
      readList(first, "lhs_contracting_dimensions") != ArrayRef<int64_t>{3} ||
      readList(first, "rhs_contracting_dimensions") != ArrayRef<int64_t>{3})
    return refuse(op, "its products have other dimensions than those of "
                      "(b, s, h, d) or (b, h, s, d)");
  int64_t window = integer("sliding_window_length");
  if (window < 0 || (window > 0 && !isCausal))
    return refuse(op, "it has a window without a causal mask");
  if (window > fa3::attention::kGreatestExtent)
    return refuse(op, "its window is too large");
  return CudnnSettings{*scale, isCausal, isPadded, window, isSequenceFirst};
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {
/// Labels of a problem of cuDNN.
struct CudnnShape {
  Label b, i, j, c, e;
  Group head, keyHead;
};
} // namespace

/// Labels of the heads; those of q are in groups where k has fewer.
static LogicalResult readHeads(AttentionProblem &problem, CudnnShape &shape,
                               int64_t heads, int64_t keyHeads) {
  Labels &labels = problem.labels;
  shape.head = {labels.create(heads)};
  shape.keyHead = shape.head;
  if (heads == keyHeads)
    return success();
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads) ||
      keyHeads < 1 || heads % keyHeads)
    return refuse(problem.op,
                  "expects known numbers of heads for groups, got " +
                      Twine(heads) + " and " + Twine(keyHeads));
  auto parts = labels.split(shape.head[0], keyHeads, heads / keyHeads);
  shape.head = {parts.first, parts.second};
  shape.keyHead = {parts.first};
  return success();
}

/// Reads q, k, v and the result.
static LogicalResult readCudnnTensors(AttentionProblem &problem,
                                      CudnnShape &shape, bool isSequenceFirst) {
  Operation *op = problem.op;
  Labels &labels = problem.labels;
  RankedTensorType q = getTensorType(op->getOperand(0)),
                   k = getTensorType(op->getOperand(1));
  if (!q || !k || q.getRank() != 4 || k.getRank() != 4)
    return refuse(op, "expects tensors of rank 4");
  for (Label *label : {&shape.b, &shape.i, &shape.j, &shape.c, &shape.e})
    *label = labels.create(ShapedType::kDynamic);
  int64_t headAxis = isSequenceFirst ? 2 : 1;
  if (failed(readHeads(problem, shape, q.getDimSize(headAxis),
                       k.getDimSize(headAxis))))
    return failure();
  auto read = [&](Value tensor, Group head, Label row, Label column) {
    Dims dims = isSequenceFirst ? Dims{{shape.b}, {row}, head, {column}}
                                : Dims{{shape.b}, head, {row}, {column}};
    return makeState(labels, tensor, std::move(dims));
  };
  auto qs = read(op->getOperand(0), shape.head, shape.i, shape.c),
       ks = read(op->getOperand(1), shape.keyHead, shape.j, shape.c),
       vs = read(op->getOperand(2), shape.keyHead, shape.j, shape.e);
  // The result is (b, h, s, d) whatever the operands are.
  auto os = makeState(labels, op->getResult(0),
                      Dims{{shape.b}, shape.head, {shape.i}, {shape.e}});
  if (failed(qs) || failed(ks) || failed(vs) || failed(os))
    return refuse(op, "the shapes of its operands do not fit together");
  problem.q = *qs, problem.k = *ks, problem.v = *vs, problem.o = *os;
  return success();
}

/// Reads the statistics, if somebody uses them.
static LogicalResult readStatistics(AttentionProblem &problem,
                                    const CudnnShape &shape) {
  Operation *op = problem.op;
  if (op->getNumResults() <= 2 || op->getResult(1).use_empty())
    return success();
  auto lse = makeState(problem.labels, op->getResult(1),
                       Dims{{shape.b}, shape.head, {shape.i}});
  if (failed(lse))
    return refuse(op, "its statistics are not (b, h, s)");
  problem.lse = *lse;
  return success();
}

/// The mask that the settings name.
static void addCausalMask(AttentionProblem &problem,
                          const CudnnSettings &settings) {
  using namespace fa3::attention;
  Operation *op = problem.op;
  int64_t rowAxis = settings.isSequenceFirst ? 1 : 2;
  auto getRows = [&](unsigned number) {
    return getTensorType(op->getOperand(number)).getDimSize(rowAxis);
  };
  if (settings.window > 0)
    problem.mods.push_back(WindowAttr::get(
        op->getContext(), settings.window - 1, 0, Alignment::top_left));
  else if (settings.isCausal)
    problem.mods.push_back(getCausal(op->getContext(), getRows(0), getRows(1)));
}

/// Rows that are padding give 0, as where no key is visible.
static LogicalResult addPadding(AttentionProblem &problem, Label batch,
                                Value queries, Value keys) {
  if (!isLengths(queries) || !isLengths(keys))
    return refuse(problem.op, "its lengths are no integers for each batch");
  problem.conditions.push_back([=](PointBuilder &point) -> Value {
    auto isBelow = [&](Value row, Value lengths) -> Value {
      State state{lengths, {{batch}}};
      Value length = point.getElement(state);
      if (!length)
        return {};
      return arith::CmpIOp::create(point.b, arith::CmpIPredicate::slt, row,
                                   point.toIndex(length));
    };
    Value query = isBelow(point.getQuery(), queries),
          key = isBelow(point.getKey(), keys);
    if (!query || !key)
      return {};
    return arith::AndIOp::create(point.b, query, key);
  });
  return success();
}

LogicalResult fa3::convert::convertCudnn(Operation *op, FloatType castType) {
  StringRef target = getCudnnTarget(op);
  if (target == "__cudnn$fmhaSoftmaxBackward" ||
      target == "__cudnn$fmhaScaleBiasSoftmaxBackward")
    return convertCudnnBackward(op);
  bool hasBias = target == "__cudnn$fmhaScaleBiasSoftmax";
  if (!hasBias && target != "__cudnn$fmhaSoftmax")
    return refuse(op, "of cuDNN's calls '__cudnn$fmhaSoftmax', "
                      "'__cudnn$fmhaScaleBiasSoftmax' and their gradients are "
                      "converted, this is '" +
                          target + "'");
  FailureOr<CudnnSettings> settings =
      readCudnnSettings(op, "bmm1_dot_dimension_numbers");
  if (failed(settings))
    return failure();
  unsigned expected = 3 + hasBias + 2 * settings->isPadded;
  if (op->getNumOperands() != expected || op->getNumResults() < 2)
    return refuse(op, "expects " + Twine(expected) +
                          " operands and two results or more, got " +
                          Twine(op->getNumOperands()) + " and " +
                          Twine(op->getNumResults()));

  AttentionProblem problem(op, castType);
  problem.scale = settings->scale;
  CudnnShape shape;
  if (failed(readCudnnTensors(problem, shape, settings->isSequenceFirst)) ||
      failed(readStatistics(problem, shape)))
    return failure();
  addCausalMask(problem, *settings);
  Dims scores = {{shape.b}, shape.head, {shape.i}, {shape.j}};
  if (hasBias && failed(readBroadcastMask(problem, op->getOperand(3), scores)))
    return failure();
  if (settings->isPadded &&
      failed(addPadding(problem, shape.b, op->getOperand(expected - 2),
                        op->getOperand(expected - 1))))
    return failure();
  return assemble(problem);
}
