//===- TranslateKernels.cpp - PTX of a module, a thread per kernel --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a module do not call each other. Each goes through LLVM in a
// context of its own, and their texts become the one that LLVM would have
// written of all: with one preamble, and with labels counted through.
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;
using namespace fa3;

namespace {
/// A kernel on its way to PTX.
struct Part {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  Emission emission;
};

/// The text of a part: what comes before all kernels (version, target), the
/// line in front of a kernel, what is declared between that and the kernel of a
/// module that comes first, and the kernel.
struct Text {
  StringRef header, name, declarations, kernel;
};
} // namespace

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// What stands for a number that differs from statement to statement of inline
/// assembly. LLVM counts them through a module.
constexpr llvm::StringLiteral kNumber = "${:uid}";
constexpr char kMark = '\1';

static void markNumbers(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = dyn_cast<llvm::CallInst>(&instruction);
      auto *code =
          call ? dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!code || !code->getAsmString().contains(kNumber))
        continue;
      std::string text;
      SmallVector<StringRef> pieces;
      code->getAsmString().split(pieces, kNumber);
      llvm::raw_string_ostream os(text);
      llvm::interleave(pieces, os, StringRef(&kMark, 1));
      call->setCalledOperand(llvm::InlineAsm::get(
          code->getFunctionType(), text, code->getConstraintString(),
          code->hasSideEffects(), code->isAlignStack(), code->getDialect(),
          code->canThrow()));
    }
}

/// Appends a kernel's text, with the numbers that marks stand for, one for each
/// statement of inline assembly that has some, and with the labels of this
/// function of the module.
static void appendKernel(std::string &ptx, StringRef text, unsigned function,
                         unsigned &number) {
  constexpr llvm::StringLiteral kLabel = "$L__BB0_", kEnd = "// end inline asm";
  std::string label = "$L__BB" + std::to_string(function) + "_";
  bool isNumbered = false;
  while (!text.empty()) {
    size_t next = text.find_first_of("$/\1");
    ptx += text.take_front(next);
    text = text.substr(next);
    if (text.consume_front(kLabel)) {
      ptx += label;
    } else if (text.consume_front(StringRef(&kMark, 1))) {
      ptx += std::to_string(number);
      isNumbered = true;
    } else if (text.consume_front(kEnd)) {
      ptx += kEnd;
      number += isNumbered;
      isNumbered = false;
    } else if (!text.empty()) {
      ptx += text.front();
      text = text.drop_front();
    }
  }
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// Nothing if the text is not of that form.
static std::optional<Text> parseText(StringRef ptx) {
  constexpr llvm::StringLiteral kName = "\n\t// .globl\t";
  size_t name = ptx.find(kName);
  size_t end = name == StringRef::npos ? name : ptx.find('\n', name + 1);
  size_t kernel = ptx.find(".visible .entry ");
  if (end == StringRef::npos || kernel == StringRef::npos || kernel < end ||
      ptx.find(kName, end) != StringRef::npos)
    return std::nullopt;
  return Text{ptx.take_front(name), ptx.slice(name, end + 1),
              ptx.slice(end + 1, kernel), ptx.substr(kernel)};
}

/// The text of the module; nothing where parts declare different things.
static std::optional<std::string> joinTexts(ArrayRef<Part> parts) {
  std::string ptx;
  StringRef header, declarations;
  unsigned number = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    std::optional<Text> text = parseText(part.emission.ptx);
    if (!text)
      return std::nullopt;
    if (i == 0) {
      header = text->header;
      declarations = text->declarations;
      ptx = header;
    } else if (text->header != header || text->declarations != declarations) {
      return std::nullopt;
    }
    // The empty line is the header's.
    ptx += i == 0 ? text->name : text->name.drop_front();
    if (i == 0)
      ptx += declarations;
    appendKernel(ptx, text->kernel, i, number);
  }
  return ptx;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static FailureOr<std::string> emitTogether(gpu::GPUModuleOp module,
                                           const PTXOptions &options) {
  llvm::LLVMContext context;
  auto ir = translateToLLVMIR(module, context, options);
  if (failed(ir))
    return failure();
  return emitPTX(module, **ir, options);
}

/// The kernels, if each may have a thread: there are several, nothing that they
/// share, and passes on LLVM IR look at one function.
static SmallVector<LLVM::LLVMFuncOp> findParts(gpu::GPUModuleOp module,
                                               const PTXOptions &options) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  if (options.locations || options.names)
    return {};
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
        !getFunctionPipeline(module, function, options))
      return {};
    kernels.push_back(function);
  }
  return kernels.size() > 1 ? kernels : SmallVector<LLVM::LLVMFuncOp>();
}

FailureOr<std::string> fa3::translateToPTX(gpu::GPUModuleOp module,
                                           const PTXOptions &options) {
  SmallVector<LLVM::LLVMFuncOp> kernels = findParts(module, options);
  if (kernels.empty())
    return emitTogether(module, options);
  if (failed(verifyLowered(module)))
    return failure();
  std::vector<Part> parts(kernels.size());
  for (auto [part, kernel] : llvm::zip_equal(parts, kernels)) {
    part.context = std::make_unique<llvm::LLVMContext>();
    auto ir = translateKernel(module, kernel, *part.context, options);
    if (failed(ir))
      return failure();
    part.module = std::move(*ir);
  }
  llvm::DefaultThreadPool threads(llvm::hardware_concurrency(kernels.size()));
  for (auto [part, kernel] : llvm::zip_equal(parts, kernels))
    threads.async([&options, &part = part,
                   passes = getFunctionPipeline(module, kernel, options)] {
      runFunctionPasses(*part.module, *passes, options);
      markNumbers(*part.module);
    });
  threads.wait();
  // Kernels of a module are treated alike.
  bool sinks = llvm::none_of(
      parts, [](const Part &part) { return hasOldVotes(*part.module); });
  for (Part &part : parts)
    threads.async([&options, &part, sinks] {
      part.emission = emit(*part.module, options, sinks);
    });
  threads.wait();
  for (auto [part, kernel] : llvm::zip_equal(parts, kernels))
    if (failed(part.emission.report(kernel)))
      return failure();
  if (std::optional<std::string> ptx = joinTexts(parts))
    return std::move(*ptx);
  return emitTogether(module, options);
}
