//===- Interpret.cpp - libfa3: modules on the CPU -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// fa3_interpret, fa3_trace and fa3_define. Arguments are checked against the
// host function before anything runs.
//===----------------------------------------------------------------------===//

#include "RunText.h"
#include "fa3/Dialect/Hopper/IR/Records.h"
#include "fa3/Interp/Interpreter.h"
#include "fa3/Reference/Reference.h"
#include "fa3/Trace/Trace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace fa3;
using namespace fa3::compiler;

/// Of one argument: more than that is a mistake in a size.
constexpr int64_t kMostBytes = int64_t(1) << 34;

static std::optional<interp::Format> getFormat(fa3_type type) {
  switch (type) {
  case FA3_F16:
    return interp::Format::F16;
  case FA3_BF16:
    return interp::Format::BF16;
  case FA3_F32:
    return interp::Format::F32;
  case FA3_F64:
    return interp::Format::F64;
  case FA3_F8E4M3FN:
    return interp::Format::F8E4M3FN;
  case FA3_F8E5M2:
    return interp::Format::F8E5M2;
  case FA3_I1:
    return interp::Format::I1;
  case FA3_I8:
    return interp::Format::I8;
  case FA3_I16:
    return interp::Format::I16;
  case FA3_I32:
    return interp::Format::I32;
  case FA3_I64:
    return interp::Format::I64;
  }
  return std::nullopt;
}

/// The function named, or the only one with a body.
static func::FuncOp findHostFunction(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && (name.empty() || function.getName() == name))
      functions.push_back(function);
  if (functions.size() == 1)
    return functions.front();
  if (name.empty())
    module.emitError("expects one function with a body, got ")
        << functions.size() << "; name one of them";
  else
    module.emitError("has no function '") << name << "' with a body";
  return {};
}

namespace {
/// The arguments of a call beside the types of a function.
class Arguments {
public:
  Arguments(Call &call, TypeRange types, ArrayRef<fa3_arg> args)
      : call(call), types(types), args(args) {}

  /// Checks kinds, types, ranks, extents and strides.
  fa3_outcome check();
  /// Copies arrays and scalars for the interpreter.
  SmallVector<interp::Argument> copyIn() const;
  /// Copies arrays that the function writes back.
  void copyOut(ArrayRef<interp::Argument> values,
               ArrayRef<interp::Access> accesses) const;

private:
  fa3_outcome checkArray(unsigned i, MemRefType type);
  fa3_outcome refuse(unsigned i, const Twine &message) {
    return call.refuse("argument " + Twine(i) + ": " + message);
  }
  /// The user's bytes of an element of an array.
  static uint8_t *getElement(const fa3_arg &arg, ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      position += index[dim] * arg.stride[dim];
    return static_cast<uint8_t *>(arg.value.data) +
           position * interp::getByteWidth(*getFormat(arg.type));
  }

  Call &call;
  TypeRange types;
  ArrayRef<fa3_arg> args;
};
} // namespace

fa3_outcome Arguments::checkArray(unsigned i, MemRefType type) {
  const fa3_arg &arg = args[i];
  if (arg.rank != type.getRank())
    return refuse(i, "expects " + Twine(type.getRank()) + " dimensions, got " +
                         Twine(arg.rank));
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return refuse(i, "has a layout that is not strided");
  int64_t bytes = interp::getByteWidth(*getFormat(arg.type));
  bool isEmpty = false;
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    int64_t extent = arg.shape[dim], stride = arg.stride[dim];
    if (extent < 0 ||
        (!type.isDynamicDim(dim) && extent != type.getDimSize(dim)))
      return refuse(i, "expects an extent of " +
                           (type.isDynamicDim(dim)
                                ? std::string("0 or more")
                                : std::to_string(type.getDimSize(dim))) +
                           " in dimension " + Twine(dim) + ", got " +
                           Twine(extent));
    if (stride < 0 || (extent > 1 && !ShapedType::isDynamic(strides[dim]) &&
                       stride != strides[dim]))
      return refuse(i, "expects a stride of " +
                           (ShapedType::isDynamic(strides[dim])
                                ? std::string("0 or more")
                                : std::to_string(strides[dim])) +
                           " in dimension " + Twine(dim) + ", got " +
                           Twine(stride));
    isEmpty |= extent == 0;
    if (llvm::MulOverflow(bytes, std::max<int64_t>(extent, 1), bytes) ||
        bytes > kMostBytes)
      return refuse(i, "has more than " + Twine(kMostBytes) + " bytes");
  }
  if (!isEmpty && !arg.value.data)
    return refuse(i, "expects the address of an array, got null");
  return FA3_DONE;
}

