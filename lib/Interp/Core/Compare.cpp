//===- Compare.cpp - comparisons, selection, constants --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include <cmath>

using namespace mlir;
using namespace fa3::interp;

LogicalResult fa3::interp::splatScalar(Context &c, const Instr &in) {
  int64_t count = in.get<CountExtra>().count;
  Lane lane = getLane(in.format);
  Buffer &out = c.makeBuffer(in.out[0], lane, count);
  dispatchLane(lane, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(out.data<T>(), count, c.cells[in.in[0]].get<T>());
  });
  return success();
}

LogicalResult fa3::interp::repeatBuffer(Context &c, const Instr &in) {
  int64_t count = in.get<CountExtra>().count;
  Ref<Object> keep = c.cells[in.in[0]].object;
  Buffer &source = static_cast<Buffer &>(*keep);
  Buffer &out = c.makeBuffer(in.out[0], source.getLane(), count);
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; i += source.size())
      std::copy_n(source.data<T>(), source.size(), out.data<T>() + i);
  });
  return success();
}

LogicalResult fa3::interp::copyCell(Context &c, const Instr &in) {
  c.cells[in.out[0]] = c.cells[in.in[0]];
  return success();
}

namespace {

//===----------------------------------------------------------------------===//
// Comparisons and selection
//===----------------------------------------------------------------------===//

template <arith::CmpIPredicate predicate>
struct CompareIntegerFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    using P = arith::CmpIPredicate;
    uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    switch (predicate) {
    case P::eq:
      return a == b;
    case P::ne:
      return a != b;
    case P::slt:
      return a < b;
    case P::sle:
      return a <= b;
    case P::sgt:
      return a > b;
    case P::sge:
      return a >= b;
    case P::ult:
      return ua < ub;
    case P::ule:
      return ua <= ub;
    case P::ugt:
      return ua > ub;
    case P::uge:
      return ua >= ub;
    }
    return 0;
  }
};

template <arith::CmpFPredicate predicate>
struct CompareFloatFn {
  template <typename T>
  static uint8_t apply(T a, T b) {
    using P = arith::CmpFPredicate;
    bool unordered = std::isnan(a) || std::isnan(b);
    switch (predicate) {
    case P::AlwaysFalse:
      return 0;
    case P::OEQ:
      return a == b;
    case P::OGT:
      return a > b;
    case P::OGE:
      return a >= b;
    case P::OLT:
      return a < b;
    case P::OLE:
      return a <= b;
    case P::ONE:
      return !unordered && a != b;
    case P::ORD:
      return !unordered;
    case P::UEQ:
      return unordered || a == b;
    case P::UGT:
      return unordered || a > b;
    case P::UGE:
      return unordered || a >= b;
    case P::ULT:
      return unordered || a < b;
    case P::ULE:
      return unordered || a <= b;
    case P::UNE:
      return unordered || a != b;
    case P::UNO:
      return unordered;
    case P::AlwaysTrue:
      return 1;
    }
    return 0;
  }
};

template <template <arith::CmpIPredicate> class Fn, typename T, size_t... I>
HandlerPair pickInteger(arith::CmpIPredicate predicate,
                        std::index_sequence<I...>) {
  static constexpr HandlerPair all[] = {
      Binary<Fn<static_cast<arith::CmpIPredicate>(I)>, uint8_t,
             T>::handlers...};
  return all[static_cast<size_t>(predicate)];
}

template <template <arith::CmpFPredicate> class Fn, typename T, size_t... I>
HandlerPair pickFloat(arith::CmpFPredicate predicate,
                      std::index_sequence<I...>) {
  static constexpr HandlerPair all[] = {
      Binary<Fn<static_cast<arith::CmpFPredicate>(I)>, uint8_t,
             T>::handlers...};
  return all[static_cast<size_t>(predicate)];
}

/// i1 true is -1 as a signed number: signed order is the reverse of 0 < 1.
arith::CmpIPredicate onBooleans(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::ugt;
  case P::sle:
    return P::uge;
  case P::sgt:
    return P::ult;
  case P::sge:
    return P::ule;
  default:
    return predicate;
  }
}

LogicalResult decodeCmpI(Decoder &d, arith::CmpIOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getLhs().getType());
  if (failed(format))
    return failure();
  std::make_index_sequence<10> all;
  HandlerPair handlers =
      *format == Format::I1
          ? pickInteger<CompareIntegerFn, uint8_t>(
                onBooleans(op.getPredicate()), all)
          : pickInteger<CompareIntegerFn, int64_t>(op.getPredicate(), all);
  emitElementwise(d, op, handlers, Format::I1, op->getOperands());
  return success();
}

