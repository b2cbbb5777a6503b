//===- Reference.cpp - attention by definition, compiled in process -------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Reference/Reference.h"
#include "Lowering.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <cmath>
#include <random>

using namespace mlir;
using namespace fa3;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

ReferenceArgument::ReferenceArgument(FloatType type, double value)
    : type(type), isArray(false) {
  APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  bits = number.bitcastToAPInt().getLimitedValue();
}

ReferenceArgument::ReferenceArgument(Type indexOrInteger, int64_t value)
    : type(indexOrInteger), isArray(false), bits(value) {}

LogicalResult Reference::verify(ArrayRef<ReferenceArgument> arguments) const {
  if (arguments.size() != argumentTypes.size())
    return emitError(loc) << "the reference takes " << argumentTypes.size()
                          << " arguments, got " << arguments.size();
  for (auto [argument, type, name] :
       llvm::zip(arguments, argumentTypes, argumentNames)) {
    auto memref = dyn_cast<MemRefType>(type);
    Type expected = memref ? memref.getElementType() : type;
    if (argument.isArray != static_cast<bool>(memref) ||
        argument.type != expected)
      return emitError(loc)
             << "argument '" << name << "' of the reference expects "
             << (memref ? "an array of " : "a scalar of ") << expected
             << ", got " << (argument.isArray ? "an array of " : "a scalar of ")
             << argument.type;
    if (!memref)
      continue;
    if (static_cast<int64_t>(argument.shape.size()) != memref.getRank() ||
        argument.strides.size() != argument.shape.size())
      return emitError(loc)
             << "argument '" << name << "' of the reference expects rank "
             << memref.getRank() << ", got " << argument.shape.size()
             << " extents and " << argument.strides.size() << " strides";
    auto [strides, offset] = memref.getStridesAndOffset();
    bool isEmpty = llvm::is_contained(argument.shape, 0);
    for (int64_t i = 0; i < memref.getRank(); ++i) {
      int64_t extent = argument.shape[i], stride = argument.strides[i];
      if (extent < 0 ||
          (!memref.isDynamicDim(i) && extent != memref.getDimSize(i)))
        return emitError(loc)
               << "argument '" << name << "' of the reference expects extent "
               << (memref.isDynamicDim(i)
                       ? std::string("0 or more")
                       : std::to_string(memref.getDimSize(i)))
               << " in dimension " << i << ", got " << extent;
      if (!isEmpty && extent > 1 && ShapedType::isStatic(strides[i]) &&
          stride != strides[i])
        return emitError(loc)
               << "argument '" << name << "' of the reference expects stride "
               << strides[i] << " in dimension " << i << ", got " << stride;
    }
    size_t bytes = llvm::divideCeil(expected.getIntOrFloatBitWidth(), 8);
    if (!isEmpty &&
        (!argument.data || reinterpret_cast<uintptr_t>(argument.data) % bytes))
      return emitError(loc) << "argument '" << name
                            << "' of the reference expects a pointer that is "
                               "aligned to its elements";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Reference::Reference(Location loc) : loc(loc) {}
Reference::~Reference() = default;

static LogicalResult fail(Location loc, llvm::Error error) {
  return emitError(loc) << "cannot compile the reference: "
                        << llvm::toString(std::move(error));
}

static FailureOr<std::unique_ptr<ExecutionEngine>> compile(Location loc,
                                                           ModuleOp module) {
  static bool isInitialized = !llvm::InitializeNativeTarget() &&
                              !llvm::InitializeNativeTargetAsmPrinter();
  if (!isInitialized)
    return emitError(loc) << "cannot compile the reference: LLVM has no code "
                             "generator for this machine";
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return fail(loc, builder.takeError());
  auto machine = builder->createTargetMachine();
  if (!machine)
    return fail(loc, machine.takeError());
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(/*optLevel=*/3, /*sizeLevel=*/0,
                                            machine->get());
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return fail(loc, engine.takeError());
  return std::move(*engine);
}

FailureOr<std::unique_ptr<Reference>>
Reference::create(ModuleOp module, StringRef name,
                  const ReferenceOptions &options) {
  auto source = module.lookupSymbol<func::FuncOp>(name);
  if (!source || source.isExternal())
    return module.emitError("has no function '") << name << "' with a body";
  OwningOpRef<ModuleOp> work(ModuleOp::create(module.getLoc()));
  OpBuilder::atBlockBegin(work->getBody()).clone(*source);
  if (failed(lowerToHostFunction(*work, options)))
    return failure();
  auto function = work->lookupSymbol<func::FuncOp>(name);

  std::unique_ptr<Reference> reference(new Reference(function.getLoc()));
  llvm::append_range(reference->argumentTypes, function.getArgumentTypes());
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto attribute =
        function.getArgAttrOfType<StringAttr>(i, kArgumentNameAttr);
    reference->argumentNames.push_back(attribute ? attribute.str()
                                                 : ("arg" + Twine(i)).str());
  }
  reference->isSliced = function.getNumResults() == 1;
  if (reference->isSliced)
    reference->argumentTypes.pop_back_n(2);

  if (failed(replaceAssertsByStatus(function, reference->demands)) ||
      failed(lowerToLLVM(*work)))
    return failure();
  auto engine = compile(reference->loc, *work);
  if (failed(engine))
    return failure();
  reference->engine = std::move(*engine);
  auto entry = reference->engine->lookupPacked(name);
  if (!entry)
    return fail(reference->loc, entry.takeError());
  reference->entry = *entry;
  return reference;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

int64_t Reference::call(ArrayRef<ReferenceArgument> arguments, int64_t first,
                        int64_t last) const {
  // The function takes every memref as its fields: allocated and aligned
  // pointer, offset, extents, strides; the entry takes pointers to them all.
  SmallVector<uint64_t> fields;
  auto push = [&](auto value) {
    fields.push_back(static_cast<uint64_t>(value));
  };
  for (const ReferenceArgument &argument : arguments) {
    if (!argument.isArray) {
      push(argument.bits);
      continue;
    }
    push(reinterpret_cast<uintptr_t>(argument.data));
    push(reinterpret_cast<uintptr_t>(argument.data));
    push(0);
    for (int64_t extent : argument.shape)
      push(extent);
    for (int64_t stride : argument.strides)
      push(stride);
  }
  if (isSliced) {
    push(first);
    push(last);
  }
  int64_t status = 0;
  SmallVector<void *> packed;
  for (uint64_t &field : fields)
    packed.push_back(&field);
  packed.push_back(&status);
  entry(packed.data());
  return status;
}

/// Numbers below `count`, as a sample asks for.
static SmallVector<int64_t> pickSlices(int64_t count,
                                       const ReferenceSample &sample) {
  SmallVector<int64_t> slices = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (sample.heads <= 0 || sample.heads >= count)
    return slices;
  std::mt19937_64 engine(sample.seed);
  for (int64_t i = 0; i < sample.heads; ++i)
    std::swap(slices[i], slices[i + engine() % (count - i)]);
  slices.truncate(sample.heads);
  return slices;
}

LogicalResult Reference::run(ArrayRef<ReferenceArgument> arguments,
                             const ReferenceSample &sample) {
  if (failed(verify(arguments)))
    return failure();
  // An empty range makes all checks and tells how many slices there are.
  int64_t count = call(arguments, 0, 0);
  if (count < 0)
    return emitError(loc) << "arguments of the reference do not fit: "
                          << demands[-1 - count];
  if (!isSliced)
    return success();
  SmallVector<int64_t> slices = pickSlices(count, sample);
  std::atomic<size_t> next = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (unsigned i = 0, e = pool.getMaxConcurrency(); i < e; ++i)
    pool.async([&] {
      for (size_t n; (n = next++) < slices.size();)
        call(arguments, slices[n], slices[n] + 1);
    });
  pool.wait();
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

double fa3::getMaxError(ArrayRef<float> values, ArrayRef<float> reference) {
  assert(values.size() == reference.size());
  double largest = 0;
  for (auto [a, b] : llvm::zip(values, reference)) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::abs(static_cast<double>(a) - b);
    if (!std::isfinite(error))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
  }
  return largest;
}

double fa3::getErrorBound(ArrayRef<float> low, ArrayRef<float> reference,
                          FloatType type, double factor) {
  std::vector<float> noisy;
  noisy.reserve(reference.size());
  float shift = roundTo(type, 0.3f);
  for (float value : reference)
    noisy.push_back(roundTo(type, roundTo(type, value + shift) - shift));
  return factor * getMaxError(low, reference) +
         2 * getMaxError(noisy, reference);
}
