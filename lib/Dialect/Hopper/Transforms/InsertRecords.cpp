//===- InsertRecords.cpp - hopper-insert-records --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The position in the array of records is a value that loops and branches
// carry, so every group counts its own events without memory.
//===----------------------------------------------------------------------===//

#include "RecordPoints.h"
#include "fa3/Dialect/Hopper/IR/Records.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_INSERTRECORDS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// Writes the records of one group.
class GroupRecorder {
public:
  GroupRecorder(const RecordTable &table, Value buffer, int64_t capacity)
      : table(table), buffer(buffer), capacity(capacity),
        rewriter(buffer.getContext()) {}

  /// `firstRow` is the row of replica 0 in CTA 0, `rows` those of a CTA.
  void record(warp::GroupOp group, int64_t firstRow, int64_t rows,
              int64_t ctas);
  int64_t getNumRecords() const { return numRecords; }

private:
  Value getStart(warp::GroupOp group, int64_t firstRow, int64_t rows,
                 int64_t ctas);
  void emit(ArrayRef<int64_t> events, Location loc);
  void visitBlock(Block &block);
  void visitLoop(scf::ForOp loop);
  void visitBranch(scf::IfOp branch);
  void appendToYield(Block &block);

  const RecordTable &table;
  Value buffer;
  int64_t capacity;
  IRRewriter rewriter;
  /// Of the next record at the place that is being visited.
  Value position;
  int64_t numRecords = 0;
};
} // namespace

void GroupRecorder::emit(ArrayRef<int64_t> events, Location loc) {
  for (int64_t event : events) {
    position =
        RecordOp::create(rewriter, loc, event, position, buffer, capacity);
    ++numRecords;
  }
}

/// Position of the first entry of the executing copy's row; -1 in CTAs that
/// have none.
Value GroupRecorder::getStart(warp::GroupOp group, int64_t firstRow,
                              int64_t rows, int64_t ctas) {
  ImplicitLocOpBuilder b(group.getLoc(), rewriter);
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value block = arith::IndexCastOp::create(
      b, i32, gpu::BlockIdOp::create(b, gpu::Dimension::x));
  Value replica = arith::IndexCastOp::create(b, i32, group.getReplica());
  Value inBlock = arith::AddIOp::create(b, replica, constant(firstRow));
  Value row = arith::AddIOp::create(
      b, arith::MulIOp::create(b, block, constant(rows)), inBlock);
  Value start = arith::MulIOp::create(b, row, constant(capacity));
  Value hasRow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, block,
                                       constant(ctas));
  return arith::SelectOp::create(b, hasRow, start, constant(-1));
}

void GroupRecorder::appendToYield(Block &block) {
  Operation *yield = block.getTerminator();
  rewriter.modifyOpInPlace(
      yield, [&] { yield->insertOperands(yield->getNumOperands(), position); });
}

void GroupRecorder::visitLoop(scf::ForOp loop) {
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  inits.push_back(position);
  auto widened =
      scf::ForOp::create(rewriter, loop.getLoc(), loop.getLowerBound(),
                         loop.getUpperBound(), loop.getStep(), inits);
  widened->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = widened.getBody();
  rewriter.mergeBlocks(loop.getBody(), body, body->getArguments().drop_back());
  rewriter.replaceOp(loop, widened.getResults().drop_back());
  position = body->getArguments().back();
  visitBlock(*body);
  appendToYield(*body);
  position = widened.getResults().back();
}

void GroupRecorder::visitBranch(scf::IfOp branch) {
  rewriter.setInsertionPoint(branch);
  Value before = position;
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(position.getType());
  auto widened = scf::IfOp::create(rewriter, branch.getLoc(), types,
                                   branch.getCondition());
  for (auto [from, to] :
       llvm::zip(branch->getRegions(), widened->getRegions())) {
    to.takeBody(from);
    if (to.empty()) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.createBlock(&to);
      scf::YieldOp::create(rewriter, branch.getLoc());
    }
    position = before;
    visitBlock(to.front());
    appendToYield(to.front());
  }
  rewriter.replaceOp(branch, widened.getResults().drop_back());
  position = widened.getResults().back();
}

void GroupRecorder::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    const RecordPoints *points = table.lookup(&op);
    if (points) {
      rewriter.setInsertionPoint(&op);
      emit(points->before, op.getLoc());
      rewriter.setInsertionPointAfter(&op);
      emit(points->after, op.getLoc());
    } else if (table.holdsPoints(&op)) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        visitLoop(loop);
      else
        visitBranch(cast<scf::IfOp>(op));
    }
  }
}

