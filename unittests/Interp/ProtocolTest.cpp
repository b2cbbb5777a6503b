//===- ProtocolTest.cpp - all schedules of small protocols ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/ProtocolSearch.h"
#include "gtest/gtest.h"

using namespace fa3::interp;

namespace {

Event on(Event::Kind kind, int64_t barrier, int64_t amount) {
  Event event{kind};
  event.barrier = barrier;
  event.amount = amount;
  return event;
}
Event access(Event::Kind kind, int64_t begin, int64_t end, int64_t amount = 0) {
  Event event{kind};
  event.amount = amount;
  event.ranges.push_back({begin, end});
  return event;
}
Event load(int64_t begin, int64_t end, int64_t barrier) {
  Event event = access(Event::Load, begin, end);
  event.barrier = barrier;
  return event;
}

constexpr int64_t kFull = 1000, kEmpty = 1008;

/// A loader fills one slot of 16 bytes `trips` times, `readers` groups read it
/// by products.
Protocol makeRing(int64_t trips, unsigned readers) {
  Protocol protocol;
  protocol.agents.resize(2 + readers);
  std::vector<Event> &body = protocol.agents[0].events;
  body = {on(Event::Init, kFull, 1), on(Event::Init, kEmpty, readers),
          on(Event::Fork, 0, 2 + readers), on(Event::Join, 0, 2 + readers)};
  for (int64_t i = 0; i < trips; ++i) {
    std::vector<Event> &loader = protocol.agents[1].events;
    loader.push_back(on(Event::Wait, kEmpty, (i + 1) & 1));
    loader.push_back(on(Event::Expect, kFull, 16));
    loader.push_back(load(0, 16, kFull));
    for (unsigned r = 0; r < readers; ++r) {
      std::vector<Event> &reader = protocol.agents[2 + r].events;
      reader.push_back(on(Event::Wait, kFull, i & 1));
      reader.push_back(access(Event::AsyncRead, 0, 16, i + 1));
      Event retire{Event::Retire};
      retire.amount = i + 1;
      reader.push_back(retire);
      reader.push_back(on(Event::Arrive, kEmpty, 1));
    }
  }
  return protocol;
}

TEST(Protocol, RingIsFine) {
  for (int64_t trips : {0, 1, 2, 3, 7})
    for (unsigned readers : {1, 2, 3}) {
      Exploration result = explore(makeRing(trips, readers), 100000);
      EXPECT_EQ(result.error, "");
      EXPECT_TRUE(result.complete);
    }
}

TEST(Protocol, LimitIsNotComplete) {
  Exploration result = explore(makeRing(7, 3), 10);
  EXPECT_EQ(result.error, "");
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.states, 10);
}

TEST(Protocol, MissingWaitReadsWhileLanding) {
  Protocol protocol = makeRing(1, 1);
  std::vector<Event> &reader = protocol.agents[2].events;
  reader.erase(reader.begin());
  EXPECT_NE(explore(protocol, 1000).error, "");
}

TEST(Protocol, EarlyArrivalIsOverwritten) {
  Protocol protocol = makeRing(2, 1);
  std::vector<Event> &reader = protocol.agents[2].events;
  std::swap(reader[2], reader[3]);
  EXPECT_NE(explore(protocol, 1000).error.find("in flight reads"),
            std::string::npos);
}

TEST(Protocol, MissingArrivalDeadlocks) {
  Protocol protocol = makeRing(2, 2);
  std::vector<Event> &reader = protocol.agents[3].events;
  reader.erase(reader.begin() + 3);
  Exploration result = explore(protocol, 1000);
  EXPECT_NE(result.error.find("wait for each other"), std::string::npos);
  EXPECT_GE(result.places.size(), 2u);
}

TEST(Protocol, LastArrivalIsNotNeeded) {
  Protocol protocol = makeRing(3, 2);
  protocol.agents[2].events.pop_back();
  Exploration result = explore(protocol, 100000);
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.complete);
}

TEST(Protocol, OneArrivalForTwoReaders) {
  Protocol protocol = makeRing(3, 2);
  protocol.agents[0].events[1].amount = 1;
  EXPECT_NE(explore(protocol, 100000).error, "");
}

/// The elected thread of a group of four warps runs ahead of the others: they
/// wait by parity for a phase that two laps later looks like the one to come.
TEST(Protocol, WarpsLagBehindTheirLeader) {
  auto make = [](bool meets) {
    Protocol protocol = makeRing(3, 1);
    std::vector<Event> &reader = protocol.agents[2].events;
    reader.clear();
    Event sync = on(Event::Sync, 1, 128);
    sync.threads = 128;
    for (int64_t i = 0; i < 3; ++i) {
      reader.push_back(on(Event::Wait, kFull, i & 1));
      reader.back().threads = 128;
      if (meets)
        reader.push_back(sync);
      reader.push_back(on(Event::Arrive, kEmpty, 1));
    }
    return protocol;
  };
  EXPECT_NE(explore(make(false), 1000).error.find("all warps"),
            std::string::npos);
  EXPECT_EQ(explore(make(true), 1000).error, "");
}

TEST(Protocol, FewerBytesThanCopied) {
  Protocol protocol = makeRing(1, 1);
  protocol.agents[1].events[1].amount = 8;
  EXPECT_NE(explore(protocol, 1000).error.find("does not expect"),
            std::string::npos);
}

/// Two groups write one place and one of them reads it: the order decides.
TEST(Protocol, ReadsDependOnTheOrder) {
  Protocol protocol;
  protocol.agents.resize(3);
  protocol.agents[0].events = {on(Event::Fork, 0, 3), on(Event::Join, 0, 3)};
  protocol.agents[1].events = {access(Event::Write, 0, 8),
                               access(Event::Write, 64, 72)};
  Event sync = on(Event::Sync, 1, 128);
  sync.threads = 128;
  protocol.agents[2].events = {access(Event::Write, 4, 12), sync,
                               access(Event::Read, 4, 12)};
  EXPECT_NE(explore(protocol, 1000).error.find("another order"),
            std::string::npos);
  // Ordered by a barrier both take part in, it does not.
  sync.amount = 256;
  protocol.agents[1].events.push_back(sync);
  protocol.agents[2].events = {sync, access(Event::Write, 4, 12),
                               access(Event::Read, 4, 12)};
  Exploration result = explore(protocol, 1000);
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.complete);
}

TEST(Protocol, RegistersRunOut) {
  Protocol protocol;
  protocol.agents.resize(3);
  protocol.agents[0].events = {on(Event::Fork, 0, 3), on(Event::Join, 0, 3)};
  protocol.agents[1].events = {on(Event::Registers, 0, -1024)};
  protocol.agents[2].events = {on(Event::Registers, 0, 1024)};
  EXPECT_EQ(explore(protocol, 1000).error, "");
  protocol.agents[2].events = {on(Event::Registers, 0, 1032)};
  EXPECT_NE(explore(protocol, 1000).error, "");
}

TEST(Protocol, EqualBlocksHaveEqualHashes) {
  EXPECT_EQ(makeRing(2, 1).getHash(), makeRing(2, 1).getHash());
  EXPECT_NE(makeRing(2, 1).getHash(), makeRing(3, 1).getHash());
}

} // namespace