fa3_outcome Arguments::check() {
  if (args.size() != types.size())
    return call.refuse("expects " + Twine(types.size()) + " arguments, got " +
                       Twine(args.size()));
  for (auto [i, type] : llvm::enumerate(types)) {
    const fa3_arg &arg = args[i];
    auto memref = dyn_cast<MemRefType>(type);
    if (arg.kind != (memref ? FA3_TENSOR : FA3_SCALAR))
      return refuse(i, memref ? "expects an array, got a scalar"
                              : "expects a scalar, got an array");
    std::optional<interp::Format> format = getFormat(arg.type);
    std::string expected;
    llvm::raw_string_ostream(expected) << getElementTypeOrSelf(type);
    if (!format || interp::getFormat(getElementTypeOrSelf(type)) != format)
      return refuse(i, "expects type " + expected + ", got " +
                           (format ? interp::getName(*format)
                                   : StringRef("an unknown one")));
    if (memref)
      if (fa3_outcome outcome = checkArray(i, memref))
        return outcome;
  }
  return FA3_DONE;
}

SmallVector<interp::Argument> Arguments::copyIn() const {
  SmallVector<interp::Argument> values;
  for (const fa3_arg &arg : args) {
    interp::Format format = *getFormat(arg.type);
    if (arg.kind == FA3_SCALAR) {
      if (interp::isFloat(format))
        values.push_back(interp::roundTo(format, arg.value.real));
      else
        values.push_back(interp::wrapTo(format, arg.value.integer));
      continue;
    }
    // Memory of its own with the caller's strides, which formulas may ask for.
    ArrayRef<int64_t> shape(arg.shape, arg.rank), strides(arg.stride, arg.rank);
    int64_t span = 1;
    for (auto [extent, stride] : llvm::zip_equal(shape, strides))
      span += std::max<int64_t>(extent - 1, 0) * stride;
    interp::Array array =
        interp::Array::allocate(format, {span}).view(0, shape, strides);
    int64_t bytes = interp::getByteWidth(format);
    array.forEach([&](ArrayRef<int64_t> index, uint8_t *element) {
      std::memcpy(element, getElement(arg, index), bytes);
    });
    values.push_back(array);
  }
  return values;
}

void Arguments::copyOut(ArrayRef<interp::Argument> values,
                        ArrayRef<interp::Access> accesses) const {
  for (auto [arg, value, access] : llvm::zip_equal(args, values, accesses)) {
    const auto *array = std::get_if<interp::Array>(&value);
    if (!array || !access.written)
      continue;
    int64_t bytes = interp::getByteWidth(array->getFormat());
    array->forEach([&, &arg = arg](ArrayRef<int64_t> index, uint8_t *element) {
      std::memcpy(getElement(arg, index), element, bytes);
    });
  }
}

static fa3_outcome interpret(Call &call, StringRef stage,
                             ArrayRef<fa3_arg> args) {
  bool isText = stage == "ptx";
  if (stage == "nvvm")
    return call.refuse("the interpreter runs the stages tile to hopper, and "
                       "ptx");
  if (fa3_outcome outcome = call.lower(isText ? "nvvm" : stage))
    return outcome;
  func::FuncOp function =
      findHostFunction(call.getModule(), call.getOptions().function);
  if (!function)
    return FA3_FAILED;
  Arguments arguments(call, function.getArgumentTypes(), args);
  if (fa3_outcome outcome = arguments.check())
    return outcome;
  SmallVector<interp::Argument> values = arguments.copyIn();
  SmallVector<interp::Access> accesses;
  if (isText) {
    FailureOr<fa3_result::Function> code =
        translate(call, call.getModule(), call.getOptions().function);
    if (failed(code))
      return FA3_FAILED;
    if (fa3_outcome outcome = runText(call, *code, args, values, accesses))
      return outcome;
  } else {
    interp::Options options;
    if (failed(interp::interpret(function, values, options)))
      return FA3_FAILED;
    accesses = interp::getArgumentAccess(function);
  }
  arguments.copyOut(values, accesses);
  return FA3_DONE;
}

fa3_outcome fa3_interpret(const char *text, size_t length, const char *stage,
                          const fa3_options *options, const fa3_arg *args,
                          size_t num_args, fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = interpret(call, stage ? stage : "tile", {args, num_args});
  return call.end(outcome, result);
}

//===----------------------------------------------------------------------===//
// Timelines
//===----------------------------------------------------------------------===//

/// The array of records of a function compiled with record=1: its last
/// argument, one block of groups x entries, none of which is written.
static std::optional<interp::Array> makeRecords(func::FuncOp function) {
  if (!function.getNumArguments())
    return std::nullopt;
  auto type = dyn_cast<MemRefType>(function.getArgumentTypes().back());
  if (!type || !type.hasStaticShape() || type.getRank() != 3 ||
      !type.getElementType().isInteger(64) ||
      !function.getArgAttr(function.getNumArguments() - 1,
                           hopper::kRecordsAttrName))
    return std::nullopt;
  return interp::Array::allocate(interp::Format::I64, type.getShape());
}

