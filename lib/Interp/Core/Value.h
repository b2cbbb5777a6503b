//===- Value.h - run-time values --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A cell holds the value of one SSA value: a scalar in place, everything else
// as a reference to an object. Cells are not tagged; the decoder knows what is
// in each.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_VALUE_H
#define FA3_LIB_INTERP_CORE_VALUE_H

#include "fa3/Interp/Array.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace fa3::interp {

/// Base of everything a cell may refer to.
class Object : public llvm::RefCountedBase<Object> {
public:
  virtual ~Object() = default;
};

template <typename T>
using Ref = llvm::IntrusiveRefCntPtr<T>;

/// Elements of a tile, or of a vector in all threads of a group. A vector of r
/// registers in n threads is register-major: element (register, thread) is at
/// register * n + thread.
class Buffer final : public Object {
public:
  Buffer(Lane lane, int64_t count)
      : lane(lane), count(count),
        bytes(new uint64_t[(count * getLaneBytes(lane) + 7) / 8]) {}

  Lane getLane() const { return lane; }
  int64_t size() const { return count; }
  template <typename T>
  T *data() {
    return reinterpret_cast<T *>(bytes.get());
  }

private:
  Lane lane;
  int64_t count;
  std::unique_ptr<uint64_t[]> bytes;
};

/// A memref or a tensor map's array.
class ArrayObject final : public Object {
public:
  explicit ArrayObject(Array array) : array(std::move(array)) {}
  Array array;
};

/// An address in global memory; bytes from the start of an allocation.
class PointerObject final : public Object {
public:
  PointerObject(Array array, int64_t byte)
      : array(std::move(array)), byte(byte) {}
  Array array;
  int64_t byte;
};

/// The value of an SSA value. Floats of any width are held as double.
struct Cell {
  union {
    int64_t i = 0;
    double d;
  };
  Ref<Object> object;

  template <typename T>
  T get() const;
  template <typename T>
  void set(T value);
};

template <>
inline float Cell::get<float>() const {
  return static_cast<float>(d);
}
template <>
inline double Cell::get<double>() const {
  return d;
}
template <>
inline int64_t Cell::get<int64_t>() const {
  return i;
}
template <>
inline uint8_t Cell::get<uint8_t>() const {
  return static_cast<uint8_t>(i);
}
template <>
inline void Cell::set<float>(float value) {
  d = value;
}
template <>
inline void Cell::set<double>(double value) {
  d = value;
}
template <>
inline void Cell::set<int64_t>(int64_t value) {
  i = value;
}
template <>
inline void Cell::set<uint8_t>(uint8_t value) {
  i = value;
}

template <typename T>
constexpr Lane laneOf();
template <>
constexpr Lane laneOf<float>() {
  return Lane::F32;
}
template <>
constexpr Lane laneOf<double>() {
  return Lane::F64;
}
template <>
constexpr Lane laneOf<int64_t>() {
  return Lane::I64;
}
template <>
constexpr Lane laneOf<uint8_t>() {
  return Lane::I1;
}

/// Calls `function` with a value of the C++ type of a lane.
template <typename Function>
auto dispatchLane(Lane lane, Function &&function) {
  switch (lane) {
  case Lane::F32:
    return function(float());
  case Lane::F64:
    return function(double());
  case Lane::I64:
    return function(int64_t());
  case Lane::I1:
    break;
  }
  return function(uint8_t());
}

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_VALUE_H
