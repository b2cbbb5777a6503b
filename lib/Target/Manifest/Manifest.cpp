//===- Manifest.cpp - the launch contract as JSON -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Target/Manifest/Manifest.h"
#include "ManifestFormula.h"
#include "fa3/Dialect/Hopper/Analysis/Dependence.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/IR/Records.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Set by convert-hopper-to-nvvm on kernel arguments.
constexpr llvm::StringLiteral kAccessAttrName = "hopper.access";

namespace {
/// Text of everything that the manifest says of the host function, in order of
/// the schema.
struct Argument {
  std::string name;
  bool isTensor;
  std::string type;
  llvm::json::Array dims;
  bool isRead = false, isWritten = false;
};

/// Formulas, empty for none.
struct Cost {
  std::string flops, bytes;
};

class ManifestWriter {
public:
  ManifestWriter(func::FuncOp function, const ManifestOptions &options)
      : function(function), options(options) {}

  FailureOr<std::string> write(StringRef ptx);

private:
  LogicalResult addArguments();
  LogicalResult addArgument(BlockArgument argument);
  LogicalResult addTensor(Argument &result, BlockArgument argument);
  LogicalResult addOperations();
  LogicalResult addBlock(Block &block, Cost &cost);
  LogicalResult addIf(scf::IfOp op, Cost &cost);
  LogicalResult addAssert(cf::AssertOp op);
  LogicalResult addLaunch(LaunchOp op, Cost &cost);
  LogicalResult addWorkspace(memref::AllocOp op);
  FailureOr<llvm::json::Object> getKernelArgument(LaunchOp op, unsigned i);
  FailureOr<llvm::json::Object> getTensorMap(EncodeOp op);
  LogicalResult addAccess(LaunchOp op, unsigned i, Value source);
  LogicalResult addCost(LaunchOp op, Cost &cost);
  void printArguments(llvm::json::OStream &json);
  void printLaunches(llvm::json::OStream &json);
  void print(llvm::raw_ostream &os, StringRef ptx);

