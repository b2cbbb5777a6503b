//===- HostArguments.cpp - names and types of a host function -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostArguments.h"
#include "fa3/Dialect/Attention/Contract/Quantization.h"
#include "fa3/Dialect/Attention/Contract/Update.h"
#include "fa3/Dialect/Attention/IR/AuxPlace.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

std::optional<IndexBound> fa3::attention::getBound(Value index) {
  int64_t more = 0;
  if (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> literal = getConstantIntValue(sum.getRhs());
    if (!literal || *literal < 0)
      return std::nullopt;
    more = *literal;
    index = sum.getLhs();
  }
  auto argument = dyn_cast<BlockArgument>(index);
  Operation *op = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (!isa_and_nonnull<ScoredOpInterface, SequencesOp, BlocksOp, ListBlocksOp>(
          op))
    return std::nullopt;
  Region *region = argument.getOwner()->getParent();
  int64_t number = argument.getArgNumber();
  bool isOfPair = !isOfBlocks(region) && !isOfSequences(region);
  // There, what lies outside reads as 0.
  if ((isOfPair || isOfBlocks(region)) && more)
    return std::nullopt;
  if (isOfPair) {
    // The last four; in front of them are the score and its gradient.
    number -= argument.getOwner()->getNumArguments() - 4;
    if (number < 0)
      return std::nullopt;
  } else if (number >= 2) {
    return std::nullopt;
  }
  auto extent = static_cast<Extent>(number);
  if (extent == Extent::Keys && isOfEpilogue(region))
    extent = Extent::Columns;
  auto sequences = dyn_cast<SequencesOp>(op);
  if (sequences && region == &sequences.getPlaceK() && extent == Extent::Heads)
    extent = Extent::KeyHeads;
  return IndexBound{extent, more};
}

static StringRef getDimName(Extent extent) {
  static constexpr StringRef names[] = {"b", "h", "sq", "sk", "hk", "dv"};
  return names[static_cast<unsigned>(extent)];
}

void fa3::attention::forEachRead(ScoredOpInterface op, unsigned number,
                                 function_ref<void(tensor::ExtractOp)> visit) {
  forEachRead(op.getOperation(), op.getAux()[number], visit);
}

void fa3::attention::forEachRead(Operation *op, Value tensor,
                                 function_ref<void(tensor::ExtractOp)> visit) {
  for (Region *region : listCode(op))
    region->walk([&](tensor::ExtractOp extract) {
      if (extract.getTensor() == tensor)
        visit(extract);
    });
}

/// Names of the dimensions that hold the rows of q (of k), in the order of
/// (batch, head, sequence).
static SmallVector<StringRef> nameRows(ScoredOpInterface op,
                                       Sequence sequence) {
  bool isQuery = sequence == Sequence::query;
  StringRef head = isQuery ? "h" : "hk";
  if (!op.hasPlace(sequence))
    return {"b", head, isQuery ? "sq" : "sk"};
  static constexpr StringRef outer[] = {"n0", "n1", "n2", "n3", "n4", "n5"};
  static constexpr StringRef outerOfKey[] = {"p0", "p1", "p2",
                                             "p3", "p4", "p5"};
  SmallVector<StringRef> names;
  int64_t rank = op.getPlaceRank(sequence);
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    names.push_back((isQuery ? outer : outerOfKey)[std::min<int64_t>(dim, 5)]);
  names.push_back(head);
  names.push_back(isQuery ? "tq" : "tk");
  return names;
}

/// Name of a dimension of auxiliary operand `number` whose indices say nothing
/// of it. Lists of blocks share theirs, by queries and by keys apart; a table
/// has its own, also where another one has taken the short name.
static std::string nameUnknown(ScoredOpInterface op, unsigned number,
                               size_t dim, ArrayRef<HostArgument> arguments) {
  auto isListBy = [&](Sequence by) {
    bool isList = false;
    forEachRead(op, number, [&](tensor::ExtractOp extract) {
      Region *region = op.findList(by);
      isList |= region && region->isAncestor(extract->getParentRegion());
    });
    return isList;
  };
  if (isListBy(Sequence::key))
    return ("m" + Twine(dim)).str();
  if (isListBy(Sequence::query))
    return ("n" + Twine(dim)).str();
  std::string name = ("n" + Twine(dim)).str();
  bool isTaken = llvm::any_of(arguments, [&](const HostArgument &argument) {
    return llvm::is_contained(argument.dims, name);
  });
  if (op.findList(Sequence::query) || op.findList(Sequence::key) || isTaken)
    return ("aux" + Twine(number) + "_" + Twine(dim)).str();
  return name;
}

