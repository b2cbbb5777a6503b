//===- Memory.cpp - ld, st, atom, red -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory as threads access it. Blocks run one after another or in turns on one
// thread, so that every access to global memory is atomic.
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

namespace {

enum Space : int64_t { Generic, Global, Shared, Param };

/// imm: offset, space, bytes of an element.
uint64_t getAddress(const Warp &w, const Instr &in, const Operand &base,
                    unsigned lane) {
  return getBits(w, base, lane) + in.imm[0];
}

Space resolve(int64_t space, uint64_t &address) {
  if (space != Generic)
    return static_cast<Space>(space);
  if (address >= kSharedWindow)
    return address -= kSharedWindow, Shared;
  if (address >= kParamWindow)
    return address -= kParamWindow, Param;
  return Global;
}

/// Where bytes are, checked; null after an error.
uint8_t *access(Warp &w, const Instr &in, uint64_t address, int64_t bytes,
                bool reads, bool writes) {
  if (address % bytes) {
    w.fail(in, "accesses " + Twine(bytes) + " bytes at address " +
                   Twine(address) + ", which is not aligned");
    return nullptr;
  }
  switch (resolve(in.imm[1], address)) {
  case Param:
    if (writes || address + bytes > w.block.params.size()) {
      w.fail(in, "accesses parameters at " + Twine(address) + ", which have " +
                     Twine(w.block.params.size()) + " bytes");
      return nullptr;
    }
    return w.block.params.data() + address;
  case Shared: {
    int64_t place = int64_t(address) - kSharedStart;
    Access what = w.access(in.line);
    if ((reads && !touch(w, in, place, bytes, what, false, false)) ||
        (writes && !touch(w, in, place, bytes, what, true, false)))
      return nullptr;
    return w.block.shared.memory.at(place);
  }
  default:
    auto holds = [&](const std::vector<uint8_t> &variable) {
      uint64_t start = reinterpret_cast<uint64_t>(variable.data());
      return address >= start && address + bytes <= start + variable.size();
    };
    if (!w.block.memory.contains(address, bytes) &&
        llvm::none_of(w.block.module.globals, holds)) {
      w.fail(in, "accesses " + Twine(bytes) + " bytes at address 0x" +
                     Twine::utohexstr(address) + ", which is in no allocation");
      return nullptr;
    }
    return reinterpret_cast<uint8_t *>(address);
  }
}

/// ld, ldu (sections 9.7.9.8 to 9.7.9.10).
Step runLoad(Warp &w, const Instr &in, uint32_t mask) {
  unsigned count = in.results, bytes = in.imm[2] & 0xff;
  bool extend = in.imm[2] >> 8;
  return tryLanes(mask, [&](unsigned lane) {
    uint64_t address = getAddress(w, in, in.in(0), lane);
    const uint8_t *data =
        access(w, in, address, bytes * count, /*reads=*/true, false);
    if (!data)
      return Step::Fail;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, data + i * bytes, bytes);
      if (extend)
        value = int64_t(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
      setBits(w, in.out(i), lane, value);
    }
    return Step::Next;
  });
}

/// Section 9.7.9.11.
Step runStore(Warp &w, const Instr &in, uint32_t mask) {
  unsigned count = in.numIn() - 1, bytes = in.imm[2];
  return tryLanes(mask, [&](unsigned lane) {
    uint64_t address = getAddress(w, in, in.in(0), lane);
    uint8_t *data =
        access(w, in, address, bytes * count, false, /*writes=*/true);
    if (!data)
      return Step::Fail;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t value = getBits(w, in.in(i + 1), lane);
      std::memcpy(data + i * bytes, &value, bytes);
    }
    return Step::Next;
  });
}

