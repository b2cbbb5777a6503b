//===- Problem.cpp - a host function with sizes and data ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/Problem.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Tools/Run/Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

/// Of one argument: more than that is a mistake in a size.
constexpr int64_t kMostBytes = int64_t(1) << 34;

/// Of all arguments together: a quarter of what there is, since results are
/// copied to be compared, and definitions are computed in f64.
static int64_t getMemoryForArguments() {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < uint64_t(bytes))
    bytes = limit.rlim_cur;
  return bytes / 4;
}

FunctionOpInterface fa3::run::findHostFunction(ModuleOp module,
                                               StringRef name) {
  SmallVector<FunctionOpInterface> all, launching;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!name.empty() && function.getName() == name)
      return function;
    if (function.isExternal())
      continue;
    all.push_back(function);
    if (function
            .walk([](Operation *op) {
              return WalkResult(
                  failure(isa<tile::LaunchOp, hopper::LaunchOp>(op)));
            })
            .wasInterrupted())
      launching.push_back(function);
  }
  if (!name.empty()) {
    module.emitError("has no function '") << name << "'";
    return {};
  }
  SmallVector<FunctionOpInterface> &candidates =
      launching.empty() ? all : launching;
  if (candidates.size() == 1)
    return candidates.front();
  InFlightDiagnostic diagnostic = module.emitError();
  if (candidates.empty()) {
    diagnostic << "has no function to run";
    return {};
  }
  diagnostic << "has several functions to run, choose one by --function:";
  for (FunctionOpInterface function : candidates)
    diagnostic << ' ' << function.getName();
  return {};
}

/// The engine for an array. Formulas on top of it are our own: its sequence is
/// standardized, those of the library's distributions are not.
static std::mt19937_64 makeEngine(uint64_t seed, StringRef name) {
  return std::mt19937_64(llvm::xxh3_64bits(name) ^
                         (seed * 0x9e3779b97f4a7c15u));
}

/// 8-bit integers count these, so that random numbers fill their range.
constexpr double kIntegerUnit = 0x1p-5;

/// Scales are positive: evenly spread around `unit`.
static void fillScales(const interp::Array &array, double unit, uint64_t seed,
                       StringRef name) {
  std::mt19937_64 engine = makeEngine(seed, name);
  array.forEach([&](ArrayRef<int64_t>, uint8_t *element) {
    double value = unit * (0.5 + (engine() >> 11) * 0x1p-53);
    interp::storeAsDouble(array.getFormat(), value, element);
  });
}

void fa3::run::fillRandom(const interp::Array &array, Distribution distribution,
                          uint64_t seed, StringRef name) {
  std::mt19937_64 engine = makeEngine(seed, name);
  auto uniform = [&] { return (engine() >> 11) * 0x1p-53; };
  auto normal = [&] {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  };
  ArrayRef<int64_t> shape = array.getShape();
  int64_t longest = 0;
  for (int64_t dim = 1; dim + 1 < static_cast<int64_t>(shape.size()); ++dim)
    if (shape[dim] > shape[longest])
      longest = dim;
  array.forEach([&](ArrayRef<int64_t> index, uint8_t *element) {
    double value;
    switch (distribution) {
    case Distribution::Normal:
      value = normal();
      break;
    case Distribution::Uniform:
      value = 2 * uniform() - 1;
      break;
    case Distribution::Outlier:
      value = normal();
      if (uniform() < 0.001)
        value += 10 * normal();
      break;
    case Distribution::Growing:
    case Distribution::Negative:
      value = normal();
      if (shape.size() > 1 && index.back() == 0 && name == "q")
        value = 4;
      if (shape.size() > 1 && index.back() == 0 && name == "k")
        value = distribution == Distribution::Growing
                    ? 0.4 * (shape[longest] - index[longest])
                    : -0.4 * (50 + index[longest]);
      break;
    }
    if (array.getFormat() == interp::Format::I8)
      value = std::clamp(std::nearbyint(value / kIntegerUnit), -127.0, 127.0);
    interp::storeAsDouble(array.getFormat(), value, element);
  });
}

