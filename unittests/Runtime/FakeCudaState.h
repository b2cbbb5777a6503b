//===- FakeCudaState.h - what the calls of the fake share -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_UNITTESTS_RUNTIME_FAKECUDASTATE_H
#define FA3_UNITTESTS_RUNTIME_FAKECUDASTATE_H

#include "FakeCuda.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fakecuda {

enum Result {
  Success = 0,
  InvalidValue = 1,
  InvalidContext = 201,
  InvalidDevice = 101,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  CaptureUnsupported = 900,
  CaptureImplicit = 906
};

struct Function {
  std::string name;
  std::vector<size_t> paramSizes;
  uint32_t maxSmem = 48 * 1024;
};

/// Streams or events: names only. One counts as handed back where its
/// destruction is told to fail, for which its owner can do nothing.
class Handles {
public:
  void *create() {
    std::lock_guard<std::mutex> guard(lock);
    last += 16;
    live.insert(last);
    return reinterpret_cast<void *>(last);
  }
  /// Whether it is one that was not handed back yet.
  bool giveBack(void *handle) {
    std::lock_guard<std::mutex> guard(lock);
    return live.erase(reinterpret_cast<std::uintptr_t>(handle)) != 0;
  }
  int count() {
    std::lock_guard<std::mutex> guard(lock);
    return static_cast<int>(live.size());
  }
  void clear() {
    std::lock_guard<std::mutex> guard(lock);
    live.clear();
  }

private:
  std::mutex lock;
  std::uintptr_t last = 0x10000;
  std::set<std::uintptr_t> live;
};

struct Module {
  std::map<std::string, Function> functions;
};

struct Failure {
  int countdown, code;
};

inline constexpr int numDevices = 2;

struct State {
  std::recursive_mutex lock;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  int poison = 0;
  int major = 9, minor = 0, sms = 132, maxSmem = 232448, version = 13000;
  std::deque<FakeTensorMap> maps;
  /// Also those that were made before records were forgotten.
  std::deque<FakeTensorMap> encoded;
  std::deque<FakeLaunch> launches;
  int (*kernel)(const FakeLaunch *) = nullptr;
  void *capturedStream = nullptr;
  std::set<Module *> modules;
  std::set<void *> allocations;
  Handles streams, events;
  int retained[numDevices] = {0, 0};

  /// Writes the numbers of a new record to the beginning of a map.
  void record(void *map, const FakeTensorMap &made) {
    const uint64_t numbers[] = {maps.size(), encoded.size()};
    std::memcpy(map, numbers, sizeof(numbers));
    maps.push_back(made);
    encoded.push_back(made);
  }
};

inline State &state() {
  static State instance;
  return instance;
}

/// Contexts are small numbers: 1 + device for the primary ones.
inline thread_local std::vector<intptr_t> contextStack;

/// Which calls this thread may make while a stream is captured: 0, all threads
/// are watched; 2, it takes care itself.
inline thread_local int captureMode = 0;

inline intptr_t currentContext() {
  return contextStack.empty() ? 0 : contextStack.back();
}

inline void setCurrent(intptr_t context) {
  if (!contextStack.empty())
    contextStack.pop_back();
  if (context)
    contextStack.push_back(context);
}

/// Counts a call; returns what it must fail with, or Success.
inline int enter(const char *symbol) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  ++state().calls[symbol];
  auto failure = state().failures.find(symbol);
  if (failure != state().failures.end() && --failure->second.countdown == 0) {
    int code = failure->second.code;
    state().failures.erase(failure);
    return code;
  }
  return state().poison;
}

#define FAKE_ENTER(symbol)                                                     \
  if (int code = enter(symbol))                                                \
    return code;                                                               \
  std::lock_guard<std::recursive_mutex> guard(state().lock)

#define FAKE_ENTER_WITH_CONTEXT(symbol)                                        \
  FAKE_ENTER(symbol);                                                          \
  if (!currentContext())                                                       \
  return InvalidContext

} // namespace fakecuda

#endif // FA3_UNITTESTS_RUNTIME_FAKECUDASTATE_H
