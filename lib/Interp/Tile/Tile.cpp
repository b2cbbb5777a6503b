//===- Tile.cpp - values of the tile dialect ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "../Core/Engine.h"
#include "TileElements.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// reduce, broadcast, coord
//===----------------------------------------------------------------------===//

struct ReduceExtra : Extra {
  bool isMax = false, hasInit = false;
  /// The operand is [outer][extent][inner]; the result has `kept` instead of
  /// `extent`.
  int64_t outer = 1, extent = 1, inner = 1, kept = 1;
};

template <typename T>
void reduce(const ReduceExtra &r, Format format, const T *from, T *to) {
  for (int64_t i = 0; i < r.outer; ++i)
    for (int64_t step = 0; step < r.extent; ++step) {
      const T *row = from + (i * r.extent + step) * r.inner;
      T *sum = to + (i * r.kept + step % r.kept) * r.inner;
      bool first = step < r.kept && !r.hasInit;
      for (int64_t j = 0; j < r.inner; ++j) {
        if (first)
          sum[j] = row[j];
        else if (r.isMax)
          sum[j] = std::isnan(row[j]) || sum[j] >= row[j] ? sum[j] : row[j];
        else
          sum[j] = finish(format, T(sum[j] + row[j]));
      }
    }
}

LogicalResult runReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<ReduceExtra>();
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], source.getLane(),
                             extra.outer * extra.kept * extra.inner);
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      if (extra.hasInit)
        std::copy_n(c.buffer(in.in[1]).data<T>(), out.size(), out.data<T>());
      reduce<T>(extra, in.format, source.data<T>(), out.data<T>());
    }
  });
  return success();
}

LogicalResult decodeReduce(Decoder &d, tile::ReduceOp op) {
  RankedTensorType type = op.getSource().getType();
  FailureOr<Format> format = d.getFormat(op, type);
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<ReduceExtra>();
  extra->isMax = op.getKind() == tile::ReduceKind::max;
  extra->hasInit = static_cast<bool>(op.getInit());
  int64_t dim = op.getDim();
  for (int64_t i = 0; i < type.getRank(); ++i)
    (i < dim    ? extra->outer
     : i == dim ? extra->extent
                : extra->inner) *= type.getDimSize(i);
  extra->kept = op.getModulo().value_or(1);
  d.emit(op, runReduce, extra).format = *format;
  return success();
}

struct BroadcastExtra : Extra {
  int64_t dim = 0, rows = 0, columns = 0;
};

LogicalResult runBroadcast(Context &c, const Instr &in) {
  const auto &extra = in.get<BroadcastExtra>();
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out =
      c.makeBuffer(in.out[0], source.getLane(), extra.rows * extra.columns);
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    const T *from = source.data<T>();
    T *to = out.data<T>();
    for (int64_t row = 0; row < extra.rows; ++row, to += extra.columns) {
      if (extra.dim == 0)
        std::copy_n(from, extra.columns, to);
      else
        std::fill_n(to, extra.columns, from[row]);
    }
  });
  return success();
}

LogicalResult decodeTileBroadcast(Decoder &d, tile::BroadcastOp op) {
  if (failed(d.getFormat(op, op.getResult().getType())))
    return failure();
  auto *extra = d.makeExtra<BroadcastExtra>();
  extra->dim = op.getDim();
  extra->rows = op.getResult().getType().getDimSize(0);
  extra->columns = op.getResult().getType().getDimSize(1);
  d.emit(op, runBroadcast, extra);
  return success();
}

struct CoordExtra : Extra {
  TileShape shape;
  bool alongRows = false;
};

LogicalResult runTileCoord(Context &c, const Instr &in) {
  const auto &extra = in.get<CoordExtra>();
  Buffer &out = c.makeBuffer(in.out[0], Lane::I64, extra.shape.size());
  int64_t offset = c.integer(in.in[0]), *to = out.data<int64_t>();
  if (offset < 0)
    return c.error(in) << "'tile.coord' expects an offset of at least 0, got "
                       << offset;
  for (int64_t row = 0; row < extra.shape.rows; ++row)
    for (int64_t column = 0; column < extra.shape.columns; ++column)
      *to++ = offset + (extra.alongRows ? row : column);
  return success();
}

LogicalResult decodeTileCoord(Decoder &d, tile::CoordOp op) {
  auto *extra = d.makeExtra<CoordExtra>();
  extra->shape = getTileShape(op.getResult().getType());
  extra->alongRows = extra->shape.rank == 2 && op.getDim() == 0;
  d.emit(op, runTileCoord, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// relabel, transpose
//===----------------------------------------------------------------------===//

/// A permutation: element i of the result is element from[i] of the operand.
struct PermuteExtra : Extra {
  SmallVector<int32_t, 0> from;
};

LogicalResult runPermute(Context &c, const Instr &in) {
  const auto &extra = in.get<PermuteExtra>();
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], source.getLane(), extra.from.size());
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    for (auto [i, from] : llvm::enumerate(extra.from))
      out.data<T>()[i] = source.data<T>()[from];
  });
  return success();
}

LogicalResult decodeRelabel(Decoder &d, tile::RelabelOp op) {
  RankedTensorType type = op.getResult().getType();
  if (failed(d.getFormat(op, type)))
    return failure();
  auto *extra = d.makeExtra<PermuteExtra>();
  TileShape shape = getTileShape(type);
  bool alongRows = shape.rank == 2 && op.getDim() == 0;
  extra->from.resize(shape.size());
  auto rename = [&](int64_t old) {
    int64_t high = old >> op.getBits().size() << op.getBits().size();
    for (auto [i, bit] : llvm::enumerate(op.getBits()))
      high |= ((old >> bit) & 1) << i;
    return high;
  };
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      extra->from[(alongRows ? rename(row) : row) * shape.columns +
                  (alongRows ? column : rename(column))] =
          row * shape.columns + column;
  d.emit(op, runPermute, extra);
  return success();
}

