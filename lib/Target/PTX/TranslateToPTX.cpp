//===- TranslateToPTX.cpp - kernels as LLVM IR and PTX --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Emit.h"
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
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace fa3;

constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
constexpr llvm::StringLiteral kSupportedChip = "sm_90a";

void fa3::registerPTXTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// The module's functions and globals in a builtin module of their own, without
/// attributes that LLVM does not know; of its kernels only this one, if any is
/// given.
static OwningOpRef<ModuleOp> extractKernels(gpu::GPUModuleOp module,
                                            LLVM::LLVMFuncOp only = nullptr) {
  OwningOpRef<ModuleOp> copy(ModuleOp::create(module.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  for (Operation &op : *module.getBody()) {
    auto kernel = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!only || !kernel || kernel.isExternal() || kernel == only)
      builder.clone(op);
  }
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

LogicalResult fa3::verifyLowered(gpu::GPUModuleOp module) {
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

static const llvm::Target *findTarget(std::string &error) {
  static const bool isInitialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)isInitialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

std::optional<std::string> fa3::explainWrongTarget(const PTXOptions &options) {
  if (options.chip != kSupportedChip)
    return ("expects the chip " + Twine(kSupportedChip) + ", got '" +
            options.chip + "'")
        .str();
  if (options.ptxVersion < 80 || options.ptxVersion > 90)
    return ("expects a PTX version between 80 and 90, got " +
            Twine(options.ptxVersion))
        .str();
  return std::nullopt;
}

static LogicalResult checkTarget(gpu::GPUModuleOp module,
                                 const PTXOptions &options) {
  if (std::optional<std::string> wrong = explainWrongTarget(options))
    return module.emitError(*wrong);
  std::string error;
  if (!findTarget(error))
    return module.emitError() << "has no code generator: " << error;
  return success();
}

/// The code generator, after checkTarget.
static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const PTXOptions &options) {
  std::string error;
  std::string features = "+ptx" + std::to_string(options.ptxVersion);
  return std::unique_ptr<llvm::TargetMachine>(
      findTarget(error)->createTargetMachine(
          llvm::Triple(kTriple), options.chip, features, llvm::TargetOptions(),
          std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
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

namespace {
/// Managers of LLVM's passes, which know fa3's.
struct Managers {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;

  explicit Managers(llvm::TargetMachine &machine) : builder(&machine) {
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
  }
};
} // namespace

std::optional<StringRef> fa3::getFunctionPipeline(gpu::GPUModuleOp module,
                                                  LLVM::LLVMFuncOp kernel,
                                                  const PTXOptions &options) {
  for (StringRef chosen :
       {StringRef(options.passes), getWish(kernel), getWish(module)})
    if (!chosen.empty())
      return getFunctionPasses(chosen);
  return getFunctionPasses("rows");
}

static LogicalResult runPasses(gpu::GPUModuleOp module,
                               llvm::Module &llvmModule,
                               llvm::TargetMachine &machine,
                               const PTXOptions &options) {
  Managers managers(machine);
  llvm::ModulePassManager passes;
  std::string chosen = options.passes;
  if (chosen.empty()) {
    if (llvm::any_of(module.getOps<LLVM::LLVMFuncOp>(), [](Operation *kernel) {
          return !getWish(kernel).empty();
        }))
      return runOwnPasses(module, llvmModule, managers.builder,
                          managers.functions);
    chosen = getWish(module).empty() ? "rows" : getWish(module).str();
  }
  std::string pipeline = getPipeline(chosen);
  if (pipeline.empty())
    return success();
  if (llvm::Error error = managers.builder.parsePassPipeline(passes, pipeline))
    return module.emitError()
           << "expects passes none, rows, small, O1, O3 or a "
              "pipeline of LLVM passes: "
           << llvm::toString(std::move(error));
  passes.run(llvmModule, managers.modules);
  return success();
}

void fa3::runFunctionPasses(llvm::Module &module, StringRef pipeline,
                            const PTXOptions &options) {
  if (!pipeline.empty()) {
    std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options);
    Managers managers(*machine);
    llvm::FunctionPassManager passes;
    // Those of kFunctionPasses can be parsed.
    llvm::cantFail(managers.builder.parsePassPipeline(passes, pipeline));
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        passes.run(function, managers.functions);
  }
  hideNegations(module);
}

/// LLVM IR of these kernels, for the target.
static FailureOr<std::unique_ptr<llvm::Module>>
translate(gpu::GPUModuleOp module, ModuleOp kernels, llvm::LLVMContext &context,
          const PTXOptions &options) {
  context.setDiscardValueNames(!options.names);
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(
      kernels, context, module.getName(), /*disableVerification=*/true);
  if (!result)
    return failure();
  // Upstream's own check prints what it finds, and emits no diagnostic.
  std::string wrong;
  llvm::raw_string_ostream os(wrong);
  if (llvm::verifyModule(*result, &os)) {
    module.emitError() << "is no valid LLVM IR: " << StringRef(wrong).trim();
    return failure();
  }
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options);
  result->setTargetTriple(machine->getTargetTriple());
  result->setDataLayout(machine->createDataLayout());
  markConvergent(*result);
  return result;
}

FailureOr<std::unique_ptr<llvm::Module>>
fa3::translateToLLVMIR(gpu::GPUModuleOp module, llvm::LLVMContext &context,
                       const PTXOptions &options) {
  if (failed(verifyLowered(module)) || failed(checkTarget(module, options)))
    return failure();
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
  auto result = translate(module, *kernels, context, options);
  if (failed(result))
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options);
  if (failed(runPasses(module, **result, *machine, options)))
    return failure();
  hideNegations(**result);
  return result;
}

FailureOr<std::unique_ptr<llvm::Module>>
fa3::translateKernel(gpu::GPUModuleOp module, LLVM::LLVMFuncOp kernel,
                     llvm::LLVMContext &context, const PTXOptions &options) {
  if (failed(checkTarget(module, options)))
    return failure();
  return translate(module, *extractKernels(module, kernel), context, options);
}

namespace {
/// Keeps messages of LLVM while it lives.
class MessagesOfLLVM : public llvm::DiagnosticHandler {
public:
  explicit MessagesOfLLVM(SmallVectorImpl<Emission::Message> &messages)
      : messages(messages) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error &&
        info.getSeverity() != llvm::DS_Warning)
      return true;
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    messages.push_back({info.getSeverity() == llvm::DS_Error, text});
    return true;
  }

private:
  SmallVectorImpl<Emission::Message> &messages;
};
} // namespace

