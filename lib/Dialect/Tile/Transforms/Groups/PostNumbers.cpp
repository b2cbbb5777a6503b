//===- PostNumbers.cpp - tile-post-numbers --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where a step of a list is, memory says. Who copies has to read that, and
// hands it over with what is copied: those who compute have no register to
// spare for the place, the length and the bounds of a list.
//===----------------------------------------------------------------------===//

#include "../Utils.h"
#include "Roles.h"
#include "fa3/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3::tile {
#define GEN_PASS_DEF_POSTNUMBERS
#include "fa3/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa3::tile

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

using Slice = llvm::SetVector<Operation *>;

/// What the operation is computed from in the loop, and itself.
static Slice getSlice(Operation *op, scf::ForOp loop) {
  Slice slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *other) {
    return loop->isProperAncestor(other);
  };
  (void)getBackwardSlice(op, &slice, options);
  return slice;
}

namespace {
/// A number of a step that is read from memory, and an entry that it may go
/// with.
struct Crossing {
  Value number;
  warp::AcquireOp filled, held;
};

/// Lets numbers of one loop's steps go through rings.
class Poster {
public:
  explicit Poster(scf::ForOp loop) : loop(loop) {}
  int64_t run();

private:
  std::optional<Crossing> find(Value number);
  warp::AcquireOp findReader(warp::AcquireOp filled);
  void post(const Crossing &crossing);
  template <typename Op>
  Op with(StringRef role, Op op) {
    op->setAttr(TileDialect::kRoleAttrName,
                StringAttr::get(loop.getContext(), role));
    return op;
  }

  scf::ForOp loop;
};
} // namespace

/// Who computes with what fills the entry, in the same step.
warp::AcquireOp Poster::findReader(warp::AcquireOp filled) {
  warp::AcquireOp held;
  for (Operation *user : filled.getRing().getUsers()) {
    auto other = dyn_cast<warp::AcquireOp>(user);
    if (!other || other.getSide() != warp::Side::read)
      continue;
    if (held || other->getBlock() != loop.getBody() || getRole(other) != "math")
      return {};
    held = other;
  }
  return held;
}

std::optional<Crossing> Poster::find(Value number) {
  Operation *def = number.getDefiningOp();
  if (!def || def->getBlock() != loop.getBody() ||
      llvm::none_of(getSlice(def, loop), llvm::IsaPred<ScalarLoadOp>))
    return std::nullopt;
  // The first tile that is copied: it is held longer than what comes beside it.
  std::optional<Crossing> first;
  for (Operation *user : number.getUsers()) {
    auto copy = dyn_cast<LoadAsyncOp>(user);
    auto view = copy ? copy.getView().getDefiningOp<ViewOp>() : ViewOp();
    if (!view || view.getView().getType().getTile().getRank() != 2)
      continue;
    auto filled = view.getSlot().getDefiningOp<warp::AcquireOp>();
    if (!filled || filled->getBlock() != loop.getBody() ||
        !def->isBeforeInBlock(filled) ||
        (first && first->filled->isBeforeInBlock(filled)))
      continue;
    if (warp::AcquireOp held = findReader(filled))
      first = Crossing{number, filled, held};
  }
  return first;
}

/// Gives the entries of the ring one more field.
static int64_t addField(Value ring) {
  auto type = cast<warp::RingType>(ring.getType());
  SmallVector<Type> payload(type.getPayload());
  int64_t field = payload.size();
  payload.push_back(
      RankedTensorType::get({1}, IntegerType::get(ring.getContext(), 32)));
  ring.setType(type.withPayload(payload));
  for (Operation *user : ring.getUsers())
    if (auto acquire = dyn_cast<warp::AcquireOp>(user))
      acquire.getSlot().setType(
          warp::SlotType::get(ring.getContext(), acquire.getSide(), payload));
  return field;
}

void Poster::post(const Crossing &crossing) {
  auto [number, filled, held] = crossing;
  // What is copied is found by the number itself.
  Slice ofCopies;
  for (Operation &op : *loop.getBody())
    if (getRole(&op) == "load")
      ofCopies.insert_range(getSlice(&op, loop));
  int64_t field = addField(filled.getRing());
  auto cast =
      RankedTensorType::get({1}, IntegerType::get(loop.getContext(), 32));
  ImplicitLocOpBuilder b(filled.getLoc(), loop.getContext());
  auto makeView = [&](warp::AcquireOp acquire, StringRef role) {
    b.setInsertionPointAfter(acquire);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    return with(role, ViewOp::create(b, ViewType::get(cast), acquire.getSlot(),
                                     zero, field));
  };
  with("load", PostOp::create(b, number, makeView(filled, "load")));
  auto received =
      with("math", ReceiveOp::create(b, makeView(held, "math").getView()));
  number.replaceUsesWithIf(received, [&](OpOperand &use) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*use.getOwner());
    return inBody && received->isBeforeInBlock(inBody) &&
           !ofCopies.contains(use.getOwner()) && !isa<PostOp>(use.getOwner());
  });
}

int64_t Poster::run() {
  llvm::SetVector<Value> numbers;
  loop.walk([&](StoreOp store) {
    if (store.getAdd() && store->getParentOfType<scf::ForOp>() == loop)
      numbers.insert_range(store.getIndices());
  });
  int64_t count = 0;
  for (Value number : numbers)
    if (std::optional<Crossing> crossing = find(number)) {
      post(*crossing);
      ++count;
    }
  return count;
}

namespace {
struct PostNumbers : fa3::tile::impl::PostNumbersBase<PostNumbers> {
  using PostNumbersBase::PostNumbersBase;
  void runOnOperation() override {
    (void)forEachKernel(getOperation(), [&](gpu::GPUFuncOp kernel) {
      if (getComputingRoles(kernel).size() > 1)
        return success();
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        numPosted += Poster(loop).run();
      return success();
    });
  }
};
} // namespace