/// Modifiers between the operation and the type, in any order that the manual
/// has; they say who may see what when, and how to cache.
int64_t takeSpace(Decoder &d) {
  int64_t space = Generic;
  d.takeOneOf({"weak", "volatile", "relaxed", "acquire", "release"});
  d.takeOneOf({"cta", "cluster", "gpu", "sys"});
  int found =
      d.takeOneOf({"global", "shared", "shared::cta", "param", "const"});
  if (found == 0 || found == 4)
    space = Global;
  else if (found == 1 || found == 2)
    space = Shared;
  else if (found == 3)
    space = Param;
  return space;
}
void takeCaching(Decoder &d) {
  while (d.takeOneOf({"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt",
                      "L1::no_allocate", "L1::evict_last", "L1::evict_first",
                      "L1::evict_normal", "L2::128B", "L2::256B", "L2::64B",
                      "L2::evict_last", "L2::evict_first"}) >= 0)
    ;
}

bool takeVector(Decoder &d, size_t arg) {
  int vector = d.takeOneOf({"v2", "v4", "v8"});
  size_t count = vector < 0 ? 1 : size_t(2) << vector;
  return d.getStatement().args.size() > arg && d.elements(arg).size() == count;
}

bool decodeLoad(Decoder &d) {
  int64_t space = takeSpace(d);
  takeCaching(d);
  bool fits = takeVector(d, 0);
  Type type = d.takeType();
  unsigned bytes = getBits(type) / 8;
  if (!fits || !bytes || bytes > 8)
    return d.fail("has a type that the executor does not know");
  if (!d.finish(2))
    return false;
  for (const Arg &arg : d.elements(0))
    if (!d.wideResult(arg, type))
      return false;
  if (!d.address(1))
    return false;
  int64_t last = d.instr.imm[0] + int64_t(bytes * d.instr.results);
  const Variable *param = d.findParam(1);
  if (param && (d.instr.imm[0] < 0 || last > param->size))
    return d.fail("reads up to byte " + Twine(last) + " of parameter '" +
                  param->name + "', which has " + Twine(param->size));
  d.instr.imm[1] = space;
  d.instr.imm[2] = bytes | isSigned(type) << 8;
  d.instr.run = runLoad;
  return true;
}

bool decodeStore(Decoder &d) {
  int64_t space = takeSpace(d);
  takeCaching(d);
  bool fits = takeVector(d, 1);
  Type type = d.takeType();
  unsigned bytes = getBits(type) / 8;
  if (!fits || !bytes || bytes > 8 || space == Param)
    return d.fail("has a type that the executor does not know");
  if (!d.finish(2) || !d.address(0))
    return false;
  for (const Arg &arg : d.elements(1))
    if (!d.wideOperand(arg, type))
      return false;
  d.instr.imm[1] = space;
  d.instr.imm[2] = bytes;
  d.instr.run = runStore;
  return true;
}

enum class Atomic : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exch,
  Inc,
  Dec,
  Cas
};

struct AtomicExtra : Extra {
  Atomic what;
  Type type;
  bool hasResult;
  unsigned count; ///< of a vector
};

template <typename T>
T combineIntegers(Atomic what, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (what) {
  case Atomic::Add:
    return T(U(a) + U(b));
  case Atomic::Min:
    return std::min(a, b);
  case Atomic::Max:
    return std::max(a, b);
  case Atomic::And:
    return a & b;
  case Atomic::Or:
    return a | b;
  case Atomic::Xor:
    return a ^ b;
  case Atomic::Inc:
    return U(a) >= U(b) ? 0 : a + 1;
  case Atomic::Dec:
    return a == 0 || U(a) > U(b) ? b : a - 1;
  default:
    return b;
  }
}

