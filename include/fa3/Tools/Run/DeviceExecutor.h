//===- DeviceExecutor.h - a problem on a GPU --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a manifest and its code through fa3-runtime on the arrays of a problem.
// Failures print a message.
//===----------------------------------------------------------------------===//

#ifndef FA3_TOOLS_RUN_DEVICEEXECUTOR_H
#define FA3_TOOLS_RUN_DEVICEEXECUTOR_H

#include "fa3/Runtime/fa3_runtime.h"
#include "fa3/Tools/Run/Compile.h"
#include "fa3/Tools/Run/Problem.h"
#include <vector>

namespace fa3::run {

/// A device made ready for this thread.
class Device {
public:
  /// Empty, with the reason, if there is none that can run the kernels.
  static std::unique_ptr<Device> open(int32_t number, std::string &reason);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const fa3_device_info &getInfo() const { return info; }

private:
  Device(int32_t number) : number(number) {}
  int32_t number;
  fa3_device_info info;
};

/// Device memory, with guards on both sides that show writes beyond the ends.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer &&other);
  DeviceBuffer &operator=(DeviceBuffer &&) = delete;

  mlir::LogicalResult allocate(int64_t size);
  /// Sets all bytes to 0xff, guards included; see interp::Array::poison.
  mlir::LogicalResult poison();
  mlir::LogicalResult upload(const uint8_t *bytes);
  mlir::LogicalResult download(uint8_t *bytes) const;
  /// Whether both guards are as poison() left them.
  mlir::FailureOr<bool> areGuardsIntact() const;

  fa3_device_address getAddress() const { return address + kGuard; }

private:
  /// Bytes; keeps the alignment of the allocation.
  static constexpr int64_t kGuard = 4096;
  fa3_device_address address = 0;
  int64_t size = 0;
};

class DeviceExecutor {
public:
  /// Loads code and copies the problem's arrays to the device.
  static mlir::FailureOr<std::unique_ptr<DeviceExecutor>>
  create(const DeviceCode &code, Problem &problem);
  ~DeviceExecutor();

  /// One run on poisoned outputs; then copies what was written back into the
  /// problem. An error if something was written beside the arrays.
  mlir::LogicalResult run();
  /// `count` further runs; gives how many differ in a bit from the problem's
  /// arrays, which are those of the first run.
  mlir::FailureOr<int64_t> countDifferences(int64_t count);
  /// Queues one launch, as it is.
  mlir::LogicalResult launch();

  /// Floating-point operations of a launch, if the manifest tells.
  std::optional<int64_t> getFlops() const;

private:
  DeviceExecutor(Problem &problem) : problem(problem) {}
  mlir::LogicalResult bind();
  mlir::LogicalResult prepareRun();

  Problem &problem;
  fa3_program *program = nullptr;
  /// One per argument of the problem, and those of the manifest in its order.
  std::vector<DeviceBuffer> buffers;
  std::vector<fa3_arg> arguments;
  DeviceBuffer workspace;
  int64_t workspaceSize = 0;
};

} // namespace fa3::run

#endif // FA3_TOOLS_RUN_DEVICEEXECUTOR_H
