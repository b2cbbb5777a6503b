//===- Products.cpp - wgmma -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.15, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions". A warp computes its 16 rows where it issues the product; its
// registers and the shared memory stay in use until the program has waited.
// Sums run as in the hopper dialect: k ascending, each step rounded; those of
// 8-bit floats are cut as the tensor cores cut them (ShortSums.h).
//===----------------------------------------------------------------------===//

#include "../Core/Gemm.h"
#include "../Hopper/ShortSums.h"
#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

namespace {

enum class Element : uint8_t { F16, BF16, E4M3, E5M2, S8, U8 };

struct ProductExtra : Extra {
  unsigned n = 0, k = 0;
  Element a, b;
  bool aInRegisters = false;
  bool transposeA = false, transposeB = false;
  bool negateA = false, negateB = false;
  unsigned bytes() const { return k == 16 ? 2 : 1; }
  unsigned aRegisters() const { return aInRegisters ? 4 : 0; }
};

/// A matrix descriptor (section 9.7.15.5.1.2).
struct Descriptor {
  int64_t start, leading, stride, swizzle;
  explicit Descriptor(uint64_t bits)
      : start(int64_t(bits & 0x3fff) << 4),
        leading(int64_t(bits >> 16 & 0x3fff) << 4),
        stride(int64_t(bits >> 32 & 0x3fff) << 4) {
    static constexpr int64_t widths[] = {0, 128, 64, 32};
    swizzle = widths[bits >> 62];
  }
  /// Address of the 16 bytes that hold a row (of M or N) and a chunk along K,
  /// if rows are contiguous along K.
  int64_t locate(int64_t row, int64_t chunk) const {
    if (!swizzle)
      return start + row / 8 * stride + row % 8 * 16 + chunk * leading;
    return turn(start + row / 8 * stride + row % 8 * swizzle + chunk * 16);
  }
  /// The same of a step along K and a chunk along M or N, if those are
  /// contiguous.
  int64_t locateTransposed(int64_t step, int64_t chunk) const {
    if (!swizzle)
      return start + chunk * stride + step / 8 * leading + step % 8 * 16;
    int64_t perAtom = swizzle / 16;
    return turn(start + chunk / perAtom * leading + chunk % perAtom * 16 +
                step / 8 * stride + step % 8 * swizzle);
  }

private:
  int64_t turn(int64_t address) const {
    return SharedMemory::swizzle(address, swizzle);
  }
};

float decodeElement(Element element, uint16_t bits) {
  switch (element) {
  case Element::F16:
    return decodeF16(bits);
  case Element::BF16:
    return decodeBF16(bits);
  case Element::E4M3:
    return decodeF8E4M3FN(bits);
  case Element::E5M2:
    return decodeF8E5M2(bits);
  case Element::S8:
    return int8_t(bits);
  case Element::U8:
    return uint8_t(bits);
  }
  return 0;
}

/// The values of 16 bytes.
void decodeChunk(Element element, const uint8_t *data, float *out,
                 int64_t stride) {
  unsigned bytes = element <= Element::BF16 ? 2 : 1;
  for (unsigned i = 0; i < 16 / bytes; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, data + i * bytes, bytes);
    out[i * stride] = decodeElement(element, bits);
  }
}

/// Reads `rows` rows from `first` on of an operand, as [row][k], or as
/// [k][row] with `kFirst`.
bool gather(Warp &w, const Instr &in, const ProductExtra &product,
            uint64_t bits, Element element, bool transposed, int64_t first,
            int64_t rows, bool kFirst, float *out) {
  Descriptor desc(bits);
  Shadow &shared = w.block.shared;
  unsigned firstWarp = w.index / 4 * 4;
  Access access{shared.agents.ofProducts(firstWarp), w.openBatch, w.clock,
                in.line};
  if (bits >> 49 & 7) {
    w.fail(in, "has a descriptor with a base offset, which the executor does "
               "not know");
    return false;
  }
  int64_t perChunk = 16 / product.bytes(), k = product.k;
  // Along what is contiguous a chunk is 16 bytes.
  int64_t rowStride = kFirst ? 1 : k, kStride = kFirst ? rows : 1;
  int64_t across = transposed ? kStride : rowStride;
  int64_t along = transposed ? rowStride : kStride;
  for (int64_t i = 0; i < (transposed ? k : rows); ++i)
    for (int64_t chunk = 0; chunk < (transposed ? rows : k) / perChunk;
         ++chunk) {
      int64_t address = transposed
                            ? desc.locateTransposed(i, first / perChunk + chunk)
                            : desc.locate(first + i, chunk);
      int64_t place = address - kSharedStart;
      if (!touch(w, in, place, 16, access, /*writes=*/false, /*async=*/true))
        return false;
      decodeChunk(element, shared.memory.at(place),
                  out + i * across + chunk * perChunk * along, along);
    }
  return true;
}

