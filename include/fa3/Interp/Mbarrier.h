//===- Mbarrier.h - model of an mbarrier object -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Phase, pending arrivals and transaction bytes as the PTX ISA defines them
// ("mbarrier"). Plain data.
//===----------------------------------------------------------------------===//

#ifndef FA3_INTERP_MBARRIER_H
#define FA3_INTERP_MBARRIER_H

#include <cstdint>

namespace fa3::interp {

class Mbarrier {
public:
  explicit Mbarrier(int64_t arrivals) : arrivals(arrivals), pending(arrivals) {}

  /// Largest magnitude of the transaction count.
  static constexpr int64_t kMaxBytes = (int64_t(1) << 20) - 1;

  /// One arrival. False if the phase has no arrival left to come.
  bool arrive();
  /// Announces bytes of the current phase. False if the count overflows.
  bool expect(int64_t bytes);
  /// Bytes have landed. False if the count underflows, or if the phase has all
  /// arrivals and fewer bytes to come.
  bool complete(int64_t bytes);

  /// Whether the phase of the given parity has completed: true for the phase
  /// before the current one, so a fresh barrier has completed parity 1.
  bool hasCompleted(unsigned parity) const {
    return (phase & 1) != (parity & 1);
  }

  int64_t getPhase() const { return phase; }
  int64_t getPendingArrivals() const { return pending; }
  int64_t getPendingBytes() const { return bytes; }

private:
  void advance();

  int64_t arrivals, pending, bytes = 0, phase = 0;
};

} // namespace fa3::interp

#endif // FA3_INTERP_MBARRIER_H
