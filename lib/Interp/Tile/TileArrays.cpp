//===- TileArrays.cpp - tiles of arrays, and their products ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../Core/Elementwise.h"
#include "../Core/Engine.h"
#include "../Core/Gemm.h"
#include "../Core/Search.h"
#include "TileElements.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

namespace {
/// The part of a tile that lies inside an array.
struct Clip {
  int64_t rowBegin = 0, rowEnd = 0, columnBegin = 0, columnEnd = 0;
  /// Address of element (0, 0) of the tile, perhaps outside; and strides.
  int64_t origin = 0, rowStride = 0, columnStride = 0;
  bool isEmpty() const {
    return rowBegin >= rowEnd || columnBegin >= columnEnd;
  }
};
} // namespace

static Clip clip(const Array &array, ArrayRef<int64_t> indices,
                 TileShape shape) {
  Clip result;
  int64_t bytes = getByteWidth(array.getFormat());
  size_t leading = indices.size() - shape.rank;
  int64_t origin = array.getOffset();
  for (size_t i = 0; i < indices.size(); ++i)
    origin += indices[i] * array.getStrides()[i];
  for (size_t i = 0; i < leading; ++i)
    if (indices[i] < 0 || indices[i] >= array.getShape()[i])
      return result;
  auto limit = [&](size_t dim, int64_t extent, int64_t &begin, int64_t &end) {
    begin = std::max<int64_t>(0, -indices[dim]);
    end = std::min(extent, array.getShape()[dim] - indices[dim]);
  };
  size_t last = indices.size() - 1;
  limit(last, shape.columns, result.columnBegin, result.columnEnd);
  result.rowEnd = 1;
  if (shape.rank == 2) {
    limit(last - 1, shape.rows, result.rowBegin, result.rowEnd);
    result.rowStride = array.getStrides()[last - 1] * bytes;
  }
  result.origin = origin * bytes;
  result.columnStride = array.getStrides()[last] * bytes;
  return result;
}

/// Takes a tile with a folded dimension apart: visits the elements that one
/// index of the outer dimension has, with their indices, shape and first lane.
static void forEachFold(
    ArrayRef<int64_t> indices, TileShape shape,
    llvm::function_ref<void(ArrayRef<int64_t>, TileShape, int64_t)> visit) {
  SmallVector<int64_t> at(indices);
  int64_t &outer = at[at.size() - shape.rank - 1];
  TileShape part = shape;
  (shape.rank == 1 ? part.columns : part.rows) = shape.fold;
  part.fold = 0;
  for (int64_t first = 0; first < shape.size(); first += part.size(), ++outer)
    visit(at, part, first);
}

void fa3::interp::loadTile(const Array &array, ArrayRef<int64_t> indices,
                           TileShape shape, void *lanes) {
  Format format = array.getFormat();
  int64_t laneBytes = getLaneBytes(getLane(format));
  if (shape.fold)
    return forEachFold(
        indices, shape,
        [&](ArrayRef<int64_t> at, TileShape part, int64_t first) {
          loadTile(array, at, part,
                   static_cast<uint8_t *>(lanes) + first * laneBytes);
        });
  Clip part = clip(array, indices, shape);
  uint8_t *out = static_cast<uint8_t *>(lanes);
  if (part.isEmpty() || part.rowEnd - part.rowBegin < shape.rows ||
      part.columnEnd - part.columnBegin < shape.columns)
    std::memset(out, 0, shape.size() * laneBytes);
  if (part.isEmpty())
    return;
  for (int64_t row = part.rowBegin; row < part.rowEnd; ++row)
    decode(format,
           array.getBase() + part.origin + row * part.rowStride +
               part.columnBegin * part.columnStride,
           part.columnStride, part.columnEnd - part.columnBegin,
           out + (row * shape.columns + part.columnBegin) * laneBytes);
}

FailureOr<SmallVector<int64_t>>
fa3::interp::findPieces(Context &c, const Code &places, int64_t pieces) {
  SmallVector<int64_t> indices;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    c.cells[places.arguments.front()].i = piece;
    if (failed(runCode(c, places)))
      return failure();
    llvm::append_range(indices, c.integers(places.yields));
  }
  return indices;
}

void fa3::interp::loadPieces(const Array &array, ArrayRef<int64_t> indices,
                             int64_t pieces, TileShape shape,
                             std::optional<int64_t> limit, void *lanes) {
  size_t rank = array.getShape().size();
  shape.rows /= pieces;
  size_t bytes = shape.size() * getLaneBytes(getLane(array.getFormat()));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    ArrayRef<int64_t> at = indices.slice(piece * rank, rank);
    uint8_t *target = static_cast<uint8_t *>(lanes) + piece * bytes;
    TileShape part = shape;
    if (limit) {
      part.rows =
          std::clamp<int64_t>(*limit - piece * shape.rows, 0, shape.rows);
      std::memset(target, 0, bytes);
    }
    if (part.rows > 0)
      loadTile(array, at, part, target);
  }
}