/// Section 9.7.15.5.1.1: the fragment of A in registers, as [row][k].
void gatherRegisters(const Warp &w, const Instr &in,
                     const ProductExtra &product, float *out) {
  unsigned perRegister = 4 / product.bytes(), bits = 8 * product.bytes();
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned r = 0; r < 4; ++r) {
      uint32_t value = get<uint32_t>(w, in.in(r), lane);
      unsigned row = lane / 4 + 8 * (r % 2);
      unsigned k = perRegister * (lane % 4) + product.k / 2 * (r / 2);
      for (unsigned i = 0; i < perRegister; ++i)
        out[row * product.k + k + i] = decodeElement(
            product.a, uint16_t(value >> (i * bits)) & ((1u << bits) - 1));
    }
}

/// Section 9.7.15.5.1.1, accumulators: calls a function with register, lane,
/// row and column.
template <typename Function>
void forAccumulators(unsigned n, Function &&function) {
  for (unsigned r = 0; r < n / 2; ++r)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      function(r, lane, lane / 4 + 8 * (r / 2 % 2),
               8 * (r / 4) + 2 * (lane % 4) + r % 2);
}

bool compute(Warp &w, const Instr &in, const ProductExtra &product,
             uint64_t aBits, uint64_t bBits, bool accumulate) {
  int64_t n = product.n, k = product.k;
  std::vector<float> a(16 * k), b(k * n);
  if (product.aInRegisters)
    gatherRegisters(w, in, product, a.data());
  else if (!gather(w, in, product, aBits, product.a, product.transposeA,
                   w.index % 4 * 16, 16, /*kFirst=*/false, a.data()))
    return false;
  if (!gather(w, in, product, bBits, product.b, product.transposeB, 0, n,
              /*kFirst=*/true, b.data()))
    return false;
  if (product.negateA)
    for (float &value : a)
      value = -value;
  if (product.negateB)
    for (float &value : b)
      value = -value;
  if (product.a >= Element::S8) {
    std::vector<int64_t> sums(16 * n);
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t s = 0; s < k; ++s)
        for (int64_t j = 0; j < n; ++j)
          sums[i * n + j] += int64_t(a[i * k + s]) * int64_t(b[s * n + j]);
    forAccumulators(n, [&](unsigned r, unsigned lane, int64_t i, int64_t j) {
      uint32_t old = accumulate ? w.b32[in.out(r).slot][lane] : 0;
      w.b32[in.out(r).slot][lane] = old + uint32_t(sums[i * n + j]);
    });
    return true;
  }
  std::vector<float> sums(16 * n);
  if (accumulate)
    forAccumulators(n, [&](unsigned r, unsigned lane, int64_t i, int64_t j) {
      sums[i * n + j] = get<float>(w, in.out(r), lane);
    });
  if (product.bytes() == 2)
    gemm(16, n, k, a.data(), b.data(), sums.data());
  else
    addShortSums(16, n, k, a.data(), b.data(), sums.data());
  forAccumulators(n, [&](unsigned r, unsigned lane, int64_t i, int64_t j) {
    set<float>(w, in.out(r), lane, sums[i * n + j]);
  });
  return true;
}

/// Marks registers as used by a product; what anything else accessed has to be
/// fenced (section 9.7.15.7.1, "wgmma.fence").
bool claim(Warp &w, const Instr &in, const Operand &operand, uint8_t as) {
  RegisterState &state = w.states[operand.slot];
  const std::string &name = w.block.kernel.names32[operand.slot];
  if (w.fences == 0 || state.fence == w.fences) {
    w.fail(in, "uses register " + name +
                   " without 'wgmma.fence' since it was "
                   "accessed");
    return false;
  }
  if (state.inFlight & ~as) {
    w.fail(in,
           Twine("uses register ") + name + " as " +
               (as == RegisterState::Accumulator ? "accumulator" : "operand") +
               ", which a product in flight uses in another way");
    return false;
  }
  if (!state.inFlight)
    w.inFlight.push_back(operand.slot);
  state.inFlight |= as;
  state.batch = w.openBatch;
  return true;
}

