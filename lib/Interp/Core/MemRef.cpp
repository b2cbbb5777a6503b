//===- MemRef.cpp - arrays: views, allocation, elements -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "Elementwise.h"

using namespace mlir;
using namespace fa3::interp;

/// Largest allocation of a memref.alloc.
static constexpr int64_t kMaxElements = int64_t(1) << 30;

namespace {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult runDim(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  int64_t dim = c.integer(in.in[1]), rank = array.getShape().size();
  if (dim < 0 || dim >= rank)
    return c.error(in) << "'memref.dim' asks for dimension " << dim
                       << " of a memref of rank " << rank;
  c.cells[in.out[0]].i = array.getShape()[dim];
  return success();
}

struct TransposeExtra : Extra {
  SmallVector<unsigned> permutation;
};

LogicalResult runTranspose(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  SmallVector<int64_t> shape, strides;
  for (unsigned dim : in.get<TransposeExtra>().permutation) {
    shape.push_back(array.getShape()[dim]);
    strides.push_back(array.getStrides()[dim]);
  }
  c.set(in.out[0],
        new ArrayObject(array.view(array.getOffset(), shape, strides)));
  return success();
}

LogicalResult decodeMemRefTranspose(Decoder &d, memref::TransposeOp op) {
  auto *extra = d.makeExtra<TransposeExtra>();
  for (AffineExpr result : op.getPermutation().getResults())
    extra->permutation.push_back(cast<AffineDimExpr>(result).getPosition());
  d.emit(op, runTranspose, extra);
  return success();
}

/// Splits dimensions; the extents of all but one part are static or given.
LogicalResult runExpandShape(Context &c, const Instr &in) {
  auto op = cast<memref::ExpandShapeOp>(in.op);
  const Array &array = c.array(in.in[0]);
  ArrayRef<CellId> dynamic = in.in.drop_front();
  SmallVector<int64_t> shape, strides;
  for (int64_t extent : op.getStaticOutputShape()) {
    if (ShapedType::isDynamic(extent)) {
      extent = c.integer(dynamic.front());
      dynamic = dynamic.drop_front();
    }
    shape.push_back(extent);
  }
  strides.resize(shape.size());
  for (auto [dim, parts] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = array.getStrides()[dim], elements = 1;
    for (int64_t part : llvm::reverse(parts)) {
      strides[part] = stride * elements;
      elements *= shape[part];
    }
    if (elements != array.getShape()[dim])
      return c.error(in) << "'memref.expand_shape' of dimension " << dim
                         << ", which has " << array.getShape()[dim]
                         << " elements, into parts of " << elements;
  }
  c.set(in.out[0],
        new ArrayObject(array.view(array.getOffset(), shape, strides)));
  return success();
}

/// Checks what a cast to a type with more static information promises.
LogicalResult runCast(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  auto type = cast<MemRefType>(in.op->getResult(0).getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return c.error(in) << "'memref.cast' to a memref without strides";
  bool fits = type.getRank() == static_cast<int64_t>(array.getShape().size());
  for (int64_t i = 0; fits && i < type.getRank(); ++i)
    fits &=
        (type.isDynamicDim(i) || type.getDimSize(i) == array.getShape()[i]) &&
        (ShapedType::isDynamic(strides[i]) ||
         strides[i] == array.getStrides()[i]);
  if (!fits)
    return c.error(in) << "'memref.cast' to " << type
                       << " of an array of shape [" << array.getShape()
                       << "] and strides [" << array.getStrides() << "]";
  c.cells[in.out[0]] = c.cells[in.in[0]];
  return success();
}

/// Static and dynamic offsets, sizes and strides of a view.
struct MixedExtra : Extra {
  SmallVector<int64_t> offsets, sizes, strides;
  llvm::SmallBitVector dropped;
};

SmallVector<int64_t> resolve(Context &c, ArrayRef<int64_t> statics,
                             ArrayRef<CellId> &dynamic) {
  SmallVector<int64_t> values;
  for (int64_t value : statics) {
    if (ShapedType::isDynamic(value)) {
      value = c.integer(dynamic.front());
      dynamic = dynamic.drop_front();
    }
    values.push_back(value);
  }
  return values;
}

LogicalResult runSubView(Context &c, const Instr &in) {
  const auto &extra = in.get<MixedExtra>();
  const Array &array = c.array(in.in[0]);
  ArrayRef<CellId> dynamic = in.in.drop_front();
  SmallVector<int64_t> offsets = resolve(c, extra.offsets, dynamic);
  SmallVector<int64_t> sizes = resolve(c, extra.sizes, dynamic);
  SmallVector<int64_t> steps = resolve(c, extra.strides, dynamic);
  int64_t offset = array.getOffset();
  SmallVector<int64_t> shape, strides;
  for (size_t i = 0; i < offsets.size(); ++i) {
    int64_t last = offsets[i] + (sizes[i] - 1) * steps[i];
    if (sizes[i] < 0 || offsets[i] < 0 ||
        (sizes[i] > 0 && (last < 0 || last >= array.getShape()[i])))
      return c.error(in) << "'memref.subview' takes elements " << offsets[i]
                         << " to " << last << " of dimension " << i
                         << ", which has " << array.getShape()[i];
    offset += offsets[i] * array.getStrides()[i];
    if (extra.dropped.test(i))
      continue;
    shape.push_back(sizes[i]);
    strides.push_back(steps[i] * array.getStrides()[i]);
  }
  c.set(in.out[0], new ArrayObject(array.view(offset, shape, strides)));
  return success();
}

LogicalResult decodeSubView(Decoder &d, memref::SubViewOp op) {
  auto *extra = d.makeExtra<MixedExtra>();
  extra->offsets.assign(op.getStaticOffsets());
  extra->sizes.assign(op.getStaticSizes());
  extra->strides.assign(op.getStaticStrides());
  extra->dropped = op.getDroppedDims();
  d.emit(op, runSubView, extra);
  return success();
}

/// Results: the base, the offset, the sizes, the strides.
LogicalResult runMetadata(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  c.set(in.out[0], new ArrayObject(array.view(0, {}, {})));
  c.cells[in.out[1]].i = array.getOffset();
  size_t rank = array.getShape().size();
  for (size_t i = 0; i < rank; ++i) {
    c.cells[in.out[2 + i]].i = array.getShape()[i];
    c.cells[in.out[2 + rank + i]].i = array.getStrides()[i];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

struct AllocExtra : Extra {
  MemRefType type;
};

LogicalResult runMemRefAlloc(Context &c, const Instr &in) {
  const auto &extra = in.get<AllocExtra>();
  SmallVector<int64_t> shape(extra.type.getShape());
  size_t next = 0;
  int64_t elements = 1;
  for (int64_t &extent : shape) {
    if (ShapedType::isDynamic(extent))
      extent = c.integer(in.in[next++]);
    if (extent < 0 || (extent && elements > kMaxElements / extent))
      return c.error(in) << "'" << in.op->getName()
                         << "' of an array with an extent of " << extent
                         << ", at most " << kMaxElements
                         << " elements can be held";
    elements *= extent;
  }
  c.set(in.out[0], new ArrayObject(Array::allocate(in.format, shape)));
  return success();
}

template <typename OpType>
LogicalResult decodeAlloc(Decoder &d, OpType op) {
  MemRefType type = op.getType();
  std::optional<Format> format = fa3::interp::getFormat(type.getElementType());
  if (!format || !type.getLayout().isIdentity())
    return op->emitError("'") << op->getName() << "' of " << type
                              << " is not known to the interpreter";
  auto *extra = d.makeExtra<AllocExtra>();
  extra->type = type;
  d.emit(op, runMemRefAlloc, extra).format = *format;
  return success();
}

LogicalResult runDealloc(Context &c, const Instr &in) { return success(); }

LogicalResult runCopy(Context &c, const Instr &in) {
  const Array &source = c.array(in.in[0]), &target = c.array(in.in[1]);
  if (source.getShape() != target.getShape())
    return c.error(in) << "'memref.copy' of shape [" << source.getShape()
                       << "] to shape [" << target.getShape() << "]";
  int64_t bytes = getByteWidth(source.getFormat());
  source.forEach([&](ArrayRef<int64_t> index, uint8_t *element) {
    std::memmove(target.at(index), element, bytes);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The address of an element; null after an error.
uint8_t *locate(Context &c, const Instr &in, const Array &array,
                ArrayRef<CellId> indices) {
  int64_t position = array.getOffset();
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t index = c.integer(indices[i]);
    if (static_cast<uint64_t>(index) >=
        static_cast<uint64_t>(array.getShape()[i])) {
      c.error(in) << "'" << in.op->getName() << "' accesses index " << index
                  << " of dimension " << i << ", which has "
                  << array.getShape()[i];
      return nullptr;
    }
    position += index * array.getStrides()[i];
  }
  return array.getBase() + position * getByteWidth(array.getFormat());
}

LogicalResult runMemRefLoad(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[0]);
  uint8_t *element = locate(c, in, array, in.in.drop_front());
  if (!element)
    return failure();
  loadCell(in.format, element, c.cells[in.out[0]]);
  return success();
}

LogicalResult runMemRefStore(Context &c, const Instr &in) {
  const Array &array = c.array(in.in[1]);
  uint8_t *element = locate(c, in, array, in.in.drop_front(2));
  if (!element)
    return failure();
  storeCell(in.format, c.cells[in.in[0]], element);
  return success();
}

template <typename OpType>
LogicalResult decodeElement(Decoder &d, OpType op, Handler handler) {
  Type element = op.getMemRefType().getElementType();
  std::optional<Format> format = fa3::interp::getFormat(element);
  if (!format)
    return op->emitError("'") << op->getName() << "' of elements of type "
                              << element << " is not known to the interpreter";
  d.emit(op, handler).format = *format;
  return success();
}

} // namespace

void fa3::interp::loadCell(Format format, const uint8_t *element, Cell &cell) {
  dispatchLane(getLane(format), [&](auto zero) {
    using T = decltype(zero);
    T value;
    decode(format, element, 0, 1, &value);
    cell.set<T>(value);
  });
}

void fa3::interp::storeCell(Format format, const Cell &cell, uint8_t *element) {
  dispatchLane(getLane(format), [&](auto zero) {
    auto value = cell.get<decltype(zero)>();
    encode(format, &value, 1, 0, element);
  });
}

void fa3::interp::populateMemRef(Registry &r) {
  r.addPlain<memref::DimOp>(runDim);
  r.add<memref::TransposeOp>(decodeMemRefTranspose);
  r.addPlain<memref::ExpandShapeOp>(runExpandShape);
  r.addPlain<memref::CastOp>(runCast);
  r.add<memref::SubViewOp>(decodeSubView);
  r.addPlain<memref::ExtractStridedMetadataOp>(runMetadata);
  r.add<memref::AllocOp>(decodeAlloc<memref::AllocOp>);
  r.add<memref::AllocaOp>(decodeAlloc<memref::AllocaOp>);
  r.addPlain<memref::DeallocOp>(runDealloc);
  r.addPlain<memref::CopyOp>(runCopy);
  r.add<memref::LoadOp>([](Decoder &d, memref::LoadOp op) {
    return decodeElement(d, op, runMemRefLoad);
  });
  r.add<memref::StoreOp>([](Decoder &d, memref::StoreOp op) {
    return decodeElement(d, op, runMemRefStore);
  });
}
