//===- RingProtocolTest.cpp - the table of rings --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/Analysis/RingProtocol.h"
#include "fa3/InitAllDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

#define RING_TYPE "!warp.ring<2, [tensor<64x64xf16>]>"
#define WRITABLE "!warp.slot<write, [tensor<64x64xf16>]>"
#define READABLE "!warp.slot<read, [tensor<64x64xf16>]>"
#define VIEW_TYPE "!tile.view<tensor<64x64xf16>>"
#define DECLARE "%r = warp.ring : " RING_TYPE " "
// A slot that is held for writing, and the ways to fill it.
#define WRITER                                                                 \
  "%w = warp.cursor write %r : " RING_TYPE                                     \
  " %s, %n = warp.acquire %r[%w] : " RING_TYPE ", !warp.cursor<write>"         \
  " %v = tile.view %s[%c0, %c0] : " WRITABLE " -> " VIEW_TYPE " "
#define FILL_COPY                                                              \
  "tile.load.async %a[%c0, %c0], %v : memref<?x?xf16>, " VIEW_TYPE " "
#define FILL_WRITE "tile.write %x, %v : tensor<64x64xf16>, " VIEW_TYPE " "
// A slot that is held for reading, and the ways to drain it.
#define READER                                                                 \
  "%q = warp.cursor read %r : " RING_TYPE                                      \
  " %h, %m = warp.acquire %r[%q] : " RING_TYPE ", !warp.cursor<read>"          \
  " %y = tile.view %h[%c0, %c0] : " READABLE " -> " VIEW_TYPE " "
#define DRAIN_PRODUCT                                                          \
  "%d, %f = tile.dot.async %x, %y, %z lhs mk rhs kn : "                        \
  "tensor<64x64xf16>, " VIEW_TYPE                                              \
  ", tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>> "
#define DRAIN_READ "%e = tile.read %y : " VIEW_TYPE " -> tensor<64x64xf16> "
#define DRAIN_STORE                                                            \
  "%t = tile.store.async %y, %a[%c0, %c0] : " VIEW_TYPE ", memref<?x?xf16> "
#define DRAIN_REWRITE "tile.write %x, %y : tensor<64x64xf16>, " VIEW_TYPE " "

namespace {
struct RingProtocolTest : testing::Test {
  RingProtocolTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The protocol of the only ring of a kernel, in words.
  std::string describe(StringRef rings, StringRef groups) {
    std::string text =
        ("gpu.module @m { gpu.func @k(%a: memref<?x?xf16>) kernel {"
         "%c0 = arith.constant 0 : index "
         "%x = arith.constant dense<0.0> : tensor<64x64xf16> "
         "%z = arith.constant dense<0.0> : tensor<64x64xf32> " +
         rings + "warp.specialize {" + groups + "} gpu.return } }")
            .str();
    // Slots are not given back: that does not matter here.
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
    if (!module)
      return "does not parse";
    RingProtocols protocols(*module);
    std::string words;
    llvm::raw_string_ostream os(words);
    module->walk([&](warp::RingOp ring) { os << protocols.get(ring); });
    return words;
  }

  /// That of a ring between a group that fills it and two that drain it.
  std::string between(StringRef fill, StringRef drain) {
    return describe(DECLARE, ("warp.group @load warps 1 (%g) {" + fill +
                              "} warp.group @math warps 4 replicas 2 (%g) {" +
                              drain + "}")
                                 .str());
  }

  MLIRContext context;
};
} // namespace

TEST_F(RingProtocolTest, CopiesForProducts) {
  EXPECT_EQ(between(WRITER FILL_COPY, READER DRAIN_PRODUCT),
            "filled by copies: 1 and their bytes; drained by products: 2");
}

TEST_F(RingProtocolTest, CopiesForThreads) {
  EXPECT_EQ(between(WRITER FILL_COPY, READER DRAIN_READ),
            "filled by copies: 1 and their bytes; drained by threads: 2");
  EXPECT_EQ(between(WRITER FILL_COPY, READER DRAIN_PRODUCT DRAIN_READ),
            "filled by copies: 1 and their bytes; drained by products and "
            "threads: 2");
}

TEST_F(RingProtocolTest, CopiesThatAreWrittenOverAndStored) {
  EXPECT_EQ(
      between(WRITER FILL_COPY, READER DRAIN_PRODUCT DRAIN_REWRITE DRAIN_STORE),
      "filled by copies: 1 and their bytes; drained by products and "
      "stores: 2; written over by readers");
}

TEST_F(RingProtocolTest, ThreadsForProducts) {
  EXPECT_EQ(between(WRITER FILL_WRITE, READER DRAIN_PRODUCT),
            "filled by threads: 1; drained by products: 2");
}

TEST_F(RingProtocolTest, EveryReplicaThatWritesArrives) {
  EXPECT_EQ(describe(DECLARE,
                     "warp.group @a warps 4 replicas 3 (%g) {" WRITER FILL_WRITE
                     "}"
                     "warp.group @b warps 4 (%g) {" READER DRAIN_PRODUCT "}"),
            "filled by threads: 3; drained by products: 1");
}

TEST_F(RingProtocolTest, ReplicaZeroFillsForItsGroup) {
  EXPECT_EQ(
      describe(DECLARE,
               "warp.group @math warps 4 replicas 2 (%g) {"
               "%w = warp.cursor write %r leader : " RING_TYPE
               " %s, %n = warp.acquire %r[%w] : " RING_TYPE
               ", !warp.cursor<write>"
               " %v = tile.view %s[%c0, %c0] : " WRITABLE " -> " VIEW_TYPE
               " " FILL_COPY READER DRAIN_PRODUCT "}"),
      "filled by copies of replica 0: 1 and their bytes; drained by products: "
      "2");
}

TEST_F(RingProtocolTest, ARingOfOneGroup) {
  EXPECT_EQ(describe("",
                     "warp.group @math warps 4 replicas 2 (%g) {" DECLARE WRITER
                         FILL_WRITE READER DRAIN_STORE "}"),
            "private, filled by threads; drained by stores");
}

TEST_F(RingProtocolTest, CopiesAndThreadsTogether) {
  EXPECT_EQ(between(WRITER FILL_COPY FILL_WRITE, READER DRAIN_PRODUCT),
            "filled by copies and threads: 1 and their bytes; drained by "
            "products: 2");
}

TEST_F(RingProtocolTest, Tokens) {
  StringRef groups = "warp.group @a warps 4 (%g) {"
                     "%w = warp.cursor write %r : !warp.ring<1, [!warp.token]>}"
                     "warp.group @b warps 4 replicas 2 (%g) {"
                     "%q = warp.cursor read %r : !warp.ring<1, [!warp.token]>}";
  EXPECT_EQ(describe("%r = warp.ring : !warp.ring<1, [!warp.token]> ", groups),
            "filled by arrivals: 1; drained by arrivals: 2");
}
