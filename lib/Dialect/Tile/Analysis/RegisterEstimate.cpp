//===- RegisterEstimate.cpp - registers a group needs ---------------------===//

#include "fa3/Dialect/Tile/Analysis/RegisterEstimate.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Scheduling/DeviceModel.h"
#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
/// Addresses, barrier state, loop control.
constexpr int64_t kOtherRegisters = 25;
constexpr int64_t kThreadsPerWarp = 32;
/// Registers of an SM.
constexpr int64_t kRegisterFile = 65536;
constexpr int64_t kMostRegisters = 240;
} // namespace

namespace {
/// The registers that the values of one group take.
class ValueRegisters {
public:
  explicit ValueRegisters(int64_t threads) : threads(threads) {}
  /// Registers per thread of a value; 0 for what is rematerialized.
  int64_t get(Value value);

private:
  bool isRematerialized(Operation *op);

  int64_t threads;
  llvm::DenseMap<Operation *, bool> rematerialized;
};
} // namespace

/// Whether a tile is computed element by element from scalars, coordinates,
/// statistics and what is read from shared memory for element code: each
/// element then exists only next to its use.
bool ValueRegisters::isRematerialized(Operation *op) {
  if (isa<arith::ConstantOp, tensor::SplatOp, BroadcastOp, CoordOp>(op))
    return true;
  if (isa<ReadOp>(op))
    return llvm::all_of(op->getUsers(), isElementwise);
  if (!isElementwise(op) && !isa<RelabelOp>(op))
    return false;
  if (auto it = rematerialized.find(op); it != rematerialized.end())
    return it->second;
  bool result = llvm::all_of(op->getOperands(), [&](Value value) {
    Operation *def = value.getDefiningOp();
    return !getTileType(value.getType()) || (def && isRematerialized(def));
  });
  rematerialized[op] = result;
  return result;
}

int64_t ValueRegisters::get(Value value) {
  if (isa<ViewType>(value.getType()))
    return 0;
  RankedTensorType tile = getTileType(value.getType());
  if (!tile || tile.getElementType().isIndex() ||
      tile.getElementType().isInteger(1))
    return 0;
  Operation *op = value.getDefiningOp();
  if (op && isRematerialized(op))
    return 0;
  int64_t bits = tile.getElementTypeBitWidth();
  int64_t perThread;
  if (tile.getRank() == 2) {
    perThread = llvm::divideCeil(tile.getNumElements() * bits, 32 * threads);
  } else {
    // Rows are spread over the warps, columns repeated in each.
    int64_t warps = threads / kThreadsPerWarp;
    int64_t asRows =
        tile.getDimSize(0) * device::kLanesPerRow / (warps * kThreadsPerWarp);
    int64_t asColumns =
        tile.getDimSize(0) * device::kLanesPerColumn / kThreadsPerWarp;
    bool alongRows = true;
    for (Operation *user : value.getUsers())
      if (auto broadcast = dyn_cast<BroadcastOp>(user))
        alongRows = broadcast.getDim() == 1;
    perThread = std::max<int64_t>(alongRows ? asRows : asColumns, 1);
  }
  return perThread;
}

namespace {
/// The values that are alive at a point, and the registers that they take.
class LiveValues {
public:
  LiveValues(ValueRegisters &registers, const llvm::DenseSet<Value> &values)
      : registers(registers) {
    for (Value value : values)
      add(value);
  }
  void add(Value value) {
    if (values.insert(value).second)
      sum += registers.get(value);
  }
  void remove(Value value) {
    if (values.erase(value))
      sum -= registers.get(value);
  }
  int64_t getSum() const { return sum; }
  const llvm::DenseSet<Value> &get() const { return values; }

private:
  ValueRegisters &registers;
  llvm::DenseSet<Value> values;
  int64_t sum = 0;
};
} // namespace

/// Visits a block, from its end, whose surroundings keep `outside` alive.
/// Values that end at an operation make room for its results.
static int64_t visitBlock(Block &block, const Liveness &liveness,
                          const llvm::DenseSet<Value> &outside,
                          ValueRegisters &registers, Operation *&where) {
  int64_t most = 0;
  LiveValues live(registers, outside);
  for (Value value : liveness.getLiveOut(&block))
    live.add(value);
  for (Operation &op : llvm::reverse(block)) {
    for (Value result : op.getResults())
      live.add(result);
    int64_t own = live.getSum();
    Operation *ownWhere = &op;
    for (Value result : op.getResults())
      live.remove(result);
    // Inside, what lives past the operation stays, its results aside.
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        Operation *innerWhere = nullptr;
        int64_t innerMost =
            visitBlock(inner, liveness, live.get(), registers, innerWhere);
        if (innerMost > own) {
          own = innerMost;
          ownWhere = innerWhere;
        }
      }
    // The first of several.
    if (own > 0 && own >= most) {
      most = own;
      where = ownWhere;
    }
    op.walk([&](Operation *user) {
      for (Value operand : user->getOperands())
        if (!op.isAncestor(operand.getParentBlock()->getParentOp()))
          live.add(operand);
    });
  }
  return most;
}

int64_t fa3::tile::estimateRegisters(warp::GroupOp group, Operation *&where) {
  Liveness liveness(group);
  ValueRegisters registers(group.getWarps() * kThreadsPerWarp);
  where = group;
  return kOtherRegisters +
         visitBlock(*group.getBodyBlock(), liveness, {}, registers, where);
}

int64_t fa3::tile::countThreads(warp::SpecializeOp op) {
  // Groups of less than a warp group share warp groups.
  int64_t small = 0, whole = 0;
  for (auto group : op.getOps<warp::GroupOp>())
    (group.getWarps() < 4 ? small : whole) +=
        group.getWarps() * group.getReplicas();
  return (whole + llvm::alignTo(small, 4)) * kThreadsPerWarp;
}

int64_t fa3::tile::getRegisterLimit(warp::GroupOp group, int64_t others) {
  // Warp groups of four warps; small groups share one.
  int64_t own = group.getReplicas() * llvm::divideCeil(group.getWarps(), 4);
  int64_t otherGroups = 0;
  bool small = false;
  for (auto other : group->getBlock()->getOps<warp::GroupOp>()) {
    if (other == group)
      continue;
    if (other.getWarps() < 4)
      small = true;
    else
      otherGroups += other.getReplicas() * (other.getWarps() / 4);
  }
  otherGroups += small;
  int64_t threads = (own + otherGroups) * 4 * kThreadsPerWarp;
  int64_t atEntry = kRegisterFile / threads / 8 * 8;
  int64_t pool = atEntry * (own + otherGroups) - others * otherGroups;
  return std::min(pool / own / 8 * 8, kMostRegisters);
}
