//===- RecordPoints.cpp - where a kernel writes down the time -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecordPoints.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Name of the host's array behind an argument of the kernel.
static std::string getArrayName(Value argument, LaunchOp launch) {
  auto kernelArgument = dyn_cast<BlockArgument>(argument);
  if (!kernelArgument ||
      kernelArgument.getArgNumber() >= launch.getKernelArgs().size())
    return "";
  Value value = launch.getKernelArgs()[kernelArgument.getArgNumber()];
  // Encodings and views, whose first operand is what they look at.
  while (Operation *def = value.getDefiningOp()) {
    if (def->getNumOperands() == 0)
      return "";
    value = def->getOperand(0);
  }
  auto array = cast<BlockArgument>(value);
  auto host = dyn_cast<FunctionOpInterface>(array.getOwner()->getParentOp());
  auto name = host ? host.getArgAttrOfType<StringAttr>(array.getArgNumber(),
                                                       kArgumentNameAttr)
                   : StringAttr();
  return name ? name.str() : "arg" + std::to_string(array.getArgNumber());
}

static void appendName(std::string &list, StringRef name) {
  if (name.empty() || list == name)
    return;
  list += (list.empty() ? "" : ", ") + name.str();
}

void RecordTable::nameBuffers(gpu::GPUFuncOp kernel, LaunchOp launch) {
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<TmaLoadOp>(op)) {
      std::string name = getArrayName(load.getMap(), launch);
      appendName(names[load.getBuffer()], name);
      appendName(names[load.getBarrier()], name);
    } else if (auto store = dyn_cast<TmaStoreOp>(op)) {
      appendName(names[store.getBuffer()],
                 getArrayName(store.getMap(), launch));
    }
  });
}

/// A barrier that no copy signals is named by what its wait lets happen.
void RecordTable::nameBarriers(gpu::GPUFuncOp kernel) {
  kernel.walk([&](BarrierWaitOp wait) {
    barriers.try_emplace(wait.getBarrier(), barriers.size());
    std::string &name = names[wait.getBarrier()];
    if (!name.empty())
      return;
    for (Operation *op = wait->getNextNode();
         op && !isa<BarrierWaitOp>(op) && name.empty();
         op = op->getNextNode()) {
      if (auto load = dyn_cast<TmaLoadOp>(op))
        name = "space for " + names.lookup(load.getBuffer());
      else if (isa<MailboxPostOp>(op))
        name = "space for tile number";
      else if (isa<MailboxReadOp>(op))
        name = "tile number";
    }
  });
  for (auto [barrier, i] : barriers)
    if (names[barrier].empty())
      names[barrier] = "barrier " + std::to_string(i);
}

std::string RecordTable::getProductName(WgmmaOp product) const {
  auto nameOf = [&](Value operand) -> std::string {
    auto desc = operand.getDefiningOp<DescOp>();
    if (!desc)
      return isa<DescType>(operand.getType()) ? "memory" : "registers";
    std::string name = names.lookup(desc.getBuffer());
    return name.empty() ? "memory" : name;
  };
  return nameOf(product.getLhs()) + " x " + nameOf(product.getRhs());
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

NamedAttribute RecordTable::number(StringRef name, int64_t value) const {
  Builder builder(context);
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}

NamedAttribute RecordTable::barrierNumber(Value barrier) {
  return number("barrier",
                barriers.try_emplace(barrier, barriers.size()).first->second);
}

int64_t RecordTable::add(StringRef kind, Phase phase, StringRef name,
                         ArrayRef<NamedAttribute> more) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set("kind", builder.getStringAttr(kind));
  attributes.set("phase",
                 builder.getStringAttr(phase == Phase::Begin ? "begin"
                                       : phase == Phase::End ? "end"
                                                             : "instant"));
  attributes.set("name", builder.getStringAttr(name));
  for (NamedAttribute attribute : more)
    attributes.set(attribute.getName(), attribute.getValue());
  events.push_back(attributes.getDictionary(context));
  return events.size() - 1;
}

void RecordTable::addSpan(Operation *first, Operation *last, StringRef kind,
                          StringRef name, ArrayRef<NamedAttribute> more) {
  points[first].before.push_back(add(kind, Phase::Begin, name, more));
  points[last].after.push_back(add(kind, Phase::End, name, more));
}

void RecordTable::addInstant(Operation *op, StringRef kind, StringRef name,
                             ArrayRef<NamedAttribute> more) {
  points[op].before.push_back(add(kind, Phase::Instant, name, more));
}

void RecordTable::addOperation(Operation *op) {
  if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    addSpan(op, op, "wait", names.lookup(wait.getBarrier()),
            barrierNumber(wait.getBarrier()));
  } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    addInstant(op, "arrive", names.lookup(arrive.getBarrier()),
               barrierNumber(arrive.getBarrier()));
  } else if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
    addInstant(op, "copy", names.lookup(expect.getBarrier()),
               {barrierNumber(expect.getBarrier()),
                number("bytes", expect.getBytes())});
  } else if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
    // Without an instruction there is nothing to see.
    int64_t pending = wait.getPending().value_or(0);
    if (pending >= 0)
      addSpan(op, op, "await", "products", number("pending", pending));
  } else if (auto sync = dyn_cast<NamedBarrierSyncOp>(op)) {
    auto group = op->getParentOfType<warp::GroupOp>();
    bool isOwn =
        group && int64_t(group.getWarps()) * getChip(op).threadsPerWarp ==
                     static_cast<int64_t>(sync.getThreads());
    addSpan(op, op, "sync", isOwn ? "threads" : "others");
  } else if (isa<NamedBarrierArriveOp>(op)) {
    addInstant(op, "arrive", "others");
  } else if (isa<TmaCommitOp>(op)) {
    addInstant(op, "store", "store");
  } else if (auto wait = dyn_cast<TmaWaitReadOp>(op)) {
    addSpan(op, op, "drain", "stores", number("pending", wait.getPending()));
  }
}

/// Products up to a commit are issued together: from the fence in front of the
/// first one to the commit.
void RecordTable::addBlock(Block &block) {
  Operation *begin = nullptr;
  std::string name;
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        addBlock(inner);
    if (isa<WgmmaFenceOp>(op) && name.empty()) {
      begin = &op;
    } else if (auto product = dyn_cast<WgmmaOp>(op)) {
      if (!begin)
        begin = &op;
      appendName(name, getProductName(product));
    } else if (isa<WgmmaCommitOp>(op)) {
      if (!name.empty())
        addSpan(begin, &op, "issue", name);
      begin = nullptr;
      name.clear();
    } else {
      addOperation(&op);
    }
  }
}

RecordTable::RecordTable(gpu::GPUFuncOp kernel, LaunchOp launch)
    : context(kernel.getContext()) {
  nameBuffers(kernel, launch);
  nameBarriers(kernel);
  kernel.walk([&](warp::GroupOp group) {
    RecordPoints &role = roles[group];
    std::string name = group.getSymName().str();
    role.before.push_back(add("role", Phase::Begin, name));
    addBlock(*group.getBodyBlock());
    role.after.push_back(add("role", Phase::End, name));
  });
  for (auto &[op, around] : points)
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      holders.insert(parent);
}