/// The warps of a warp group execute the same products.
bool agree(Warp &w, const Instr &in, uint64_t a, uint64_t b, bool accumulate) {
  WarpGroupState &group = w.block.groups[w.index / 4];
  uint32_t number = w.productCount++;
  if (number == group.first + group.issues.size()) {
    group.issues.push_back({in.line, a, b, accumulate, 1});
    return true;
  }
  WarpGroupState::Issue &issue = group.issues[number - group.first];
  if (issue.line != in.line || issue.a != a || issue.b != b ||
      issue.accumulate != accumulate) {
    w.fail(in, issue.line != in.line
                   ? "is product " + Twine(number) +
                         " of its warp; that of another one is in line " +
                         Twine(issue.line)
                   : Twine("has other operands in another warp of its warp "
                           "group"));
    return false;
  }
  if (++issue.seen == 4) {
    group.issues.pop_front();
    ++group.first;
  }
  return true;
}

/// wgmma.mma_async (section 9.7.15.5.2).
Step runProduct(Warp &w, const Instr &in, uint32_t mask) {
  const auto &product = static_cast<const ProductExtra &>(*in.extra);
  if (w.block.warps.size() < (w.index / 4 + 1) * 4)
    return w.fail(in, "expects a warp group of 128 threads");
  unsigned next = product.aRegisters();
  std::optional<uint64_t> a = 0, b;
  if (!product.aInRegisters)
    a = getUniform(w, in.in(next++), mask);
  b = getUniform(w, in.in(next++), mask);
  if (!a || !b)
    return w.fail(in, "has a descriptor that differs between lanes");
  uint32_t scale = getPred(w, in.in(next));
  if (scale != 0 && scale != kAllLanes)
    return w.fail(in, "has a scale that differs between lanes");
  for (unsigned r = 0; r < in.results; ++r)
    if (!claim(w, in, in.out(r), RegisterState::Accumulator))
      return Step::Fail;
  for (unsigned r = 0; r < product.aRegisters(); ++r)
    if (!claim(w, in, in.in(r), RegisterState::Operand))
      return Step::Fail;
  if (!agree(w, in, *a, *b, scale != 0))
    return Step::Fail;
  w.productsOpen = true;
  ++w.block.counts.products;
  return compute(w, in, product, *a, *b, scale != 0) ? Step::Next : Step::Fail;
}

/// Section 9.7.15.7.1.
Step runFence(Warp &w, const Instr &, uint32_t) {
  ++w.fences;
  return Step::Next;
}

/// Section 9.7.15.7.2.
Step runCommit(Warp &w, const Instr &, uint32_t) {
  w.block.groups[w.index / 4].issuing[w.openBatch++].join(w.clock);
  w.productsOpen = false;
  w.advance();
  return Step::Next;
}

/// Section 9.7.15.7.3. All warps of the warp group have issued what one of them
/// waits for: they do it together.
Step runWait(Warp &w, const Instr &in, uint32_t) {
  int64_t done = int64_t(w.openBatch) - 1 - in.imm[0];
  if (done <= 0)
    return Step::Next;
  unsigned first = w.index / 4 * 4;
  for (unsigned i = first; i < first + 4 && i < w.block.warps.size(); ++i)
    if (w.block.warps[i]->openBatch <= done)
      return w.wait("for products of warp " + Twine(i));
  w.clock.raise(w.block.shared.agents.ofProducts(first), uint32_t(done));
  // A product is complete when all warps have issued it. What is known of a
  // batch is known of those before.
  auto &issuing = w.block.groups[w.index / 4].issuing;
  w.clock.join(issuing[done]);
  constexpr int64_t kKept = 64;
  if (done > kKept)
    issuing.erase(uint32_t(done - kKept));
  llvm::erase_if(w.inFlight, [&](uint32_t slot) {
    if (w.states[slot].batch > done)
      return false;
    w.states[slot].inFlight = RegisterState::Free;
    return true;
  });
  return Step::Next;
}

