//===- TensorVector.cpp - rearranging elements and registers --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations of vector that move registers of one thread are all one gather:
// for every register of the result, an operand and a register of it.
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3::interp;

namespace {

//===----------------------------------------------------------------------===//
// vector
//===----------------------------------------------------------------------===//

struct RegisterSource {
  unsigned operand;
  int64_t reg;
};

struct GatherExtra : Extra {
  int64_t threads = 1;
  SmallVector<RegisterSource> sources;
};

LogicalResult runGather(Context &c, const Instr &in) {
  const auto &extra = in.get<GatherExtra>();
  Lane lane = getLane(in.format);
  int64_t bytes = extra.threads * getLaneBytes(lane);
  Buffer &out =
      c.makeBuffer(in.out[0], lane, extra.sources.size() * extra.threads);
  uint8_t *to = out.data<uint8_t>();
  for (const RegisterSource &source : extra.sources) {
    const uint8_t *from =
        c.buffer(in.in[source.operand]).data<uint8_t>() + source.reg * bytes;
    std::memcpy(to, from, bytes);
    to += bytes;
  }
  return success();
}

/// One register of one thread as a scalar.
LogicalResult runPick(Context &c, const Instr &in) {
  const RegisterSource &source = in.get<GatherExtra>().sources.front();
  Buffer &from = c.buffer(in.in[source.operand]);
  dispatchLane(getLane(in.format), [&](auto zero) {
    using T = decltype(zero);
    c.cells[in.out[0]].set<T>(from.data<T>()[source.reg]);
  });
  return success();
}

/// Emits a gather; scalar operands count as one register.
LogicalResult emitGather(Decoder &d, Operation *op, Value result,
                         ValueRange operands,
                         SmallVector<RegisterSource> sources) {
  FailureOr<Format> format = d.getFormat(op, result.getType());
  if (failed(format))
    return failure();
  SmallVector<CellId> in;
  for (Value operand : operands)
    in.push_back(d.asBuffer(op, operand, d.getThreads()));
  auto *extra = d.makeExtra<GatherExtra>();
  extra->threads = d.getThreads();
  extra->sources = std::move(sources);
  d.emit(op, d.isBuffered(result) ? runGather : runPick, in, {d.cell(result)},
         extra)
      .format = *format;
  return success();
}

int64_t countRegisters(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// Registers `first`, `first` + 1, ... of operand 0.
SmallVector<RegisterSource> consecutive(int64_t first, int64_t count) {
  SmallVector<RegisterSource> sources;
  for (int64_t i = 0; i < count; ++i)
    sources.push_back({0, first + i});
  return sources;
}

/// The first register of the part of a vector at a position.
FailureOr<int64_t> getFirstRegister(Operation *op, VectorType type,
                                    ArrayRef<int64_t> position) {
  int64_t first = 0, size = type.getNumElements();
  for (auto [index, extent] : llvm::zip(position, type.getShape())) {
    if (index < 0 || index >= extent)
      return op->emitError("'") << op->getName()
                                << "' is known to the interpreter with "
                                   "constant positions inside the vector only";
    size /= extent;
    first += index * size;
  }
  return first;
}

LogicalResult decodeExtract(Decoder &d, vector::ExtractOp op) {
  FailureOr<int64_t> first =
      getFirstRegister(op, op.getSourceVectorType(), op.getStaticPosition());
  if (failed(first))
    return failure();
  return emitGather(d, op, op.getResult(), op.getSource(),
                    consecutive(*first, countRegisters(op.getType())));
}

LogicalResult decodeInsert(Decoder &d, vector::InsertOp op) {
  FailureOr<int64_t> first =
      getFirstRegister(op, op.getDestVectorType(), op.getStaticPosition());
  if (failed(first))
    return failure();
  SmallVector<RegisterSource> sources =
      consecutive(0, countRegisters(op.getType()));
  for (int64_t i = 0; i < countRegisters(op.getValueToStoreType()); ++i)
    sources[*first + i] = {1, i};
  return emitGather(d, op, op.getResult(), {op.getDest(), op.getValueToStore()},
                    sources);
}

LogicalResult decodeShuffle(Decoder &d, vector::ShuffleOp op) {
  VectorType type = op.getV1VectorType();
  if (type.getRank() != 1)
    return op.emitError("'vector.shuffle' of rank ")
           << type.getRank() << " is not known to the interpreter";
  SmallVector<RegisterSource> sources;
  int64_t size = type.getNumElements();
  for (int64_t index : op.getMask()) {
    if (index < 0)
      return op.emitError("'vector.shuffle' takes an undefined element");
    sources.push_back(index < size ? RegisterSource{0, index}
                                   : RegisterSource{1, index - size});
  }
  return emitGather(d, op, op.getResult(), {op.getV1(), op.getV2()}, sources);
}

/// Registers of two vectors by turns.
LogicalResult decodeInterleave(Decoder &d, vector::InterleaveOp op) {
  SmallVector<RegisterSource> sources;
  for (int64_t i = 0; i < op.getResultVectorType().getNumElements(); ++i)
    sources.push_back({static_cast<unsigned>(i % 2), i / 2});
  return emitGather(d, op, op.getResult(), {op.getLhs(), op.getRhs()}, sources);
}

LogicalResult decodeBroadcast(Decoder &d, vector::BroadcastOp op) {
  VectorType result = op.getResultVectorType();
  ArrayRef<int64_t> from;
  if (auto source = dyn_cast<VectorType>(op.getSourceType()))
    from = source.getShape();
  SmallVector<int64_t> strides = computeSuffixProduct(result.getShape());
  size_t missing = result.getRank() - from.size();
  SmallVector<RegisterSource> sources;
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    int64_t reg = 0;
    for (size_t dim = 0; dim < from.size(); ++dim) {
      int64_t index =
          i / strides[missing + dim] % result.getDimSize(missing + dim);
      reg = reg * from[dim] + (from[dim] == 1 ? 0 : index);
    }
    sources.push_back({0, reg});
  }
  return emitGather(d, op, op.getVector(), op.getSource(), sources);
}

LogicalResult decodeFromElements(Decoder &d, vector::FromElementsOp op) {
  SmallVector<RegisterSource> sources;
  for (unsigned i = 0; i < op.getElements().size(); ++i)
    sources.push_back({i, 0});
  return emitGather(d, op, op.getResult(), op.getElements(), sources);
}

LogicalResult decodeToElements(Decoder &d, vector::ToElementsOp op) {
  for (auto [i, element] : llvm::enumerate(op.getElements()))
    if (failed(emitGather(d, op, element, op.getSource(), consecutive(i, 1))))
      return failure();
  return success();
}

LogicalResult decodeShapeCast(Decoder &d, vector::ShapeCastOp op) {
  return emitGather(d, op, op.getResult(), op.getSource(),
                    consecutive(0, countRegisters(op.getType())));
}

LogicalResult decodeExtractSlice(Decoder &d, vector::ExtractStridedSliceOp op) {
  VectorType source = op.getSourceVectorType();
  if (source.getRank() != 1)
    return op.emitError("'vector.extract_strided_slice' of rank ")
           << source.getRank() << " is not known to the interpreter";
  int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t step = cast<IntegerAttr>(op.getStrides()[0]).getInt();
  SmallVector<RegisterSource> sources;
  for (int64_t i = 0; i < countRegisters(op.getType()); ++i)
    sources.push_back({0, first + i * step});
  return emitGather(d, op, op.getResult(), op.getSource(), sources);
}

LogicalResult decodeInsertSlice(Decoder &d, vector::InsertStridedSliceOp op) {
  VectorType target = op.getDestVectorType();
  if (target.getRank() != 1)
    return op.emitError("'vector.insert_strided_slice' of rank ")
           << target.getRank() << " is not known to the interpreter";
  int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t step = cast<IntegerAttr>(op.getStrides()[0]).getInt();
  SmallVector<RegisterSource> sources = consecutive(0, target.getNumElements());
  for (int64_t i = 0; i < op.getSourceVectorType().getNumElements(); ++i)
    sources[first + i * step] = {1, i};
  return emitGather(d, op, op.getResult(), {op.getDest(), op.getValueToStore()},
                    sources);
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

LogicalResult decodeSplat(Decoder &d, tensor::SplatOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getType());
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<CountExtra>();
  extra->count = d.getCount(op.getType());
  d.emit(op, splatScalar, extra).format = *format;
  return success();
}

struct ShapeExtra : Extra {
  SmallVector<int64_t> shape;
};

LogicalResult runTensorExtract(Context &c, const Instr &in) {
  Buffer &source = c.buffer(in.in[0]);
  int64_t position = 0;
  for (auto [i, extent] : llvm::enumerate(in.get<ShapeExtra>().shape)) {
    int64_t index = c.integer(in.in[1 + i]);
    if (index < 0 || index >= extent)
      return c.error(in) << "'tensor.extract' accesses index " << index
                         << " of dimension " << i << ", which has " << extent;
    position = position * extent + index;
  }
  dispatchLane(getLane(in.format), [&](auto zero) {
    using T = decltype(zero);
    c.cells[in.out[0]].set<T>(source.data<T>()[position]);
  });
  return success();
}

LogicalResult decodeTensorExtract(Decoder &d, tensor::ExtractOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getTensor().getType());
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<ShapeExtra>();
  extra->shape.assign(
      cast<RankedTensorType>(op.getTensor().getType()).getShape());
  d.emit(op, runTensorExtract, extra).format = *format;
  return success();
}