static fa3_outcome traceKernel(Call &call, ArrayRef<fa3_arg> args,
                               int64_t sms) {
  if (sms < 1)
    return call.refuse("expects at least one multiprocessor, got " +
                       Twine(sms));
  if (!call.getOptions().passPipeline.empty())
    return call.refuse("a trace and pass_pipeline exclude each other");
  call.addPipelineOption("record=1");
  if (fa3_outcome outcome = call.lower("hopper"))
    return outcome;
  func::FuncOp function =
      findHostFunction(call.getModule(), call.getOptions().function);
  if (!function)
    return FA3_FAILED;
  auto described = hopper::describeRecords(function);
  std::optional<interp::Array> records = makeRecords(function);
  if (!described || !records)
    return call.refuse("the kernel has no groups, there is nothing to trace");
  llvm::Expected<trace::Table> table = trace::Table::fromJSON(*described);
  if (!table)
    return call.refuse(llvm::toString(table.takeError()));
  Arguments arguments(call, function.getArgumentTypes().drop_back(), args);
  if (fa3_outcome outcome = arguments.check())
    return outcome;
  SmallVector<interp::Argument> values = arguments.copyIn();
  values.push_back(*records);
  std::vector<interp::BlockTimeline> units;
  interp::Options options;
  options.sms = sms;
  options.completion = interp::Completion::Eager;
  options.timed = true;
  options.timedBlocks = 1;
  options.timelines = &units;
  if (failed(interp::interpret(function, values, options)))
    return FA3_FAILED;
  ArrayRef<uint64_t> words(
      reinterpret_cast<const uint64_t *>(records->getFirst()),
      records->getNumElements());
  llvm::Expected<trace::Timeline> timeline =
      trace::buildTimeline("predicted", *table, words);
  if (!timeline)
    return call.refuse(llvm::toString(timeline.takeError()));
  if (!units.empty())
    trace::addUnits(*timeline, units.front().uses);
  call.getResult().ir.emplace();
  llvm::raw_string_ostream os(*call.getResult().ir);
  trace::writeTraceEvents(os, *timeline);
  return FA3_DONE;
}

fa3_outcome fa3_trace(const char *text, size_t length,
                      const fa3_options *options, const fa3_arg *args,
                      size_t num_args, int64_t sms, fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = traceKernel(call, {args, num_args}, sms);
  return call.end(outcome, result);
}

//===----------------------------------------------------------------------===//
// The definition
//===----------------------------------------------------------------------===//

static Type getType(fa3_type type, MLIRContext *context) {
  Builder b(context);
  switch (type) {
  case FA3_F16:
    return b.getF16Type();
  case FA3_BF16:
    return b.getBF16Type();
  case FA3_F32:
    return b.getF32Type();
  case FA3_F64:
    return b.getF64Type();
  case FA3_F8E4M3FN:
    return b.getType<Float8E4M3FNType>();
  case FA3_F8E5M2:
    return b.getType<Float8E5M2Type>();
  case FA3_I1:
    return b.getI1Type();
  case FA3_I8:
    return b.getI8Type();
  case FA3_I16:
    return b.getI16Type();
  case FA3_I32:
    return b.getI32Type();
  case FA3_I64:
    return b.getI64Type();
  }
  return {};
}

/// The reference checks arguments against the function that it has compiled.
static fa3_outcome define(Call &call, ArrayRef<fa3_arg> args) {
  func::FuncOp function =
      findHostFunction(call.getModule(), call.getOptions().function);
  if (!function)
    return FA3_FAILED;
  auto reference = Reference::create(call.getModule(), function.getName());
  if (failed(reference))
    return FA3_FAILED;
  SmallVector<ReferenceArgument> arguments;
  for (auto [i, arg] : llvm::enumerate(args)) {
    Type type = getType(arg.type, &call.getContext());
    if (!type || arg.rank < 0 || arg.rank > FA3_MAX_RANK)
      return call.refuse("argument " + Twine(i) +
                         ": has no type of fa3_type, " + "or not 0 to " +
                         Twine(FA3_MAX_RANK) + " dimensions");
    if (arg.kind == FA3_TENSOR)
      arguments.emplace_back(arg.value.data,
                             ArrayRef<int64_t>(arg.shape, arg.rank),
                             ArrayRef<int64_t>(arg.stride, arg.rank), type);
    else if (auto floating = dyn_cast<FloatType>(type))
      arguments.emplace_back(floating, arg.value.real);
    else
      arguments.emplace_back(type, arg.value.integer);
  }
  return failed((*reference)->run(arguments)) ? FA3_FAILED : FA3_DONE;
}

fa3_outcome fa3_define(const char *text, size_t length,
                       const fa3_options *options, const fa3_arg *args,
                       size_t num_args, fa3_result **result) {
  Call call;
  fa3_outcome outcome = call.begin(text, length, options);
  if (!outcome)
    outcome = define(call, {args, num_args});
  return call.end(outcome, result);
}