/// Checks that an array is one of a memref type.
static LogicalResult checkFits(FunctionOpInterface function, StringRef name,
                               MemRefType type, const interp::Array &array) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (interp::getFormat(type.getElementType()) != array.getFormat() ||
      type.getRank() != static_cast<int64_t>(array.getShape().size()) ||
      failed(type.getStridesAndOffset(strides, offset)))
    return function->emitError("has '")
           << name << "' of type " << type << ", the array has "
           << array.getShape().size() << " dimensions of "
           << interp::getName(array.getFormat());
  int64_t contiguous = 1;
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    int64_t extent = array.getShape()[dim], stride = array.getStrides()[dim];
    if (!type.isDynamicDim(dim) && type.getDimSize(dim) != extent)
      return function->emitError("has an extent of ")
             << type.getDimSize(dim) << " in dimension " << dim << " of '"
             << name << "', the array has " << extent;
    int64_t wanted = type.getLayout().isIdentity() ? contiguous : strides[dim];
    if (!ShapedType::isDynamic(wanted) && extent != 1 && stride != wanted)
      return function->emitError("has a stride of ")
             << wanted << " in dimension " << dim << " of '" << name
             << "', the array has " << stride;
    contiguous *= extent;
  }
  return success();
}

namespace {
/// Builds the arguments of one function.
class ProblemBuilder {
public:
  ProblemBuilder(FunctionOpInterface function, const ProblemOptions &options)
      : function(function), options(options) {}

  LogicalResult build(ArrayRef<interp::Access> accesses,
                      SmallVectorImpl<ProblemArgument> &arguments) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      ProblemArgument &argument = arguments.emplace_back();
      argument.type = function.getArgument(i).getType();
      argument.access = accesses[i];
      argument.name = getName(function, i);
      if (!names.insert(argument.name).second)
        return function->emitError("has two arguments named '")
               << argument.name << "'";
      auto memref = dyn_cast<MemRefType>(argument.type);
      if (failed(memref ? addArray(i, memref, argument) : addScalar(argument)))
        return failure();
    }
    return checkUsed();
  }

  static std::string getName(FunctionOpInterface function, unsigned i) {
    if (auto name = function.getArgAttrOfType<StringAttr>(
            i, tile::TileDialect::kNameAttrName))
      return name.str();
    return "arg" + std::to_string(i);
  }

