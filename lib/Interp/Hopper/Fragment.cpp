//===- Fragment.cpp - fragments of hopper: values -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Fragment.h"
#include "../Core/Elementwise.h"
#include "../Tile/TileElements.h"
#include "Machine.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Machine/Chip.h"
#include <cmath>

using namespace mlir;
using namespace fa3;
using namespace fa3::interp;

static constexpr int64_t kLanes = kSm90a.threadsPerWarp;

FragmentTable::FragmentTable(const LinearLayout &layout)
    : rank(layout.getRank()), registers(layout.getNumRegisters()),
      threads(layout.getNumWarps() * kLanes) {
  coordinates.resize(size() * rank);
  for (int64_t r = 0; r < registers; ++r) {
    LinearLayout::Basis inThread = layout.getRegisterOffset(r);
    for (int64_t t = 0; t < threads; ++t) {
      LinearLayout::Basis ofThread =
          layout.getThreadOffset(t % kLanes, t / kLanes);
      for (int64_t dim = 0; dim < rank; ++dim)
        coordinates[(r * threads + t) * rank + dim] =
            inThread[dim] + ofThread[dim];
    }
  }
  // Threads that differ in bits that move nothing are replicas.
  auto movesNothing = [](const LinearLayout::Basis &basis) {
    return llvm::all_of(basis, [](int64_t v) { return v == 0; });
  };
  int64_t replicaBits = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.getLaneBases()))
    replicaBits |= int64_t(movesNothing(basis)) << bit;
  for (auto [bit, basis] : llvm::enumerate(layout.getWarpBases()))
    replicaBits |= int64_t(movesNothing(basis)) << (bit + 5);
  for (int64_t t = 0; t < threads; ++t)
    owner.push_back(t & ~replicaBits);
}

FailureOr<FragmentExtra *>
fa3::interp::makeTable(Decoder &d, Operation *op,
                       hopper::FragmentAttr fragment) {
  const LinearLayout &layout = fragment.getLayout();
  if (layout.getNumWarps() * kLanes != d.getThreads()) {
    op->emitError("'") << op->getName() << "' of a fragment of "
                       << layout.getNumWarps() * 32
                       << " threads, the group has " << d.getThreads();
    return failure();
  }
  auto *extra = d.makeExtra<FragmentExtra>();
  extra->table = FragmentTable(layout);
  extra->rank = layout.getRank();
  return extra;
}

namespace {

LogicalResult runFragmentCoord(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentExtra>();
  int64_t offset = c.integer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], Lane::I64, extra.table.size());
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<int64_t>()[i] = offset + extra.table.at(i, extra.dim);
  return success();
}

LogicalResult decodeFragmentCoord(Decoder &d, hopper::CoordOp op) {
  auto extra = makeTable(d, op, op.getFragment());
  if (failed(extra))
    return failure();
  (*extra)->dim = op.getDim();
  d.emit(op, runFragmentCoord, *extra).format = Format::I32;
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and votes
//===----------------------------------------------------------------------===//

/// Of integers the greater signed one.
template <typename T>
T combine(bool isMax, Format format, T a, T b) {
  if (!isMax)
    return finish(format, T(a + b));
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) || a >= b ? a : b;
  return std::max(a, b);
}

struct FragmentReduceExtra : Extra {
  bool isMax = false;
  int64_t threads = 1, results = 1;
  /// The result register of every register, and whether it comes first.
  SmallVector<int64_t> target;
  SmallVector<bool> isFirst;
};

LogicalResult runFragmentReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<FragmentReduceExtra>();
  Buffer &source = c.buffer(in.in[0]);
  int64_t threads = extra.threads;
  Buffer &out =
      c.makeBuffer(in.out[0], source.getLane(), extra.results * threads);
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      for (auto [reg, target] : llvm::enumerate(extra.target)) {
        const T *from = source.data<T>() + reg * threads;
        T *to = out.data<T>() + target * threads;
        for (int64_t t = 0; t < threads; ++t)
          to[t] = extra.isFirst[reg]
                      ? from[t]
                      : combine(extra.isMax, in.format, to[t], from[t]);
      }
    }
  });
  return success();
}

/// Truth values are not combined.
LogicalResult checkNumber(Operation *op, Format format) {
  if (getLane(format) != Lane::I1)
    return success();
  return op->emitError("'")
         << op->getName() << "' of i1 is not known to the interpreter";
}

