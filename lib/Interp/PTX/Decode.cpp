//===- Decode.cpp - from statements to instructions -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Decode.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::StringRef;
using llvm::Twine;

/// Names and widths in the order of Type.
static constexpr struct {
  llvm::StringLiteral name;
  uint8_t bits;
} kTypes[] = {
    {"", 0},        {"pred", 1},    {"b8", 8},      {"u8", 8},   {"s8", 8},
    {"b16", 16},    {"u16", 16},    {"s16", 16},    {"f16", 16}, {"bf16", 16},
    {"b32", 32},    {"u32", 32},    {"s32", 32},    {"f32", 32}, {"f16x2", 32},
    {"bf16x2", 32}, {"b64", 64},    {"u64", 64},    {"s64", 64}, {"f64", 64},
    {"b128", 128},  {"e4m3x2", 16}, {"e5m2x2", 16},
};
static_assert(std::size(kTypes) == size_t(Type::E5M2x2) + 1);

Type fa3::interp::ptx::parseType(StringRef name) {
  for (auto [i, type] : llvm::enumerate(kTypes))
    if (type.name == name)
      return static_cast<Type>(i);
  return Type::None;
}

unsigned fa3::interp::ptx::getBits(Type type) {
  return kTypes[static_cast<unsigned>(type)].bits;
}

bool fa3::interp::ptx::isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

bool Decoder::fail(const Twine &what) {
  if (error.empty())
    error = ("line " + Twine(statement->line) + ": '" + statement->opcode +
             "' " + what)
                .str();
  return false;
}

bool Decoder::take(StringRef modifier) {
  if (nextModifier == modifiers.size() || modifiers[nextModifier] != modifier)
    return false;
  ++nextModifier;
  return true;
}

int Decoder::takeOneOf(std::initializer_list<StringRef> names) {
  int number = 0;
  for (StringRef name : names) {
    if (take(name))
      return number;
    ++number;
  }
  return -1;
}

Type Decoder::takeType() {
  if (nextModifier == modifiers.size())
    return Type::None;
  Type type = parseType(modifiers[nextModifier]);
  nextModifier += type != Type::None;
  return type;
}

bool Decoder::finish(size_t args) {
  if (nextModifier != modifiers.size())
    return fail("has a modifier '." + modifiers[nextModifier] +
                "' that the executor does not know");
  if (statement->args.size() != args)
    return fail("expects " + Twine(args) + " operands, got " +
                Twine(statement->args.size()));
  return true;
}

Operand Decoder::makeRegister(unsigned bits, StringRef name) {
  Operand place;
  place.bits = bits;
  place.bank = bits == 1 ? Bank::Pred : bits == 64 ? Bank::B64 : Bank::B32;
  place.slot = bits == 1    ? kernel.numPreds++
               : bits == 64 ? kernel.num64++
                            : kernel.num32++;
  if (place.bank == Bank::B32)
    kernel.names32.push_back(name.str());
  return place;
}

Operand Decoder::makePreset(Preset::Kind kind, unsigned bits, uint64_t value) {
  Operand place = makeRegister(bits, "");
  kernel.presets.push_back({kind, place, value});
  return place;
}

/// Section 10, "Special Registers". The clocks are instructions, see Moves.cpp.
std::optional<Operand> Decoder::makeSpecial(StringRef name) {
  auto kind = llvm::StringSwitch<std::optional<Preset::Kind>>(name)
                  .Case("%tid.x", Preset::ThreadX)
                  .Case("%laneid", Preset::LaneId)
                  .Case("%warpid", Preset::WarpId)
                  .Cases({"%ctaid.x", "%clusterid.x"}, Preset::BlockX)
                  .Case("%ntid.x", Preset::ThreadsX)
                  .Cases({"%nctaid.x", "%nclusterid.x"}, Preset::BlocksX)
                  .Case("%smid", Preset::SmId)
                  .Case("%nsmid", Preset::SmCount)
                  .Case("%dynamic_smem_size", Preset::DynamicSmemSize)
                  .Default(std::nullopt);
  if (kind)
    return makePreset(*kind, 32, 0);
  if (name == "%tid.y" || name == "%tid.z" || name == "%ctaid.y" ||
      name == "%ctaid.z" || name == "%cluster_ctaid.x" ||
      name == "%cluster_ctarank")
    return makePreset(Preset::Value, 32, 0);
  if (name == "%ntid.y" || name == "%ntid.z" || name == "%nctaid.y" ||
      name == "%nctaid.z" || name == "%cluster_nctaid.x" ||
      name == "%cluster_nctarank")
    return makePreset(Preset::Value, 32, 1);
  return std::nullopt;
}

