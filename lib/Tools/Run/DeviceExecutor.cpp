//===- DeviceExecutor.cpp - a problem on a GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/DeviceExecutor.h"
#include "Fail.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

std::unique_ptr<Device> Device::open(int32_t number, std::string &reason) {
  fa3_status status;
  if (fa3_device_initialize(number, &status) != FA3_OK) {
    reason = status.message;
    return nullptr;
  }
  std::unique_ptr<Device> device(new Device(number));
  if (fa3_device_query(number, &device->info, &status) != FA3_OK) {
    reason = status.message;
    return nullptr;
  }
  const fa3_device_info &info = device->info;
  // Code for sm_90a runs on no other architecture, not even on later ones.
  if (info.compute_major == 9 && info.compute_minor == 0)
    return device;
  reason = (Twine("device ") + Twine(number) + " (" + info.name +
            ") has compute capability " + Twine(info.compute_major) + "." +
            Twine(info.compute_minor) + ", kernels need 9.0")
               .str();
  return nullptr;
}

Device::~Device() {
  fa3_status status;
  fa3_device_release(number, &status);
}

//===----------------------------------------------------------------------===//
// DeviceBuffer
//===----------------------------------------------------------------------===//

DeviceBuffer::DeviceBuffer(DeviceBuffer &&other)
    : address(std::exchange(other.address, 0)), size(other.size) {}

DeviceBuffer::~DeviceBuffer() {
  // After a kernel that failed the driver frees the memory with its context.
  fa3_status status;
  if (address)
    fa3_device_free(address, &status);
}

LogicalResult DeviceBuffer::allocate(int64_t bytes) {
  fa3_status status;
  size = bytes;
  if (failed(check(fa3_device_alloc(size + 2 * kGuard, &address, &status),
                   status)))
    return failure();
  return poison();
}

LogicalResult DeviceBuffer::poison() {
  fa3_status status;
  return check(fa3_device_fill(address, 0xff, size + 2 * kGuard, &status),
               status);
}

LogicalResult DeviceBuffer::upload(const uint8_t *bytes) {
  fa3_status status;
  return check(size ? fa3_device_upload(getAddress(), bytes, size, &status)
                    : FA3_OK,
               status);
}

LogicalResult DeviceBuffer::download(uint8_t *bytes) const {
  fa3_status status;
  return check(size ? fa3_device_download(bytes, getAddress(), size, &status)
                    : FA3_OK,
               status);
}