void GroupRecorder::record(warp::GroupOp group, int64_t firstRow, int64_t rows,
                           int64_t ctas) {
  Block &body = *group.getBodyBlock();
  // Registers are moved before anything else (see hopper-assign-registers).
  Block::iterator first = body.begin();
  if (first != body.end() && isa<SetMaxRegistersOp>(*first))
    ++first;
  Operation *anchor = &*first;
  rewriter.setInsertionPoint(anchor);
  position = getStart(group, firstRow, rows, ctas);
  RecordPoints role = table.getRole(group);
  emit(role.before, group.getLoc());
  visitBlock(body);
  rewriter.setInsertionPoint(body.getTerminator());
  emit(role.after, group.getLoc());
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct InsertRecords : hopper::impl::InsertRecordsBase<InsertRecords> {
  using InsertRecordsBase::InsertRecordsBase;

  void runOnOperation() override {
    if (failed(verifyOptions()))
      return signalPassFailure();
    // A kernel has one table, so it is launched once.
    llvm::MapVector<Operation *, SmallVector<LaunchOp>> launches;
    SymbolTableCollection symbols;
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(
              launch, launch.getKernelAttr()))
        launches[kernel].push_back(launch);
    });
    for (auto &[kernel, starts] : launches)
      if (failed(check(cast<gpu::GPUFuncOp>(kernel), starts)))
        return signalPassFailure();
    for (auto &[kernel, starts] : launches)
      if (failed(run(cast<gpu::GPUFuncOp>(kernel), starts.front())))
        return signalPassFailure();
  }

  LogicalResult verifyOptions() {
    if (ctas < 1)
      return getOperation().emitError(
                 "hopper-insert-records: expects at least 1 CTA, got ")
             << ctas.getValue();
    if (capacity < 2 || capacity > RecordOp::kMaxCapacity ||
        !llvm::isPowerOf2_64(capacity))
      return getOperation().emitError(
                 "hopper-insert-records: expects a capacity that is a power of "
                 "two between 2 and ")
             << RecordOp::kMaxCapacity << ", got " << capacity.getValue();
    return success();
  }

  LogicalResult check(gpu::GPUFuncOp kernel, ArrayRef<LaunchOp> launches) {
    LaunchOp launch = launches.front();
    if (launches.size() > 1) {
      LaunchOp second = launches[1];
      InFlightDiagnostic diagnostic =
          kernel.emitOpError("is launched ")
          << launches.size() << " times, records need a kernel of one launch";
      diagnostic.attachNote(second.getLoc()) << "the second launch";
      return diagnostic;
    }
    WalkResult result = kernel.walk([&](scf::WhileOp loop) {
      loop.emitOpError("in a kernel whose events are to be recorded, expects "
                       "'scf.for'");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
    auto host = launch->getParentOfType<FunctionOpInterface>();
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(host, getOperation());
    if (uses && !uses->empty())
      return host->emitOpError("is called, so that it cannot take an array of "
                               "records");
    return success();
  }

  LogicalResult run(gpu::GPUFuncOp kernel, LaunchOp launch) {
    SmallVector<warp::GroupOp> groups;
    kernel.walk([&](warp::GroupOp group) { groups.push_back(group); });
    if (groups.empty()) {
      kernel.emitRemark("has no groups, nothing is recorded");
      return success();
    }
    SmallVector<std::string> rows;
    for (warp::GroupOp group : groups)
      for (int64_t i = 0; i < int64_t(group.getReplicas()); ++i)
        rows.push_back(group.getReplicas() == 1
                           ? group.getSymName().str()
                           : (group.getSymName() + " " + Twine(i)).str());
    RecordTable table(kernel, launch);
    FailureOr<Value> buffer = addArgument(kernel, launch, rows, table);
    if (failed(buffer))
      return failure();
    int64_t row = 0;
    for (warp::GroupOp group : groups) {
      GroupRecorder recorder(table, *buffer, capacity);
      recorder.record(group, row, rows.size(), ctas);
      row += group.getReplicas();
      numRecords += recorder.getNumRecords();
    }
    return success();
  }

  /// Adds the array to the host function, the launch and the kernel.
  FailureOr<Value> addArgument(gpu::GPUFuncOp kernel, LaunchOp launch,
                               ArrayRef<std::string> rows,
                               const RecordTable &table) {
    auto host = launch->getParentOfType<FunctionOpInterface>();
    Builder builder(&getContext());
    SmallVector<Attribute> groups;
    for (const std::string &row : rows)
      groups.push_back(builder.getStringAttr(row));
    auto type = MemRefType::get({ctas, int64_t(rows.size()), capacity},
                                builder.getI64Type());
    unsigned count = 0;
    for (unsigned i = 0; i < host.getNumArguments(); ++i)
      count += host.getArgAttr(i, kRecordsAttrName) != nullptr;
    std::string name = "records" + (count ? std::to_string(count) : "");
    NamedAttrList attributes;
    attributes.set(kArgumentNameAttr, builder.getStringAttr(name));
    attributes.set(
        kRecordsAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("groups", builder.getArrayAttr(groups)),
             builder.getNamedAttr("events",
                                  builder.getArrayAttr(table.getEvents()))}));
    unsigned position = host.getNumArguments();
    if (failed(host.insertArgument(position, type,
                                   attributes.getDictionary(&getContext()),
                                   host.getLoc())))
      return failure();
    OpBuilder b(launch);
    auto pointer = LLVM::LLVMPointerType::get(&getContext(), 1);
    Value address = AddressOp::create(b, launch.getLoc(), pointer,
                                      host.getArgument(position));
    launch.getKernelArgsMutable().append(address);
    unsigned last = kernel.getNumArguments();
    if (failed(kernel.insertArgument(last, pointer, DictionaryAttr(),
                                     kernel.getLoc())))
      return failure();
    return Value(kernel.getArgument(last));
  }
};
} // namespace