void fa3::interp::storeTile(const Array &array, ArrayRef<int64_t> indices,
                            TileShape shape, const void *lanes, bool add) {
  Format format = array.getFormat();
  int64_t laneBytes = getLaneBytes(getLane(format));
  if (shape.fold)
    return forEachFold(
        indices, shape,
        [&](ArrayRef<int64_t> at, TileShape part, int64_t first) {
          storeTile(array, at, part,
                    static_cast<const uint8_t *>(lanes) + first * laneBytes,
                    add);
        });
  Clip part = clip(array, indices, shape);
  if (part.isEmpty())
    return;
  const uint8_t *in = static_cast<const uint8_t *>(lanes);
  int64_t count = part.columnEnd - part.columnBegin;
  for (int64_t row = part.rowBegin; row < part.rowEnd; ++row) {
    uint8_t *target = array.getBase() + part.origin + row * part.rowStride +
                      part.columnBegin * part.columnStride;
    const uint8_t *source =
        in + (row * shape.columns + part.columnBegin) * laneBytes;
    if (!add) {
      encode(format, source, count, part.columnStride, target);
      continue;
    }
    dispatchLane(getLane(format), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < count; ++i) {
        uint8_t *element = target + i * part.columnStride;
        T value, increment;
        decode(format, element, 0, 1, &value);
        std::memcpy(&increment, source + i * laneBytes, sizeof(T));
        value = finish(format, T(value + increment));
        encode(format, &value, 1, 0, element);
      }
    });
  }
}

void fa3::interp::multiply(const DotExtra &dot, Format format, const float *lhs,
                           const float *rhs, Buffer &acc, Buffer &out) {
  auto [m, n, k] = dot.shape;
  SmallVector<float, 0> left, right;
  if (dot.transposeLhs) {
    left.resize(m * k);
    transpose(k, m, lhs, left.data());
    lhs = left.data();
  }
  if (dot.transposeRhs) {
    right.resize(k * n);
    transpose(n, k, rhs, right.data());
    rhs = right.data();
  }
  std::memcpy(out.data<uint8_t>(), acc.data<uint8_t>(),
              m * n * getLaneBytes(acc.getLane()));
  if (format == Format::F32)
    return gemm(m, n, k, lhs, rhs, out.data<float>());
  if (format == Format::F64) {
    SmallVector<double, 0> a(lhs, lhs + m * k), b(rhs, rhs + k * n);
    return gemm(m, n, k, a.data(), b.data(), out.data<double>());
  }
  if (!isFloat(format)) {
    // Sums of narrow integers are exact in fp64.
    int64_t *sums = out.data<int64_t>();
    SmallVector<double, 0> a(lhs, lhs + m * k), b(rhs, rhs + k * n),
        exact(sums, sums + m * n);
    gemm(m, n, k, a.data(), b.data(), exact.data());
    for (int64_t i = 0; i < m * n; ++i)
      sums[i] = wrapTo(format, static_cast<int64_t>(exact[i]));
    return;
  }
  // Narrow accumulators round after every step.
  float *sums = out.data<float>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t step = 0; step < k; ++step)
      for (int64_t j = 0; j < n; ++j)
        sums[i * n + j] = finish(
            format, sums[i * n + j] + lhs[i * k + step] * rhs[step * n + j]);
}