private:
  /// Names of the dimensions of an argument; without the attribute, name.0,
  /// name.1 and so on.
  FailureOr<SmallVector<std::string>> getDims(unsigned i, MemRefType type,
                                              StringRef name) {
    SmallVector<std::string> result;
    Attribute attribute =
        function.getArgAttr(i, tile::TileDialect::kDimsAttrName);
    if (!attribute) {
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        result.push_back((name + "." + Twine(dim)).str());
      return result;
    }
    auto array = dyn_cast<ArrayAttr>(attribute);
    if (!array || static_cast<int64_t>(array.size()) != type.getRank() ||
        !llvm::all_of(array, llvm::IsaPred<StringAttr>))
      return function->emitError("expects '")
             << tile::TileDialect::kDimsAttrName << "' of '" << name
             << "' to be " << type.getRank() << " strings, got " << attribute;
    for (Attribute dim : array)
      result.push_back(cast<StringAttr>(dim).str());
    return result;
  }

  LogicalResult addArray(unsigned i, MemRefType type,
                         ProblemArgument &argument) {
    StringRef name = argument.name;
    std::optional<interp::Format> format =
        interp::getFormat(type.getElementType());
    if (!format)
      return function->emitError("cannot make an array of ")
             << type.getElementType() << " for '" << name << "'";
    FailureOr<SmallVector<std::string>> dims = getDims(i, type, name);
    if (failed(dims))
      return failure();
    SmallVector<int64_t> shape(type.getShape()), given;
    if (auto input = options.inputs.find(name); input != options.inputs.end()) {
      FailureOr<SmallVector<int64_t>> read = readShape(input->second);
      if (failed(read))
        return failure();
      if (read->size() == shape.size())
        given = *read;
    }
    for (auto [number, dim] : llvm::enumerate(*dims)) {
      int64_t &extent = shape[number];
      usedDims.insert(dim);
      auto it = options.dims.find(dim);
      // A file says it where --dims does not, and may hold more.
      if (!given.empty() && ShapedType::isDynamic(extent) &&
          (it == options.dims.end() || given[number] > it->second)) {
        extent = given[number];
        continue;
      }
      if (it == options.dims.end()) {
        if (ShapedType::isDynamic(extent))
          return function->emitError("has a dimension '")
                 << dim << "' of '" << name
                 << "' without extent, give one with --dims=" << dim << "=N";
        continue;
      }
      if (it->second < 0 ||
          (!ShapedType::isDynamic(extent) && extent != it->second))
        return function->emitError("has an extent of ")
               << (ShapedType::isDynamic(extent) ? "at least 0"
                                                 : std::to_string(extent))
               << " in dimension '" << dim << "' of '" << name
               << "', --dims says " << it->second;
      extent = it->second;
    }
    auto order = options.orders.find(name);
    ArrayRef<unsigned> permutation;
    if (order != options.orders.end())
      permutation = order->second;
    if (failed(checkOrder(type, name, permutation)))
      return failure();
    int64_t bytes = interp::getByteWidth(*format);
    for (int64_t extent : shape)
      if (llvm::MulOverflow(bytes, extent, bytes) || bytes > kMostBytes)
        return function->emitError("has an argument '")
               << name << "' of more than " << kMostBytes << " bytes";
    allBytes += bytes;
    if (allBytes > getMemoryForArguments())
      return function->emitError("has arguments of ")
             << allBytes << " bytes up to '" << name
             << "', more than a quarter of the memory there is ("
             << getMemoryForArguments() << " bytes)";
    constexpr int64_t kMostPadding = 1 << 20;
    int64_t padding = options.paddings.lookup(name);
    if (padding < 0 || padding > kMostPadding)
      return function->emitError("expects --pad of '")
             << name << "' to be between 0 and " << kMostPadding << ", got "
             << padding;
    interp::Array array =
        interp::Array::allocate(*format, shape, permutation, padding);
    if (failed(checkFits(function, name, type, array)))
      return failure();
    argument.value = array;
    return fill(name, array, argument.access);
  }

  LogicalResult checkOrder(MemRefType type, StringRef name,
                           ArrayRef<unsigned> order) {
    if (order.empty())
      return success();
    SmallVector<bool> seen(type.getRank());
    for (unsigned dim : order)
      if (dim < seen.size())
        seen[dim] = true;
    if (order.size() != seen.size() || llvm::is_contained(seen, false))
      return function->emitError("expects --order of '")
             << name << "' to be a permutation of its " << type.getRank()
             << " dimensions";
    return success();
  }

  LogicalResult fill(StringRef name, const interp::Array &array,
                     interp::Access access) {
    auto input = options.inputs.find(name);
    if (input != options.inputs.end()) {
      usedInputs.insert(name);
      return readFile(input->second, array);
    }
    auto constant = options.fills.find(name);
    if (constant != options.fills.end()) {
      usedInputs.insert(name);
      array.forEach([&](ArrayRef<int64_t>, uint8_t *element) {
        interp::storeAsDouble(array.getFormat(), constant->second, element);
      });
      return success();
    }
    if (auto lengths = options.lengths.find(name);
        lengths != options.lengths.end()) {
      usedInputs.insert(name);
      return fillLengths(name, array, lengths->second);
    }
    if (auto order = options.pages.find(name); order != options.pages.end()) {
      usedInputs.insert(name);
      return fillPages(name, array, order->second);
    }
    // A new array is poison; that is what output arguments start from.
    if (access.written && !access.read)
      return success();
    // Integers of other widths are positions and counts.
    if (!interp::isFloat(array.getFormat()) &&
        array.getFormat() != interp::Format::I8 && access.read)
      return function->emitError("reads integers from '")
             << name
             << "', give them with --input, --fill, --lengths or --pages";
    StringRef scaled = name;
    if (scaled.consume_back("_scale"))
      fillScales(array, isOf8BitIntegers(scaled) ? kIntegerUnit : 1,
                 options.seed, name);
    else
      fillRandom(array, options.distribution, options.seed, name);
    return success();
  }

  LogicalResult fillLengths(StringRef name, const interp::Array &array,
                            ArrayRef<int64_t> lengths) {
    int64_t count = lengths.size();
    bool hasStarts = array.getShape() == ArrayRef<int64_t>{count + 1};
    if (interp::isFloat(array.getFormat()) ||
        (!hasStarts && array.getShape() != ArrayRef<int64_t>{count}))
      return function->emitError("expects '")
             << name << "' to hold " << count << " integers, or " << count + 1
             << " that say where sequences start, by --lengths";
    int64_t start = 0;
    array.forEach([&](ArrayRef<int64_t> index, uint8_t *element) {
      bool isLength = index[0] < count;
      double value = hasStarts ? start : lengths[index[0]];
      start += isLength ? lengths[index[0]] : 0;
      interp::storeAsDouble(array.getFormat(), value, element);
    });
    return success();
  }

  /// Pages are counted by the first dimension of a placed k.
  LogicalResult fillPages(StringRef name, const interp::Array &array,
                          PageOrder order) {
    auto pages = options.dims.find("p0");
    if (pages == options.dims.end() || interp::isFloat(array.getFormat()))
      return function->emitError("expects '")
             << name << "' to hold integers and --dims to give the number of "
             << "pages, 'p0', with --pages";
    int64_t count = pages->second, number = 0;
    std::mt19937_64 engine = makeEngine(options.seed, name);
    auto shuffled = llvm::to_vector(llvm::seq<int64_t>(0, count));
    for (int64_t i = count - 1; i > 0; --i)
      std::swap(shuffled[i], shuffled[engine() % (i + 1)]);
    array.forEach([&](ArrayRef<int64_t>, uint8_t *element) {
      int64_t page = count ? number % count : 0;
      if (order == PageOrder::Reversed)
        page = count - 1 - page;
      else if (order == PageOrder::Random && count)
        page = shuffled[page];
      else if (order >= PageOrder::Shared && count)
        page = engine() % count;
      if (order == PageOrder::Wild && engine() % 3 == 0)
        page = engine() % 2 ? count + engine() % 5 : -1 - int64_t(engine() % 5);
      ++number;
      interp::storeAsDouble(array.getFormat(), page, element);
    });
    return success();
  }

  /// Whether an argument of the function is an array of i8.
  bool isOf8BitIntegers(StringRef name) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto memref = dyn_cast<MemRefType>(function.getArgument(i).getType());
          memref && getName(function, i) == name)
        return memref.getElementType().isInteger(8);
    return false;
  }

  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> openFile(StringRef path) {
    // Others may have no end.
    llvm::sys::fs::file_status status;
    if (!llvm::sys::fs::status(path, status) &&
        status.type() != llvm::sys::fs::file_type::regular_file)
      return function->emitError("cannot read ") << path << ": no regular file";
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return function->emitError("cannot read ")
             << path << ": " << buffer.getError().message();
    return std::move(*buffer);
  }

  FailureOr<SmallVector<int64_t>> readShape(StringRef path) {
    auto buffer = openFile(path);
    if (failed(buffer))
      return failure();
    auto shape = readNpyShape((*buffer)->getBuffer());
    if (!shape)
      return function->emitError("cannot read ")
             << path << ": " << llvm::toString(shape.takeError());
    return *shape;
  }

  LogicalResult readFile(StringRef path, const interp::Array &array) {
    auto buffer = openFile(path);
    if (failed(buffer))
      return failure();
    if (llvm::Error error = readNpy((*buffer)->getBuffer(), array))
      return function->emitError("cannot read ")
             << path << ": " << llvm::toString(std::move(error));
    return success();
  }

  LogicalResult addScalar(ProblemArgument &argument) {
    std::optional<interp::Format> format = interp::getFormat(argument.type);
    if (!format)
      return function->emitError("cannot make an argument of type ")
             << argument.type << " for '" << argument.name
             << "'; only memrefs and scalars can be given";
    auto it = options.scalars.find(argument.name);
    if (it == options.scalars.end())
      return function->emitError("has a scalar argument '")
             << argument.name
             << "' without value, give one with --scalar=" << argument.name
             << "=X";
    usedScalars.insert(argument.name);
    if (interp::isFloat(*format))
      argument.value = interp::roundTo(*format, it->second);
    else
      argument.value = interp::wrapTo(*format, interp::toInteger(it->second));
    return success();
  }

  /// A name that nothing has is a typing error.
  LogicalResult checkUsed() {
    auto check = [&](const auto &given, const llvm::StringSet<> &used,
                     StringRef option) -> LogicalResult {
      for (StringRef name : given.keys())
        if (!used.contains(name))
          return function->emitError("has nothing named '")
                 << name << "', which --" << option << " mentions";
      return success();
    };
    return success(succeeded(check(options.dims, usedDims, "dims")) &&
                   succeeded(check(options.scalars, usedScalars, "scalar")) &&
                   succeeded(check(options.inputs, usedInputs, "input")) &&
                   succeeded(check(options.fills, usedInputs, "fill")) &&
                   succeeded(check(options.lengths, usedInputs, "lengths")) &&
                   succeeded(check(options.pages, usedInputs, "pages")) &&
                   succeeded(check(options.orders, names, "order")) &&
                   succeeded(check(options.paddings, names, "pad")));
  }

  FunctionOpInterface function;
  const ProblemOptions &options;
  llvm::StringSet<> names, usedDims, usedScalars, usedInputs;
  int64_t allBytes = 0;
};
} // namespace

