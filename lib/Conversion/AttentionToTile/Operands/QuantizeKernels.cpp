//===- QuantizeKernels.cpp - kernels of attention.quantize ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A scale for every row takes one kernel. Others take three, since no CTA sees
// all that share a scale: largest magnitudes of rows, their maximum, division.
//
// Rows of a tile lie in different warps, and nothing reduces across warps. So
// the first kernel leaves one partial maximum for every row of its tile, in
// memory, and the second one reads them as columns.
//===----------------------------------------------------------------------===//

#include "QuantizeKernels.h"
#include "../Emit/KernelMath.h"
#include "../Emit/LaunchArguments.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using attention::HostQuantization;
using attention::QuantizeOp;

namespace {
/// Rows of a tile: of one warp group, or two where they share the matrix.
constexpr int64_t kRows = 64, kRotatedRows = 128;
/// Columns of a tile in registers, at most.
constexpr int64_t kMostColumns = 128;
/// Rows of a sequence with one scale that one CTA reduces.
constexpr int64_t kRowsPerCta = 1024;
/// Partial maxima that a step of the second kernel reads.
constexpr int64_t kPartialsPerStep = 256;

/// Where a kernel is built, and what it is made of.
class QuantizeKernels : KernelMath {
public:
  QuantizeKernels(ImplicitLocOpBuilder &host, const HostQuantization &operands,
                  gpu::GPUModuleOp module, StringRef functionName)
      : KernelMath(operands.op->getLoc(), OpBuilder(host.getContext())),
        host(host), operands(operands), op(operands.op), module(module),
        prefix((functionName + "_" + operands.name).str()),
        perScale(op.getRows()), headDim(op.getHeadDim()) {
    auto scales = cast<MemRefType>(operands.scales.getType());
    auto source = cast<MemRefType>(operands.source.getType());
    isOfBatch = scales.getDimSize(0) != 1 || source.getDimSize(0) == 1;
    isOfHead = scales.getDimSize(1) != 1 || source.getDimSize(1) == 1;
    bool isWide =
        operands.rotation && (perScale <= 1 || perScale % kRotatedRows == 0);
    rows = isWide ? kRotatedRows : kRows;
    for (columns = headDim; columns > kMostColumns;)
      columns /= 2;
  }

  FailureOr<int64_t> build();

private:
  using Body = function_ref<void(ValueRange)>;

  LogicalResult verify();
  Value allocatePartials();
  /// A kernel on host values; `body` gets its arguments and emits the grid.
  void launch(StringRef name, ValueRange arguments, Body body);

  void buildRotation();
  void buildTokens();
  void buildMaxima(Value partials);
  void buildBlockScales(Value partials);
  void buildSequenceScales(Value partials);
  void buildValues();

  /// A part of the columns of a tile of the source, rotated, as f32.
  Value loadPart(ValueRange at, Value rotation, Value source, int64_t column);
  /// The largest magnitude of every row of a tile, at least `init`.
  Value reduceTile(ValueRange at, Value rotation, Value source, Value init);
  void storeTile(ValueRange at, Value rotation, Value source, Value values,
                 Value inverse);
  /// A tile of f32 in the 8-bit format.
  Value round(Value scaled);
  /// From largest magnitudes.
  Value makeScales(Value largest);

  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  RankedTensorType tile(ArrayRef<int64_t> shape) {
    return tensor(shape, b.getF32Type());
  }