LogicalResult decodeFragmentReduce(Decoder &d, hopper::FragmentReduceOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getSource().getType());
  if (failed(format) || failed(checkNumber(op, *format)))
    return failure();
  auto *extra = d.makeExtra<FragmentReduceExtra>();
  extra->isMax = op.getKind() == hopper::Combine::max;
  extra->threads = d.getThreads();
  const LinearLayout &layout = op.getFragment().getLayout();
  SmallVector<LinearLayout::Basis> kept;
  for (int64_t r = 0; r < layout.getNumRegisters(); ++r) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    int64_t &along = offset[op.getDim()];
    along = op.getModulo() ? along % *op.getModulo() : 0;
    auto *it = llvm::find(kept, offset);
    extra->target.push_back(it - kept.begin());
    extra->isFirst.push_back(it == kept.end());
    if (it == kept.end())
      kept.push_back(offset);
  }
  extra->results = kept.size();
  auto result = cast<VectorType>(op.getResult().getType());
  if (result.getNumElements() != extra->results)
    return op.emitError("'hopper.fragment.reduce' gives ")
           << extra->results << " registers, its result has "
           << result.getNumElements();
  d.emit(op, runFragmentReduce, extra).format = *format;
  return success();
}

struct LaneReduceExtra : Extra {
  bool isMax = false;
  SmallVector<int64_t> bits;
};

LogicalResult runLaneReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<LaneReduceExtra>();
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], source.getLane(), source.size());
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      T *values = out.data<T>();
      std::copy_n(source.data<T>(), source.size(), values);
      for (int64_t bit : extra.bits)
        for (int64_t i = 0; i < source.size(); ++i) {
          int64_t other = i ^ (int64_t(1) << bit);
          if (other < i)
            continue;
          T a = values[i], b = values[other];
          values[i] = combine(extra.isMax, in.format, a, b);
          values[other] = combine(extra.isMax, in.format, b, a);
        }
    }
  });
  return success();
}

LogicalResult decodeLaneReduce(Decoder &d, hopper::LaneReduceOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getSource().getType());
  if (failed(format) || failed(checkNumber(op, *format)))
    return failure();
  auto *extra = d.makeExtra<LaneReduceExtra>();
  extra->isMax = op.getKind() == hopper::Combine::max;
  extra->bits.assign(op.getLaneBits().begin(), op.getLaneBits().end());
  d.emit(op, runLaneReduce, extra).format = *format;
  return success();
}

struct DiagonalExtra : FragmentExtra {
  bool isMax = false;
  int64_t results = 0;
};

LogicalResult runDiagonalReduce(Context &c, const Instr &in) {
  const auto &extra = in.get<DiagonalExtra>();
  const FragmentTable &table = extra.table;
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out =
      c.makeBuffer(in.out[0], source.getLane(), extra.results * table.threads);
  constexpr int64_t kRowsOfWarp = 16, kLanes = 32;
  dispatchLane(source.getLane(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      T none = extra.isMax ? T(std::numeric_limits<int32_t>::min()) : T(0);
      std::fill_n(out.data<T>(), out.size(), none);
      for (int64_t i = 0; i < table.size(); ++i) {
        int64_t diagonal =
            table.at(i, 1) - table.at(i, 0) % kRowsOfWarp + kRowsOfWarp;
        int64_t lane = diagonal % 8 * 4 + diagonal / 8 % 4;
        int64_t warp = i % table.threads / kLanes * kLanes;
        T &to = out.data<T>()[diagonal / kLanes * table.threads + warp + lane];
        to = combine(extra.isMax, in.format, to, source.data<T>()[i]);
      }
    }
  });
  return success();
}

LogicalResult decodeDiagonalReduce(Decoder &d, hopper::DiagonalReduceOp op) {
  FailureOr<Format> format = d.getFormat(op, op.getSource().getType());
  const LinearLayout &layout = op.getFragment().getLayout();
  if (failed(format))
    return failure();
  auto *extra = d.makeExtra<DiagonalExtra>();
  extra->table = FragmentTable(layout);
  extra->isMax = op.getKind() == hopper::Combine::max;
  extra->results =
      hopper::DiagonalReduceOp::getNumResults(layout.getShape().back());
  d.emit(op, runDiagonalReduce, extra).format = *format;
  return success();
}

/// The answer of a warp, in all of its threads.
LogicalResult runVote(Context &c, const Instr &in) {
  int64_t threads = in.get<CountExtra>().count;
  Buffer &source = c.buffer(in.in[0]);
  Buffer &out = c.makeBuffer(in.out[0], Lane::I1, threads);
  uint8_t *votes = out.data<uint8_t>();
  std::fill_n(votes, threads, 0);
  for (int64_t i = 0; i < source.size(); ++i)
    if (source.data<uint8_t>()[i])
      std::fill_n(votes + i % threads / kLanes * kLanes, kLanes, 1);
  return success();
}

struct WarpIfExtra : Extra {
  Code body;
  int64_t threads = 1;
};

/// Whether the answer of every thread is that.
bool isUnanimous(const uint8_t *taken, int64_t threads, uint8_t answer) {
  return std::all_of(taken, taken + threads,
                     [&](uint8_t v) { return v == answer; });
}