LogicalResult decodeTileTranspose(Decoder &d, tile::TransposeOp op) {
  RankedTensorType type = op.getResult().getType();
  if (failed(d.getFormat(op, type)))
    return failure();
  auto *extra = d.makeExtra<PermuteExtra>();
  TileShape shape = getTileShape(type);
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      extra->from.push_back(column * shape.rows + row);
  d.emit(op, runPermute, extra);
  return success();
}

struct UnpackExtra : Extra {
  int64_t columns = 0;
};

LogicalResult runUnpack(Context &c, const Instr &in) {
  Buffer &source = c.buffer(in.in[0]);
  int64_t columns = in.get<UnpackExtra>().columns,
          rows = source.size() / columns;
  Buffer &out = c.makeBuffer(in.out[0], Lane::F32, 2 * source.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      auto byte =
          static_cast<uint8_t>(source.data<int64_t>()[row * columns + column]);
      float *at = out.data<float>() + 2 * row * columns + column;
      at[0] = static_cast<int8_t>(byte << 4) >> 4;
      at[columns] = static_cast<int8_t>(byte) >> 4;
    }
  return success();
}

LogicalResult decodeUnpack(Decoder &d, tile::UnpackOp op) {
  auto *extra = d.makeExtra<UnpackExtra>();
  extra->columns = op.getSource().getType().getDimSize(1);
  d.emit(op, runUnpack, extra);
  return success();
}

/// A part of a tile, of tensor.extract_slice.
LogicalResult decodeSlice(Decoder &d, tensor::ExtractSliceOp op) {
  RankedTensorType type = op.getType();
  if (!tile::isTile(type) || type.getRank() != op.getSourceType().getRank() ||
      !op.getOffsets().empty() || !op.hasUnitStride())
    return op.emitError("'tensor.extract_slice' of ")
           << op.getSourceType() << " is not known to the interpreter: expects "
           << "a tile at a constant place of another";
  if (failed(d.getFormat(op, type)))
    return failure();
  auto *extra = d.makeExtra<PermuteExtra>();
  TileShape shape = getTileShape(type), from = getTileShape(op.getSourceType());
  ArrayRef<int64_t> at = op.getStaticOffsets();
  int64_t first = (shape.rank == 2 ? at.front() * from.columns : 0) + at.back();
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      extra->from.push_back(first + row * from.columns + column);
  d.emit(op, runPermute, extra);
  return success();
}

//===----------------------------------------------------------------------===//
// where, any_possible
//===----------------------------------------------------------------------===//

bool anyTrue(Buffer &mask) {
  const uint8_t *values = mask.data<uint8_t>();
  return std::any_of(values, values + mask.size(),
                     [](uint8_t v) { return v != 0; });
}

LogicalResult runAnyPossible(Context &c, const Instr &in) {
  bool any = anyTrue(c.buffer(in.in[0]));
  switch (c.engine.getOptions().guards) {
  case Guards::Exact:
    break;
  case Guards::Random:
    any |= c.engine.flip();
    break;
  case Guards::Taken:
    any = true;
    break;
  }
  c.cells[in.out[0]].i = any;
  return success();
}

struct WhereExtra : Extra {
  Code body;
};

LogicalResult runWhere(Context &c, const Instr &in) {
  const auto &extra = in.get<WhereExtra>();
  Buffer &condition = c.buffer(in.in[0]);
  if (!anyTrue(condition)) {
    for (size_t i = 0; i < in.out.size(); ++i)
      c.cells[in.out[i]] = c.cells[in.in[i + 1]];
    return success();
  }
  if (failed(runCode(c, extra.body)))
    return failure();
  for (size_t number = 0; number < in.out.size(); ++number) {
    Buffer &taken = c.buffer(extra.body.yields[number]);
    Buffer &otherwise = c.buffer(in.in[number + 1]);
    Buffer &out = c.makeBuffer(in.out[number], taken.getLane(), taken.size());
    // One condition for `repeat` consecutive elements.
    int64_t repeat = taken.size() / condition.size();
    dispatchLane(taken.getLane(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < condition.size(); ++i)
        std::copy_n((condition.data<uint8_t>()[i] ? taken : otherwise)
                            .template data<T>() +
                        i * repeat,
                    repeat, out.data<T>() + i * repeat);
    });
  }
  return success();
}

LogicalResult decodeWhere(Decoder &d, tile::WhereOp op) {
  auto *extra = d.makeExtra<WhereExtra>();
  if (failed(d.decodeRegion(op.getBody(), extra->body)))
    return failure();
  d.emit(op, runWhere, extra);
  return success();
}

} // namespace

void fa3::interp::populateTile(Registry &r) {
  r.add<tile::ReduceOp>(decodeReduce);
  r.add<tile::BroadcastOp>(decodeTileBroadcast);
  r.add<tile::CoordOp>(decodeTileCoord);
  r.add<tile::RelabelOp>(decodeRelabel);
  r.add<tile::TransposeOp>(decodeTileTranspose);
  r.add<tile::UnpackOp>(decodeUnpack);
  r.add<tensor::ExtractSliceOp>(decodeSlice);
  r.add<tile::WhereOp>(decodeWhere);
  r.addPlain<tile::AnyPossibleOp>(runAnyPossible);
}