void Decoder::placeVariables() {
  int64_t offset = 0;
  for (const Variable &variable : text.params)
    variables[variable.name] = variable.offset;
  const std::vector<Variable> *lists[] = {&text.shared, &module.text.shared};
  for (const std::vector<Variable> *list : lists)
    for (const Variable &variable : *list) {
      offset = llvm::alignTo(offset, variable.alignment);
      variables[variable.name] = kSharedStart + offset;
      offset += variable.size;
    }
  // Memory whose size the launch says follows all other.
  for (const Variable &variable : module.text.shared)
    if (variable.size == 0)
      variables[variable.name] =
          kSharedStart + llvm::alignTo(offset, variable.alignment);
  kernel.staticSmem = offset;
  for (auto [variable, bytes] : llvm::zip(module.text.global, module.globals))
    variables[variable.name] = reinterpret_cast<uint64_t>(bytes.data());
}

std::optional<uint64_t> Decoder::getVariableAddress(StringRef name) {
  auto it = variables.find(name);
  return it == variables.end() ? std::nullopt : std::optional(it->second);
}

std::optional<Operand> Decoder::lookUp(const Arg &arg) {
  StringRef name = arg.name;
  // Ranges of registers are declared by the letters in front of a number.
  StringRef letters = name.rtrim("0123456789");
  int64_t number = -1;
  name.drop_front(letters.size()).getAsInteger(10, number);
  for (int s = statement->scope; s >= 0; s = text.scopes[s].parent) {
    const Scope &scope = text.scopes[s];
    auto it = scope.registers.find(name);
    bool isRange = it == scope.registers.end();
    if (isRange)
      it = scope.registers.find(letters);
    if (it == scope.registers.end() || (it->second.count >= 0) != isRange ||
        (isRange && (number < 0 || number >= it->second.count)))
      continue;
    std::string key = (Twine(s) + ":" + name).str();
    auto known = registers.find(key);
    if (known == registers.end()) {
      unsigned bits = ptx::getBits(parseType(it->second.type.drop_front()));
      if (!bits || bits > 64) {
        fail("uses register '" + name + "' of type '" + it->second.type +
             "', which the executor does not know");
        return std::nullopt;
      }
      known = registers.try_emplace(key, makeRegister(bits, name)).first;
    }
    Operand operand = known->second;
    operand.negated = arg.negated;
    return operand;
  }
  if (name.starts_with("%")) {
    auto known = registers.find(name);
    if (known != registers.end())
      return known->second;
    if (std::optional<Operand> special = makeSpecial(name)) {
      registers[name] = *special;
      return special;
    }
  }
  fail("uses '" + name + "', which is not declared");
  return std::nullopt;
}

bool Decoder::addOperand(const Arg &arg, Type type, bool isResult, bool wide) {
  unsigned bits = ptx::getBits(type);
  auto add = [&](const Operand &operand) {
    instr.operands.push_back(operand);
    instr.results += isResult;
    return true;
  };
  std::optional<uint64_t> value;
  switch (arg.kind) {
  case Arg::Int:
    value = arg.bits;
    break;
  case Arg::Float:
    if (type == Type::F64 || !arg.isDouble)
      value = arg.bits;
    else if (type == Type::F32)
      value = llvm::bit_cast<uint32_t>(
          static_cast<float>(llvm::bit_cast<double>(arg.bits)));
    else
      return fail("has a float constant of 64 bits");
    break;
  case Arg::Name:
    value = getVariableAddress(arg.name);
    if (value)
      *value += arg.offset;
    break;
  case Arg::Sink:
    if (!isResult)
      return fail("reads '_'");
    // A register that nobody reads.
    return add(makeRegister(bits == 1 || bits == 64 ? bits : 32, ""));
  case Arg::Memory:
  case Arg::List:
    return fail("has an address or a list in place of a register");
  }
  if (value) {
    if (isResult)
      return fail("writes a constant");
    unsigned width = type == Type::Pred ? 1 : bits == 64 ? 64 : 32;
    if (bits < 64)
      *value &= (uint64_t(1) << bits) - 1;
    auto [it, isNew] = constants.try_emplace({*value, width});
    if (isNew)
      it->second = makePreset(Preset::Value, width,
                              width == 1 ? (*value ? kAllLanes : 0) : *value);
    Operand operand = it->second;
    operand.bits = bits;
    operand.negated = arg.negated;
    return add(operand);
  }
  std::optional<Operand> operand = lookUp(arg);
  if (!operand)
    return false;
  bool fits =
      wide && type != Type::Pred
          ? operand->bits >= std::min(bits, 64u) && operand->bank != Bank::Pred
          : operand->bits == bits;
  if (!fits)
    return fail("expects '" + arg.name + "' to have " + Twine(bits) +
                " bits, got " + Twine(unsigned(operand->bits)));
  if (operand->negated && type != Type::Pred)
    return fail("negates '" + arg.name + "', which is no predicate");
  return add(*operand);
}

