//===- Scheduler.cpp - groups as coroutines -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Scheduler.h"
#include "mlir/IR/Diagnostics.h"
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

using namespace mlir;
using namespace fa3::interp;

/// Bytes of a coroutine's stack: nesting of regions is shallow, calls in
/// kernels are rare.
static constexpr size_t kStackBytes = 512 * 1024;

namespace fa3::interp {

/// A body with a stack of its own.
class Coroutine {
public:
  Coroutine() {
    // A page without access below the stack turns overflow into a fault.
    size_t page = sysconf(_SC_PAGESIZE);
    mapped = kStackBytes + page;
    void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      llvm::report_bad_alloc_error("no memory for the stack of a coroutine");
    mprotect(memory, page, PROT_NONE);
    stack = memory;
    usable = static_cast<char *>(memory) + page;
  }
  ~Coroutine() { munmap(stack, mapped); }
  Coroutine(const Coroutine &) = delete;

  void start(std::string newName, std::function<LogicalResult()> newBody) {
    name = std::move(newName);
    body = std::move(newBody);
    done = started = false;
    waiting = nullptr;
    time = 0;
    result = success();
    getcontext(&context);
    context.uc_stack.ss_sp = usable;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = &caller;
    // makecontext passes ints only; the pointer goes in halves.
    uintptr_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&Coroutine::enter), 2,
                static_cast<unsigned>(self >> 16 >> 16),
                static_cast<unsigned>(self));
  }

  /// Runs until the coroutine suspends or ends.
  void resume() {
    started = true;
    swapcontext(&caller, &context);
  }
  /// Returns to whoever resumed the coroutine.
  void suspend() { swapcontext(&context, &caller); }

  bool canGoOn() const { return !done && (!waiting || waiting->ready()); }

  std::string name;
  std::function<LogicalResult()> body;
  bool done = true, started = false;
  LogicalResult result = success();
  /// How far it is, if that decides who runs.
  int64_t time = 0;
  /// Lives on the coroutine's own stack while it is suspended.
  const Wait *waiting = nullptr;

private:
  static void enter(unsigned high, unsigned low) {
    auto *self = reinterpret_cast<Coroutine *>(
        (static_cast<uintptr_t>(high) << 16 << 16) | low);
    self->result = self->body();
    self->body = nullptr;
    self->done = true;
  }

  void *stack;
  char *usable;
  size_t mapped;
  ucontext_t context, caller;
};

} // namespace fa3::interp

Scheduler::Scheduler(std::optional<uint64_t> seed, bool timed) : timed(timed) {
  if (seed)
    random.emplace(*seed);
}

Scheduler::~Scheduler() = default;

void Scheduler::spawn(std::string name, std::function<LogicalResult()> body) {
  std::unique_ptr<Coroutine> coroutine;
  if (idle.empty()) {
    coroutine = std::make_unique<Coroutine>();
  } else {
    coroutine = std::move(idle.back());
    idle.pop_back();
  }
  coroutine->start(std::move(name), std::move(body));
  coroutines.push_back(std::move(coroutine));
}

Coroutine *Scheduler::pickEarliest() {
  Coroutine *earliest = nullptr;
  for (auto &coroutine : coroutines)
    if (coroutine->canGoOn() && (!earliest || coroutine->time < earliest->time))
      earliest = coroutine.get();
  return earliest;
}

Coroutine *Scheduler::pick() {
  if (timed)
    return pickEarliest();
  SmallVector<size_t> able;
  size_t count = coroutines.size();
  for (size_t i = 0; i < count; ++i) {
    size_t index = (turn + i) % count;
    if (!coroutines[index]->canGoOn())
      continue;
    able.push_back(index);
    if (!random)
      break;
  }
  if (able.empty())
    return nullptr;
  size_t index = able[random ? (*random)() % able.size() : 0];
  turn = index;
  return coroutines[index].get();
}

LogicalResult Scheduler::run(llvm::function_ref<void()> step) {
  LogicalResult result = success();
  while (true) {
    step();
    Coroutine *next = pick();
    if (!next) {
      if (llvm::all_of(coroutines, [](auto &c) { return c->done; }))
        break;
      // Nobody can go on by himself: something in flight has to complete.
      bool helped = false;
      size_t count = coroutines.size();
      size_t first = random ? (*random)() % count : 0;
      for (size_t i = 0; i < count && !helped; ++i) {
        Coroutine &c = *coroutines[(first + i) % count];
        helped = !c.done && c.waiting && c.waiting->help && c.waiting->help();
      }
      if (helped)
        continue;
      reportDeadlock();
      abandon();
      result = failure();
      break;
    }
    running = next;
    next->waiting = nullptr;
    next->resume();
    running = nullptr;
    if (next->done && failed(next->result)) {
      abandon();
      result = failure();
      break;
    }
  }
  for (auto &coroutine : coroutines)
    idle.push_back(std::move(coroutine));
  coroutines.clear();
  turn = 0;
  abandoned = false;
  return result;
}

void Scheduler::abandon() {
  // Let every coroutine unwind, so that what it holds is released.
  abandoned = true;
  for (auto &coroutine : coroutines) {
    if (!coroutine->started) {
      coroutine->body = nullptr;
      coroutine->done = true;
    }
    while (!coroutine->done) {
      running = coroutine.get();
      running->resume();
    }
  }
  running = nullptr;
}

void Scheduler::reportDeadlock() {
  SmallVector<Coroutine *> blocked;
  for (auto &coroutine : coroutines)
    if (!coroutine->done && coroutine->waiting && coroutine->waiting->describe)
      blocked.push_back(coroutine.get());
  if (blocked.empty())
    return;
  InFlightDiagnostic diagnostic =
      blocked.front()->waiting->op->emitError("deadlock: ")
      << (blocked.size() == 1 ? "the only group left waits forever"
                              : "all groups wait for each other");
  for (Coroutine *coroutine : blocked)
    diagnostic.attachNote(coroutine->waiting->op->getLoc())
        << coroutine->name << " waits here: " << coroutine->waiting->describe();
}

LogicalResult Scheduler::wait(const Wait &wait) {
  if (abandoned)
    return failure();
  if (wait.ready())
    return pause(wait.op);
  Coroutine *self = running;
  self->waiting = &wait;
  self->suspend();
  running = self;
  return failure(abandoned);
}

LogicalResult Scheduler::pause(Operation *op) {
  if (abandoned)
    return failure();
  if (!random || coroutines.size() <= 1 || (*random)() % 2)
    return success();
  Coroutine *self = running;
  self->suspend();
  running = self;
  return failure(abandoned);
}

LogicalResult Scheduler::yieldUntil(int64_t time) {
  if (abandoned)
    return failure();
  Coroutine *self = running;
  self->time = time;
  self->suspend();
  running = self;
  return failure(abandoned);
}
