//===- TranslateToPTX.cpp - kernels as LLVM IR and PTX --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Negations.h"
#include "OrderRows.h"
#include "fa3/Support/ContractNames.h"
#include "fa3/Support/FunctionPasses.h"
#include "fa3/Support/PTXName.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace fa3;

void fa3::registerPTXTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// The module's functions and globals in a builtin module of their own, without
/// attributes that LLVM does not know.
static OwningOpRef<ModuleOp> extractKernels(gpu::GPUModuleOp module) {
  OwningOpRef<ModuleOp> copy(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  for (Operation &op : *module.getBody())
    builder.clone(op);
  for (auto function : copy->getOps<LLVM::LLVMFuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (NamedAttribute attribute :
           llvm::to_vector(FunctionOpInterface(function).getArgAttrs(i))) {
        StringRef dialect = attribute.getName().strref().split('.').first;
        if (dialect != "llvm" && dialect != "nvvm")
          function.removeArgAttr(i, attribute.getName());
      }
  return copy;
}

static LogicalResult verifyLowered(gpu::GPUModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) {
    // LLVM ends the program at a name that it cannot write.
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
        function && !function.isExternal() && !isPTXName(function.getName())) {
      function.emitOpError("expects a name that is an identifier of PTX, got '")
          << function.getName() << "'";
      return WalkResult::interrupt();
    }
    if (op == module.getOperation() ||
        isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("is not an operation of llvm or nvvm; PTX is written of "
                    "modules after fa3-hopper-to-llvm");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(gpu::GPUModuleOp module, const PTXOptions &options) {
  static const bool isInitialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)isInitialized;
  if (options.ptxVersion < 80 || options.ptxVersion > 90) {
    module.emitError() << "expects a PTX version between 80 and 90, got "
                       << options.ptxVersion;
    return nullptr;
  }
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError() << "has no code generator: " << error;
    return nullptr;
  }
  // Of another name the code generator only warns.
  std::unique_ptr<llvm::MCSubtargetInfo> chips(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!chips->isCPUStringValid(options.chip)) {
    module.emitError() << "expects a chip that LLVM knows, got '"
                       << options.chip << "'";
    return nullptr;
  }
  std::string features = "+ptx" + std::to_string(options.ptxVersion);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, options.chip, features, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    module.emitError() << "has no code generator for " << options.chip;
  return machine;
}

/// Statements on warps and warp groups must not become dependent on more
/// conditions than they are, so no pass may duplicate or sink them.
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *call = dyn_cast<llvm::CallInst>(&instruction))
          if (call->isInlineAsm())
            call->setConvergent();
}

static std::string getPipeline(StringRef passes) {
  if (std::optional<StringRef> ofFunctions = getFunctionPasses(passes))
    return ofFunctions->empty() ? "" : ("function(" + *ofFunctions + ")").str();
  if (passes == "O1" || passes == "O3")
    return ("default<" + passes + ">").str();
  return passes.str();
}

/// What a module of kernels, or a kernel, asks for; empty for nothing.
static StringRef getWish(Operation *op) {
  auto wish = op->getAttrOfType<StringAttr>(kLLVMPassesAttr);
  return wish ? wish.getValue() : StringRef();
}

/// Runs the passes of each kernel, where kernels differ in them.
static LogicalResult runOwnPasses(gpu::GPUModuleOp module,
                                  llvm::Module &llvmModule,
                                  llvm::PassBuilder &builder,
                                  llvm::FunctionAnalysisManager &functions) {
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    llvm::Function *function = llvmModule.getFunction(kernel.getName());
    if (!function || function->isDeclaration())
      continue;
    StringRef chosen = getWish(kernel);
    if (chosen.empty())
      chosen = getWish(module);
    std::optional<StringRef> pipeline =
        getFunctionPasses(chosen.empty() ? "rows" : chosen);
    if (!pipeline)
      return kernel.emitError("expects passes none, rows or small where "
                              "kernels of a module differ in them, got '")
             << chosen << "'";
    if (pipeline->empty())
      continue;
    llvm::FunctionPassManager passes;
    if (llvm::Error error = builder.parsePassPipeline(passes, *pipeline))
      return kernel.emitError() << llvm::toString(std::move(error));
    passes.run(*function, functions);
  }
  return success();
}

