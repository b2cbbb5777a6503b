//===- Contraction.cpp - sums of products of two tensors ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Contraction.h"
#include "AttentionProblem.h"
#include "Foreign.h"
#include "PointBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa3::convert;

FailureOr<State> Contraction::getState(Labels &labels, unsigned number,
                                       const Dims &ofLoops) const {
  Dims dims;
  for (int64_t loop : loops[number])
    dims.push_back(loop < 0 ? Group{labels.create(1)} : ofLoops[loop]);
  return makeState(labels, tensors[number], std::move(dims));
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// The argument that a value is, perhaps in a wider type.
static BlockArgument getArgument(Value value) {
  while (auto ext = value.getDefiningOp<arith::ExtFOp>())
    value = ext.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// Whether a body adds a product of its first two arguments to the third.
static bool addsProduct(Block &block) {
  if (block.getNumArguments() != 3 || block.empty() ||
      getName(&block.back()) != "linalg.yield" ||
      block.back().getNumOperands() != 1)
    return false;
  auto sum = block.back().getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  bool isFirst = sum.getLhs() == block.getArgument(2);
  Value product = isFirst ? sum.getRhs() : sum.getLhs();
  Value carried = isFirst ? sum.getLhs() : sum.getRhs();
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul || carried != block.getArgument(2))
    return false;
  BlockArgument lhs = getArgument(mul.getLhs()),
                rhs = getArgument(mul.getRhs());
  return lhs && rhs && lhs.getOwner() == &block && rhs.getOwner() == &block &&
         lhs.getArgNumber() + rhs.getArgNumber() == 1;
}

static std::optional<Contraction> readLinalg(Operation *op) {
  if (op->getNumOperands() != 3 || op->getNumResults() != 1 ||
      op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  if (!maps || maps.size() != 3 || !addsProduct(op->getRegion(0).front()))
    return std::nullopt;
  Contraction contraction{op, {}, {}, 0};
  for (auto [number, attribute] : llvm::enumerate(maps)) {
    auto map = dyn_cast<AffineMapAttr>(attribute);
    RankedTensorType type = getTensorType(op->getOperand(number));
    if (!map || !type || map.getValue().getNumResults() != type.getRank() ||
        !map.getValue().isProjectedPermutation() ||
        (number > 0 && map.getValue().getNumDims() != contraction.count))
      return std::nullopt;
    contraction.count = map.getValue().getNumDims();
    for (AffineExpr expr : map.getValue().getResults())
      contraction.loops[number].push_back(
          cast<AffineDimExpr>(expr).getPosition());
  }
  Operation *init = op->getOperand(2).getDefiningOp();
  Value start =
      getName(init) == "linalg.fill" ? getOperand(init, 0) : op->getOperand(2);
  if (getNumber(start) != 0.0)
    return std::nullopt;
  contraction.tensors[0] = op->getOperand(0);
  contraction.tensors[1] = op->getOperand(1);
  contraction.tensors[2] = op->getResult(0);
  return contraction;
}

//===----------------------------------------------------------------------===//
// torch and TOSA
//===----------------------------------------------------------------------===//

/// (batch.., i, c) times (batch.., c, j).
static std::optional<Contraction> readMatmul(Operation *op) {
  Contraction contraction{op, {}, {}, 0};
  RankedTensorType types[3];
  for (unsigned i = 0; i < 3; ++i) {
    contraction.tensors[i] =
        i < 2 ? getOperand(op, i) : Value(op->getResult(0));
    types[i] = getTensorType(contraction.tensors[i]);
    if (!types[i] || types[i].getRank() != types[0].getRank())
      return std::nullopt;
  }
  int64_t batch = types[0].getRank() - 2;
  if (batch < 0)
    return std::nullopt;
  for (unsigned i = 0; i < 3; ++i) {
    for (int64_t dim = 0; dim < batch; ++dim) {
      bool isRepeated =
          types[i].getDimSize(dim) == 1 && types[2].getDimSize(dim) != 1;
      contraction.loops[i].push_back(isRepeated ? -1 : dim);
    }
    // Loops of rows, columns and the sum.
    int64_t row = batch, column = batch + 1, inner = batch + 2;
    contraction.loops[i].push_back(i == 1 ? inner : row);
    contraction.loops[i].push_back(i == 0 ? inner : column);
  }
  contraction.count = batch + 3;
  return contraction;
}

static std::optional<Contraction> readEinsum(Operation *op) {
  Operation *text = op->getOperand(0).getDefiningOp();
  Operation *list =
      getOperand(op, 1) ? op->getOperand(1).getDefiningOp() : nullptr;
  if (getName(text) != "torch.constant.str" || !text->getAttr("value") ||
      getName(list) != "torch.prim.ListConstruct" ||
      list->getNumOperands() != 2)
    return std::nullopt;
  auto equation = dyn_cast<StringAttr>(text->getAttr("value"));
  if (!equation)
    return std::nullopt;
  auto [inputs, output] = equation.getValue().split("->");
  auto [lhs, rhs] = inputs.split(',');
  Contraction contraction{op, {}, {}, 0};
  contraction.tensors[0] = list->getOperand(0);
  contraction.tensors[1] = list->getOperand(1);
  contraction.tensors[2] = op->getResult(0);
  std::string names;
  const StringRef parts[] = {lhs, rhs, output};
  for (auto [number, letters] : llvm::enumerate(parts)) {
    for (char letter : letters) {
      if (letter == ' ')
        continue;
      size_t at = names.find(letter);
      if (!llvm::isAlpha(letter) || (number == 2 && at == std::string::npos))
        return std::nullopt;
      if (at == std::string::npos) {
        at = names.size();
        names += letter;
      }
      if (llvm::is_contained(contraction.loops[number],
                             static_cast<int64_t>(at)))
        return std::nullopt;
      contraction.loops[number].push_back(at);
    }
    RankedTensorType type = getTensorType(contraction.tensors[number]);
    if (!type || type.getRank() !=
                     static_cast<int64_t>(contraction.loops[number].size()))
      return std::nullopt;
  }
  contraction.count = names.size();
  return contraction;
}

//===----------------------------------------------------------------------===//
// StableHLO
//===----------------------------------------------------------------------===//

/// The list behind `name =` in the text of an attribute; empty without it.
static std::optional<SmallVector<int64_t>> parseList(StringRef text,
                                                     StringRef name) {
  SmallVector<int64_t> numbers;
  size_t at = text.find((name + " = [").str());
  if (at == StringRef::npos)
    return numbers;
  StringRef list = text.substr(at).split('[').second.split(']').first;
  SmallVector<StringRef> parts;
  list.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (part.trim().getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  return numbers;
}

static std::optional<Contraction> readDotGeneral(Operation *op) {
  Contraction contraction{op, {}, {}, 0};
  RankedTensorType types[2];
  for (unsigned i = 0; i < 2; ++i) {
    contraction.tensors[i] = getOperand(op, i);
    types[i] = getTensorType(contraction.tensors[i]);
  }
  contraction.tensors[2] = op->getResult(0);
  RankedTensorType result = getTensorType(op->getResult(0));
  Attribute attribute = op->getAttr("dot_dimension_numbers");
  if (!types[0] || !types[1] || !result || !attribute)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  static constexpr StringLiteral sides[] = {"lhs", "rhs"};
  for (unsigned i = 0; i < 2; ++i) {
    contraction.loops[i].assign(types[i].getRank(), -1);
    for (StringRef kind : {"batching", "contracting"}) {
      auto list =
          parseList(text, (sides[i] + "_" + kind + "_dimensions").str());
      if (!list)
        return std::nullopt;
      // Batches are the first loops, sums the next ones.
      int64_t loop = kind == "batching" ? 0 : contraction.loops[2].size();
      for (int64_t dim : *list) {
        if (dim < 0 || dim >= types[i].getRank() ||
            contraction.loops[i][dim] != -1)
          return std::nullopt;
        contraction.loops[i][dim] = loop++;
        if (kind == "batching" && i == 0)
          contraction.loops[2].push_back(loop - 1);
      }
      if (i == 0)
        contraction.count = loop;
      else if (kind == "contracting" && loop != contraction.count)
        return std::nullopt;
      if (kind == "batching" && loop != int64_t(contraction.loops[2].size()))
        return std::nullopt;
    }
  }
  for (unsigned i = 0; i < 2; ++i)
    for (int64_t &loop : contraction.loops[i])
      if (loop == -1) {
        loop = contraction.count++;
        contraction.loops[2].push_back(loop);
      }
  if (result.getRank() != static_cast<int64_t>(contraction.loops[2].size()))
    return std::nullopt;
  return contraction;
}

std::optional<Contraction> fa3::convert::readContraction(Operation *op) {
  StringRef name = getName(op);
  if (name.starts_with("linalg."))
    return readLinalg(op);
  if (!op || op->getNumResults() != 1 || op->getNumOperands() < 2)
    return std::nullopt;
  if (name == "torch.aten.matmul" || name == "torch.aten.bmm" ||
      name == "torch.aten.mm")
    return readMatmul(op);
  if (name == "torch.aten.einsum")
    return readEinsum(op);
  if (name == "stablehlo.dot_general")
    return readDotGeneral(op);
  if (name == "tosa.matmul") {
    // Zero points.
    for (Value point : op->getOperands().drop_front(2))
      if (getNumber(point) != 0.0)
        return std::nullopt;
    return readMatmul(op);
  }
  return std::nullopt;
}