std::optional<Element> takeElement(Decoder &d) {
  int element = d.takeOneOf({"f16", "bf16", "e4m3", "e5m2", "s8", "u8"});
  return element < 0 ? std::nullopt : std::optional(Element(element));
}

/// An operand that is 1, or -1 if a number is negated; 0 or 1 of a bit.
bool takeConstant(Decoder &d, size_t arg, int64_t low, bool &isLow) {
  int64_t value;
  if (!d.constant(arg, value))
    return false;
  isLow = value == low;
  return value == low || value == 1 ||
         d.fail("expects operand " + Twine(arg + 1) + " to be " + Twine(low) +
                " or 1, got " + Twine(value));
}

bool decodeMma(Decoder &d) {
  auto product = std::make_shared<ProductExtra>();
  d.instr.extra = product;
  d.instr.isProduct = true;
  d.runTogether(runProduct);
  if (!d.take("sync") || !d.take("aligned"))
    return d.fail("has a form that the executor does not know");
  llvm::StringRef shape = d.takeWord();
  shape.consume_front("m64n");
  if (shape.consumeInteger(10, product->n) || !shape.consume_front("k") ||
      shape.consumeInteger(10, product->k) || !shape.empty() ||
      product->n % 8 || product->n < 8 || product->n > 256)
    return d.fail("has a shape that the executor does not know");
  Type type = d.takeType();
  std::optional<Element> a = takeElement(d), b = takeElement(d);
  if (!a || !b || (type != Type::F32 && type != Type::S32) ||
      (type == Type::S32) != (*a >= Element::S8) ||
      (*a >= Element::S8) != (*b >= Element::S8) ||
      (*a <= Element::BF16 ? *a != *b : *b <= Element::BF16) ||
      product->k != (*a <= Element::BF16 ? 16u : 32u))
    return d.fail("has types that the executor does not know");
  product->a = *a;
  product->b = *b;
  const std::vector<Arg> &args = d.getStatement().args;
  if (args.size() < 4)
    return d.fail("expects at least 4 operands");
  product->aInRegisters = args[1].kind == Arg::List;
  bool hasScales = type == Type::F32, is16 = product->k == 16;
  size_t wanted =
      4 + 2 * hasScales + (is16 ? (product->aInRegisters ? 1 : 2) : 0);
  if (!d.finish(wanted))
    return false;
  if (d.elements(0).size() != product->n / 2 ||
      (product->aInRegisters && args[1].list.size() != 4))
    return d.fail("expects " + Twine(product->n / 2) +
                  " registers of the accumulator");
  for (const Arg &arg : d.elements(0))
    if (!d.result(arg, type))
      return false;
  if (product->aInRegisters) {
    for (const Arg &arg : args[1].list)
      if (!d.operand(arg, Type::B32))
        return false;
  } else if (!d.operand(1, Type::B64)) {
    return false;
  }
  if (!d.operand(2, Type::B64) || !d.operand(3, Type::Pred))
    return false;
  if (hasScales && (!takeConstant(d, 4, -1, product->negateA) ||
                    !takeConstant(d, 5, -1, product->negateB)))
    return false;
  if (!is16)
    return true;
  bool straight = true;
  if (!product->aInRegisters) {
    if (!takeConstant(d, 6, 0, straight))
      return false;
    product->transposeA = !straight;
  }
  if (!takeConstant(d, wanted - 1, 0, straight))
    return false;
  product->transposeB = !straight;
  return true;
}

bool decodeWgmma(Decoder &d) {
  if (d.take("mma_async"))
    return decodeMma(d);
  int kind = d.takeOneOf({"fence", "commit_group", "wait_group"});
  if (kind < 0 || !d.take("sync") || !d.take("aligned"))
    return d.fail("has a form that the executor does not know");
  d.runTogether(kind == 0 ? runFence : kind == 1 ? runCommit : runWait);
  return d.finish(kind == 2) && (kind != 2 || d.constant(0, d.instr.imm[0]));
}

} // namespace

void fa3::interp::ptx::addProducts(Table &table) {
  table["wgmma"] = decodeWgmma;
}
