//===- Elementwise.h - loops over scalars, tiles and vectors ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A functor on C++ values as a pair of handlers: on scalars, and on buffers.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_ELEMENTWISE_H
#define FA3_LIB_INTERP_CORE_ELEMENTWISE_H

#include "Context.h"
#include "Decoder.h"

namespace fa3::interp {

/// Rounds or wraps a scalar to the format of an instruction.
inline float finish(Format format, float value) {
  return format == Format::F32
             ? value
             : static_cast<float>(roundTo(format, static_cast<double>(value)));
}
inline double finish(Format, double value) { return value; }
inline int64_t finish(Format format, int64_t value) {
  return format == Format::I64 ? value : wrapTo(format, value);
}
inline uint8_t finish(Format, uint8_t value) { return value & 1; }

inline void finish(Format format, float *values, int64_t count) {
  if (format != Format::F32)
    roundTo(format, values, count);
}
inline void finish(Format, double *, int64_t) {}
inline void finish(Format format, int64_t *values, int64_t count) {
  if (format != Format::I64)
    for (int64_t i = 0; i < count; ++i)
      values[i] = wrapTo(format, values[i]);
}
inline void finish(Format, uint8_t *, int64_t) {}

/// Handlers of one operation on scalars and on buffers.
struct HandlerPair {
  Handler scalar, lanes;
};

template <typename Fn, typename R, typename A>
struct Unary {
  static mlir::LogicalResult scalar(Context &c, const Instr &in) {
    c.cells[in.out[0]].set<R>(
        finish(in.format, R(Fn::apply(c.cells[in.in[0]].get<A>()))));
    return mlir::success();
  }
  static mlir::LogicalResult lanes(Context &c, const Instr &in) {
    Buffer &a = c.buffer(in.in[0]);
    int64_t n = a.size();
    R *__restrict r =
        c.makeBuffer(in.out[0], laneOf<R>(), n).template data<R>();
    const A *x = a.data<A>();
    for (int64_t i = 0; i < n; ++i)
      r[i] = Fn::apply(x[i]);
    finish(in.format, r, n);
    return mlir::success();
  }
  static constexpr HandlerPair handlers = {scalar, lanes};
};

template <typename Fn, typename R, typename A, typename B = A>
struct Binary {
  static mlir::LogicalResult scalar(Context &c, const Instr &in) {
    c.cells[in.out[0]].set<R>(finish(
        in.format,
        R(Fn::apply(c.cells[in.in[0]].get<A>(), c.cells[in.in[1]].get<B>()))));
    return mlir::success();
  }
  static mlir::LogicalResult lanes(Context &c, const Instr &in) {
    Buffer &a = c.buffer(in.in[0]), &b = c.buffer(in.in[1]);
    int64_t n = a.size();
    R *__restrict r =
        c.makeBuffer(in.out[0], laneOf<R>(), n).template data<R>();
    const A *x = a.data<A>();
    const B *y = b.data<B>();
    for (int64_t i = 0; i < n; ++i)
      r[i] = Fn::apply(x[i], y[i]);
    finish(in.format, r, n);
    return mlir::success();
  }
  static constexpr HandlerPair handlers = {scalar, lanes};
};

template <typename Fn, typename R, typename A, typename B = A, typename C = A>
struct Ternary {
  static mlir::LogicalResult scalar(Context &c, const Instr &in) {
    c.cells[in.out[0]].set<R>(finish(
        in.format,
        R(Fn::apply(c.cells[in.in[0]].get<A>(), c.cells[in.in[1]].get<B>(),
                    c.cells[in.in[2]].get<C>()))));
    return mlir::success();
  }
  static mlir::LogicalResult lanes(Context &c, const Instr &in) {
    Buffer &a = c.buffer(in.in[0]), &b = c.buffer(in.in[1]),
           &d = c.buffer(in.in[2]);
    int64_t n = a.size();
    R *__restrict r =
        c.makeBuffer(in.out[0], laneOf<R>(), n).template data<R>();
    const A *x = a.data<A>();
    const B *y = b.data<B>();
    const C *z = d.data<C>();
    for (int64_t i = 0; i < n; ++i)
      r[i] = Fn::apply(x[i], y[i], z[i]);
    finish(in.format, r, n);
    return mlir::success();
  }
  static constexpr HandlerPair handlers = {scalar, lanes};
};

/// Emits an elementwise operation on its operands, which are broadcast to all
/// threads where the result differs between threads.
inline void emitElementwise(Decoder &d, mlir::Operation *op,
                            HandlerPair handlers, Format format,
                            mlir::ValueRange operands) {
  mlir::Value result = op->getResult(0);
  llvm::SmallVector<CellId> in;
  bool buffered = d.isBuffered(result);
  for (mlir::Value operand : operands)
    in.push_back(buffered ? d.asBuffer(op, operand, d.getCount(result))
                          : d.cell(operand));
  d.emit(op, buffered ? handlers.lanes : handlers.scalar, in, {d.cell(result)})
      .format = format;
}

/// Registers an operation on operands of one lane: `Pair<T>` gives the
/// handlers for C++ type T.
template <typename OpType, template <typename> class Pair, typename... Types>
void addElementwise(Registry &registry) {
  registry.add<OpType>(
      [](Decoder &d, OpType op) -> mlir::LogicalResult {
        mlir::FailureOr<Format> format =
            d.getFormat(op, op->getResult(0).getType());
        if (failed(format))
          return mlir::failure();
        Lane lane = getLane(*format);
        bool known = false;
        (
            [&] {
              if (lane != laneOf<Types>())
                return;
              known = true;
              emitElementwise(d, op, Pair<Types>::handlers, *format,
                              op->getOperands());
            }(),
            ...);
        if (!known)
          return op->emitError("'")
                 << op->getName() << "' on elements of type "
                 << getName(*format) << " is not known to the interpreter";
        return mlir::success();
      },
      /*varying=*/true);
}

/// A number of elements.
struct CountExtra : Extra {
  int64_t count = 0;
};

/// Moves one element between memory and a cell.
void loadCell(Format format, const uint8_t *element, Cell &cell);
void storeCell(Format format, const Cell &cell, uint8_t *element);

/// A scalar as a buffer; a value per thread as a buffer of several registers.
mlir::LogicalResult splatScalar(Context &c, const Instr &in);
mlir::LogicalResult repeatBuffer(Context &c, const Instr &in);
/// Copies the cell of an operand to that of the result.
mlir::LogicalResult copyCell(Context &c, const Instr &in);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_ELEMENTWISE_H
