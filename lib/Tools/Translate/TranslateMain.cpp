//===- TranslateMain.cpp - the tool fa3-translate -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Translate/TranslateMain.h"
#include "fa3/InitAllDialects.h"
#include "fa3/InitAllPasses.h"
#include "fa3/Pipelines/PassText.h"
#include "fa3/Support/ModuleText.h"
#include "fa3/Target/Manifest/Manifest.h"
#include "fa3/Target/PTX/PTX.h"
#include "fa3/Target/PTX/Ptxas.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace fa3;
namespace cl = llvm::cl;

namespace {
enum class Output { None, PTX, LLVMIR, Cubin };

struct Options {
  cl::OptionCategory category{"fa3-translate options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<input file>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file, - for stdout"),
                              cl::value_desc("file"), cl::init("-"),
                              cl::cat(category)};
  cl::opt<Output> kind{
      cl::desc("What to write:"),
      cl::values(clEnumValN(Output::PTX, "mlir-to-ptx", "PTX and manifest"),
                 clEnumValN(Output::LLVMIR, "mlir-to-llvmir",
                            "LLVM IR after the passes of --opt"),
                 clEnumValN(Output::Cubin, "mlir-to-cubin",
                            "cubin (by ptxas) and manifest")),
      cl::init(Output::None), cl::cat(category)};
  cl::opt<std::string> pipeline{
      "pass-pipeline", cl::desc("Passes to run first, as fa3-opt takes them"),
      cl::cat(category)};
  cl::opt<bool> unregistered{
      "allow-unregistered-dialect",
      cl::desc("Accept operations of dialects that are not known, for "
               "convert-to-attention"),
      cl::cat(category)};
  cl::opt<std::string> manifest{
      "manifest",
      cl::desc("File of the manifest (default: the output file with the "
               "extension .json; none for stdout)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> noManifest{"no-manifest", cl::desc("Write no manifest"),
                           cl::cat(category)};
  cl::opt<std::string> function{
      "function",
      cl::desc("Host function of the manifest, if there are several"),
      cl::cat(category)};
  cl::opt<std::string> chip{"chip", cl::desc("Target chip"), cl::init("sm_90a"),
                            cl::cat(category)};
  cl::opt<unsigned> ptxVersion{"ptx-version",
                               cl::desc("PTX ISA version times ten"),
                               cl::init(90), cl::cat(category)};
  cl::opt<std::string> passes{
      "opt",
      cl::desc("Passes on LLVM IR: none, rows, small, O1, O3 or a pipeline of "
               "LLVM (default: option llvm-passes of the pipeline, or rows)"),
      cl::cat(category)};
  cl::opt<bool> locations{
      "locations",
      cl::desc("Locations in the PTX, so that messages of ptxas name the "
               "operation"),
      cl::cat(category)};
  cl::opt<bool> assemble{"assemble",
                         cl::desc("Run ptxas and report what it says"),
                         cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::desc("Path of ptxas (default: PATH, /usr/local/cuda/bin)"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<bool> strict{"ptxas-strict",
                       cl::desc("Serialized products and spilled registers are "
                                "errors; implies --assemble"),
                       cl::cat(category)};
  cl::opt<bool> usage{"ptxas-usage",
                      cl::desc("Remarks on registers; implies --assemble"),
                      cl::cat(category)};
};

/// A file that appears under its name only when all is written.
class PendingFile {
public:
  static llvm::Expected<PendingFile> create(StringRef path, StringRef content) {
    llvm::Expected<llvm::sys::fs::TempFile> file =
        llvm::sys::fs::TempFile::create(path + "-%%%%%%%%.tmp",
                                        llvm::sys::fs::all_read |
                                            llvm::sys::fs::all_write);
    if (!file)
      return file.takeError();
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    os << content;
    os.flush();
    if (os.has_error()) {
      std::error_code error = os.error();
      os.clear_error();
      llvm::consumeError(file->discard());
      return llvm::errorCodeToError(error);
    }
    return PendingFile(path, std::move(*file));
  }
  llvm::Error keep() { return file.keep(path); }
  llvm::Error discard() { return file.discard(); }

private:
  PendingFile(StringRef path, llvm::sys::fs::TempFile file)
      : path(path), file(std::move(file)) {}
  std::string path;
  llvm::sys::fs::TempFile file;
};
} // namespace

/// Whether a path is written in place: standard output, and what is no file,
/// such as a pipe or /dev/null, which a new file would replace.
static bool isStream(StringRef path) {
  llvm::sys::fs::file_status status;
  return path == "-" ||
         (!llvm::sys::fs::status(path, status) &&
          status.type() != llvm::sys::fs::file_type::regular_file);
}

/// Writes all files, or none.
static LogicalResult
writeFiles(ArrayRef<std::pair<std::string, std::string>> files) {
  SmallVector<PendingFile> pending;
  auto fail = [&](StringRef path, llvm::Error error) {
    llvm::errs() << "fa3-translate: cannot write " << path << ": "
                 << llvm::toString(std::move(error)) << '\n';
    for (PendingFile &file : pending)
      llvm::consumeError(file.discard());
    return failure();
  };
  for (const auto &[path, content] : files) {
    if (isStream(path))
      continue;
    llvm::Expected<PendingFile> file = PendingFile::create(path, content);
    if (!file)
      return fail(path, file.takeError());
    pending.push_back(std::move(*file));
  }
  while (!pending.empty()) {
    PendingFile file = std::move(pending.back());
    pending.pop_back();
    if (llvm::Error error = file.keep())
      return fail("the output", std::move(error));
  }
  for (const auto &[path, content] : files) {
    if (!isStream(path))
      continue;
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (error)
      return fail(path, llvm::errorCodeToError(error));
    os << content;
    os.flush();
    if (os.has_error()) {
      error = os.error();
      os.clear_error();
      return fail(path, llvm::errorCodeToError(error));
    }
  }
  return success();
}

/// Path of the manifest, empty for none.
static std::string getManifestPath(const Options &options) {
  if (options.noManifest || options.kind == Output::LLVMIR)
    return {};
  if (!options.manifest.empty() || options.output == "-")
    return options.manifest;
  SmallString<128> path(options.output);
  llvm::sys::path::replace_extension(path, "json");
  return path.str().str();
}

static FailureOr<gpu::GPUModuleOp> findKernels(ModuleOp module) {
  SmallVector<gpu::GPUModuleOp> modules(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() != 1)
    return module.emitError()
           << "expects one module of kernels (gpu.module), got "
           << modules.size();
  return modules.front();
}

static void reportUsage(gpu::GPUModuleOp kernels, const PtxasReport &report) {
  for (const KernelUsage &usage : report.kernels) {
    Operation *kernel = kernels.lookupSymbol(usage.name);
    emitRemark(kernel ? kernel->getLoc() : kernels.getLoc())
        << "ptxas: kernel '" << usage.name << "' uses " << usage.registers
        << " registers, " << usage.spillStoreBytes << " bytes of spill stores";
  }
}

static LogicalResult translate(ModuleOp module, const Options &options,
                               TimingScope &timing) {
  FailureOr<gpu::GPUModuleOp> kernels = findKernels(module);
  if (failed(kernels))
    return failure();
  PTXOptions ptxOptions = {options.chip, options.ptxVersion, options.passes,
                           options.locations, options.kind == Output::LLVMIR};
  if (options.kind == Output::LLVMIR) {
    llvm::LLVMContext context;
    FailureOr<std::unique_ptr<llvm::Module>> ir =
        translateToLLVMIR(*kernels, context, ptxOptions);
    if (failed(ir))
      return failure();
    std::string text;
    llvm::raw_string_ostream(text) << **ir;
    return writeFiles({{options.output, text}});
  }

  TimingScope step = timing.nest("PTX");
  FailureOr<std::string> ptx = translateToPTX(*kernels, ptxOptions);
  if (failed(ptx))
    return failure();
  step.stop();
  SmallVector<std::pair<std::string, std::string>> files = {
      {options.output, *ptx}};
  if (options.kind == Output::Cubin || options.assemble || options.strict ||
      options.usage || !options.ptxas.empty()) {
    step = timing.nest("ptxas");
    FailureOr<PtxasReport> report =
        runPtxas(*kernels, *ptx, {options.ptxas, options.chip, options.strict});
    if (failed(report))
      return failure();
    step.stop();
    if (options.usage)
      reportUsage(*kernels, *report);
    if (options.kind == Output::Cubin)
      files.front().second = report->cubin;
  }
  std::string manifestPath = getManifestPath(options);
  if (!manifestPath.empty()) {
    FailureOr<std::string> manifest = writeManifest(
        module, *ptx, {options.chip, options.ptxVersion, options.function});
    if (failed(manifest))
      return failure();
    files.push_back({manifestPath, *manifest});
  }
  return writeFiles(files);
}

/// Operations that passes have to lower first are an error that names them.
static LogicalResult checkIsLowered(ModuleOp module) {
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    // Host functions launch, and ask for the device, in fa3's dialects.
    bool isKernel = op->getParentOfType<gpu::GPUModuleOp>() != nullptr;
    if (dialect != "attention" &&
        !(isKernel && llvm::is_contained({"tile", "warp", "hopper"}, dialect)))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  if (!found)
    return success();
  bool isHopper = found->getName().getDialectNamespace() == "hopper";
  StringRef passes =
      isHopper ? "fa3-hopper-to-llvm" : "fa3-lower-to-nvvm-pipeline";
  InFlightDiagnostic diagnostic =
      found->emitOpError("is not lowered to llvm and nvvm operations");
  diagnostic.attachNote() << "--pass-pipeline='builtin.module(" << passes
                          << ")' lowers the module first";
  return diagnostic;
}

/// Runs the pipeline that the command line names, if it does.
static LogicalResult runPipeline(ModuleOp module, StringRef pipeline,
                                 TimingScope &timing) {
  if (pipeline.empty())
    return success();
  if (auto wrong = explainPipelineText(pipeline)) {
    llvm::errs() << "fa3-translate: error: --pass-pipeline: " << *wrong << '\n';
    return failure();
  }
  FailureOr<OpPassManager> passes = parsePassPipeline(pipeline);
  if (failed(passes))
    return failure();
  PassManager passManager(module.getContext());
  if (failed(applyPassManagerCLOptions(passManager)))
    return failure();
  static_cast<OpPassManager &>(passManager) = std::move(*passes);
  passManager.enableTiming(timing);
  return passManager.run(module);
}

int fa3::translateMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  registerTransformsPasses();
  registerAllPasses();
  registerMLIRContextCLOptions();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "fa3: MLIR to PTX and manifest\n");
  if (options.kind == Output::None) {
    llvm::errs() << "fa3-translate: expects --mlir-to-ptx, --mlir-to-llvmir or "
                    "--mlir-to-cubin\n";
    return 1;
  }

  PTXOptions target;
  target.chip = options.chip;
  target.ptxVersion = options.ptxVersion;
  if (std::optional<std::string> wrong = explainWrongTarget(target)) {
    llvm::errs() << "fa3-translate: error: " << *wrong << '\n';
    return 1;
  }

  DefaultTimingManager manager;
  applyDefaultTimingManagerCLOptions(manager);
  TimingScope timing = manager.getRootScope();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerPTXTranslation(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects(options.unregistered);
  std::string message;
  auto file = openInputFile(options.input, &message);
  if (!file) {
    llvm::errs() << "fa3-translate: " << message << '\n';
    return 1;
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  if (failed(checkModuleText(*sources->getMemoryBuffer(1), &context)))
    return 1;
  TimingScope step = timing.nest("parser");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;
  step.stop();
  if (failed(runPipeline(*module, options.pipeline, timing)) ||
      failed(checkIsLowered(*module)))
    return 1;
  return failed(translate(*module, options, timing));
}