LogicalResult runTensorFromElements(Context &c, const Instr &in) {
  Buffer &out = c.makeBuffer(in.out[0], getLane(in.format), in.in.size());
  dispatchLane(getLane(in.format), [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < in.in.size(); ++i)
      out.data<T>()[i] = c.cells[in.in[i]].get<T>();
  });
  return success();
}

LogicalResult decodeTensorFromElements(Decoder &d, tensor::FromElementsOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getType());
  if (failed(format))
    return failure();
  d.emit(op, runTensorFromElements).format = *format;
  return success();
}

} // namespace

void fa3::interp::populateTensorAndVector(Registry &r) {
  r.add<vector::ExtractOp>(decodeExtract);
  r.add<vector::InsertOp>(decodeInsert, /*varying=*/true);
  r.add<vector::ShuffleOp>(decodeShuffle);
  r.add<vector::InterleaveOp>(decodeInterleave);
  r.add<vector::BroadcastOp>(decodeBroadcast, /*varying=*/true);
  r.add<vector::FromElementsOp>(decodeFromElements, /*varying=*/true);
  r.add<vector::ToElementsOp>(decodeToElements);
  r.add<vector::ShapeCastOp>(decodeShapeCast);
  r.add<vector::ExtractStridedSliceOp>(decodeExtractSlice);
  r.add<vector::InsertStridedSliceOp>(decodeInsertSlice);
  r.add<tensor::SplatOp>(decodeSplat);
  r.add<tensor::ExtractOp>(decodeTensorExtract);
  r.add<tensor::FromElementsOp>(decodeTensorFromElements);
}
