//===- Fifo.cpp - state of a ring -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Fifo.h"

using namespace fa3::interp;

Fifo::Fifo(int64_t depth, unsigned parts, unsigned readers, int64_t initial)
    : depth(depth), initial(initial) {
  for (int64_t i = 0; i < depth; ++i) {
    // A place that is free holds an entry of the round before, done with.
    bool filled = i < initial;
    entries.push_back({filled ? i : i - depth, llvm::BitVector(parts, filled),
                       llvm::BitVector(readers, !filled)});
  }
}

bool Fifo::canWrite(int64_t position) const {
  const Entry &e = entry(position);
  return e.position == position ||
         (e.position == position - depth && e.released.all());
}

bool Fifo::open(int64_t position) {
  Entry &e = entries[position % depth];
  if (e.position == position)
    return false;
  e.position = position;
  e.published.reset();
  e.released.reset();
  return true;
}

bool Fifo::publish(int64_t position, unsigned part) {
  Entry &e = entries[position % depth];
  if (e.position != position || e.published.test(part))
    return false;
  e.published.set(part);
  return true;
}

bool Fifo::canRead(int64_t position) const {
  const Entry &e = entry(position);
  return e.position == position && e.published.all();
}

bool Fifo::release(int64_t position, unsigned reader) {
  Entry &e = entries[position % depth];
  if (e.position != position || e.released.test(reader))
    return false;
  e.released.set(reader);
  return true;
}

llvm::SmallVector<unsigned> Fifo::getReadersHolding(int64_t position) const {
  const Entry &e = entry(position);
  llvm::SmallVector<unsigned> result;
  for (unsigned i = 0; i < e.released.size(); ++i)
    if (!e.released.test(i))
      result.push_back(i);
  return result;
}

llvm::SmallVector<unsigned> Fifo::getPartsMissing(int64_t position) const {
  const Entry &e = entry(position);
  llvm::SmallVector<unsigned> result;
  for (unsigned i = 0; i < e.published.size(); ++i)
    if (e.position != position || !e.published.test(i))
      result.push_back(i);
  return result;
}

int64_t Fifo::getNumUnread() const {
  int64_t count = 0;
  for (const Entry &e : entries)
    count += e.position >= 0 && e.published.all() && !e.released.all();
  return count;
}
