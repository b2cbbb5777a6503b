//===- RunText.cpp - libfa3: PTX on the CPU -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The stage "ptx" of fa3_interpret: the executor of PTX is a driver to the
// runtime, which loads and launches the code as on a GPU.
//===----------------------------------------------------------------------===//

#include "RunText.h"
#include "fa3/Interp/PTXDriver.h"
#include "fa3/Runtime/fa3_runtime.h"
#include <mutex>

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

namespace {

/// Memory of the modeled device.
class Buffer {
public:
  Buffer() = default;
  Buffer(const Buffer &) = delete;
  ~Buffer() {
    fa3_status status;
    if (address)
      fa3_device_free(address, &status);
  }
  /// Memory that nobody has written is NaNs.
  fa3_code allocate(size_t size, fa3_status &status) {
    if (fa3_code code = fa3_device_alloc(size, &address, &status))
      return code;
    return fa3_device_fill(address, 0xff, size, &status);
  }
  void *get() const {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  }
  fa3_device_address address = 0;
};

/// One program on the modeled device.
class TextRun {
public:
  explicit TextRun(MutableArrayRef<interp::Argument> values)
      : values(values), buffers(values.size()) {}
  TextRun(const TextRun &) = delete;
  ~TextRun() {
    fa3_status ignored;
    if (program)
      fa3_program_destroy(program, &ignored);
    if (isOpen)
      fa3_device_release(0, &ignored);
  }

  fa3_code run(const fa3_result::Function &code, ArrayRef<fa3_arg> given,
               SmallVectorImpl<interp::Access> &accesses);
  fa3_status status;

private:
  fa3_code load(const fa3_result::Function &code);
  fa3_code copyIn(ArrayRef<fa3_arg> given,
                  SmallVectorImpl<interp::Access> &accesses);
  fa3_code launch();
  fa3_code copyOut(ArrayRef<interp::Access> accesses);

  MutableArrayRef<interp::Argument> values;
  std::vector<Buffer> buffers;
  SmallVector<fa3_arg> args;
  fa3_program *program = nullptr;
  bool isOpen = false;
};

} // namespace

fa3_code TextRun::load(const fa3_result::Function &code) {
  if (fa3_code failed = fa3_device_initialize(0, &status))
    return failed;
  isOpen = true;
  return fa3_program_load(code.manifest.data(), code.manifest.size(),
                          code.ptx.data(), code.ptx.size(), FA3_IMAGE_PTX,
                          &program, &status);
}

fa3_code TextRun::copyIn(ArrayRef<fa3_arg> given,
                         SmallVectorImpl<interp::Access> &accesses) {
  for (auto [i, arg] : llvm::enumerate(given)) {
    args.push_back(arg);
    interp::Access &access = accesses.emplace_back();
    const auto *array = std::get_if<interp::Array>(&values[i]);
    if (!array)
      continue;
    fa3_arg_info info;
    if (fa3_code failed = fa3_program_arg_info(program, i, &info, &status))
      return failed;
    access.read = info.access != FA3_WRITE;
    access.written = info.access != FA3_READ;
    int64_t bytes = array->getAllocatedBytes();
    if (fa3_code failed = buffers[i].allocate(bytes, status))
      return failed;
    args[i].value.data = buffers[i].get();
    if (!access.read || !bytes)
      continue;
    if (fa3_code failed = fa3_device_upload(buffers[i].address,
                                            array->getBase(), bytes, &status))
      return failed;
  }
  return FA3_OK;
}

fa3_code TextRun::launch() {
  int64_t size = 0;
  if (fa3_code failed =
          fa3_workspace_size(program, args.data(), args.size(), &size, &status))
    return failed;
  Buffer workspace;
  if (size)
    if (fa3_code failed = workspace.allocate(size, status))
      return failed;
  return fa3_launch_with_workspace(program, args.data(), args.size(),
                                   workspace.get(), size, /*stream=*/nullptr,
                                   &status);
}

fa3_code TextRun::copyOut(ArrayRef<interp::Access> accesses) {
  for (auto [value, buffer, access] :
       llvm::zip_equal(values, buffers, accesses)) {
    auto *array = std::get_if<interp::Array>(&value);
    int64_t bytes = array ? array->getAllocatedBytes() : 0;
    if (!bytes || !access.written)
      continue;
    if (fa3_code failed = fa3_device_download(array->getBase(), buffer.address,
                                              bytes, &status))
      return failed;
  }
  return FA3_OK;
}

fa3_code TextRun::run(const fa3_result::Function &code, ArrayRef<fa3_arg> given,
                      SmallVectorImpl<interp::Access> &accesses) {
  if (fa3_code failed = load(code))
    return failed;
  if (fa3_code failed = copyIn(given, accesses))
    return failed;
  if (fa3_code failed = launch())
    return failed;
  return copyOut(accesses);
}

fa3_outcome fa3::compiler::runText(Call &call, const fa3_result::Function &code,
                                   ArrayRef<fa3_arg> args,
                                   MutableArrayRef<interp::Argument> values,
                                   SmallVectorImpl<interp::Access> &accesses) {
  // The device and its last error belong to the process.
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  std::string reason;
  if (!interp::ptx::installDriver({}, reason))
    return call.refuse(reason);
  TextRun text(values);
  if (text.run(code, args, accesses) == FA3_OK)
    return FA3_DONE;
  // A status of the runtime holds a line, the executor has all.
  std::string more = interp::ptx::takeDriverError();
  call.getModule().emitError("PTX on the CPU: ")
      << (more.empty() ? StringRef(text.status.message) : StringRef(more));
  return FA3_FAILED;
}