/// The gradient of an auxiliary operand has the extents of that.
static void nameAuxGradients(BackwardOp op,
                             MutableArrayRef<HostArgument> arguments) {
  auto function = op->getParentOfType<func::FuncOp>();
  Operation *ret = function.getBody().front().getTerminator();
  auto results = arguments.drop_front(function.getNumArguments());
  for (auto [position, number] : llvm::enumerate(op.getAuxNumbers())) {
    auto aux = cast<BlockArgument>(op.getAux()[number]);
    auto it = llvm::find(ret->getOperands(), op.getAuxGrads()[position]);
    results[it - ret->getOperands().begin()].dims =
        arguments[aux.getArgNumber()].dims;
  }
}

/// Names of the dimensions of an operand or result, in the order of its memory.
static SmallVector<std::string> nameDims(ScoredOpInterface op, Role role) {
  const OperandInfo &info = getInfo(role);
  SmallVector<std::string> dims;
  auto add = [&](ArrayRef<StringRef> names) {
    for (StringRef name : names)
      dims.push_back(name.str());
  };
  if (info.rows == Rows::Query)
    add(nameRows(op, Sequence::query));
  else if (info.rows == Rows::Key)
    add(nameRows(op, Sequence::key));
  else if (info.rows == Rows::Head)
    add({"h"});
  auto forward = dyn_cast<ForwardOp>(op.getOperation());
  if (info.columns == Columns::None)
    return dims;
  if (info.columns == Columns::Value)
    add({"dv"});
  else if (info.columns == Columns::Terms && forward &&
           forward.getQTerms() != 1)
    add({"dq"}); // another last extent than that of k
  else
    add({"d"});
  if (role == Role::v && forward && forward.getTransposedV())
    dims = {"b", "hk", "dv", "sk"};
  if (op.getLayout() == Layout::bshd)
    std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
  return dims;
}

/// Names of the dimensions of auxiliary operand `number`, by what indexes them.
static SmallVector<std::string> nameAuxDims(ScoredOpInterface op,
                                            unsigned number,
                                            ArrayRef<HostArgument> arguments) {
  int64_t rank =
      cast<RankedTensorType>(op.getAux()[number].getType()).getRank();
  // A read further behind says more. What both queries and keys index has an
  // extent of its own, which is at least both of theirs.
  SmallVector<std::optional<IndexBound>> bounds(rank);
  SmallVector<bool> isShared(rank);
  forEachRead(op, number, [&](tensor::ExtractOp extract) {
    for (auto [dim, index] : llvm::enumerate(extract.getIndices()))
      if (std::optional<IndexBound> bound = getBound(index)) {
        std::optional<IndexBound> &most = bounds[dim];
        isShared[dim] =
            isShared[dim] || (most && most->extent != bound->extent);
        if (!most || bound->more >= most->more)
          most = bound;
      }
  });
  SmallVector<std::string> dims;
  for (auto [dim, bound] : llvm::enumerate(bounds))
    dims.push_back(bound && !isShared[dim]
                       ? (getDimName(bound->extent) +
                          (bound->more ? Twine(bound->more) : Twine()))
                             .str()
                       : nameUnknown(op, number, dim, arguments));
  return dims;
}

/// The argument that an operand is, comes from or is put into; null for what
/// the function makes.
static HostArgument *findArgument(Value value,
                                  MutableArrayRef<HostArgument> arguments) {
  if (auto quantize = value.getDefiningOp<QuantizeOp>()) {
    if (value != quantize.getValues())
      return nullptr;
    value = quantize.getSource();
  }
  if (auto append = value.getDefiningOp<AppendOp>())
    value = append.getCache();
  if (auto rotary = value.getDefiningOp<RotaryOp>())
    value = rotary.getSource();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? &arguments[argument.getArgNumber()] : nullptr;
}

