//===- OnnxCache.cpp - attention of ONNX with a cache ---------------------===//
//
// GroupQueryAttention of com.microsoft, as ONNX Runtime computes it: q, k and v
// packed or apart, rotated, keys and values behind those of a cache. And
// Attention of ONNX with past keys, which has the concatenation.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Onnx.h"
#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3::convert;
using fa3::attention::Layout;
using fa3::attention::WindowAttr;

namespace {
/// Operands of a GroupQueryAttention that is none of convert-to-attention's own
/// forms, null where there are none.
struct GroupQuery {
  explicit GroupQuery(Operation *op)
      : op(op), attributes{op}, heads(attributes.getInteger("num_heads", -1)),
        keyHeads(attributes.getInteger("kv_num_heads", -1)),
        window(attributes.getInteger("local_window_size", -1)) {
    auto get = [&](unsigned number) {
      Value value = getOperand(op, number);
      return isGiven(value) ? value : Value();
    };
    q = get(0), k = get(1), v = get(2);
    for (unsigned i : {0, 1})
      past[i] = isEmpty(get(3 + i)) ? Value() : get(3 + i),
      present[i] = getUsedResult(op, 1 + i);
    lengths = get(5), total = get(6), cos = get(7), sin = get(8);
    positions = get(9), bias = get(10), sinks = get(11);
  }
  static bool isEmpty(Value past) {
    RankedTensorType type = getTensorType(past);
    return type && type.getRank() == 4 && type.getDimSize(2) == 0;
  }
  bool isRotated() const { return attributes.getInteger("do_rotary", 0) != 0; }
  bool isSmooth() const {
    return attributes.getInteger("smooth_softmax", 0) > 0;
  }

  Operation *op;
  Attributes attributes;
  int64_t heads, keyHeads, window;
  Value q, k, v, past[2], lengths, total, cos, sin, positions, bias, sinks;
  Value present[2];
};

/// q, k and v of rank 4 and what comes with them, on the way to attention.
class GroupQueryRewrite : Rewrite {
public:
  explicit GroupQueryRewrite(GroupQuery &group)
      : Rewrite(group.op), group(group) {}
  LogicalResult run(FloatType castType);

private:
  LogicalResult splitOperands();
  LogicalResult readPositions();
  LogicalResult readTables();
  LogicalResult turn(Layout layout);
  LogicalResult appendAll();
  Value getCache(unsigned number);
  LogicalResult attend(FloatType castType);