namespace {

struct TileExtra : Extra {
  TileShape shape;
  /// Whether a store adds.
  bool add = false;
};

template <typename OpType>
LogicalResult decodeAccess(Decoder &d, OpType op, RankedTensorType type,
                           Handler handler) {
  FailureOr<Format> format = d.getFormat(op, type);
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<TileExtra>();
  extra->shape = getTileShape(type);
  extra->shape.fold = op.getFold().value_or(0);
  if constexpr (std::is_same_v<OpType, tile::StoreOp>)
    extra->add = op.getAdd();
  d.emit(op, handler, extra).format = *format;
  return success();
}

/// A load whose last operand limits the rows.
LogicalResult runLimitedLoad(Context &c, const Instr &in) {
  TileShape shape = in.get<TileExtra>().shape;
  Buffer &out = c.makeBuffer(in.out[0], getLane(in.format), shape.size());
  SmallVector<int64_t> indices = c.integers(in.in.drop_front());
  int64_t limit = indices.pop_back_val();
  loadPieces(c.array(in.in[0]), indices, /*pieces=*/1, shape, limit,
             out.data<uint8_t>());
  return success();
}

LogicalResult runTileLoad(Context &c, const Instr &in) {
  TileShape shape = in.get<TileExtra>().shape;
  Buffer &out = c.makeBuffer(in.out[0], getLane(in.format), shape.size());
  loadTile(c.array(in.in[0]), c.integers(in.in.drop_front()), shape,
           out.data<uint8_t>());
  return success();
}

/// A load whose blocks of rows have places of their own.
struct LoadPiecesExtra : TileExtra {
  int64_t pieces = 1;
  Code places;
};

LogicalResult runLoadPieces(Context &c, const Instr &in) {
  const auto &extra = in.get<LoadPiecesExtra>();
  Buffer &out = c.makeBuffer(in.out[0], getLane(in.format), extra.shape.size());
  FailureOr<SmallVector<int64_t>> places =
      findPieces(c, extra.places, extra.pieces);
  if (failed(places))
    return failure();
  std::optional<int64_t> limit;
  if (in.in.size() > 1)
    limit = c.integer(in.in.back());
  loadPieces(c.array(in.in[0]), *places, extra.pieces, extra.shape, limit,
             out.data<uint8_t>());
  return success();
}

LogicalResult decodeLoad(Decoder &d, tile::LoadOp op) {
  if (!op.getPieces())
    return decodeAccess(d, op, op.getResult().getType(),
                        op.getLimit() ? runLimitedLoad : runTileLoad);
  FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
  auto *extra = d.makeExtra<LoadPiecesExtra>();
  if (failed(format) ||
      failed(d.decodeRegion(op.getPlaces().front(), extra->places)))
    return failure();
  extra->shape = getTileShape(op.getResult().getType());
  extra->pieces = *op.getPieces();
  d.emit(op, runLoadPieces, extra).format = *format;
  return success();
}

LogicalResult runTileStore(Context &c, const Instr &in) {
  storeTile(c.array(in.in[1]), c.integers(in.in.drop_front(2)),
            in.get<TileExtra>().shape, c.buffer(in.in[0]).data<uint8_t>(),
            in.get<TileExtra>().add);
  return success();
}

/// A store whose last operand ends the rows.
LogicalResult runStoreBelow(Context &c, const Instr &in) {
  TileShape shape = in.get<TileExtra>().shape;
  SmallVector<int64_t> indices = c.integers(in.in.drop_front(2));
  int64_t end = indices.pop_back_val();
  // With a fold, whole rows of the outer dimension.
  int64_t unit = std::max<int64_t>(shape.fold, 1);
  size_t dim = indices.size() - shape.rank - (shape.fold ? 1 : 0);
  int64_t &rows = shape.rank == 1 ? shape.columns : shape.rows;
  rows = std::clamp<int64_t>(end - indices[dim], 0, rows / unit) * unit;
  if (rows > 0)
    storeTile(c.array(in.in[1]), indices, shape,
              c.buffer(in.in[0]).data<uint8_t>(), in.get<TileExtra>().add);
  return success();
}

/// Which indices are tiles.
struct TileGatherExtra : Extra {
  int64_t size = 0;
  SmallVector<bool> isTile;
};

LogicalResult runTileGather(Context &c, const Instr &in) {
  const auto &extra = in.get<TileGatherExtra>();
  const Array &array = c.array(in.in[0]);
  Lane lane = getLane(in.format);
  Buffer &out = c.makeBuffer(in.out[0], lane, extra.size);
  int64_t laneBytes = getLaneBytes(lane);
  SmallVector<int64_t> at(extra.isTile.size());
  for (int64_t i = 0; i < extra.size; ++i) {
    bool isInside = true;
    for (auto [dim, isTile] : llvm::enumerate(extra.isTile)) {
      CellId cell = in.in[1 + dim];
      at[dim] = isTile ? c.buffer(cell).data<int64_t>()[i] : c.integer(cell);
      isInside &= at[dim] >= 0 && at[dim] < array.getShape()[dim];
    }
    uint8_t *to = out.data<uint8_t>() + i * laneBytes;
    if (isInside)
      decode(in.format, array.at(at), 0, 1, to);
    else
      std::memset(to, 0, laneBytes);
  }
  return success();
}

/// A tile of terms, and whether a diagonal has one place.
struct AddExactExtra : TileGatherExtra {
  int64_t columns = 0;
  bool isDiagonal = false;
};

LogicalResult runAddExact(Context &c, const Instr &in) {
  const auto &extra = in.get<AddExactExtra>();
  const Array &array = c.array(in.in[1]);
  const float *terms = c.buffer(in.in[0]).data<float>();
  SmallVector<int64_t> at(extra.isTile.size() + 1);
  for (int64_t i = 0; i < extra.size; ++i) {
    bool isInside = true;
    for (auto [dim, isTile] : llvm::enumerate(extra.isTile)) {
      CellId cell = in.in[2 + dim];
      at[dim] = isTile ? c.buffer(cell).data<int64_t>()[i] : c.integer(cell);
      isInside &= at[dim] >= 0 && at[dim] < array.getShape()[dim];
      int64_t next = i + extra.columns + 1;
      if (extra.isDiagonal && isTile && next < extra.size &&
          (i + 1) % extra.columns != 0 &&
          c.buffer(cell).data<int64_t>()[next] != at[dim])
        return c.error(in)
               << "'tile.add_exact' has elements of one diagonal at "
                  "indices "
               << at[dim] << " and " << c.buffer(cell).data<int64_t>()[next]
               << " of dimension " << dim;
    }
    ExactTerm term = getExactTerm(terms[i]);
    at.back() = term.word;
    if (!isInside || term.amount == 0)
      continue;
    int64_t sum;
    std::memcpy(&sum, array.at(at), sizeof(sum));
    sum = int64_t(uint64_t(sum) + uint64_t(term.amount));
    std::memcpy(array.at(at), &sum, sizeof(sum));
  }
  return success();
}

LogicalResult runLoadExact(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  SmallVector<int64_t> at = c.integers(in.in.drop_front());
  at.push_back(0);
  int64_t &index = at[at.size() - 2], first = index;
  Buffer &out =
      c.makeBuffer(in.out[0], Lane::F32, in.get<TileExtra>().shape.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    index = first + i;
    bool isInside = true;
    for (auto [number, extent] : llvm::zip(at, array.getShape()))
      isInside &= number >= 0 && number < extent;
    out.data<float>()[i] =
        isInside ? readExact(reinterpret_cast<const int64_t *>(array.at(at)))
                 : 0.0f;
  }
  return success();
}

LogicalResult runTileScalarLoad(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  SmallVector<int64_t> indices = c.integers(in.in.drop_front());
  for (auto [i, index] : llvm::enumerate(indices))
    if (index < 0 || index >= array.getShape()[i])
      return c.error(in) << "'tile.scalar_load' accesses index " << index
                         << " of dimension " << i << ", which has "
                         << array.getShape()[i];
  loadCell(array.getFormat(), array.at(indices), c.cells[in.out[0]]);
  return success();
}

LogicalResult runTileSearch(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  int64_t first = c.integer(in.in[1]), end = c.integer(in.in[2]);
  int64_t limit = c.integer(in.in[3]), step = c.integer(in.in[4]);
  int64_t most = cast<tile::SearchOp>(in.op).getMost();
  if (first < 0 || end < 1 || end > array.getShape()[0] || end - first > most)
    return c.error(in) << "'tile.search' from " << first << " to " << end
                       << " of an array of " << array.getShape()[0]
                       << ", at most " << most;
  c.cells[in.out[0]].i =
      search(std::max<int64_t>(end - first, 0), [&](int64_t i) {
        int32_t number;
        std::memcpy(&number, array.at({first + i}), sizeof(number));
        return number < limit - step * (first + i);
      });
  return success();
}

} // namespace

