//===- TextExecutor.cpp - a problem through PTX on the CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/TextExecutor.h"
#include "Fail.h"
#include "fa3/Interp/PTXDriver.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

std::unique_ptr<Device>
fa3::run::openTextDevice(const interp::Options &options) {
  interp::ptx::RunOptions run;
  run.sms = options.sms;
  run.scheduleSeed = options.scheduleSeed;
  std::string reason;
  std::unique_ptr<Device> device;
  if (interp::ptx::installDriver(run, reason))
    device = Device::open(0, reason);
  if (!device)
    (void)fail(reason);
  return device;
}

LogicalResult fa3::run::runText(DeviceCode code, Problem &problem,
                                const interp::Options &options) {
  std::unique_ptr<Device> device = openTextDevice(options);
  if (!device)
    return failure();
  code.manifest = interp::ptx::acceptText(code.manifest, code.image);
  auto created = DeviceExecutor::create(code, problem);
  if (succeeded(created) && succeeded((*created)->run()))
    return success();
  // A status of the runtime holds a line, this is all.
  std::string text = interp::ptx::takeDriverError();
  if (!text.empty())
    llvm::errs() << text << '\n';
  return failure();
}
