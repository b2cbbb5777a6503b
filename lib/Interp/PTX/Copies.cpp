//===- Copies.cpp - bulk and tensor copies --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Section 9.7.9.25, "Asynchronous copy", with tensor maps (section 5.5,
// "Tensors"). A copy is done where it is issued; what
// may not rely on that is found by its clocks (Shadow.h).
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace fa3::interp;
using namespace fa3::interp::ptx;
using llvm::Twine;

namespace {

/// Bytes of a chunk that swizzling moves as a whole.
constexpr int64_t kChunk = 16;

/// imm[1]: rank, 0 without tensor map; imm[2]: whether it adds.
struct CopyExtra : Extra {
  bool toShared = false;
  Type reduction = Type::None; ///< of a bulk copy without tensor map
};

/// Where a copy happens: what it may know, and whose it is.
struct Copier {
  Warp &w;
  const Instr &in;
  Access access;
  Step fail(const Twine &what) { return w.fail(in, what); }
  bool check(int64_t place, int64_t bytes, bool writes) {
    return touch(w, in, place, bytes, access, writes, /*async=*/true);
  }
};

Copier makeLoad(Warp &w, const Instr &in, const MbarrierState &state) {
  uint32_t phase = uint32_t(state.barrier.getPhase()) + 1;
  unsigned agent = w.block.shared.agents.ofLoads(state.number);
  return {w, in, {agent, phase, w.clock, in.line}};
}
Copier makeStore(Warp &w, const Instr &in, unsigned lane) {
  w.storesIssued = true;
  w.storeLanes |= uint32_t(1) << lane;
  unsigned agent = w.block.shared.agents.ofStores(w.index);
  return {w, in, {agent, w.openStores, w.clock, in.line}};
}

/// The tensor map at a generic address; null after an error.
const TensorMap *findMap(Warp &w, const Instr &in, uint64_t address,
                         TensorMap &map) {
  const uint8_t *bytes = nullptr;
  if (address >= kParamWindow && address < kSharedWindow) {
    if (address - kParamWindow + sizeof(map) <= w.block.params.size())
      bytes = w.block.params.data() + (address - kParamWindow);
  } else if (w.block.memory.contains(address, sizeof(map))) {
    bytes = reinterpret_cast<const uint8_t *>(address);
  }
  if (bytes)
    std::memcpy(&map, bytes, sizeof(map));
  if (bytes && map.magic == TensorMap::kMagic)
    return &map;
  w.fail(in, "expects a tensor map at address 0x" + Twine::utohexstr(address));
  return nullptr;
}

/// Adds numbers of an array to those in memory.
void add(Type type, uint8_t *to, const uint8_t *from, int64_t bytes) {
  int64_t each = getBits(type) / 8;
  for (int64_t i = 0; i < bytes; i += each) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, to + i, each);
    std::memcpy(&b, from + i, each);
    a = addBits(type, a, b);
    std::memcpy(to + i, &a, each);
  }
}
Type getType(const TensorMap &map) {
  if (map.elementBytes == 2)
    return map.isFloat == 1 ? Type::F16 : Type::BF16;
  return map.elementBytes == 4 && map.isFloat ? Type::F32 : Type::U32;
}

/// Copies the box of a map at coordinates to shared memory or back.
Step copyBox(Copier &c, const TensorMap &map, const int64_t *start,
             int64_t place, bool toShared, bool adds) {
  int64_t size = map.elementBytes, width = map.box[0] * size, rows = 1;
  for (unsigned dim = 1; dim < map.rank; ++dim)
    rows *= map.box[dim];
  if (map.swizzle && width != map.swizzle)
    return c.fail("copies rows of " + Twine(width) +
                  " bytes with a swizzle of " + Twine(unsigned(map.swizzle)));
  if (place % 128)
    return c.fail("expects shared memory on 128 bytes, got address " +
                  Twine(place + kSharedStart));
  if (toShared && !c.check(place, rows * width, /*writes=*/true))
    return Step::Fail;
  SharedMemory &memory = c.w.block.shared.memory;
  int64_t before = std::clamp<int64_t>(-start[0], 0, map.box[0]);
  int64_t inside = std::max<int64_t>(
      0,
      std::min<int64_t>(map.box[0], int64_t(map.dims[0]) - start[0]) - before);
  llvm::SmallVector<uint8_t, 256> line(width);
  auto locate = [&](int64_t row, int64_t byte) {
    int64_t linear = place + row * width + byte;
    return map.swizzle ? SharedMemory::swizzle(linear, map.swizzle) : linear;
  };
  for (int64_t row = 0; row < rows; ++row) {
    bool some = inside > 0;
    uint64_t address = map.address + (start[0] + before) * size;
    for (int64_t dim = 1, rest = row; dim < map.rank; ++dim) {
      int64_t index = start[dim] + rest % map.box[dim];
      rest /= map.box[dim];
      some &= index >= 0 && uint64_t(index) < map.dims[dim];
      address += index * int64_t(map.strides[dim - 1]);
    }
    if (some && !c.w.block.memory.contains(address, inside * size))
      return c.fail("has a tensor map that reaches out of its allocation");
    auto *global = reinterpret_cast<uint8_t *>(address);
    int64_t first = before * size, last = (before + inside) * size;
    if (toShared) {
      std::fill(line.begin(), line.end(), 0);
      if (some)
        std::memcpy(line.data() + first, global, last - first);
      for (int64_t byte = 0; byte < width; byte += kChunk)
        std::memcpy(memory.at(locate(row, byte)), line.data() + byte,
                    std::min(kChunk, width - byte));
      continue;
    }
    if (!some)
      continue;
    for (int64_t byte = first / kChunk * kChunk; byte < last; byte += kChunk) {
      int64_t from = std::max(first, byte), to = std::min(last, byte + kChunk);
      int64_t at = locate(row, byte) + from - byte;
      if (!c.check(at, to - from, /*writes=*/false))
        return Step::Fail;
      std::memcpy(line.data() + from, memory.at(at), to - from);
    }
    if (adds)
      add(getType(map), global, line.data() + first, last - first);
    else
      std::memcpy(global, line.data() + first, last - first);
  }
  return Step::Next;
}