void fa3::attention::nameTensors(ScoredOpInterface op,
                                 MutableArrayRef<HostArgument> arguments) {
  // One argument in two roles keeps the name of the first.
  auto name = [&](Value value, StringRef role) -> HostArgument * {
    HostArgument *argument = findArgument(value, arguments);
    if (!argument || !argument->role.empty())
      return nullptr;
    argument->role = role.str();
    return argument;
  };
  Operands operands = Operands::get(op);
  SmallVector<Role> roles = op.getRoles();
  roles.resize(op->getNumOperands());
  auto nameThose = [&](function_ref<bool(const OperandInfo &)> are) {
    for (Role role : roles) {
      const OperandInfo &info = getInfo(role);
      if (are(info))
        if (HostArgument *argument = name(operands[role].front(), info.name))
          argument->dims = nameDims(op, role);
    }
  };
  nameThose([](const OperandInfo &info) {
    return info.rows == Rows::Query || info.rows == Rows::Key;
  });
  for (auto [number, value] : llvm::enumerate(operands.aux))
    if (isa<BlockArgument>(value)) // not a list that the function makes
      if (HostArgument *argument = name(value, ("aux" + Twine(number)).str()))
        argument->dims = nameAuxDims(op, number, arguments);
  if (auto backward = dyn_cast<BackwardOp>(op.getOperation()))
    nameAuxGradients(backward, arguments);
  for (auto [value, role] : llvm::zip(operands.scales, kScaleNames))
    name(value, role);
  nameThose([](const OperandInfo &info) { return info.rows == Rows::Head; });
  if (isa_and_nonnull<BlockArgument>(operands.scale))
    name(operands.scale, "scale");
}

llvm::SmallDenseMap<Operation *, std::string>
fa3::attention::nameQuantized(func::FuncOp function, ScoredOpInterface scored,
                              MutableArrayRef<HostArgument> arguments) {
  llvm::SmallDenseMap<Operation *, std::string> names;
  llvm::StringSet<> taken;
  auto ops = llvm::to_vector(function.getBody().getOps<QuantizeOp>());
  for (auto [number, op] : llvm::enumerate(ops)) {
    unsigned source = cast<BlockArgument>(op.getSource()).getArgNumber();
    HostArgument &argument = arguments[source];
    if (op.getRotation()) {
      unsigned rotation = cast<BlockArgument>(op.getRotation()).getArgNumber();
      bool isMatrix =
          cast<RankedTensorType>(op.getRotation().getType()).getRank() == 2;
      arguments[rotation].role = isMatrix ? "rotation" : "signs";
      arguments[rotation].dims.assign(isMatrix ? 2 : 1, "d");
    }
    if (argument.role.empty()) {
      argument.role = ops.size() == 1 ? "x" : ("x" + Twine(number)).str();
      argument.dims = {"b", "h", "s", "d"};
      if (op.getLayout() == Layout::bshd)
        std::swap(argument.dims[1], argument.dims[2]);
    }
    std::string name = getQuantizedOperand(op, scored).str();
    auto given =
        function.getArgAttrOfType<StringAttr>(source, kArgumentNameAttr);
    if (name.empty())
      name = given ? given.str() : argument.role;
    // A source may be quantized in several ways.
    while (!taken.insert(name).second)
      name += "_" + std::to_string(number);
    names[op] = name;
    // Results that are returned follow the arguments.
    auto ret = function.getBody().front().getTerminator();
    for (auto [position, value] : llvm::enumerate(ret->getOperands())) {
      if (value.getDefiningOp() != op)
        continue;
      bool isScale = value == op.getScales();
      HostArgument &result = arguments[function.getNumArguments() + position];
      result.role = name + (isScale ? "_scale" : "8");
      if (isScale)
        continue;
      result.dims = argument.dims;
      if (op.getTerms() != 1)
        result.dims.back() = "dq";
    }
  }
  return names;
}

