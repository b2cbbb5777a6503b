//===- Ptxas.cpp - the assembler and what it says -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Target/PTX/Ptxas.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace fa3;

/// "warpgroup.arrive is injected": harmless, it stands for a fence.
constexpr llvm::StringLiteral kArriveInjected = "C7519";

std::optional<std::string> fa3::findPtxas(StringRef path) {
  if (!path.empty()) {
    if (llvm::sys::fs::can_execute(path))
      return path.str();
    return std::nullopt;
  }
  const StringRef toolkit[] = {"/usr/local/cuda/bin"};
  for (ArrayRef<StringRef> paths :
       {ArrayRef<StringRef>(), ArrayRef<StringRef>(toolkit)})
    if (llvm::ErrorOr<std::string> found =
            llvm::sys::findProgramByName("ptxas", paths))
      return *found;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static int64_t toInteger(StringRef digits) {
  int64_t value = 0;
  return digits.getAsInteger(10, value) ? 0 : value;
}

/// Number before `what` in a line, 0 if there is none.
static int64_t findCount(StringRef line, StringRef what) {
  llvm::Regex regex(("([0-9]+) " + what).str());
  SmallVector<StringRef> match;
  return regex.match(line, &match) ? toInteger(match[1]) : 0;
}

/// What a line says of the code; lines of -v on memory and time are no
/// messages.
static std::optional<PtxasRemark> readRemark(StringRef line) {
  static const llvm::Regex message(
      "^ptxas ([^;]*[;:])? *(info|warning|error|fatal) *: *(.*)$");
  static const llvm::Regex code("\\((C[0-9]+)\\)");
  static const llvm::Regex inFunction("function '?([A-Za-z_$][A-Za-z0-9_$.]*)");
  static const llvm::Regex atLine("line ([0-9]+)");
  SmallVector<StringRef> parts, detail;
  if (!message.match(line, &parts))
    return std::nullopt;
  PtxasRemark remark;
  remark.kind = parts[2] == "info"      ? PtxasRemark::Kind::Info
                : parts[2] == "warning" ? PtxasRemark::Kind::Warning
                                        : PtxasRemark::Kind::Error;
  remark.text = parts[3].str();
  if (code.match(remark.text, &detail))
    remark.code = detail[1].str();
  if (remark.kind == PtxasRemark::Kind::Info && remark.code.empty())
    return std::nullopt;
  if (inFunction.match(remark.text, &detail))
    remark.function = detail[1].str();
  if (atLine.match(line, &detail))
    remark.line = toInteger(detail[1]);
  return remark;
}

PtxasReport fa3::parsePtxasOutput(StringRef output) {
  PtxasReport report;
  static const llvm::Regex entry("Compiling entry function '([^']+)'");
  static const llvm::Regex properties("Function properties for (.+)$");
  SmallVector<StringRef> lines, match;
  output.split(lines, '\n');
  auto find = [&](StringRef name) -> KernelUsage & {
    for (KernelUsage &kernel : report.kernels)
      if (kernel.name == name)
        return kernel;
    report.kernels.push_back({name.str()});
    return report.kernels.back();
  };
  std::string current;
  for (StringRef line : lines) {
    line = line.rtrim();
    if (line.contains("bytes stack frame")) {
      KernelUsage &kernel = find(current);
      kernel.stackBytes = findCount(line, "bytes stack frame");
      kernel.spillStoreBytes = findCount(line, "bytes spill stores");
      kernel.spillLoadBytes = findCount(line, "bytes spill loads");
      continue;
    }
    if (entry.match(line, &match) || properties.match(line, &match)) {
      current = match[1].str();
      (void)find(current);
      continue;
    }
    if (line.contains(": Used ") && line.contains("registers")) {
      KernelUsage &kernel = find(current);
      kernel.registers = findCount(line, "registers");
      kernel.barriers = findCount(line, "barriers");
      continue;
    }
    if (std::optional<PtxasRemark> remark = readRemark(line))
      report.remarks.push_back(std::move(*remark));
  }
  return report;
}

std::optional<Location> fa3::findLocation(MLIRContext *context, StringRef ptx,
                                          int64_t line) {
  // ".loc <file> <line> <column>" holds up to the next; ".file <number> <name>"
  // stands anywhere.
  static const llvm::Regex loc("^[ \t]*\\.loc[ \t]+([0-9]+)[ \t]+([0-9]+)"
                               "[ \t]+([0-9]+)");
  static const llvm::Regex file("^[ \t]*\\.file[ \t]+([0-9]+)[ \t]+\"(.*)\"");
  SmallVector<StringRef> lines, match;
  ptx.split(lines, '\n');
  std::optional<std::array<int64_t, 3>> last;
  for (StringRef text :
       ArrayRef(lines).take_front(std::min<int64_t>(line, lines.size())))
    if (loc.match(text, &match))
      last = {toInteger(match[1]), toInteger(match[2]), toInteger(match[3])};
  if (!last)
    return std::nullopt;
  for (StringRef text : lines)
    if (file.match(text, &match) && toInteger(match[1]) == (*last)[0])
      return FileLineColLoc::get(context, match[2], (*last)[1], (*last)[2]);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// Where a remark belongs: a line of the PTX, a kernel, the only one if it
/// names none, or the module.
static Location locate(gpu::GPUModuleOp module, StringRef ptx,
                       const PtxasRemark &remark) {
  if (remark.line)
    if (std::optional<Location> loc =
            findLocation(module.getContext(), ptx, *remark.line))
      return *loc;
  if (auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(remark.function))
    return kernel.getLoc();
  auto kernels = llvm::make_filter_range(
      module.getOps<LLVM::LLVMFuncOp>(),
      [](LLVM::LLVMFuncOp function) { return !function.isExternal(); });
  if (remark.function.empty() && llvm::hasSingleElement(kernels))
    return (*kernels.begin()).getLoc();
  return module.getLoc();
}

/// Emits what the report says; fails if some of it is an error.
static LogicalResult emitReport(gpu::GPUModuleOp module, StringRef ptx,
                                const PtxasReport &report, bool strict) {
  bool hasErrors = false;
  auto emit = [&](Location loc, bool isError) {
    hasErrors |= isError;
    return isError ? mlir::emitError(loc) : mlir::emitWarning(loc);
  };
  for (const PtxasRemark &remark : report.remarks) {
    Location loc = locate(module, ptx, remark);
    if (remark.code == kArriveInjected) {
      mlir::emitRemark(loc) << "ptxas: " << remark.text;
      continue;
    }
    bool isError = remark.kind == PtxasRemark::Kind::Error ||
                   (strict && StringRef(remark.code).starts_with("C75"));
    emit(loc, isError) << "ptxas: " << remark.text;
  }
  for (const KernelUsage &kernel : report.kernels) {
    int64_t bytes =
        kernel.stackBytes + kernel.spillStoreBytes + kernel.spillLoadBytes;
    if (bytes == 0)
      continue;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    emit(function ? function.getLoc() : module.getLoc(), strict)
        << "kernel '" << kernel.name
        << "' keeps values in local memory: " << kernel.stackBytes
        << " bytes of stack, " << kernel.spillStoreBytes
        << " bytes of spill stores, " << kernel.spillLoadBytes
        << " bytes of spill loads, with " << kernel.registers << " registers";
  }
  return failure(hasErrors);
}

//===----------------------------------------------------------------------===//
// Assembler
//===----------------------------------------------------------------------===//

static FailureOr<std::string> createTemporary(gpu::GPUModuleOp module,
                                              StringRef suffix) {
  SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("fa3", suffix, path))
    return module.emitError()
           << "cannot create a temporary file: " << error.message();
  return path.str().str();
}

static int64_t countKernels(gpu::GPUModuleOp module) {
  return llvm::count_if(
      module.getOps<LLVM::LLVMFuncOp>(),
      [](LLVM::LLVMFuncOp function) { return !function.isExternal(); });
}

FailureOr<PtxasReport> fa3::runPtxas(gpu::GPUModuleOp module, StringRef ptx,
                                     const PtxasOptions &options) {
  std::optional<std::string> program = findPtxas(options.path);
  if (!program)
    return module.emitError()
           << "finds no ptxas"
           << (options.path.empty() ? " in PATH or /usr/local/cuda/bin"
                                    : " at " + options.path);
  SmallVector<std::unique_ptr<llvm::FileRemover>> removers;
  SmallVector<std::string> paths;
  for (StringRef suffix : {"ptx", "cubin", "log"}) {
    FailureOr<std::string> path = createTemporary(module, suffix);
    if (failed(path))
      return failure();
    removers.push_back(std::make_unique<llvm::FileRemover>(*path));
    paths.push_back(*path);
  }
  const std::string &source = paths[0], &cubin = paths[1], &log = paths[2];
  std::error_code error;
  {
    llvm::raw_fd_ostream os(source, error);
    if (!error)
      os << ptx;
    os.close();
    if (error || os.has_error())
      return module.emitError() << "cannot write " << source;
  }
  std::string arch = "-arch=" + options.chip;
  std::string threads =
      "--split-compile=" + std::to_string(countKernels(module));
  SmallVector<StringRef> arguments = {*program, "-v", arch,
                                      source,   "-o", cubin};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  // A kernel for each thread, with the same code. Ptxas before CUDA 12.1 do not
  // know the option, and say so at once.
  arguments.push_back(threads);
  std::string message;
  int status;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> output(nullptr);
  while (true) {
    status = llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
    if (status < 0)
      return module.emitError() << "cannot run " << *program << ": " << message;
    output = llvm::MemoryBuffer::getFile(log);
    if (!output)
      return module.emitError() << "cannot read the output of " << *program;
    bool refusesThreads = status != 0 && arguments.back() == threads &&
                          (*output)->getBuffer().contains("split-compile");
    if (!refusesThreads)
      break;
    arguments.pop_back();
  }
  PtxasReport report = parsePtxasOutput((*output)->getBuffer());
  LogicalResult result = emitReport(module, ptx, report, options.strict);
  if (status != 0) {
    if (succeeded(result))
      module.emitError() << *program
                         << " failed: " << (*output)->getBuffer().trim();
    return failure();
  }
  if (failed(result))
    return failure();
  auto code = llvm::MemoryBuffer::getFile(cubin, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!code)
    return module.emitError() << "cannot read the output of " << *program;
  report.cubin = (*code)->getBuffer().str();
  return report;
}