/// cp.async.bulk.tensor (section 9.7.9.25.5.2), cp.reduce.async.bulk.tensor
/// (9.7.9.25.5.3). Operands of loads: shared memory, map, mbarrier,
/// coordinates; of stores: map, shared memory, coordinates.
Step runTensor(Warp &w, const Instr &in, uint32_t mask) {
  const auto &copy = static_cast<const CopyExtra &>(*in.extra);
  return tryLanes(mask, [&](unsigned lane) {
    uint64_t target = getBits(w, in.in(0), lane),
             source = getBits(w, in.in(1), lane);
    TensorMap storage;
    const TensorMap *map =
        findMap(w, in, copy.toShared ? source : target, storage);
    if (!map)
      return Step::Fail;
    if (map->rank != in.imm[1])
      return w.fail(in, "has " + Twine(in.imm[1]) +
                            " coordinates, its tensor map " +
                            Twine(unsigned(map->rank)));
    unsigned first = copy.toShared ? 3 : 2;
    int64_t start[5];
    for (int64_t i = 0; i < in.imm[1]; ++i)
      start[i] = get<int32_t>(w, in.in(first + i), lane);
    ++w.block.counts.copies;
    if (!copy.toShared) {
      Copier copier = makeStore(w, in, lane);
      return copyBox(copier, *map, start, Block::toShared(source), false,
                     in.imm[2]);
    }
    MbarrierState *barrier =
        findMbarrier(w, in, getBits(w, in.in(2), lane), /*async=*/true);
    if (!barrier)
      return Step::Fail;
    Copier copier = makeLoad(w, in, *barrier);
    Step copied =
        copyBox(copier, *map, start, Block::toShared(target), true, false);
    int64_t bytes = map->elementBytes;
    for (unsigned dim = 0; dim < map->rank; ++dim)
      bytes *= map->box[dim];
    return copied == Step::Next ? completeBytes(w, in, *barrier, bytes)
                                : copied;
  });
}

/// cp.async.bulk (section 9.7.9.25.4.1), cp.reduce.async.bulk (9.7.9.25.4.2),
/// without tensor map: target, source, size, and the mbarrier of a load.
Step runBulk(Warp &w, const Instr &in, uint32_t mask) {
  const auto &copy = static_cast<const CopyExtra &>(*in.extra);
  return tryLanes(mask, [&](unsigned lane) {
    uint64_t target = getBits(w, in.in(0), lane),
             source = getBits(w, in.in(1), lane);
    int64_t bytes = get<uint32_t>(w, in.in(2), lane);
    uint64_t global = copy.toShared ? source : target;
    int64_t place = Block::toShared(copy.toShared ? target : source);
    if (bytes % 16 || global % 16 || place % 16)
      return w.fail(in, "expects addresses and a size on 16 bytes");
    if (!w.block.memory.contains(global, bytes))
      return w.fail(in, "copies " + Twine(bytes) + " bytes at address 0x" +
                            Twine::utohexstr(global) +
                            ", which is in no allocation");
    ++w.block.counts.copies;
    auto *memory = reinterpret_cast<uint8_t *>(global);
    if (copy.toShared) {
      MbarrierState *barrier =
          findMbarrier(w, in, getBits(w, in.in(3), lane), /*async=*/true);
      if (!barrier)
        return Step::Fail;
      Copier copier = makeLoad(w, in, *barrier);
      if (!copier.check(place, bytes, /*writes=*/true))
        return Step::Fail;
      std::memcpy(w.block.shared.memory.at(place), memory, bytes);
      return completeBytes(w, in, *barrier, bytes);
    }
    Copier copier = makeStore(w, in, lane);
    if (!copier.check(place, bytes, /*writes=*/false))
      return Step::Fail;
    const uint8_t *data = w.block.shared.memory.at(place);
    if (in.imm[2])
      add(copy.reduction, memory, data, bytes);
    else
      std::memcpy(memory, data, bytes);
    return Step::Next;
  });
}