LogicalResult decodeCmpF(Decoder &d, arith::CmpFOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getLhs().getType());
  if (failed(format))
    return failure();
  std::make_index_sequence<16> all;
  HandlerPair handlers =
      *format == Format::F64
          ? pickFloat<CompareFloatFn, double>(op.getPredicate(), all)
          : pickFloat<CompareFloatFn, float>(op.getPredicate(), all);
  emitElementwise(d, op, handlers, Format::I1, op->getOperands());
  return success();
}

template <typename T>
struct SelectFn {
  static T apply(uint8_t condition, T a, T b) { return condition ? a : b; }
};

LogicalResult selectWhole(Context &c, const Instr &in) {
  c.cells[in.out[0]] = c.cells[c.integer(in.in[0]) ? in.in[1] : in.in[2]];
  return success();
}

LogicalResult decodeSelect(Decoder &d, arith::SelectOp op) {
  if (!d.isBuffered(op.getCondition()) || !d.isBuffered(op.getResult())) {
    SmallVector<CellId> in = {d.cell(op.getCondition())};
    // One of two values that are held alike; a varying result may have a
    // uniform arm.
    for (Value value : {op.getTrueValue(), op.getFalseValue()})
      in.push_back(d.isBuffered(op.getResult())
                       ? d.asBuffer(op, value, d.getCount(op.getResult()))
                       : d.cell(value));
    d.emit(op, selectWhole, in, {d.cell(op.getResult())});
    return success();
  }
  FailureOr<Format> format = d.getFormat(op, op.getType());
  if (failed(format))
    return failure();
  HandlerPair handlers = dispatchLane(getLane(*format), [](auto zero) {
    using T = decltype(zero);
    return Ternary<SelectFn<T>, T, uint8_t, T, T>::handlers;
  });
  emitElementwise(d, op, handlers, *format, op->getOperands());
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

struct ConstantExtra : Extra {
  Cell value;
};

LogicalResult runConstant(Context &c, const Instr &in) {
  c.cells[in.out[0]] = in.get<ConstantExtra>().value;
  return success();
}

LogicalResult setFromAttribute(Operation *op, Attribute attribute,
                               Format format, Cell &cell) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    APInt value = integer.getValue();
    cell.set<int64_t>(format == Format::I1
                          ? static_cast<int64_t>(value.getZExtValue())
                          : value.sextOrTrunc(64).getSExtValue());
    return success();
  }
  if (auto real = dyn_cast<FloatAttr>(attribute)) {
    bool exact;
    APFloat value = real.getValue();
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
    cell.set<double>(value.convertToDouble());
    return success();
  }
  return op->emitError("'")
         << op->getName()
         << "' has a value the interpreter cannot hold: " << attribute;
}

LogicalResult decodeConstant(Decoder &d, arith::ConstantOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getType());
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<ConstantExtra>();
  d.emit(op, runConstant, extra);
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return setFromAttribute(op, op.getValue(), *format, extra->value);
  Lane lane = getLane(*format);
  // A vector holds every element once per thread.
  int64_t count = d.getCount(op.getType()), elements = dense.getNumElements();
  Ref<Buffer> buffer(new Buffer(lane, count));
  for (int64_t i = 0; i < elements; ++i) {
    Attribute element = dense.isSplat() ? dense.getSplatValue<Attribute>()
                                        : dense.getValues<Attribute>()[i];
    Cell value;
    if (failed(setFromAttribute(op, element, *format, value)))
      return failure();
    int64_t copies = dense.isSplat() ? count : count / elements;
    dispatchLane(lane, [&](auto zero) {
      using T = decltype(zero);
      std::fill_n(buffer->data<T>() + i * copies, copies, value.get<T>());
    });
    if (dense.isSplat())
      break;
  }
  extra->value.object = buffer;
  return success();
}

LogicalResult runPoison(Context &c, const Instr &in) {
  return c.error(in) << "'ub.poison' is executed, its value is undefined";
}

} // namespace

void fa3::interp::populateCompare(Registry &r) {
  r.add<arith::CmpIOp>(decodeCmpI, /*varying=*/true);
  r.add<arith::CmpFOp>(decodeCmpF, /*varying=*/true);
  r.add<arith::SelectOp>(decodeSelect, /*varying=*/true);
  r.add<arith::ConstantOp>(decodeConstant);
  r.addPlain<ub::PoisonOp>(runPoison);
}
