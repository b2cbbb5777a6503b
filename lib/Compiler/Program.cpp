//===- Program.cpp - libfa3: all kernels of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// fa3_compile_program. Every function of attention is lowered apart, so each
// has a module of kernels of its own, whatever else is in the program.
//===----------------------------------------------------------------------===//

#include "Result.h"
#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

/// Functions that consist of attention, in modules of modules as well.
static SmallVector<func::FuncOp> findFunctions(ModuleOp program) {
  SmallVector<func::FuncOp> functions;
  program.walk<WalkOrder::PreOrder>([&](ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && attention::hasAttention(function) &&
          attention::hasHostForm(function))
        functions.push_back(function);
  });
  return functions;
}

/// The name of a function with those of the modules around it but the outermost
/// in front.
static std::string getPath(func::FuncOp function, ModuleOp program) {
  std::string path = function.getName().str();
  for (auto module = function->getParentOfType<ModuleOp>(); module != program;
       module = module->getParentOfType<ModuleOp>())
    path = module.getSymName().value_or("").str() + "::" + path;
  return path;
}

fa3_outcome fa3::compiler::forEachFunction(
    Call &call, llvm::function_ref<fa3_outcome(ModuleOp, std::string)> each) {
  const Options &options = call.getOptions();
  if (!options.passPipeline.empty() || !options.function.empty())
    return call.refuse("a program takes neither pass_pipeline nor function");
  ModuleOp program = call.getModule();
  PassManager outline(&call.getContext());
  outline.addPass(attention::createOutline());
  if (failed(outline.run(program)))
    return FA3_FAILED;
  SmallVector<func::FuncOp> functions = findFunctions(program);
  if (functions.empty()) {
    program.emitError("expects attention in the program, found none");
    return FA3_FAILED;
  }
  for (func::FuncOp function : functions) {
    OwningOpRef<ModuleOp> apart = ModuleOp::create(function.getLoc());
    Operation *copy = function->clone();
    // A function that only a program calls is the one of its module here.
    SymbolTable::setSymbolVisibility(copy, SymbolTable::Visibility::Public);
    apart->push_back(copy);
    if (fa3_outcome outcome = each(*apart, getPath(function, program)))
      return outcome;
  }
  return FA3_DONE;
}

/// Lowers a function and adds its code to the result.
static fa3_outcome compileFunction(Call &call, ModuleOp apart,
                                   std::string name) {
  std::string symbol = (*apart.getOps<func::FuncOp>().begin()).getName().str();
  if (fa3_outcome outcome = call.lower(apart, "nvvm"))
    return outcome;
  FailureOr<fa3_result::Function> made = translate(call, apart, symbol);
  if (failed(made))
    return FA3_FAILED;
  made->name = std::move(name);
  call.getResult().functions.push_back(std::move(*made));
  return FA3_DONE;
}

static fa3_outcome compileProgram(Call &call) {
  if (fa3_outcome outcome =
          forEachFunction(call, [&](ModuleOp apart, std::string name) {
            return compileFunction(call, apart, std::move(name));
          }))
    return outcome;
  OpPrintingFlags flags;
  flags.printGenericOpForm(call.getOptions().foreign);
  std::string text;
  llvm::raw_string_ostream os(text);
  call.getModule().print(os, flags);
  call.getResult().ir = std::move(text);
  return FA3_DONE;
}

fa3_outcome fa3_compile_program(const char *text, size_t length,
                                const fa3_options *options,
                                fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = compileProgram(call);
  return call.end(outcome, result);
}