  ImplicitLocOpBuilder &host;
  const HostQuantization &operands;
  QuantizeOp op;
  gpu::GPUModuleOp module;
  std::string prefix;
  int64_t perScale, headDim, rows, columns;
  /// Whether every batch, every head has scales of its own.
  bool isOfBatch, isOfHead;
  int64_t count = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void QuantizeKernels::launch(StringRef name, ValueRange arguments, Body body) {
  gpu::GPUFuncOp kernel = createKernel(module, b.getLoc(), prefix + "_" + name,
                                       arguments.getTypes());
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  body(kernel.getBody().front().getArguments());
  launchKernel(host, host.getLoc(), module, kernel, arguments);
  ++count;
}

Value QuantizeKernels::loadPart(ValueRange at, Value rotation, Value source,
                                int64_t column) {
  Type element = cast<MemRefType>(source.getType()).getElementType();
  RankedTensorType type = tile({rows, columns});
  SmallVector<Value> place(at);
  if (!rotation) {
    place.push_back(index(column));
    Value part = tile::LoadOp::create(
        b, RankedTensorType::get({rows, columns}, element), source, place);
    return element.isF32() ? part : arith::ExtFOp::create(b, type, part);
  }
  place.push_back(index(0));
  Value row = tile::LoadOp::create(
      b, RankedTensorType::get({rows, headDim}, element), source, place);
  Value matrix = tile::LoadOp::create(
      b, RankedTensorType::get({headDim, columns}, element), rotation,
      ValueRange{index(0), index(column)});
  Value product = tile::DotOp::create(b, type, row, matrix, splat(type, 0),
                                      tile::LhsOrder::mk, tile::RhsOrder::kn);
  return arith::MulFOp::create(
      b, product, splat(type, 1 / std::sqrt(static_cast<double>(headDim))));
}

Value QuantizeKernels::reduceTile(ValueRange at, Value rotation, Value source,
                                  Value init) {
  for (int64_t column = 0; column < headDim; column += columns) {
    Value part = loadPart(at, rotation, source, column);
    init = tile::ReduceOp::create(b, tile({rows}), tile::ReduceKind::max,
                                  math::AbsFOp::create(b, part), init, 1,
                                  IntegerAttr());
  }
  return init;
}

void QuantizeKernels::storeTile(ValueRange at, Value rotation, Value source,
                                Value values, Value inverse) {
  RankedTensorType type = tile({rows, columns});
  for (int64_t column = 0; column < headDim; column += columns) {
    Value part = loadPart(at, rotation, source, column);
    Value factor =
        isa<RankedTensorType>(inverse.getType())
            ? tile::BroadcastOp::create(b, type, inverse, 1).getResult()
            : tensor::SplatOp::create(b, inverse, type).getResult();
    Value scaled = arith::MulFOp::create(b, part, factor);
    Value result = round(scaled);
    SmallVector<Value> place(at);
    place.push_back(index(column));
    tile::StoreOp::create(b, result, values, place);
    for (uint64_t term = 1; term < op.getTerms(); ++term) {
      Value before = arith::ExtFOp::create(b, type, result);
      scaled = arith::SubFOp::create(b, scaled, before);
      result = round(scaled);
      place.back() = index(term * headDim + column);
      tile::StoreOp::create(b, result, values, place);
    }
  }
}

Value QuantizeKernels::round(Value scaled) {
  auto type = cast<RankedTensorType>(scaled.getType()).clone(op.getFormat());
  if (isa<FloatType>(op.getFormat()))
    return arith::TruncFOp::create(b, type, scaled);
  Value whole = attention::roundToInteger(b, scaled);
  return arith::FPToSIOp::create(b, type, whole);
}

Value QuantizeKernels::makeScales(Value largest) {
  auto type = cast<RankedTensorType>(largest.getType());
  Value scales = arith::MulFOp::create(
      b, largest, splat(type, 1 / attention::getLargestNumber(op.getFormat())));
  return arith::MaxNumFOp::create(b, scales,
                                  splat(type, attention::kLeastQuantizedScale));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The matrix from its signs.
void QuantizeKernels::buildRotation() {
  constexpr int64_t kColumns = 16; // divides every head dim
  launch("rotation", {operands.signs, operands.rotation},
         [&](ValueRange arguments) {
           Value signs = arguments[0], matrix = arguments[1];
           grid({blocksOf(index(headDim), kRows), index(headDim / kColumns)},
                [&](ValueRange position) {
                  Value row = mul(position[0], index(kRows));
                  Value column = mul(position[1], index(kColumns));
                  auto shape = [&](Type element) {
                    return RankedTensorType::get({kRows, kColumns}, element);
                  };
                  Type given =
                      cast<MemRefType>(signs.getType()).getElementType();
                  auto rowType = RankedTensorType::get({kRows}, given);
                  Value ofRows =
                      tile::LoadOp::create(b, rowType, signs, ValueRange{row});
                  if (given.getIntOrFloatBitWidth() < 32)
                    ofRows = arith::ExtFOp::create(b, tile({kRows}), ofRows);
                  Value none = splat(shape(b.getF32Type()), 0);
                  Value isNegative = arith::CmpFOp::create(
                      b, arith::CmpFPredicate::OLT,
                      tile::BroadcastOp::create(b, shape(b.getF32Type()),
                                                ofRows, 1),
                      none);
                  auto coordinate = [&](int64_t dim, Value offset) {
                    return tile::CoordOp::create(b, shape(b.getIndexType()),
                                                 dim, offset);
                  };
                  Value ofColumns = coordinate(1, column);
                  Value sign = arith::XOrIOp::create(
                      b, isNegative,
                      attention::buildHadamardSign(
                          b, headDim, coordinate(0, row), ofColumns));
                  Value one = splat(shape(b.getF32Type()), 1);
                  Value numbers = arith::SelectOp::create(
                      b, sign, splat(shape(b.getF32Type()), -1), one);
                  Type element =
                      cast<MemRefType>(matrix.getType()).getElementType();
                  tile::StoreOp::create(
                      b, arith::TruncFOp::create(b, shape(element), numbers),
                      matrix, ValueRange{row, column});
                });
         });
}

/// Every row has a scale: one kernel.
void QuantizeKernels::buildTokens() {
  SmallVector<Value> arguments = {operands.source, operands.values,
                                  operands.scales};
  if (operands.rotation)
    arguments.push_back(operands.rotation);
  launch("quantize", arguments, [&](ValueRange arguments) {
    Value source = arguments[0], values = arguments[1], scales = arguments[2];
    Value rotation = operands.rotation ? arguments[3] : Value();
    grid({blocksOf(dim(source, 2), rows), dim(source, 1), dim(source, 0)},
         [&](ValueRange position) {
           Value first = mul(position[0], index(rows));
           Value at[] = {position[2], position[1], first};
           Value largest =
               reduceTile(at, rotation, source, splat(tile({rows}), 0));
           Value scale = makeScales(largest);
           Value inverse =
               arith::DivFOp::create(b, splat(tile({rows}), 1), scale);
           storeTile(at, rotation, source, values, inverse);
           tile::StoreOp::create(b, scale, scales, at);
         });
  });
}

/// For every scale, partial maxima in memory: (batch, head, block, partial).
/// Who shares the scale has partials of his own.
Value QuantizeKernels::allocatePartials() {
  ImplicitLocOpBuilder &b = host;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value one = index(1), blocks = one, partials = index(rows);
  auto share = [&](Value count) {
    partials = arith::MulIOp::create(b, partials, count);
  };
  if (perScale)
    blocks = arith::CeilDivSIOp::create(b, operands.rows, index(perScale));
  else
    share(arith::CeilDivSIOp::create(b, operands.rows, index(kRowsPerCta)));
  if (!isOfHead)
    share(operands.heads);
  if (!isOfBatch)
    share(operands.batch);
  int64_t dynamic = ShapedType::kDynamic;
  auto type = RankedTensorType::get(
      {isOfBatch ? dynamic : 1, isOfHead ? dynamic : 1, perScale ? dynamic : 1,
       perScale && isOfBatch && isOfHead ? rows : dynamic},
      b.getF32Type());
  return attention::allocateWorkspace(
      b, type, {operands.batch, operands.heads, blocks, partials},
      operands.name + "_maxima");
}

void QuantizeKernels::buildMaxima(Value partials) {
  SmallVector<Value> arguments = {operands.source, partials};
  if (operands.rotation)
    arguments.push_back(operands.rotation);
  launch("maxima", arguments, [&](ValueRange arguments) {
    Value source = arguments[0], partials = arguments[1];
    Value rotation = operands.rotation ? arguments[2] : Value();
    Value batch = dim(source, 0), heads = dim(source, 1),
          length = dim(source, 2);
    int64_t span = perScale ? perScale : kRowsPerCta;
    Value spans = blocksOf(length, span);
    grid({spans, heads, batch}, [&](ValueRange position) {
      Value first = mul(position[0], index(span));
      Value left = arith::SubIOp::create(b, length, first);
      Value most = index(span / rows);
      Value steps = arith::MinSIOp::create(b, blocksOf(left, rows), most);
      Value largest =
          loop(steps, splat(tile({rows}), 0), [&](Value step, Value largest) {
            Value row = arith::AddIOp::create(b, first, mul(step, index(rows)));
            return reduceTile({position[2], position[1], row}, rotation, source,
                              largest);
          });
      // Number of this CTA among those of its scale, slowest first.
      Value number = index(0);
      auto count = [&](Value which, Value of) {
        number = arith::AddIOp::create(b, mul(number, of), which);
      };
      if (!isOfBatch)
        count(position[2], batch);
      if (!isOfHead)
        count(position[1], heads);
      if (!perScale)
        count(position[0], spans);
      tile::StoreOp::create(b, largest, partials,
                            ValueRange{isOfBatch ? position[2] : index(0),
                                       isOfHead ? position[1] : index(0),
                                       perScale ? position[0] : index(0),
                                       mul(number, index(rows))});
    });
  });
}

/// The rows of a tile are blocks.
void QuantizeKernels::buildBlockScales(Value partials) {
  launch("scales", {partials, operands.scales}, [&](ValueRange arguments) {
    Value partials = arguments[0], scales = arguments[1];
    grid({blocksOf(dim(scales, 2), kRows), dim(scales, 1), dim(scales, 0)},
         [&](ValueRange position) {
           Value at[] = {position[2], position[1],
                         mul(position[0], index(kRows))};
           Value none = splat(tile({kRows}), 0);
           Value largest = loop(
               blocksOf(dim(partials, 3), rows), none,
               [&](Value step, Value largest) {
                 Value part = tile::LoadOp::create(
                     b, tile({kRows, rows}), partials,
                     ValueRange{at[0], at[1], at[2], mul(step, index(rows))});
                 return tile::ReduceOp::create(b, tile({kRows}),
                                               tile::ReduceKind::max, part,
                                               largest, 1, IntegerAttr())
                     .getResult();
               });
           tile::StoreOp::create(b, makeScales(largest), scales, at);
         });
  });
}

/// All rows of the tile get the same: partial maxima are its columns. The one
/// scale is its first row, others lie outside of the array.
void QuantizeKernels::buildSequenceScales(Value partials) {
  launch("scales", {partials, operands.scales}, [&](ValueRange arguments) {
    Value partials = arguments[0], scales = arguments[1];
    grid({dim(scales, 1), dim(scales, 0)}, [&](ValueRange position) {
      RankedTensorType type = tile({kPartialsPerStep});
      Value none = splat(type, 0);
      Value largest =
          loop(blocksOf(dim(partials, 3), kPartialsPerStep), none,
               [&](Value step, Value largest) {
                 Value part = tile::LoadOp::create(
                     b, type, partials,
                     ValueRange{position[1], position[0], index(0),
                                mul(step, index(kPartialsPerStep))});
                 return arith::MaxNumFOp::create(b, part, largest).getResult();
               });
      Value all = tile::BroadcastOp::create(b, tile({kRows, kPartialsPerStep}),
                                            largest, 0);
      Value row =
          tile::ReduceOp::create(b, tile({kRows}), tile::ReduceKind::max, all,
                                 splat(tile({kRows}), 0), 1, IntegerAttr());
      SmallVector<Value> at = {position[1], position[0], index(0)};
      tile::StoreOp::create(b, makeScales(row), scales, at);
    });
  });
}

void QuantizeKernels::buildValues() {
  SmallVector<Value> arguments = {operands.source, operands.values,
                                  operands.scales};
  if (operands.rotation)
    arguments.push_back(operands.rotation);
  launch("quantize", arguments, [&](ValueRange arguments) {
    Value source = arguments[0], values = arguments[1], scales = arguments[2];
    Value rotation = operands.rotation ? arguments[3] : Value();
    grid({blocksOf(dim(source, 2), rows), dim(source, 1), dim(source, 0)},
         [&](ValueRange position) {
           Value first = mul(position[0], index(rows));
           Value block = index(0);
           if (perScale)
             block = arith::DivUIOp::create(b, first, index(perScale));
           Value scale = tile::ScalarLoadOp::create(
               b, b.getF32Type(), scales,
               ValueRange{isOfBatch ? position[2] : index(0),
                          isOfHead ? position[1] : index(0), block});
           Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
           storeTile({position[2], position[1], first}, rotation, source,
                     values, arith::DivFOp::create(b, one, scale));
         });
  });
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

LogicalResult QuantizeKernels::verify() {
  if (perScale > 1 && perScale % kRows)
    return op.emitOpError("has a scale for every ")
           << perScale << " rows: expects 0 (all), 1 or a multiple of the "
           << "tile's " << kRows;
  if (perScale == 1 && !(isOfBatch && isOfHead))
    return op.emitOpError("has a scale for every row that batches or heads "
                          "share: expects scales of their own");
  return success();
}

FailureOr<int64_t> QuantizeKernels::build() {
  if (failed(verify()))
    return failure();
  if (operands.signs)
    buildRotation();
  if (perScale == 1) {
    buildTokens();
    return count;
  }
  Value partials = allocatePartials();
  buildMaxima(partials);
  if (perScale)
    buildBlockScales(partials);
  else
    buildSequenceScales(partials);
  buildValues();
  return count;
}

FailureOr<int64_t>
fa3::buildQuantizeKernels(ImplicitLocOpBuilder &host,
                          const HostQuantization &quantization,
                          gpu::GPUModuleOp module, StringRef functionName) {
  return QuantizeKernels(host, quantization, module, functionName).build();
}