llvm::SmallDenseMap<Operation *, std::string>
fa3::attention::nameUpdates(func::FuncOp function,
                            MutableArrayRef<HostArgument> arguments) {
  llvm::SmallDenseMap<Operation *, std::string> names;
  // A role that no other argument has.
  auto claim = [&](std::string role) {
    std::string name = role;
    for (unsigned number = 1;
         llvm::any_of(arguments,
                      [&](HostArgument &other) { return other.role == name; });
         ++number)
      name = role + std::to_string(number);
    return name;
  };
  auto describe = [&](Value value, StringRef role,
                      ArrayRef<std::string> dims) -> std::string {
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    HostArgument &argument = arguments[number];
    // What lengths read, too, has a number until now.
    if (argument.role.empty() ||
        (role == "first" && StringRef(argument.role).starts_with("aux"))) {
      argument.role = claim(role.str());
      argument.dims.assign(dims.begin(), dims.end());
    }
    auto given =
        function.getArgAttrOfType<StringAttr>(number, kArgumentNameAttr);
    return given ? given.str() : argument.role;
  };
  using Dims = SmallVector<std::string>;
  auto inLayout = [](Layout layout, Dims dims) {
    if (layout == Layout::bshd)
      std::swap(dims[dims.size() - 3], dims[dims.size() - 2]);
    return dims;
  };
  auto describeTables = [&](RotaryOp op) {
    describe(op.getCos(), "cos", Dims{"pos", "r"});
    describe(op.getSin(), "sin", Dims{"pos", "r"});
    describe(op.getFirst(), "first", Dims{"b"});
  };
  for (auto op : function.getBody().getOps<AppendOp>()) {
    Dims dims = {"b", "hk", "sk", "d"};
    auto cache = cast<RankedTensorType>(op.getCache().getType());
    if (op.findPlace()) {
      dims = {"hk", "tk", "d"};
      for (int64_t dim = cache.getRank() - 4; dim >= 0; --dim)
        dims.insert(dims.begin(), "p" + std::to_string(dim));
    }
    std::string name =
        describe(op.getCache(), "cache", inLayout(op.getLayout(), dims));
    RotaryOp rotary = getAppendedRotary(op);
    Value source = rotary ? rotary.getSource() : op.getSource();
    describe(source, name + "_new",
             inLayout(op.getLayout(), {"b", "hk", "t", "d"}));
    describe(op.getFirst(), "first", Dims{"b"});
    if (op.getScales())
      describe(op.getScales(), name + "_scale", Dims{"b", "hk", "one"});
    if (rotary)
      describeTables(rotary);
    for (auto [number, value] : llvm::enumerate(op.getAux())) {
      Dims ofAux;
      auto type = cast<RankedTensorType>(value.getType());
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        ofAux.push_back("n" + std::to_string(dim));
      forEachRead(op, value, [&](tensor::ExtractOp extract) {
        for (auto [dim, index] : llvm::enumerate(extract.getIndices()))
          if (std::optional<IndexBound> bound = getBound(index);
              bound && !bound->more)
            ofAux[dim] = getDimName(bound->extent).str();
      });
      describe(value, name + "_aux" + std::to_string(number), ofAux);
    }
    names[op] = name;
  }
  for (auto op : function.getBody().getOps<RotaryOp>()) {
    if (!isInMemory(op))
      continue;
    Dims dims = inLayout(op.getLayout(), {"b", "h", "s", "d"});
    std::string name = describe(op.getSource(), "x", dims);
    describeTables(op);
    names[op] = name;
    Operation *ret = function.getBody().front().getTerminator();
    for (auto [position, value] : llvm::enumerate(ret->getOperands()))
      if (value == op.getResult()) {
        HostArgument &result = arguments[function.getNumArguments() + position];
        result.role = name + "_rotated";
        result.dims = dims;
      }
  }
  return names;
}