/// The elements of `chosen` in threads that take the branch, else those of
/// `otherwise`.
void mergeByThread(Context &c, CellId result, const uint8_t *taken,
                   int64_t threads, CellId chosen, CellId otherwise) {
  Buffer &ours = c.buffer(chosen);
  Buffer &others = c.buffer(otherwise);
  Buffer &out = c.makeBuffer(result, ours.getLane(), ours.size());
  dispatchLane(ours.getLane(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < ours.size(); ++i)
      out.data<T>()[i] = (taken[i % threads] ? ours : others).data<T>()[i];
  });
}

LogicalResult runWarpIf(Context &c, const Instr &in) {
  const auto &extra = in.get<WarpIfExtra>();
  const uint8_t *taken = c.buffer(in.in[0]).data<uint8_t>();
  if (isUnanimous(taken, extra.threads, 0)) {
    for (size_t i = 0; i < in.out.size(); ++i)
      c.cells[in.out[i]] = c.cells[in.in[i + 1]];
    return success();
  }
  // Per-thread arithmetic has no effects: warps that do not take the branch
  // compute it and drop the results.
  if (failed(runCode(c, extra.body)))
    return failure();
  for (size_t number = 0; number < in.out.size(); ++number)
    mergeByThread(c, in.out[number], taken, extra.threads,
                  extra.body.yields[number], in.in[number + 1]);
  return success();
}

struct WarpIfElseExtra : WarpIfExtra {
  Code elseBody;
};

LogicalResult runWarpIfElse(Context &c, const Instr &in) {
  const auto &extra = in.get<WarpIfElseExtra>();
  const uint8_t *taken = c.buffer(in.in[0]).data<uint8_t>();
  bool allTake = isUnanimous(taken, extra.threads, 1);
  bool noneTakes = isUnanimous(taken, extra.threads, 0);
  if ((!noneTakes && failed(runCode(c, extra.body))) ||
      (!allTake && failed(runCode(c, extra.elseBody))))
    return failure();
  for (size_t number = 0; number < in.out.size(); ++number) {
    CellId ours = extra.body.yields[number];
    CellId others = extra.elseBody.yields[number];
    if (allTake || noneTakes)
      c.cells[in.out[number]] = c.cells[allTake ? ours : others];
    else
      mergeByThread(c, in.out[number], taken, extra.threads, ours, others);
  }
  return success();
}

/// Branches have vectors as results.
LogicalResult checkWarpBranch(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isa<VectorType>(type))
      return op->emitError() << "'" << op->getName() << "' of " << type
                             << " is not known to the interpreter";
  return success();
}

LogicalResult decodeWarpIf(Decoder &d, hopper::WarpIfOp op) {
  auto *extra = d.makeExtra<WarpIfExtra>();
  extra->threads = d.getThreads();
  CellId condition = d.asBuffer(op, op.getCondition(), d.getThreads());
  if (failed(checkWarpBranch(op)) ||
      failed(d.decodeRegion(op.getBody(), extra->body)))
    return failure();
  SmallVector<CellId> in{condition}, out;
  for (auto [otherwise, result] :
       llvm::zip(op.getOtherwise(), op.getResults())) {
    in.push_back(d.cell(otherwise));
    out.push_back(d.cell(result));
  }
  d.emit(op, runWarpIf, in, out, extra);
  return success();
}

LogicalResult decodeWarpIfElse(Decoder &d, hopper::WarpIfElseOp op) {
  auto *extra = d.makeExtra<WarpIfElseExtra>();
  extra->threads = d.getThreads();
  CellId condition = d.asBuffer(op, op.getCondition(), d.getThreads());
  if (failed(checkWarpBranch(op)) ||
      failed(d.decodeRegion(op.getThenBody(), extra->body)) ||
      failed(d.decodeRegion(op.getElseBody(), extra->elseBody)))
    return failure();
  SmallVector<CellId> out;
  for (Value result : op.getResults())
    out.push_back(d.cell(result));
  d.emit(op, runWarpIfElse, {condition}, out, extra);
  return success();
}

} // namespace

void fa3::interp::populateHopperFragments(Registry &r) {
  r.add<hopper::CoordOp>(decodeFragmentCoord);
  r.add<hopper::FragmentReduceOp>(decodeFragmentReduce);
  r.add<hopper::LaneReduceOp>(decodeLaneReduce);
  r.add<hopper::DiagonalReduceOp>(decodeDiagonalReduce);
  r.add<hopper::VoteAnyOp>([](Decoder &d, hopper::VoteAnyOp op) {
    auto *extra = d.makeExtra<CountExtra>();
    extra->count = d.getThreads();
    d.emit(op, runVote, extra);
    return success();
  });
  r.add<hopper::WarpIfElseOp>(decodeWarpIfElse, /*varying=*/true);
  r.add<hopper::WarpIfOp>(decodeWarpIf, /*varying=*/true);
}