void fa3::interp::populateTileArrays(Registry &r) {
  r.add<tile::LoadOp>(decodeLoad);
  r.add<tile::StoreOp>([](Decoder &d, tile::StoreOp op) {
    return decodeAccess(d, op, op.getValue().getType(),
                        op.getBelow() ? runStoreBelow : runTileStore);
  });
  r.add<tile::GatherOp>([](Decoder &d, tile::GatherOp op) -> LogicalResult {
    FailureOr<Format> format = d.getFormat(op, op.getResult().getType());
    if (failed(format))
      return failure();
    auto *extra = d.makeExtra<TileGatherExtra>();
    extra->size = op.getResult().getType().getNumElements();
    for (Type type : op.getIndices().getTypes())
      extra->isTile.push_back(isa<RankedTensorType>(type));
    d.emit(op, runTileGather, extra).format = *format;
    return success();
  });
  r.add<tile::AddExactOp>([](Decoder &d, tile::AddExactOp op) {
    auto *extra = d.makeExtra<AddExactExtra>();
    RankedTensorType type = op.getValue().getType();
    extra->size = type.getNumElements();
    extra->columns = type.getDimSize(1);
    extra->isDiagonal = op.getDiagonal();
    for (Type index : op.getIndices().getTypes())
      extra->isTile.push_back(isa<RankedTensorType>(index));
    d.emit(op, runAddExact, extra);
    return success();
  });
  r.add<tile::LoadExactOp>([](Decoder &d, tile::LoadExactOp op) {
    auto *extra = d.makeExtra<TileExtra>();
    extra->shape = getTileShape(op.getResult().getType());
    d.emit(op, runLoadExact, extra);
    return success();
  });
  r.addPlain<tile::ScalarLoadOp>(runTileScalarLoad);
  r.addPlain<tile::SearchOp>(runTileSearch);
}