  func::FuncOp function;
  const ManifestOptions &options;
  FormulaPrinter formulas;
  SmallVector<Argument> arguments;
  llvm::json::Array requirements, launches, workspaces;
  llvm::StringSet<> workspaceNames;
  /// Conditions around the operation that is looked at, and their negations, as
  /// formulas that `&&` and `||` may join.
  SmallVector<std::string> conditions, negations;
  Cost cost;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static std::string getTypeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// Whether arrays of a manifest may have these elements.
static bool isKnownType(Type type) {
  static constexpr StringRef known[] = {"f16",      "bf16",   "f32", "f64",
                                        "f8E4M3FN", "f8E5M2", "i1",  "i8",
                                        "i16",      "i32",    "i64"};
  return llvm::is_contained(known, getTypeName(type));
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static bool isOneOf(StringRef name, ArrayRef<StringRef> names) {
  return llvm::is_contained(names, name);
}

LogicalResult ManifestWriter::addTensor(Argument &result,
                                        BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  unsigned number = argument.getArgNumber();
  result.type = getTypeName(type.getElementType());
  if (!isKnownType(type.getElementType()))
    return function.emitOpError("argument ")
           << number << " has elements of type " << type.getElementType()
           << ", which a manifest does not know";
  auto dims = function.getArgAttrOfType<ArrayAttr>(number, kArgumentDimsAttr);
  if (dims && static_cast<int64_t>(dims.size()) != type.getRank())
    return function.emitOpError("argument ")
           << number << " expects " << type.getRank() << " names in '"
           << kArgumentDimsAttr << "', got " << dims.size();
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      result.dims.push_back(extent);
      continue;
    }
    auto name = dims ? dyn_cast<StringAttr>(dims[i]) : StringAttr();
    if (name && !isIdentifier(name.getValue()))
      return function.emitOpError("argument ")
             << number << " expects identifiers in '" << kArgumentDimsAttr
             << "', got '" << name.getValue() << "'";
    result.dims.push_back(name ? name.str()
                               : result.name + "_d" + std::to_string(i));
  }
  // Strides that the type fixes are conditions of the code. The innermost one
  // is checked by whoever reads the manifest.
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return function.emitOpError("argument ")
           << number << " expects strides, got " << type;
  bool isContiguous = type.getLayout().isIdentity();
  for (int64_t i = 0; i + 1 < type.getRank(); ++i) {
    std::string dim = "[" + std::to_string(i) + "]";
    std::string inner = "[" + std::to_string(i + 1) + "]";
    std::string stride = std::to_string(strides[i]);
    if (ShapedType::isDynamic(strides[i])) {
      if (!isContiguous)
        continue;
      stride = result.name + ".shape" + inner + " * " + result.name +
               ".stride" + inner;
    }
    requirements.push_back(llvm::json::Object{
        {"that", result.name + ".shape" + dim + " <= 1 || " + result.name +
                     ".stride" + dim + " == " + stride},
        {"message", result.name + " has a stride that the code is not for"}});
  }
  return success();
}

LogicalResult ManifestWriter::addArgument(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  Argument result;
  auto name = function.getArgAttrOfType<StringAttr>(number, kArgumentNameAttr);
  result.name = name ? name.str() : "arg" + std::to_string(number);
  if (!isIdentifier(result.name) ||
      isOneOf(result.name, {"device", "min", "max", "ceildiv"}))
    return function.emitOpError("argument ")
           << number << " expects an identifier as its name, got '"
           << result.name << "'";
  for (const Argument &other : arguments)
    if (other.name == result.name)
      return function.emitOpError("argument ")
             << number << " has the name of another one, '" << result.name
             << "'";
  formulas.setName(argument, result.name);
  result.isTensor = isa<MemRefType>(argument.getType());
  if (result.isTensor) {
    if (failed(addTensor(result, argument)))
      return failure();
  } else {
    Type type = argument.getType();
    // An index is passed as the widest integer.
    result.type = type.isIndex() ? "i64" : getTypeName(type);
    if (!isOneOf(result.type, {"f32", "i32", "i64"}))
      return function.emitOpError("argument ")
             << number << " expects a memref or a scalar of f32, i32, i64 or "
             << "index, got " << type;
  }
  arguments.push_back(std::move(result));
  return success();
}

LogicalResult ManifestWriter::addArguments() {
  for (BlockArgument argument : function.getArguments())
    if (failed(addArgument(argument)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

LogicalResult ManifestWriter::addAssert(cf::AssertOp op) {
  FailureOr<std::string> that = formulas.print(op.getArg());
  if (failed(that))
    return failure();
  // Where the conditions do not hold, nothing is asked for.
  std::string unless;
  if (!conditions.empty())
    unless = llvm::join(negations, " || ") + " || ";
  requirements.push_back(
      llvm::json::Object{{"that", unless + *that}, {"message", op.getMsg()}});
  return success();
}

/// Memory that lives as long as the call: contiguous, of a shape by the
/// arguments.
LogicalResult ManifestWriter::addWorkspace(memref::AllocOp op) {
  MemRefType type = op.getType();
  auto given = op->getAttrOfType<StringAttr>(kArgumentNameAttr);
  std::string name = given ? given.str() : "workspace";
  auto isTaken = [&](StringRef name) {
    return workspaceNames.contains(name) ||
           llvm::any_of(arguments, [&](const Argument &argument) {
             return argument.name == name;
           });
  };
  std::string unique = name;
  for (unsigned i = 1; isTaken(unique); ++i)
    unique = name + "_" + std::to_string(i);
  if (!isIdentifier(unique))
    return op.emitOpError("expects an identifier as the name of a workspace, "
                          "got '")
           << unique << "'";
  if (!type.getLayout().isIdentity())
    return op.emitOpError("has no place in a manifest: workspaces are "
                          "contiguous, got ")
           << type;
  if (!isKnownType(type.getElementType()))
    return op.emitOpError("has elements of type ")
           << type.getElementType() << ", which a manifest does not know";
  llvm::json::Array shape;
  unsigned dynamic = 0;
  for (int64_t extent : type.getShape()) {
    if (!ShapedType::isDynamic(extent)) {
      shape.push_back(std::to_string(extent));
      continue;
    }
    FailureOr<std::string> formula =
        formulas.print(op.getDynamicSizes()[dynamic++]);
    if (failed(formula))
      return failure();
    shape.push_back(*formula);
  }
  // From here on formulas may read its shape; none before could.
  formulas.setName(op.getMemref(), unique);
  workspaceNames.insert(unique);
  workspaces.push_back(
      llvm::json::Object{{"name", unique},
                         {"type", getTypeName(type.getElementType())},
                         {"shape", std::move(shape)}});
  return success();
}

/// Notes what the kernel does to the argument behind its operand.
LogicalResult ManifestWriter::addAccess(LaunchOp op, unsigned i, Value source) {
  SymbolTableCollection symbols;
  auto kernel = dyn_cast_or_null<LLVM::LLVMFuncOp>(
      symbols.lookupNearestSymbolFrom(op, op.getKernelAttr()));
  auto access = kernel ? kernel.getArgAttrOfType<StringAttr>(i, kAccessAttrName)
                       : StringAttr();
  if (!access)
    return op.emitOpError("expects argument ")
           << i << " of its kernel to have '" << kAccessAttrName
           << "' (see convert-hopper-to-nvvm)";
  auto memory = dyn_cast<BlockArgument>(source);
  if (!memory)
    return success(); // a workspace
  Argument &argument = arguments[memory.getArgNumber()];
  argument.isRead |= access.getValue() != "write";
  argument.isWritten |= access.getValue() != "read";
  return success();
}

FailureOr<llvm::json::Object> ManifestWriter::getTensorMap(EncodeOp op) {
  FailureOr<View> view = formulas.getView(op.getSource());
  if (failed(view))
    return failure();
  TensorMapType type = op.getResult().getType();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  llvm::json::Array box, dims, strides;
  int64_t rank = type.getBox().size();
  for (int64_t i = rank - 1; i >= 0; --i) {
    box.push_back(type.getBox()[i]);
    dims.push_back(formulas.getExtent(*view, i));
    if (i == rank - 1)
      continue;
    std::string stride = formulas.getStride(*view, i);
    strides.push_back(bytes == 1 ? stride
                                 : std::to_string(bytes) + " * " + stride);
  }
  llvm::json::Object object;
  object["kind"] = "tensormap";
  object["source"] = formulas.getName(view->source);
  object["type"] = getTypeName(type.getElementType());
  object["swizzle"] = type.getSwizzle();
  object["box"] = std::move(box);
  object["dims"] = std::move(dims);
  object["strides"] = std::move(strides);
  return object;
}

FailureOr<llvm::json::Object> ManifestWriter::getKernelArgument(LaunchOp op,
                                                                unsigned i) {
  Value value = op.getKernelArgs()[i];
  if (auto encode = value.getDefiningOp<EncodeOp>()) {
    FailureOr<View> view = formulas.getView(encode.getSource());
    if (failed(view) || failed(addAccess(op, i, view->source)))
      return failure();
    return getTensorMap(encode);
  }
  if (auto address = value.getDefiningOp<AddressOp>()) {
    FailureOr<View> view = formulas.getView(address.getSource());
    if (failed(view) || failed(addAccess(op, i, view->source)))
      return failure();
    return llvm::json::Object{{"kind", "pointer"},
                              {"source", formulas.getName(view->source)}};
  }
  if (value.getDefiningOp<CounterOp>())
    return llvm::json::Object{{"kind", "counter"}};
  Type type = value.getType();
  if (type.isF32()) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return op.emitOpError("expects operand ")
             << i << " of type f32 to be an argument of the host function";
    return llvm::json::Object{{"kind", "f32"},
                              {"value", formulas.getName(argument)}};
  }
  // An index is 32 bits wide in kernels.
  if (type.isInteger(32) || type.isInteger(64) || type.isIndex()) {
    FailureOr<std::string> formula = formulas.print(value);
    if (failed(formula))
      return failure();
    return llvm::json::Object{{"kind", type.isInteger(64) ? "i64" : "i32"},
                              {"value", *formula}};
  }
  return op.emitOpError("operand ")
         << i << " of type " << type << " has no place in a manifest";
}

LogicalResult ManifestWriter::addCost(LaunchOp op, Cost &cost) {
  if (op.getCost().empty())
    return success();
  for (auto [text, value] : {std::pair(&cost.flops, op.getCost()[0]),
                             std::pair(&cost.bytes, op.getCost()[1])}) {
    FailureOr<std::string> formula = formulas.print(value);
    if (failed(formula))
      return failure();
    *text += (text->empty() ? "" : " + ") + *formula;
  }
  return success();
}

LogicalResult ManifestWriter::addLaunch(LaunchOp op, Cost &cost) {
  FailureOr<std::string> grid = formulas.print(op.getBlocks());
  if (failed(grid) || failed(addCost(op, cost)))
    return failure();
  llvm::json::Array kernelArguments;
  for (unsigned i = 0; i < op.getKernelArgs().size(); ++i) {
    FailureOr<llvm::json::Object> argument = getKernelArgument(op, i);
    if (failed(argument))
      return failure();
    kernelArguments.push_back(std::move(*argument));
  }
  llvm::json::Object launch;
  launch["kernel"] = op.getKernel().getLeafReference().str();
  if (!conditions.empty())
    launch["condition"] = llvm::join(conditions, " && ");
  launch["grid"] = *grid;
  launch["block"] = static_cast<int64_t>(op.getThreads());
  launch["cluster"] = 1;
  launch["smem"] = static_cast<int64_t>(op.getSmem());
  Operation *kernel =
      SymbolTable::lookupNearestSymbolFrom(op, op.getKernelAttr());
  if (kernel && waitsForPredecessors(kernel))
    launch["waits"] = true;
  launch["args"] = std::move(kernelArguments);
  launches.push_back(std::move(launch));
  return success();
}

/// Adds what a choice costs to `sum`: where both ways cost the same, that.
static void addChoice(const std::string &condition, const std::string &yes,
                      const std::string &no, std::string &sum) {
  std::string choice = yes;
  auto weigh = [](const std::string &weight, const std::string &text) {
    return text.empty() ? "" : weight + " * (" + text + ")";
  };
  if (yes != no) {
    choice = weigh("(" + condition + ")", yes);
    std::string other = weigh("(1 - (" + condition + "))", no);
    choice += (choice.empty() || other.empty() ? "" : " + ") + other;
  }
  if (!choice.empty())
    sum += (sum.empty() ? "" : " + ") + choice;
}

/// Launches of both ways, each under its condition.
LogicalResult ManifestWriter::addIf(scf::IfOp op, Cost &cost) {
  if (op.getNumResults() != 0)
    return op.emitOpError("has no place in a manifest: expects no results");
  FailureOr<std::string> condition = formulas.print(op.getCondition());
  if (failed(condition))
    return failure();
  Cost ways[2];
  for (bool isTrue : {true, false}) {
    Region &region = isTrue ? op.getThenRegion() : op.getElseRegion();
    if (region.empty())
      continue;
    FailureOr<std::string> mine =
        formulas.printCondition(op.getCondition(), isTrue);
    FailureOr<std::string> other =
        formulas.printCondition(op.getCondition(), !isTrue);
    if (failed(mine) || failed(other))
      return failure();
    conditions.push_back(*mine);
    negations.push_back(*other);
    LogicalResult added = addBlock(region.front(), ways[isTrue ? 0 : 1]);
    conditions.pop_back();
    negations.pop_back();
    if (failed(added))
      return failure();
  }
  addChoice(*condition, ways[0].flops, ways[1].flops, cost.flops);
  addChoice(*condition, ways[0].bytes, ways[1].bytes, cost.bytes);
  return success();
}

LogicalResult ManifestWriter::addOperations() {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expects straight-line code, got ")
           << function.getBody().getBlocks().size() << " blocks";
  return addBlock(function.getBody().front(), cost);
}

LogicalResult ManifestWriter::addBlock(Block &block, Cost &cost) {
  for (Operation &op : block) {
    if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      if (failed(addAssert(assertion)))
        return failure();
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(addLaunch(launch, cost)))
        return failure();
    } else if (auto choice = dyn_cast<scf::IfOp>(op)) {
      if (failed(addIf(choice, cost)))
        return failure();
    } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (failed(addWorkspace(alloc)))
        return failure();
    } else if (auto end = dyn_cast<func::ReturnOp>(op)) {
      if (end.getNumOperands() != 0)
        return end.emitOpError("expects a host function without results");
    } else if (!isMemoryEffectFree(&op)) {
      return op.emitOpError("has no place in a manifest");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Writes an object with the keys in the given order: JSON objects of LLVM sort
/// theirs.
static void printObject(llvm::json::OStream &json, llvm::json::Object &object,
                        ArrayRef<StringRef> keys) {
  json.object([&] {
    for (StringRef key : keys)
      if (llvm::json::Value *value = object.get(key))
        json.attribute(key, *value);
  });
}

void ManifestWriter::printArguments(llvm::json::OStream &json) {
  for (Argument &argument : arguments)
    json.object([&] {
      json.attribute("name", argument.name);
      json.attribute("kind", argument.isTensor ? "tensor" : "scalar");
      json.attribute("type", argument.type);
      if (!argument.isTensor)
        return;
      json.attribute("dims", llvm::json::Value(std::move(argument.dims)));
      json.attribute("access", !argument.isWritten ? "read"
                               : argument.isRead   ? "readwrite"
                                                   : "write");
    });
}

void ManifestWriter::printLaunches(llvm::json::OStream &json) {
  for (llvm::json::Value &value : launches) {
    llvm::json::Object &launch = *value.getAsObject();
    json.object([&] {
      for (StringRef key :
           {"kernel", "condition", "grid", "block", "cluster", "smem", "waits"})
        if (llvm::json::Value *member = launch.get(key))
          json.attribute(key, *member);
      json.attributeArray("args", [&] {
        for (llvm::json::Value &argument : *launch.getArray("args"))
          printObject(json, *argument.getAsObject(),
                      {"kind", "source", "type", "swizzle", "box", "dims",
                       "strides", "value"});
      });
    });
  }
}

void ManifestWriter::print(llvm::raw_ostream &os, StringRef ptx) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", 1);
    json.attribute("producer", "fa3 " FA3_VERSION);
    json.attribute("function", function.getName());
    json.attribute("chip", options.chip);
    json.attribute("ptx_isa", llvm::formatv("{0}.{1}", options.ptxVersion / 10,
                                            options.ptxVersion % 10)
                                  .str());
    json.attributeArray("args", [&] { printArguments(json); });
    json.attributeArray("requires", [&] {
      for (llvm::json::Value &value : requirements)
        printObject(json, *value.getAsObject(), {"that", "message"});
    });
    json.attributeArray("launches", [&] { printLaunches(json); });
    json.attributeArray("workspaces", [&] {
      for (llvm::json::Value &value : workspaces)
        printObject(json, *value.getAsObject(), {"name", "type", "shape"});
    });
    // For tools; launchers ignore it.
    if (std::optional<llvm::json::Object> records = describeRecords(function))
      json.attribute("info",
                     llvm::json::Object{{"records", std::move(*records)}});
    if (!cost.flops.empty()) {
      json.attribute("flops", cost.flops);
      json.attribute("bytes", cost.bytes);
    }
    json.attribute("ptx_hash",
                   llvm::formatv("{0:x-16}", llvm::xxh3_64bits(ptx)).str());
  });
  os << '\n';
}

FailureOr<std::string> ManifestWriter::write(StringRef ptx) {
  if (failed(addArguments()) || failed(addOperations()))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, ptx);
  return text;
}

FailureOr<std::string> fa3::writeManifest(ModuleOp module, StringRef ptx,
                                          const ManifestOptions &options) {
  SmallVector<func::FuncOp> candidates;
  module.walk([&](func::FuncOp function) {
    bool launches =
        function.walk([](LaunchOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (launches &&
        (options.function.empty() || function.getName() == options.function))
      candidates.push_back(function);
  });
  if (candidates.size() == 1)
    return ManifestWriter(candidates.front(), options).write(ptx);
  if (candidates.empty())
    return module.emitError()
           << "has no host function that launches kernels"
           << (options.function.empty() ? "" : " named " + options.function);
  InFlightDiagnostic diagnostic = module.emitError()
                                  << "has several host functions, choose one";
  for (func::FuncOp function : candidates)
    diagnostic.attachNote(function.getLoc())
        << "'" << function.getName() << "' is one";
  return diagnostic;
}