uint64_t combine(const AtomicExtra &atomic, uint64_t a, uint64_t b) {
  auto sum = [&](auto format, uint64_t x, uint64_t y) -> uint64_t {
    using Format = decltype(format);
    return Format::encode(Format::decode(x) + Format::decode(y));
  };
  switch (atomic.type) {
  case Type::S32:
    return uint32_t(combineIntegers<int32_t>(atomic.what, a, b));
  case Type::B32:
  case Type::U32:
    return combineIntegers<uint32_t>(atomic.what, a, b);
  case Type::S64:
    return combineIntegers<int64_t>(atomic.what, a, b);
  case Type::B64:
  case Type::U64:
    return combineIntegers<uint64_t>(atomic.what, a, b);
  case Type::F32:
    return llvm::bit_cast<uint32_t>(llvm::bit_cast<float>(uint32_t(a)) +
                                    llvm::bit_cast<float>(uint32_t(b)));
  case Type::F64:
    return llvm::bit_cast<uint64_t>(llvm::bit_cast<double>(a) +
                                    llvm::bit_cast<double>(b));
  case Type::F16:
    return sum(HalfFormat(), a, b);
  case Type::BF16:
    return sum(BrainFormat(), a, b);
  case Type::F16x2:
    return sum(HalfFormat(), a & 0xffff, b & 0xffff) |
           sum(HalfFormat(), a >> 16, b >> 16) << 16;
  default:
    return sum(BrainFormat(), a & 0xffff, b & 0xffff) |
           sum(BrainFormat(), a >> 16, b >> 16) << 16;
  }
}

/// atom (section 9.7.13.5), red (9.7.13.6).
Step runAtomic(Warp &w, const Instr &in, uint32_t mask) {
  const auto &atomic = static_cast<const AtomicExtra &>(*in.extra);
  unsigned bytes = in.imm[2];
  return tryLanes(mask, [&](unsigned lane) {
    uint8_t *data = access(w, in, getAddress(w, in, in.in(0), lane),
                           bytes * atomic.count, true, true);
    if (!data)
      return Step::Fail;
    for (unsigned i = 0; i < atomic.count; ++i) {
      uint64_t old = 0;
      std::memcpy(&old, data + i * bytes, bytes);
      uint64_t operand = getBits(w, in.in(1 + i), lane), value;
      if (atomic.what == Atomic::Cas)
        value = old == operand ? getBits(w, in.in(2), lane) : old;
      else
        value = combine(atomic, old, operand);
      std::memcpy(data + i * bytes, &value, bytes);
      if (atomic.hasResult)
        setBits(w, in.out(i), lane, old);
    }
    return Step::Next;
  });
}

template <bool hasResult>
bool decodeAtomic(Decoder &d) {
  auto atomic = std::make_shared<AtomicExtra>();
  d.instr.extra = atomic;
  int64_t space = takeSpace(d);
  int what = d.takeOneOf(
      {"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"});
  d.take("noftz");
  bool fits = takeVector(d, hasResult ? 2 : 1);
  atomic->what = static_cast<Atomic>(what);
  d.take("noftz");
  atomic->type = d.takeType();
  atomic->hasResult = hasResult;
  unsigned bits = getBits(atomic->type);
  bool isInteger = !isFloat(atomic->type);
  if (what < 0 || !fits || bits < 16 || bits > 64 ||
      (isInteger ? bits == 16 : what != 0))
    return d.fail("is an atomic operation that the executor does not know");
  bool isCas = atomic->what == Atomic::Cas;
  if (!d.finish(2 + hasResult + isCas))
    return false;
  if (hasResult)
    for (const Arg &arg : d.elements(0))
      if (!d.result(arg, atomic->type))
        return false;
  if (!d.address(hasResult))
    return false;
  atomic->count = d.elements(hasResult + 1).size();
  for (const Arg &arg : d.elements(hasResult + 1))
    if (!d.operand(arg, atomic->type))
      return false;
  if (isCas && !d.operand(hasResult + 2, atomic->type))
    return false;
  d.instr.imm[1] = space;
  d.instr.imm[2] = bits / 8;
  d.instr.run = runAtomic;
  return true;
}

} // namespace

uint64_t fa3::interp::ptx::addBits(Type type, uint64_t a, uint64_t b) {
  AtomicExtra sum;
  sum.what = Atomic::Add;
  sum.type = type;
  return combine(sum, a, b);
}

void fa3::interp::ptx::addMemory(Table &table) {
  table["ld"] = decodeLoad;
  table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
  table["atom"] = decodeAtomic<true>;
  table["red"] = decodeAtomic<false>;
}