llvm::ArrayRef<Arg> Decoder::elements(size_t arg) const {
  const Arg &value = statement->args[arg];
  return value.kind == Arg::List ? llvm::ArrayRef<Arg>(value.list)
                                 : llvm::ArrayRef<Arg>(value);
}

bool Decoder::constant(size_t arg, int64_t &value) {
  const Arg &given = statement->args[arg];
  if (given.kind != Arg::Int)
    return fail("expects a constant as operand " + Twine(arg + 1));
  value = given.bits;
  return true;
}

bool Decoder::address(size_t arg) {
  const Arg &memory = statement->args[arg];
  if (memory.kind != Arg::Memory)
    return fail("expects an address as operand " + Twine(arg + 1));
  const Arg &base = memory.list.front();
  instr.imm[0] = memory.offset;
  if (base.kind == Arg::Name && !variables.count(base.name)) {
    std::optional<Operand> place = lookUp(base);
    if (!place)
      return false;
    if (place->bank == Bank::Pred || place->bits < 32)
      return fail("takes '" + base.name + "' as an address");
    instr.operands.push_back(*place);
    return true;
  }
  return operand(base, Type::U64);
}

const Variable *Decoder::findParam(size_t arg) const {
  for (const Variable &param : kernel.params)
    if (param.name == statement->args[arg].list.front().name)
      return &param;
  return nullptr;
}

bool Decoder::resolveTarget() {
  const Arg &label = statement->args.front();
  for (int s = statement->scope; s >= 0; s = text.scopes[s].parent) {
    auto it = text.scopes[s].labels.find(label.name);
    if (it == text.scopes[s].labels.end())
      continue;
    instr.target = it->second;
    return true;
  }
  return fail("jumps to '" + label.name + "', which is no label");
}

/// bra (section 9.7.12.3), ret (9.7.12.6), exit (9.7.12.7).
bool Decoder::decodeFlow() {
  if (statement->opcode.starts_with("bra")) {
    instr.flow = Flow::Branch;
    take("uni");
    return finish(1) && resolveTarget();
  }
  instr.flow = Flow::Exit;
  take("uni");
  return finish(0);
}

static const Table &getTable() {
  static const Table table = [] {
    Table all;
    addArithmetic(all);
    addBits(all);
    addComparisons(all);
    addConversions(all);
    addMoves(all);
    addMemory(all);
    addWarps(all);
    addMatrices(all);
    addBarriers(all);
    addCopies(all);
    addProducts(all);
    return all;
  }();
  return table;
}

bool Decoder::decode(const Statement &next) {
  statement = &next;
  modifiers.clear();
  nextModifier = 1;
  next.opcode.split(modifiers, '.');
  instr = Instr();
  instr.line = next.line;
  instr.location = next.location;
  instr.opcode = next.opcode;
  if (next.guard) {
    std::optional<Operand> guard = lookUp(*next.guard);
    if (!guard)
      return false;
    if (guard->bank != Bank::Pred)
      return fail("is guarded by '" + next.guard->name +
                  "', which is no predicate");
    instr.guarded = true;
    instr.guard = guard->slot;
    instr.guardNegated = guard->negated;
  }
  StringRef name = modifiers.front();
  if (name == "bra" || name == "ret" || name == "exit")
    return decodeFlow();
  auto it = getTable().find(name);
  if (it == getTable().end())
    return fail("is an instruction that the executor does not know");
  return it->second(*this);
}

bool Decoder::run(std::string &message) {
  kernel.name = text.name;
  kernel.threads = text.threads;
  for (const Variable &param : text.params) {
    kernel.params.push_back(param);
    kernel.paramBytes = param.offset + param.size;
  }
  placeVariables();
  for (const Statement &next : text.statements) {
    if (!decode(next)) {
      message = std::move(error);
      return false;
    }
    kernel.code.push_back(std::move(instr));
  }
  // Behind the last statement a kernel ends.
  Instr end;
  end.flow = Flow::Exit;
  end.opcode = "}";
  end.line = kernel.code.empty() ? text.line : kernel.code.back().line;
  kernel.code.push_back(std::move(end));
  return true;
}