static LogicalResult runPasses(gpu::GPUModuleOp module,
                               llvm::Module &llvmModule,
                               llvm::TargetMachine &machine,
                               const PTXOptions &options) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerPipelineParsingCallback(
      [](StringRef name, llvm::FunctionPassManager &manager,
         ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "fa3-order-rows")
          return false;
        manager.addPass(OrderRowsPass());
        return true;
      });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  std::string chosen = options.passes;
  if (chosen.empty()) {
    if (llvm::any_of(module.getOps<LLVM::LLVMFuncOp>(), [](Operation *kernel) {
          return !getWish(kernel).empty();
        }))
      return runOwnPasses(module, llvmModule, builder, functions);
    chosen = getWish(module).empty() ? "rows" : getWish(module).str();
  }
  std::string pipeline = getPipeline(chosen);
  if (pipeline.empty())
    return success();
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return module.emitError()
           << "expects passes none, rows, small, O1, O3 or a "
              "pipeline of LLVM passes: "
           << llvm::toString(std::move(error));
  passes.run(llvmModule, modules);
  return success();
}

namespace {
/// Turns messages of LLVM into diagnostics while it lives.
class DiagnosticsToMLIR : public llvm::DiagnosticHandler {
public:
  DiagnosticsToMLIR(Operation *op, bool &failed) : op(op), failed(failed) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error &&
        info.getSeverity() != llvm::DS_Warning)
      return true;
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    if (info.getSeverity() == llvm::DS_Error) {
      failed = true;
      op->emitError() << "code generation: " << text;
    } else {
      op->emitWarning() << "code generation: " << text;
    }
    return true;
  }

private:
  Operation *op;
  bool &failed;
};
} // namespace

FailureOr<std::unique_ptr<llvm::Module>>
fa3::translateToLLVMIR(gpu::GPUModuleOp module, llvm::LLVMContext &context,
                       const PTXOptions &options) {
  if (failed(verifyLowered(module)))
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, options);
  if (!machine)
    return failure();
  context.setDiscardValueNames(!options.names);
  OwningOpRef<ModuleOp> kernels = extractKernels(module);
  if (options.locations) {
    mlir::PassManager manager(module.getContext());
    LLVM::DIScopeForLLVMFuncOpPassOptions scopes;
    // Any other kind makes ptxas compile for debugging.
    scopes.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
    manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scopes));
    if (failed(manager.run(*kernels)))
      return failure();
  }
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*kernels, context, module.getName());
  if (!result)
    return failure();
  result->setTargetTriple(machine->getTargetTriple());
  result->setDataLayout(machine->createDataLayout());
  markConvergent(*result);
  if (failed(runPasses(module, *result, *machine, options)))
    return failure();
  hideNegations(*result);
  return result;
}

/// Whether a block ends in a branch on a vote that was held in an earlier one
/// (hopper-vote-early).
static bool hasOldVotes(const llvm::Module &module) {
  auto endsInOldVote = [](const llvm::BasicBlock &block) {
    auto *branch = dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional())
      return false;
    auto *vote = dyn_cast<llvm::IntrinsicInst>(branch->getCondition());
    return vote &&
           vote->getIntrinsicID() == llvm::Intrinsic::nvvm_vote_any_sync &&
           vote->getParent() != &block;
  };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::any_of(function, endsInOldVote);
  });
}

/// The passes of TargetMachine::addPassesToEmitFile, without sinking where
/// branches hang on old votes. What stands in front of such a branch is a
/// step's exponentials, and hardly any warp takes it: sinking moves what only
/// later blocks use behind it, the conversions of the weights first of all,
/// though both ways lead there, and ptxas then cannot mix it with the
/// exponentials. (RegisterTargetPassConfigCallback changes a configuration,
/// too, but those of all threads.) Returns whether the target writes assembly.
static bool addPassesToEmit(llvm::legacy::PassManager &passes,
                            llvm::TargetMachine &machine,
                            const llvm::Module &module,
                            llvm::raw_pwrite_stream &os) {
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (hasOldVotes(module))
    config->disablePass(&llvm::MachineSinkingLegacyID);
  passes.add(config);
  auto *functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(functions);
  if (config->addISelPasses())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, os, nullptr,
                            llvm::CodeGenFileType::AssemblyFile,
                            functions->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

FailureOr<std::string> fa3::emitPTX(gpu::GPUModuleOp module,
                                    llvm::Module &llvmModule,
                                    const PTXOptions &options) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, options);
  if (!machine)
    return failure();
  llvm::LLVMContext &context = llvmModule.getContext();
  bool hasErrors = false;
  std::unique_ptr<llvm::DiagnosticHandler> previous =
      context.getDiagnosticHandler();
  context.setDiagnosticHandler(
      std::make_unique<DiagnosticsToMLIR>(module, hasErrors));

  SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager passes;
  bool isSupported = addPassesToEmit(passes, *machine, llvmModule, os);
  if (isSupported)
    passes.run(llvmModule);
  context.setDiagnosticHandler(std::move(previous));
  if (!isSupported)
    return module.emitError() << options.chip << " has no assembly";
  if (hasErrors)
    return failure();
  return ptx.str().str();
}
