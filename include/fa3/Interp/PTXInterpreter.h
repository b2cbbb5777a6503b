//===- PTXInterpreter.h - runs PTX text on the CPU --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes kernels of PTX as fa3 writes them and as people edit them, for the
// sm_90a of one device: warps of 32 lanes, shared memory, mbarriers, bulk and
// tensor copies, wgmma. An instruction that it does not know is refused by
// name. What a chip leaves to chance is an error here: see
// docs/Interpreter.md.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_PTXINTERPRETER_H
#define FA3_INTERP_PTXINTERPRETER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace fa3::interp::ptx {

class Module;

/// Reads and decodes PTX. Null after an error, which starts with the line.
std::shared_ptr<Module> load(llvm::StringRef text, std::string &error);

/// Places of a kernel's parameters.
struct ParamPlace {
  int64_t offset, size;
};
/// Those of a kernel; empty if there is no kernel of the name.
std::optional<llvm::SmallVector<ParamPlace>> getParams(const Module &module,
                                                       llvm::StringRef kernel);

/// Memory of the device: allocations of the host, by address.
class GlobalMemory {
public:
  uint64_t allocate(uint64_t size);
  bool release(uint64_t address);
  bool contains(uint64_t address, uint64_t size) const;
  ~GlobalMemory();

private:
  std::map<uint64_t, uint64_t> allocations;
};

/// What an encoded tensor map says (PTX ISA 5.5, "Tensors"); fits into
/// CUtensorMap.
struct TensorMap {
  static constexpr uint32_t kMagic = 0x66613374;
  uint32_t magic = kMagic;
  uint8_t elementBytes, rank, swizzle;
  uint8_t isFloat;
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4]; ///< in bytes, of dimensions 1 and up
  uint16_t box[5];
};

struct Launch {
  uint32_t blocks = 1, threads = 1, smem = 0;
  llvm::ArrayRef<uint8_t> params;
};

struct RunOptions {
  int64_t sms = 3;
  /// Picks the next warp, and how far it goes, at random.
  std::optional<uint64_t> scheduleSeed;
  /// Instructions that a block may execute, of all its warps.
  uint64_t maxInstructions = uint64_t(1) << 32;
  /// Blocks before it are not run.
  uint32_t firstBlock = 0;
};

/// Counts of a launch.
struct RunCounts {
  uint64_t blocks = 0, instructions = 0, products = 0, copies = 0;
};

/// Runs a kernel. False after an error, which names line, block, warp and, by
/// `.loc`, the place in the source.
bool run(const Module &module, llvm::StringRef kernel, const Launch &launch,
         const GlobalMemory &memory, const RunOptions &options,
         RunCounts &counts, std::string &error);

} // namespace fa3::interp::ptx

#endif // FA3_INTERP_PTXINTERPRETER_H
