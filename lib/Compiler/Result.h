//===- Result.h - what a call of libfa3 gives -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The object behind fa3_result, and the frame of every call that makes one: a
// context of its own, whose diagnostics go into the result.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_COMPILER_RESULT_H
#define FA3_LIB_COMPILER_RESULT_H

#include "fa3-c/Compiler.h"
#include "fa3/Target/PTX/Ptxas.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>
#include <vector>

/// Strings of the C interface point into it, so it is filled once.
struct fa3_result {
  struct Diagnostic {
    fa3_severity severity;
    int32_t line, column;
    std::string file, message;
  };

  /// Adds a diagnostic, notes behind it.
  void add(mlir::Diagnostic &diagnostic);
  /// Adds an error about an argument of the call.
  void refuse(const llvm::Twine &message);
  /// Makes the text of all diagnostics.
  void finish();

  /// The code of one function of a program.
  struct Function {
    std::string name, ptx, manifest;
    std::optional<std::string> cubin;
  };

  /// Of one function; strings of `numbers` are these.
  struct Prediction {
    std::string function, plan;
    fa3_prediction numbers;
  };

  std::optional<std::string> ptx, manifest, cubin, ir;
  std::vector<Function> functions;
  std::vector<Prediction> predictions;
  std::vector<Diagnostic> diagnostics;
  std::string text;
  std::vector<fa3::KernelUsage> kernels;
};

namespace fa3::compiler {

/// The options of a caller, who may know fewer fields than we do.
struct Options {
  std::string source = "<input>", pipelineOptions, passPipeline;
  std::string chip = "sm_90a", function, llvmPasses, ptxas;
  std::string convertOptions;
  unsigned ptxVersion = 90;
  bool locations = false, assemble = false, foreign = false;
};

/// One call: options, context and result. A call runs to its end or returns the
/// outcome of what failed.
class Call {
public:
  Call();
  ~Call();

  /// Reads the options, parses the module, and converts it if it is foreign.
  /// FA3_DONE if all succeed.
  fa3_outcome begin(const char *text, size_t length,
                    const fa3_options *options);
  fa3_outcome refuse(const llvm::Twine &message) {
    result->refuse(message);
    return FA3_BAD_CALL;
  }
  /// Hands the result over.
  fa3_outcome end(fa3_outcome outcome, fa3_result **destination);

  /// Runs `pass_pipeline` over the module, or fa3-lower-to-nvvm-pipeline up to
  /// the end of a stage: tile, specialize, pipeline, layout, hopper or nvvm.
  fa3_outcome lower(llvm::StringRef stage) { return lower(*module, stage); }
  /// The same for a part of it.
  fa3_outcome lower(mlir::ModuleOp part, llvm::StringRef stage);
  /// Adds a word to `pipeline_options`.
  void addPipelineOption(llvm::StringRef word) {
    options.pipelineOptions += (" " + word).str();
  }

  const Options &getOptions() const { return options; }
  mlir::MLIRContext &getContext() { return *context; }
  mlir::ModuleOp getModule() { return *module; }
  fa3_result &getResult() { return *result; }

private:
  fa3_outcome readOptions(const fa3_options *given);
  fa3_outcome convert();

  Options options;
  std::unique_ptr<fa3_result> result;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// PTX, manifest and cubin of a lowered module with one module of kernels.
/// `function` names the host function; empty: the only one. What ptxas says of
/// the kernels goes into the result of the call.
mlir::FailureOr<fa3_result::Function>
translate(Call &call, mlir::ModuleOp module, llvm::StringRef function);

/// Makes functions of the attention of a program, and gives each to `each`:
/// alone in a module, with the name that it has in results. Ends with the first
/// outcome that is none of success.
fa3_outcome forEachFunction(
    Call &call,
    llvm::function_ref<fa3_outcome(mlir::ModuleOp, std::string)> each);

} // namespace fa3::compiler

#endif // FA3_LIB_COMPILER_RESULT_H
