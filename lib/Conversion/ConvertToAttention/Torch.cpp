//===- Torch.cpp - torch.aten.scaled_dot_product_attention ----------------===//
//
// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) as
// torch.nn.functional documents them. A causal mask starts at the first query
// and the first key.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"

using namespace mlir;
using namespace fa3::convert;

/// Labels of q (b.., h, i, c), k and v; groups of heads where there are fewer
/// in k and v.
LogicalResult fa3::convert::readLikeTorch(AttentionProblem &problem,
                                          bool grouped) {
  Operation *op = problem.op;
  Labels &labels = problem.labels;
  RankedTensorType q = getTensorType(op->getOperand(0)),
                   k = getTensorType(op->getOperand(1)),
                   v = getTensorType(op->getOperand(2)),
                   o = getTensorType(op->getResult(0));
  if (!q || !k || !v || !o)
    return refuse(op, "its tensors have no known rank or element type");
  int64_t rank = q.getRank();
  if (rank < 3 || k.getRank() != rank || v.getRank() != rank ||
      o.getRank() != rank)
    return refuse(op, "expects q, k, v and the result to have the same rank of "
                      "at least 3");
  Dims outer, keyOuter;
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    int64_t own = q.getDimSize(dim), other = k.getDimSize(dim);
    Label label = labels.create(own);
    bool isHead = dim == rank - 3;
    if (isHead && grouped && own != other) {
      if (ShapedType::isDynamic(own) || ShapedType::isDynamic(other) ||
          other < 1 || own % other)
        return refuse(op, "expects known numbers of heads for groups, got " +
                              Twine(own) + " and " + Twine(other));
      auto [head, group] = labels.split(label, other, own / other);
      outer.push_back({head, group});
      keyOuter.push_back({head});
      continue;
    }
    // One key head serves all query heads, as torch broadcasts it.
    if (isHead && other == 1 && own != 1 && v.getDimSize(dim) == 1) {
      outer.push_back({label});
      keyOuter.push_back({labels.create(1)});
      continue;
    }
    if (!ShapedType::isDynamic(own) && !ShapedType::isDynamic(other) &&
        own != other)
      return refuse(op, "k has extent " + Twine(other) + " in dimension " +
                            Twine(dim) + ", where q has " + Twine(own));
    outer.push_back({label});
    keyOuter.push_back({label});
  }
  auto create = [&] { return labels.create(ShapedType::kDynamic); };
  Label query = create(), key = create(), element = create(), value = create();
  auto read = [&](Value tensor, Dims dims, Label row, Label column) {
    dims.push_back({row});
    dims.push_back({column});
    return makeState(labels, tensor, std::move(dims));
  };
  auto qs = read(op->getOperand(0), outer, query, element),
       ks = read(op->getOperand(1), keyOuter, key, element),
       vs = read(op->getOperand(2), keyOuter, key, value),
       os = read(op->getResult(0), outer, query, value);
  if (failed(qs) || failed(ks) || failed(vs) || failed(os))
    return refuse(op, "the shapes of its operands do not fit together");
  problem.q = *qs, problem.k = *ks, problem.v = *vs, problem.o = *os;
  return success();
}

Dims fa3::convert::getScoreDims(const AttentionProblem &problem) {
  Dims dims = problem.q.dims;
  dims.back() = problem.k.dims[problem.k.dims.size() - 2];
  return dims;
}

LogicalResult fa3::convert::readBroadcastMask(AttentionProblem &problem,
                                              Value mask, const Dims &score) {
  Operation *op = problem.op;
  RankedTensorType type = getTensorType(mask);
  if (!type)
    return refuse(op, "its mask has no known rank or element type");
  int64_t missing = static_cast<int64_t>(score.size()) - type.getRank();
  if (missing < 0)
    return refuse(op, "its mask has more dimensions than its scores");
  State state{mask, {}};
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const Group &group = score[missing + dim];
    int64_t own = type.getDimSize(dim),
            full = problem.labels.getExtent(problem.labels.resolve(group));
    if (own == 1 && full != 1) {
      state.dims.push_back({problem.labels.create(1)});
      continue;
    }
    if (!ShapedType::isDynamic(own) && !ShapedType::isDynamic(full) &&
        own != full)
      return refuse(op, "its mask has extent " + Twine(own) +
                            " where scores have " + Twine(full));
    state.dims.push_back(group);
  }
  problem.masks.push_back({state, isa<IntegerType>(type.getElementType())});
  return success();
}

LogicalResult fa3::convert::convertTorch(Operation *op, FloatType castType) {
  if (op->getNumOperands() != 8 || op->getNumResults() != 1)
    return refuse(op, "expects 8 operands and a result, got " +
                          Twine(op->getNumOperands()) + " and " +
                          Twine(op->getNumResults()));
  Value mask = op->getOperand(3), scale = op->getOperand(6);
  std::optional<double> dropout = getNumber(op->getOperand(4));
  std::optional<int64_t> causal = getInteger(op->getOperand(5)),
                         grouped = getInteger(op->getOperand(7));
  if (!dropout || *dropout != 0)
    return refuse(op, "it has a dropout that is not known to be 0");
  if (!causal || !grouped)
    return refuse(op, "expects is_causal and enable_gqa to be constants");
  AttentionProblem problem(op, castType);
  if (failed(readLikeTorch(problem, *grouped != 0)))
    return failure();
  if (!isNone(scale)) {
    problem.scale = getNumber(scale);
    if (!problem.scale)
      return refuse(op, "expects its scale to be a constant");
  }
  if (*causal != 0) {
    if (!isNone(mask))
      return refuse(op, "it has both a mask and is_causal");
    RankedTensorType q = getTensorType(problem.q.value),
                     k = getTensorType(problem.k.value);
    problem.mods.push_back(getCausal(op->getContext(),
                                     q.getDimSize(q.getRank() - 2),
                                     k.getDimSize(k.getRank() - 2)));
  }
  if (!isNone(mask) &&
      failed(readBroadcastMask(problem, mask, getScoreDims(problem))))
    return failure();
  return assemble(problem);
}

/// The name of an operation of torch, also of one that torch-mlir keeps as
/// text.
static StringRef getFullName(Operation *op) {
  StringRef name = getName(op);
  auto kept = dyn_cast_or_null<StringAttr>(op->getAttr("name"));
  return name == "torch.operator" && kept ? kept.getValue() : name;
}

bool fa3::convert::isTorchKernel(Operation *op) {
  StringRef name = getFullName(op);
  return name.consume_front("torch.aten._") &&
         (name.starts_with("scaled_dot_product_") ||
          name.starts_with("flash_attention_") ||
          name.starts_with("efficient_attention_"));
}

LogicalResult fa3::convert::refuseTorchKernel(Operation *op) {
  StringRef name = getFullName(op);
  bool isGradient = name.contains("backward");
  return refuse(
      op, "'" + name + "' is " +
              (isGradient ? "the gradient of a kernel" : "a kernel") +
              " of torch; expects 'torch.aten.scaled_dot_product_attention', "
              "whose gradient attention-differentiate makes");
}