/// Groups are of a thread. Threads that have not issued any have none; those
/// that have need not be one, but go on together.
bool hasStores(Warp &w, const Instr &in, uint32_t mask, Step &step) {
  step =
      (w.storeLanes & mask) && (w.storeLanes & ~mask)
          ? w.fail(in, "is executed by some of the threads of a warp that have "
                       "issued bulk stores, not by all")
          : Step::Next;
  return (w.storeLanes & mask) && step == Step::Next;
}

/// Section 9.7.9.25.6.1.
Step runCommit(Warp &w, const Instr &in, uint32_t mask) {
  Step step;
  if (!hasStores(w, in, mask, step))
    return step;
  ++w.openStores;
  w.storesIssued = false;
  return Step::Next;
}

/// Section 9.7.9.25.6.2.
Step runWaitGroup(Warp &w, const Instr &in, uint32_t mask) {
  Step step;
  if (!hasStores(w, in, mask, step))
    return step;
  int64_t done = int64_t(w.openStores) - 1 - in.imm[0];
  if (done > w.storesDone) {
    w.storesDone = done;
    w.clock.raise(w.block.shared.agents.ofStores(w.index), done);
  }
  if (!w.storesIssued && w.storesDone + 1 == w.openStores)
    w.storeLanes = 0;
  return Step::Next;
}

/// A policy changes no value.
size_t countArgs(Decoder &d) {
  return d.getStatement().args.size() - d.take("L2::cache_hint");
}

bool decodeTensor(Decoder &d, bool reduces) {
  auto copy = std::make_shared<CopyExtra>();
  d.instr.extra = copy;
  int rank = d.takeOneOf({"1d", "2d", "3d", "4d", "5d"}) + 1;
  copy->toShared =
      !reduces && d.takeOneOf({"shared::cluster", "shared::cta"}) >= 0;
  bool ok = d.take("global");
  if (copy->toShared) {
    d.take("tile");
    ok &= d.take("mbarrier::complete_tx::bytes");
  } else {
    ok &= d.take("shared::cta");
    if (reduces)
      ok &= d.take("add");
    d.take("tile");
    ok &= d.take("bulk_group");
  }
  size_t args = countArgs(d);
  if (!ok || !rank || args != (copy->toShared ? 3u : 2u))
    return d.fail("has a form that the executor does not know");
  if (!d.finish(d.getStatement().args.size()))
    return false;
  const std::vector<Arg> &all = d.getStatement().args;
  const Arg &tensor = all[copy->toShared ? 1 : 0];
  if (tensor.kind != Arg::Memory || tensor.list.size() != 2 ||
      tensor.list[1].kind != Arg::List ||
      tensor.list[1].list.size() != size_t(rank))
    return d.fail("expects a tensor map and " + Twine(rank) + " coordinates");
  for (unsigned i = 0; i < args; ++i)
    if (!d.address(i))
      return false;
    else if (d.instr.imm[0])
      return d.fail("has an offset behind an address");
  for (const Arg &coordinate : tensor.list[1].list)
    if (!d.operand(coordinate, Type::S32))
      return false;
  d.instr.imm[1] = rank;
  d.instr.imm[2] = reduces;
  d.instr.run = runTensor;
  return true;
}

bool decodeBulk(Decoder &d, bool reduces) {
  auto copy = std::make_shared<CopyExtra>();
  d.instr.extra = copy;
  copy->toShared =
      !reduces && d.takeOneOf({"shared::cluster", "shared::cta"}) >= 0;
  bool ok = d.take("global");
  if (copy->toShared)
    ok &= d.take("mbarrier::complete_tx::bytes");
  else
    ok &= d.take("shared::cta") && d.take("bulk_group");
  size_t args = countArgs(d);
  if (reduces) {
    ok &= d.take("add");
    d.take("noftz");
    copy->reduction = d.takeType();
    ok &= getBits(copy->reduction) == 16 || getBits(copy->reduction) == 32;
  }
  if (!ok || args != (copy->toShared ? 4u : 3u) ||
      !d.finish(d.getStatement().args.size()))
    return d.fail("has a form that the executor does not know");
  for (unsigned i : {0u, 1u})
    if (!d.address(i) || d.instr.imm[0])
      return d.fail("has an offset behind an address");
  if (!d.operand(2, Type::U32) ||
      (copy->toShared && (!d.address(3) || d.instr.imm[0])))
    return d.fail("has an offset behind an address");
  d.instr.imm[2] = reduces;
  d.instr.run = runBulk;
  return true;
}

bool decodeCopy(Decoder &d) {
  bool reduces = d.take("reduce");
  if (!d.take("async") || !d.take("bulk"))
    return d.fail("is a copy that the executor does not know");
  if (d.take("commit_group")) {
    d.instr.run = runCommit;
    return d.finish(0);
  }
  if (d.take("wait_group")) {
    d.take("read");
    d.instr.run = runWaitGroup;
    return d.finish(1) && d.constant(0, d.instr.imm[0]);
  }
  return d.take("tensor") ? decodeTensor(d, reduces) : decodeBulk(d, reduces);
}

} // namespace

void fa3::interp::ptx::addCopies(Table &table) { table["cp"] = decodeCopy; }