FailureOr<bool> DeviceBuffer::areGuardsIntact() const {
  SmallVector<uint8_t> bytes(kGuard);
  for (fa3_device_address guard : {address, address + kGuard + size}) {
    fa3_status status;
    if (failed(check(
            fa3_device_download(bytes.data(), guard, bytes.size(), &status),
            status)))
      return failure();
    if (!llvm::all_of(bytes, [](uint8_t byte) { return byte == 0xff; }))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// DeviceExecutor
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<DeviceExecutor>>
DeviceExecutor::create(const DeviceCode &code, Problem &problem) {
  std::unique_ptr<DeviceExecutor> executor(new DeviceExecutor(problem));
  fa3_status status;
  if (failed(
          check(fa3_program_load(code.manifest.data(), code.manifest.size(),
                                 code.image.data(), code.image.size(),
                                 code.isCubin ? FA3_IMAGE_CUBIN : FA3_IMAGE_PTX,
                                 &executor->program, &status),
                status)) ||
      failed(executor->bind()))
    return failure();
  return executor;
}

DeviceExecutor::~DeviceExecutor() {
  fa3_status status;
  if (program)
    fa3_program_destroy(program, &status);
}

/// The runtime's argument for one of the problem; checks of its type and shape
/// are the runtime's.
static fa3_arg makeArgument(const ProblemArgument &argument, fa3_type type,
                            fa3_device_address address) {
  if (const interp::Array *array = argument.getArray()) {
    fa3_type_from_name(interp::getName(array->getFormat()).str().c_str(),
                       &type);
    return fa3_tensor(type,
                      reinterpret_cast<void *>(static_cast<uintptr_t>(address)),
                      array->getShape().size(), array->getShape().data(),
                      array->getStrides().data());
  }
  if (const auto *integer = std::get_if<int64_t>(&argument.value))
    return fa3_scalar_integer(type, *integer);
  return fa3_scalar_real(type, std::get<double>(argument.value));
}

LogicalResult DeviceExecutor::bind() {
  MutableArrayRef<ProblemArgument> all = problem.getArguments();
  buffers.resize(all.size());
  for (auto [argument, buffer] : llvm::zip_equal(all, buffers)) {
    interp::Array *array = argument.getArray();
    if (!array)
      continue;
    if (array->getShape().size() > FA3_MAX_RANK)
      return fail("argument '" + Twine(argument.name) + "' has rank " +
                  Twine(array->getShape().size()) + ", the runtime takes " +
                  Twine(FA3_MAX_RANK));
    if (failed(buffer.allocate(array->getAllocatedBytes())) ||
        failed(buffer.upload(array->getBase())))
      return failure();
  }
  fa3_status status;
  for (size_t i = 0, e = fa3_program_num_args(program); i < e; ++i) {
    fa3_arg_info info;
    if (failed(check(fa3_program_arg_info(program, i, &info, &status), status)))
      return failure();
    ProblemArgument *argument = problem.find(info.name);
    if (!argument)
      return fail("the manifest has an argument '" + Twine(info.name) +
                  "', which the module does not have");
    fa3_device_address address = 0;
    if (const interp::Array *array = argument->getArray())
      address = buffers[argument - all.begin()].getAddress() +
                array->getOffset() * interp::getByteWidth(array->getFormat());
    arguments.push_back(makeArgument(*argument, info.type, address));
  }
  if (failed(check(
          fa3_validate(program, arguments.data(), arguments.size(), &status),
          status)) ||
      failed(
          check(fa3_workspace_size(program, arguments.data(), arguments.size(),
                                   &workspaceSize, &status),
                status)))
    return failure();
  return workspaceSize ? workspace.allocate(workspaceSize) : success();
}

LogicalResult DeviceExecutor::launch() {
  fa3_status status;
  void *memory = nullptr;
  if (workspaceSize)
    memory = reinterpret_cast<void *>(
        static_cast<uintptr_t>(workspace.getAddress()));
  return check(fa3_launch_with_workspace(
                   program, arguments.data(), arguments.size(), memory,
                   workspaceSize, /*stream=*/nullptr, &status),
               status);
}

/// Outputs and workspace become poison; what is read and written gets its first
/// contents.
LogicalResult DeviceExecutor::prepareRun() {
  if (workspaceSize && failed(workspace.poison()))
    return failure();
  for (auto [argument, buffer] :
       llvm::zip_equal(problem.getArguments(), buffers)) {
    const interp::Array *array = argument.getArray();
    if (!array || !argument.access.written)
      continue;
    if (failed(buffer.poison()) ||
        (argument.access.read && failed(buffer.upload(array->getBase()))))
      return failure();
  }
  return success();
}

LogicalResult DeviceExecutor::run() {
  fa3_status status;
  if (failed(prepareRun()) || failed(launch()) ||
      failed(check(fa3_device_synchronize(&status), status)))
    return failure();
  if (workspaceSize) {
    FailureOr<bool> intact = workspace.areGuardsIntact();
    if (failed(intact))
      return failure();
    if (!*intact)
      return fail("memory beside the workspace was written");
  }
  for (auto [argument, buffer] :
       llvm::zip_equal(problem.getArguments(), buffers)) {
    interp::Array *array = argument.getArray();
    if (!array)
      continue;
    FailureOr<bool> intact = buffer.areGuardsIntact();
    if (failed(intact))
      return failure();
    if (!*intact)
      return fail("memory beside argument '" + Twine(argument.name) +
                  "' was written");
    if (argument.access.written && failed(buffer.download(array->getBase())))
      return failure();
  }
  return success();
}

FailureOr<int64_t> DeviceExecutor::countDifferences(int64_t count) {
  fa3_status status;
  int64_t differences = 0;
  SmallVector<uint8_t, 0> bytes;
  for (const ProblemArgument &argument : problem.getArguments())
    if (argument.access.read && argument.access.written)
      return fail("argument '" + Twine(argument.name) +
                  "' is read and written, so that repeated runs differ");
  for (int64_t i = 0; i < count; ++i) {
    if (failed(prepareRun()) || failed(launch()) ||
        failed(check(fa3_device_synchronize(&status), status)))
      return failure();
    bool isEqual = true;
    for (auto [argument, buffer] :
         llvm::zip_equal(problem.getArguments(), buffers)) {
      interp::Array *array = argument.getArray();
      if (!array || !argument.access.written)
        continue;
      bytes.resize_for_overwrite(array->getAllocatedBytes());
      if (failed(buffer.download(bytes.data())))
        return failure();
      isEqual &= llvm::equal(
          bytes, ArrayRef(array->getBase(), array->getAllocatedBytes()));
    }
    differences += !isEqual;
  }
  return differences;
}

std::optional<int64_t> DeviceExecutor::getFlops() const {
  fa3_status status;
  int64_t value;
  if (fa3_evaluate(program, FA3_FLOPS, arguments.data(), arguments.size(),
                   &value, &status) != FA3_OK)
    return std::nullopt;
  return value;
}