FailureOr<Problem> Problem::create(FunctionOpInterface function,
                                   const ProblemOptions &options,
                                   ArrayRef<interp::Access> accesses) {
  Problem problem;
  SmallVector<interp::Access> own;
  if (accesses.empty())
    accesses = own = interp::getArgumentAccess(function);
  if (failed(
          ProblemBuilder(function, options).build(accesses, problem.arguments)))
    return failure();
  return problem;
}

FailureOr<Problem> Problem::cloneFor(FunctionOpInterface function) const {
  Problem problem;
  SmallVector<interp::Access> accesses = interp::getArgumentAccess(function);
  if (function.getNumArguments() != arguments.size())
    return function->emitError("takes ")
           << function.getNumArguments() << " arguments, the other function "
           << arguments.size();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = ProblemBuilder::getName(function, i);
    const auto *mine = llvm::find_if(
        arguments, [&](const ProblemArgument &a) { return a.name == name; });
    Type type = function.getArgument(i).getType();
    if (mine == arguments.end())
      return function->emitError("has an argument '")
             << name << "', which the other function does not have";
    const interp::Array *array = mine->getArray();
    auto memref = dyn_cast<MemRefType>(type);
    if (array && memref) {
      if (failed(checkFits(function, name, memref, *array)))
        return failure();
    } else if (type != mine->type) {
      return function->emitError("has '")
             << name << "' of type " << type << ", the other function "
             << mine->type;
    }
    ProblemArgument &argument = problem.arguments.emplace_back(*mine);
    argument.access.read |= accesses[i].read;
    argument.access.written |= accesses[i].written;
    if (array)
      argument.value = array->clone();
  }
  return problem;
}

ProblemArgument *Problem::find(StringRef name) {
  auto *it = llvm::find_if(
      arguments, [&](const ProblemArgument &a) { return a.name == name; });
  return it == arguments.end() ? nullptr : it;
}

void Problem::keepInitial() {
  for (ProblemArgument &argument : arguments)
    if (const interp::Array *array = argument.getArray();
        array && argument.access.read && argument.access.written)
      argument.initial = array->clone();
}

SmallVector<interp::Argument> Problem::getValues() const {
  SmallVector<interp::Argument> values;
  for (const ProblemArgument &argument : arguments)
    values.push_back(argument.value);
  return values;
}