  GroupQuery &group;
  /// (b, s, h, d), then (b, h, s, d); the numbers of old keys and of all.
  Value q, rows[2], first, keys;
  /// Cosines and sines, and the row of them that a sequence starts with.
  Value cos, sin, start;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// What of all forms is not converted.
static LogicalResult checkGroupQuery(const GroupQuery &group) {
  Operation *op = group.op;
  static constexpr StringLiteral scales[] = {"k_scale", "v_scale"};
  for (auto [number, name] : llvm::enumerate(scales))
    if (isGiven(getOperand(op, 12 + number)))
      return refuse(op, "it has a '" + name + "', of a cache in 8 or 4 bits");
  if (getUsedResult(op, 3))
    return refuse(op, "its 'output_qk' is used, which attention.forward does "
                      "not have");
  if (bool(group.past[0]) != bool(group.past[1]))
    return refuse(op, "it has a past of keys or of values, not of both");
  RankedTensorType type = getTensorType(group.lengths);
  bool isLengths =
      type && isa<IntegerType>(type.getElementType()) &&
      (type.getRank() == 1 || (type.getRank() == 2 && type.getDimSize(1) == 1));
  if (!isLengths)
    return refuse(op, "its 'seqlens_k' are no integers for each batch");
  if (group.window > fa3::attention::kGreatestExtent)
    return refuse(op, "its window is too large");
  if (group.isRotated() && (!group.cos || !group.sin))
    return refuse(op, "it rotates q and k ('do_rotary') without 'cos_cache' "
                      "and 'sin_cache'");
  RankedTensorType sinks = getTensorType(group.sinks);
  if (group.sinks && (!sinks || sinks.getRank() != 1 ||
                      !isa<FloatType>(sinks.getElementType()) ||
                      sinks.getElementTypeBitWidth() > 32))
    return refuse(op, "its 'head_sink' is no float of at most 32 bits for "
                      "each head");
  return success();
}

/// A past and a present of the cache, of types that fit.
static LogicalResult checkCaches(const GroupQuery &group, Type element,
                                 int64_t d) {
  Operation *op = group.op;
  static constexpr StringLiteral names[] = {"past_key", "past_value"};
  for (auto [number, name] : llvm::enumerate(names)) {
    RankedTensorType past = getTensorType(group.past[number]);
    if (!past || past.getRank() != 4 || past.getElementType() != element)
      return refuse(op, "its '" + name +
                            "' is no tensor of rank 4 with the "
                            "elements of q");
    if (past.getDimSize(1) != group.keyHeads || past.getDimSize(3) != d)
      return refuse(op, "its '" + name + "' has " + Twine(past.getDimSize(1)) +
                            " heads of " + Twine(past.getDimSize(3)) +
                            " elements, expects " + Twine(group.keyHeads) +
                            " of " + Twine(d));
    RankedTensorType present = number + 1 < op->getNumResults()
                                   ? getTensorType(op->getResult(number + 1))
                                   : RankedTensorType();
    if (!present || present.getRank() != 4)
      return refuse(op, "it has a '" + name +
                            "', but no tensor of rank 4 for "
                            "what it becomes");
    if (!present.isDynamicDim(2) && !past.isDynamicDim(2) &&
        present.getDimSize(2) < past.getDimSize(2))
      return refuse(op, "its '" + name + "' has " + Twine(past.getDimSize(2)) +
                            " rows, what it becomes " +
                            Twine(present.getDimSize(2)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// In front of attention
//===----------------------------------------------------------------------===//

LogicalResult GroupQueryRewrite::splitOperands() {
  int64_t heads = group.heads, keyHeads = group.keyHeads;
  constexpr int64_t most = fa3::attention::kGreatestExtent;
  if (heads < 1 || keyHeads < 1 || heads > most || keyHeads > most ||
      heads % keyHeads)
    return refuse("expects known numbers of heads, those of q a multiple of "
                  "those of k, got " +
                  Twine(heads) + " and " + Twine(keyHeads));
  RankedTensorType type = getTensorType(group.q);
  int64_t all = group.k ? heads : heads + 2 * keyHeads;
  if (!type || type.getRank() != 3 || type.isDynamicDim(2) ||
      type.getDimSize(2) < 1 || type.getDimSize(2) % all)
    return refuse("expects a tensor (batch, sequence, columns), columns a "
                  "multiple of its " +
                  Twine(all) + " heads");
  int64_t d = type.getDimSize(2) / all;
  Value flat = take(group.q), parts[2];
  if (!group.k) {
    for (unsigned i : {0, 1})
      parts[i] = takeColumns(flat, (heads + i * keyHeads) * d, keyHeads * d);
    flat = takeColumns(flat, 0, heads * d);
  }
  q = splitHeads(flat, heads);
  Value given[] = {group.k, group.v};
  for (auto [i, value] : llvm::enumerate(given)) {
    RankedTensorType own = getTensorType(value);
    if (value && (!own || own.getRank() != 3 ||
                  own.getElementType() != type.getElementType() ||
                  own.getDimSize(1) != type.getDimSize(1) ||
                  own.getDimSize(2) != keyHeads * d))
      return refuse("expects k and v of the sequence and elements of q, with " +
                    Twine(keyHeads * d) + " columns");
    rows[i] = splitHeads(value ? take(value) : parts[i], keyHeads);
  }
  if (!q || !rows[0] || !rows[1])
    return refuse("its shapes are not known well enough");
  return group.past[0] ? checkCaches(group, type.getElementType(), d)
                       : success();
}

/// A prompt of which some is padding starts at 0 as well: its length, in
/// `seqlens_k`, is at most its number of rows.
LogicalResult GroupQueryRewrite::readPositions() {
  Value count = getExtentAsI32(q, 1);
  first = mapIntegers(
      take(group.lengths), [&](ImplicitLocOpBuilder &at, Value last) -> Value {
        auto constant = [&](int32_t number) {
          return arith::ConstantOp::create(at, at.getI32IntegerAttr(number));
        };
        Value keys = arith::AddIOp::create(at, last, constant(1));
        Value old = arith::SubIOp::create(at, keys, count);
        return arith::MaxSIOp::create(at, old, constant(0));
      });
  if (first && group.past[0])
    keys =
        mapIntegers(first, [&](ImplicitLocOpBuilder &at, Value old) -> Value {
          return arith::AddIOp::create(at, old, count);
        });
  return first ? success() : refuse("its 'seqlens_k' are no integers");
}

LogicalResult GroupQueryRewrite::readTables() {
  cos = take(group.cos), sin = take(group.sin), start = first;
  if (!getTensorType(cos) || getTensorType(cos) != getTensorType(sin))
    return refuse("its 'cos_cache' and 'sin_cache' are no tensors of one type");
  if (!group.positions)
    return success();
  Value positions = take(group.positions);
  cos = takeRows(cos, positions), sin = takeRows(sin, positions);
  if (!cos || !sin)
    return refuse("its 'position_ids' are no integers for each row, or its "
                  "'cos_cache' is no table");
  start = getStarts(positions);
  return success();
}

LogicalResult GroupQueryRewrite::turn(Layout layout) {
  bool interleaved = group.attributes.getInteger("rotary_interleaved", 0) != 0;
  q = rotate(q, cos, sin, start, interleaved, layout);
  rows[0] = rotate(rows[0], cos, sin, start, interleaved, layout);
  return success();
}

/// The memory that the present has: that of the past where both have as many
/// rows by their types, else another with the past in it.
Value GroupQueryRewrite::getCache(unsigned number) {
  Value past = take(group.past[number]);
  RankedTensorType type = getTensorType(past),
                   present = getTensorType(group.op->getResult(number + 1));
  int64_t extent = present.getDimSize(2);
  if (!ShapedType::isDynamic(extent) && extent == type.getDimSize(2))
    return past;
  OpFoldResult count = b.getIndexAttr(extent);
  if (ShapedType::isDynamic(extent)) {
    RankedTensorType total = getTensorType(group.total);
    if (!total || !isa<IntegerType>(total.getElementType()) ||
        total.getRank() > 1)
      return {};
    SmallVector<Value, 1> at;
    if (total.getRank() == 1)
      at.push_back(arith::ConstantIndexOp::create(b, loc, 0));
    Value all = tensor::ExtractOp::create(b, loc, take(group.total), at);
    all = arith::IndexCastOp::create(b, loc, b.getIndexType(), all);
    count = arith::MaxSIOp::create(b, loc, all,
                                   tensor::DimOp::create(b, loc, past, 2))
                .getResult();
  }
  Value target = fill({getExtent(past, 0), b.getIndexAttr(type.getDimSize(1)),
                       count, b.getIndexAttr(type.getDimSize(3))},
                      type.getElementType());
  return insertRows(past, target, b.getIndexAttr(0));
}

LogicalResult GroupQueryRewrite::appendAll() {
  for (unsigned i : {0, 1}) {
    Value cache = getCache(i);
    if (!cache)
      return refuse("its 'total_sequence_length' is no integer, and its types "
                    "do not say how many rows its present has");
    rows[i] = append(rows[i], cache, first);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Sinks of f32; those of a smooth softmax are 0.
static Value getSinks(Rewrite &rewrite, const GroupQuery &group) {
  OpBuilder &b = rewrite.b;
  if (!group.sinks) {
    auto type = RankedTensorType::get({group.heads}, b.getF32Type());
    return arith::ConstantOp::create(
        b, rewrite.loc, DenseElementsAttr::get(type, b.getF32FloatAttr(0)));
  }
  Value sinks = rewrite.take(group.sinks);
  if (getTensorType(sinks).getElementType().isF32())
    return sinks;
  return rewrite.mapElements(
      sinks, b.getF32Type(), [](ImplicitLocOpBuilder &at, Value sink) -> Value {
        return arith::ExtFOp::create(at, at.getF32Type(), sink);
      });
}

/// What attention has of the operation besides tensors.
static LogicalResult readGroupQuery(AttentionProblem &problem, OnnxShape &shape,
                                    const GroupQuery &group) {
  if (failed(readOnnxScale(problem, group.attributes)))
    return refuse(problem.op, "its soft cap is not positive");
  if (!group.bias)
    return success();
  RankedTensorType type = getTensorType(group.bias);
  int64_t keys = problem.labels.getExtent(shape.j);
  if (type && type.getRank() == 4 && type.getDimSize(3) != keys &&
      !type.isDynamicDim(3) && !ShapedType::isDynamic(keys))
    return refuse(problem.op, "its 'attention_bias' is for " +
                                  Twine(type.getDimSize(3)) +
                                  " keys, there are " + Twine(keys));
  return readBroadcastMask(problem, group.bias, shape.getScores());
}

/// Sinks count after the cap, and a bias, too.
LogicalResult GroupQueryRewrite::attend(FloatType castType) {
  using fa3::attention::CausalAttr;
  Operation *inner = createInner(q, rows[0], rows[1]);
  Value out = joinHeads(exchange(inner->getResult(0)));
  out = like(out, group.op->getResult(0));
  Value presents[2];
  for (unsigned i : {0, 1})
    if (group.present[i] && !(presents[i] = like(rows[i], group.present[i])))
      return refuse("the type of its result " + Twine(1 + i) +
                    " is not that of its cache");
  if (!out)
    return refuse("the type of its result is not that of q");
  if (failed(check()))
    return failure();
  replace(group.op->getResult(0), out);
  for (unsigned i : {0, 1})
    if (presents[i])
      replace(group.present[i], presents[i]);
  AttentionProblem problem(inner, castType);
  OnnxShape shape;
  if (failed(readOnnxTensors(problem, shape, group.heads, group.keyHeads)) ||
      failed(readGroupQuery(problem, shape, group)))
    return failure();
  MLIRContext *context = b.getContext();
  if (group.past[0])
    problem.keyLengths = keys;
  b.setInsertionPoint(inner);
  if (group.sinks || group.isSmooth())
    problem.sinks = getSinks(*this, group);
  auto align = group.past[0] ? fa3::attention::Alignment::bottom_right
                             : fa3::attention::Alignment::top_left;
  if (group.window > 0)
    problem.mods.push_back(
        WindowAttr::get(context, group.window - 1, 0, align));
  else if (group.past[0])
    problem.mods.push_back(CausalAttr::get(context));
  else
    problem.mods.push_back(getCausal(context, problem.labels.getExtent(shape.i),
                                     problem.labels.getExtent(shape.j)));
  if (failed(assemble(problem)))
    return failure();
  finish();
  return success();
}

LogicalResult GroupQueryRewrite::run(FloatType castType) {
  if (failed(splitOperands()) || failed(readPositions()))
    return failure();
  Type element = getTensorType(q).getElementType();
  if ((group.past[0] || group.isRotated()) && !element.isF16() &&
      !element.isBF16()) {
    std::string text;
    llvm::raw_string_ostream(text) << element;
    return refuse("it has a cache or a rotation of " + text +
                  ", expects f16 or bf16");
  }
  if (group.isRotated() && failed(readTables()))
    return failure();
  // Keys go into a cache by head, and attention takes what is rotated as it is.
  bool isByHead = bool(group.past[0]);
  if (group.isRotated() && !isByHead && failed(turn(Layout::bshd)))
    return failure();
  q = exchange(q);
  for (Value &value : rows)
    value = exchange(value);
  if (group.isRotated() && isByHead && failed(turn(Layout::bhsd)))
    return failure();
  if (isByHead && failed(appendAll()))
    return failure();
  return attend(castType);
}

/// Of q, k and v as they are, the padding of a prompt hidden.
static LogicalResult convertPrompt(const GroupQuery &group,
                                   FloatType castType) {
  Operation *op = group.op;
  AttentionProblem problem(op, castType);
  OnnxShape shape;
  if (failed(readOnnxTensors(problem, shape, group.heads, group.keyHeads)))
    return failure();
  int64_t queries = problem.labels.getExtent(shape.i),
          keys = problem.labels.getExtent(shape.j);
  if (queries != keys || ShapedType::isDynamic(queries))
    if (!ShapedType::isDynamic(queries) || !ShapedType::isDynamic(keys))
      return refuse(op, "it has other numbers of queries than of keys, without "
                        "a cache");
  if (failed(readGroupQuery(problem, shape, group)))
    return failure();
  if (group.window > 0)
    problem.mods.push_back(
        WindowAttr::get(op->getContext(), group.window - 1, 0,
                        fa3::attention::Alignment::top_left));
  else
    problem.mods.push_back(getCausal(op->getContext(), queries, keys));
  // Keys behind the last one in use, whose number the operand holds.
  problem.conditions.push_back([&](PointBuilder &point) -> Value {
    State state{group.lengths, {{shape.b}}};
    if (getTensorType(group.lengths).getRank() == 2)
      state.dims.push_back({problem.labels.create(1)});
    Value last = point.getElement(state);
    if (!last)
      return {};
    return arith::CmpIOp::create(point.b, arith::CmpIPredicate::sle,
                                 point.getKey(), point.toIndex(last));
  });
  return assemble(problem);
}

LogicalResult fa3::convert::convertGroupQuery(Operation *op,
                                              FloatType castType) {
  GroupQuery group(op);
  if (failed(checkGroupQuery(group)))
    return failure();
  if (!group.q || bool(group.k) != bool(group.v))
    return refuse(op, "it has k or v, not both");
  if (group.k && !group.past[0] && !group.present[0] && !group.present[1] &&
      !group.isRotated() && !group.sinks && !group.isSmooth())
    return convertPrompt(group, castType);
  return GroupQueryRewrite(group).run(castType);
}