LogicalResult Emission::report(Operation *op) const {
  for (const Message &message : messages)
    (message.isError ? op->emitError() : op->emitWarning())
        << "code generation: " << message.text;
  return failure(llvm::any_of(
      messages, [](const Message &message) { return message.isError; }));
}

bool fa3::hasOldVotes(const llvm::Module &module) {
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

/// The passes of TargetMachine::addPassesToEmitFile, without sinking if asked
/// for: where branches hang on old votes. What stands in front of such a branch
/// is a step's exponentials, and hardly any warp takes it: sinking moves what
/// only later blocks use behind it, the conversions of the weights first of
/// all, though both ways lead there, and ptxas then cannot mix it with the
/// exponentials. (RegisterTargetPassConfigCallback changes a configuration,
/// too, but those of all threads.) Returns whether the target writes assembly.
static bool addPassesToEmit(llvm::legacy::PassManager &passes,
                            llvm::TargetMachine &machine, bool sinks,
                            llvm::raw_pwrite_stream &os) {
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (!sinks)
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

/// Pairs of sums and products with an operand in common, about. Straight-line
/// strength reduction looks at each: minutes for code of masks of a few dozen
/// operations, whose elements all start from one row.
static uint64_t countSharedOperands(const llvm::Function &function) {
  llvm::DenseMap<const llvm::Value *, uint64_t> uses;
  for (const llvm::Instruction &op : llvm::instructions(function))
    switch (op.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Mul:
    case llvm::Instruction::Shl:
      for (const llvm::Value *operand : op.operand_values())
        if (!isa<llvm::Constant>(operand))
          ++uses[operand];
      break;
    default:
      break;
    }
  uint64_t pairs = 0;
  for (auto [operand, count] : uses)
    pairs += count * count;
  return pairs;
}

/// Whether straight-line strength reduction would take too long.
static bool isTooMuchToReduce(const llvm::Module &module) {
  // Kernels without such code have at most 25,000.
  constexpr uint64_t kMostPairs = 1 << 15;
  return llvm::any_of(module, [](const llvm::Function &function) {
    return countSharedOperands(function) > kMostPairs;
  });
}

namespace {
/// Takes no straight-line strength reduction, if asked: ptxas finds most of
/// what it does. (The pass asks no llvm::OptPassGate.)
class PassManagerOfTarget : public llvm::legacy::PassManager {
public:
  explicit PassManagerOfTarget(bool reduces) : reduces(reduces) {}
  void add(llvm::Pass *pass) override {
    if (!reduces && pass->getPassName() == "Straight line strength reduction")
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

private:
  bool reduces;
};
} // namespace

Emission fa3::emit(llvm::Module &module, const PTXOptions &options,
                   bool sinks) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(options);
  llvm::LLVMContext &context = module.getContext();
  Emission emission;
  std::unique_ptr<llvm::DiagnosticHandler> previous =
      context.getDiagnosticHandler();
  context.setDiagnosticHandler(
      std::make_unique<MessagesOfLLVM>(emission.messages));
  SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  PassManagerOfTarget passes(!isTooMuchToReduce(module));
  if (addPassesToEmit(passes, *machine, sinks, os))
    passes.run(module);
  else
    emission.messages.push_back(
        {/*isError=*/true, options.chip + " has no assembly"});
  context.setDiagnosticHandler(std::move(previous));
  emission.ptx = ptx.str().str();
  return emission;
}

FailureOr<std::string> fa3::emitPTX(gpu::GPUModuleOp module,
                                    llvm::Module &llvmModule,
                                    const PTXOptions &options) {
  if (failed(checkTarget(module, options)))
    return failure();
  Emission emission = emit(llvmModule, options, !hasOldVotes(llvmModule));
  if (failed(emission.report(module)))
    return failure();
  return std::move(emission.ptx);
}