DictionaryAttr fa3::attention::nameArgument(const HostArgument &argument,
                                            unsigned number) {
  MLIRContext *context = argument.type.getContext();
  NamedAttrList attributes(argument.attributes);
  auto string = [&](const Twine &text) {
    return StringAttr::get(context, text);
  };
  if (!attributes.get(kArgumentNameAttr))
    attributes.set(kArgumentNameAttr, argument.role.empty()
                                          ? string("arg" + Twine(number))
                                          : string(argument.role));
  if (isa<MemRefType>(argument.type) && !argument.dims.empty() &&
      !attributes.get(kArgumentDimsAttr)) {
    SmallVector<Attribute> dims;
    for (const std::string &dim : argument.dims)
      dims.push_back(string(dim));
    attributes.set(kArgumentDimsAttr, ArrayAttr::get(context, dims));
  }
  return attributes.getDictionary(context);
}

LogicalResult fa3::attention::verifyNames(func::FuncOp function,
                                          ArrayRef<DictionaryAttr> attributes) {
  llvm::StringMap<unsigned> taken;
  for (auto [number, dictionary] : llvm::enumerate(attributes)) {
    auto name = dyn_cast<StringAttr>(dictionary.get(kArgumentNameAttr));
    if (!name)
      return function.emitError("expects '")
             << kArgumentNameAttr << "' of argument " << number
             << " to be a string, got " << dictionary.get(kArgumentNameAttr);
    auto [entry, isNew] = taken.try_emplace(name.getValue(), number);
    if (!isNew)
      return function.emitError("expects distinct names of arguments, ")
             << entry->second << " and " << number << " are both named "
             << name;
  }
  return success();
}

MemRefType fa3::attention::getStridedType(RankedTensorType tensor,
                                          Type elementType) {
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  if (strides.empty())
    return MemRefType::get({}, elementType);
  strides.back() = 1;
  return MemRefType::get(
      tensor.getShape(), elementType,
      StridedLayoutAttr::get(tensor.getContext(), /*offset=*/0, strides));
}

/// The name of a result of attention and those of its dimensions, which
/// gradients of auxiliary operands get later.
static std::pair<std::string, SmallVector<std::string>>
describeResult(ScoredOpInterface op, OpResult result) {
  Role role = op.getRoles()[op->getNumOperands() + result.getResultNumber()];
  std::string name = getInfo(role).name.str();
  if (auto backward = dyn_cast<BackwardOp>(op.getOperation());
      backward && role == Role::auxGrads) {
    auto it = llvm::find(backward.getAuxGrads(), result);
    int64_t position = it - backward.getAuxGrads().begin();
    return {name + std::to_string(backward.getAuxNumbers()[position]), {}};
  }
  return {name, nameDims(op, role)};
}

SmallVector<HostArgument>
fa3::attention::collectArguments(func::FuncOp function, ScoredOpInterface op,
                                 Type outputType) {
  SmallVector<HostArgument> arguments;
  auto typeOf = [](Type type, Type elementType) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor
               ? getStridedType(tensor, elementType ? elementType
                                                    : tensor.getElementType())
               : type;
  };
  for (BlockArgument argument : function.getArguments())
    arguments.push_back({typeOf(argument.getType(), {}),
                         argument.getLoc(),
                         function.getArgAttrDict(argument.getArgNumber()),
                         "",
                         {}});
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [number, value] : llvm::enumerate(ret.getOperands())) {
    if (Operation *source = value.getDefiningOp(); isPreparation(source)) {
      auto merge = dyn_cast<MergeOp>(source);
      bool isWide = merge && value == merge.getO();
      arguments.push_back(
          {typeOf(value.getType(), isWide ? outputType : Type()),
           value.getLoc(),
           function.getResultAttrDict(number),
           "",
           {}});
      continue;
    }
    auto [name, dims] = describeResult(op, cast<OpResult>(value));
    auto forward = value.getDefiningOp<ForwardOp>();
    bool isOfRows = forward && forward.isOfRows(value);
    arguments.push_back(
        {typeOf(value.getType(), isOfRows ? Type() : outputType),
         value.getLoc(), function.getResultAttrDict(number), name, dims});
  }
  return arguments;
}
