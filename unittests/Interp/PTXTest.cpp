//===- PTXTest.cpp - instructions of PTX, one by one ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/PTXInterpreter.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace fa3::interp;

namespace {

/// A kernel of one warp with %out (64 bits) and registers, whose results go to
/// memory: 32 words a lane.
class Kernel {
public:
  explicit Kernel(uint32_t threads = 32) : threads(threads) {
    out = memory.allocate(32 * 4 * threads);
    std::memset(reinterpret_cast<void *>(out), 0xee, 32 * 4 * threads);
  }

  /// Runs a body; an empty result is success.
  std::string run(const std::string &body) {
    std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                       ".extern .shared .align 1024 .b8 smem[];\n"
                       ".visible .entry k(.param .u64 k_param_0)\n"
                       "{\n"
                       ".reg .pred %p<8>; .reg .b16 %h<8>;\n"
                       ".reg .b32 %r<64>; .reg .b64 %d<16>; .reg .b32 %lane;\n"
                       ".reg .b64 %out;\n"
                       "ld.param.b64 %out, [k_param_0];\n"
                       "mov.u32 %lane, %tid.x;\n"
                       "mul.wide.u32 %d15, %lane, 128;\n"
                       "add.s64 %out, %out, %d15;\n" +
                       body + "\nret;\n}\n";
    std::string error;
    std::shared_ptr<ptx::Module> module = ptx::load(text, error);
    if (!module)
      return error;
    std::vector<uint8_t> params(8);
    std::memcpy(params.data(), &out, 8);
    ptx::Launch launch{1, threads, 4096, params};
    ptx::RunCounts counts;
    options.maxInstructions = 100000;
    ptx::run(*module, "k", launch, memory, options, counts, error);
    return error;
  }

  uint32_t get(unsigned lane, unsigned word = 0) const {
    uint32_t value;
    std::memcpy(&value,
                reinterpret_cast<uint8_t *>(out) + lane * 128 + 4 * word, 4);
    return value;
  }
  float getFloat(unsigned lane, unsigned word = 0) const {
    uint32_t bits = get(lane, word);
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }

  ptx::RunOptions options;

private:
  ptx::GlobalMemory memory;
  uint64_t out;
  uint32_t threads;
};

bool contains(const std::string &text, const std::string &part) {
  return llvm::StringRef(text).contains(part);
}

/// The word that every lane gets from a body that sets %r1.
uint32_t compute(const std::string &body) {
  Kernel kernel;
  EXPECT_EQ(kernel.run(body + "\nst.global.b32 [%out], %r1;"), "");
  return kernel.get(7);
}

TEST(PTX, Integers) {
  EXPECT_EQ(compute("add.s32 %r1, -1, 3;"), 2u);
  EXPECT_EQ(compute("mul.hi.u32 %r1, 0x80000000, 6;"), 3u);
  EXPECT_EQ(compute("mul.hi.s32 %r1, -1, 5;"), 0xffffffffu);
  EXPECT_EQ(compute("mad.lo.s32 %r1, 3, 4, -20;"), uint32_t(-8));
  EXPECT_EQ(compute("min.s32 %r1, -5, 3;"), uint32_t(-5));
  EXPECT_EQ(compute("max.u32 %r1, -5, 3;"), uint32_t(-5));
  EXPECT_EQ(compute("min.relu.s32 %r1, -5, 3;"), 0u);
  EXPECT_EQ(compute("div.s32 %r1, -7, 2;"), uint32_t(-3));
  EXPECT_EQ(compute("rem.s32 %r1, -7, 2;"), uint32_t(-1));
  EXPECT_EQ(compute("mul.wide.s32 %d1, -3, 5; cvt.u32.u64 %r1, %d1;"),
            uint32_t(-15));
}

TEST(PTX, Bits) {
  EXPECT_EQ(compute("shl.b32 %r1, 1, 31;"), 0x80000000u);
  EXPECT_EQ(compute("shl.b32 %r1, 1, 32;"), 0u);
  EXPECT_EQ(compute("shr.s32 %r1, -8, 40;"), 0xffffffffu);
  EXPECT_EQ(compute("bfe.u32 %r1, 0xabcd1234, 4, 8;"), 0x23u);
  EXPECT_EQ(compute("bfe.s32 %r1, 0xf0, 4, 4;"), 0xffffffffu);
  EXPECT_EQ(compute("bfi.b32 %r1, 0x5, 0xffff0000, 4, 4;"), 0xffff0050u);
  EXPECT_EQ(compute("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;"),
            0x77553311u);
  EXPECT_EQ(compute("prmt.b32 %r1, 0x80, 0, 0x8880;"), 0xffffff80u);
  EXPECT_EQ(compute("lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x96;"),
            0xf0u ^ 0xccu ^ 0xaau);
  EXPECT_EQ(compute("popc.b32 %r1, 0xff01;"), 9u);
  EXPECT_EQ(compute("clz.b32 %r1, 1;"), 31u);
  EXPECT_EQ(compute("brev.b32 %r1, 1;"), 0x80000000u);
  EXPECT_EQ(compute("shf.l.wrap.b32 %r1, 0x80000000, 1, 33;"), 3u);
}

TEST(PTX, Floats) {
  EXPECT_EQ(compute("add.rn.ftz.f32 %r1, 0f3F800000, 0f3F800000;"),
            0x40000000u);
  // A subnormal result, with and without ftz.
  EXPECT_EQ(compute("mul.f32 %r1, 0f00800000, 0f3F000000;"), 0x00400000u);
  EXPECT_EQ(compute("mul.ftz.f32 %r1, 0f80800000, 0f3F000000;"), 0x80000000u);
  EXPECT_EQ(compute("max.ftz.f32 %r1, 0f7FC00000, 0fBF800000;"), 0xbf800000u);
  EXPECT_EQ(compute("max.ftz.NaN.f32 %r1, 0f7FC00000, 0fBF800000;"),
            0x7fffffffu);
  EXPECT_EQ(compute("min.f32 %r1, 0f00000000, 0f80000000;"), 0x80000000u);
  EXPECT_EQ(compute("ex2.approx.ftz.f32 %r1, 0f40400000;"), 0x41000000u);
  EXPECT_EQ(compute("neg.ftz.f32 %r1, 0f3F800000;"), 0xbf800000u);
  // Each half of bf16x2: 1 * 2 + 3 and 2 * 2 + 0.
  EXPECT_EQ(compute("fma.rn.bf16x2 %r1, 0x3f804000, 0x40004000, 0x40400000;"),
            0x40a04080u);
}

TEST(PTX, Conversions) {
  EXPECT_EQ(compute("cvt.rn.bf16x2.f32 %r1, 0f40000000, 0f3F800000;"),
            0x40003f80u);
  EXPECT_EQ(compute("cvt.rn.f16x2.f32 %r1, 0f7F000000, 0f3F800000;"),
            0x7c003c00u);
  EXPECT_EQ(compute("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f7F000000, 0f3F800000;"
                    "cvt.u32.u16 %r1, %h1;"),
            0x7e38u);
  EXPECT_EQ(compute("mov.b16 %h1, 0x3840; cvt.rn.f16x2.e4m3x2 %r1, %h1;"),
            0x3c004000u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32 %r1, 0fBFC00000;"), 0xffffffffu);
  EXPECT_EQ(compute("cvt.rni.s32.f32 %r1, 0f40200000;"), 2u);
  EXPECT_EQ(compute("cvt.rzi.s32.f32 %r1, 0f7FC00000;"), 0u);
  EXPECT_EQ(compute("cvt.rzi.u32.f32 %r1, 0fBF800000;"), 0u);
  EXPECT_EQ(compute("cvt.rn.f32.s32 %r1, -3;"), 0xc0400000u);
  EXPECT_EQ(compute("cvt.rn.f32.u32 %r1, 0x01000001;"), 0x4b800000u);
  EXPECT_EQ(compute("cvt.s64.s32 %d1, -2; shr.u64 %d1, %d1, 32;"
                    "cvt.u32.u64 %r1, %d1;"),
            0xffffffffu);
  EXPECT_EQ(compute("cvt.s32.s8 %r1, 0x80;"), 0xffffff80u);
}

TEST(PTX, Comparisons) {
  EXPECT_EQ(compute("setp.lt.s32 %p1, -1, 0; selp.b32 %r1, 5, 6, %p1;"), 5u);
  EXPECT_EQ(compute("setp.lt.u32 %p1, -1, 0; selp.b32 %r1, 5, 6, %p1;"), 6u);
  EXPECT_EQ(compute("setp.ne.f32 %p1, 0f7FC00000, 0f00000000;"
                    "selp.b32 %r1, 5, 6, %p1;"),
            6u);
  EXPECT_EQ(compute("setp.neu.f32 %p1, 0f7FC00000, 0f00000000;"
                    "selp.b32 %r1, 5, 6, %p1;"),
            5u);
  EXPECT_EQ(compute("setp.eq.s32 %p2, 1, 1;"
                    "setp.eq.and.s32 %p1|%p3, 1, 2, %p2;"
                    "selp.b32 %r1, 5, 6, %p3;"),
            5u);
}

TEST(PTX, KindsOfFloats) {
  auto holds = [](const std::string &test) {
    return compute("testp." + test + "; selp.b32 %r1, 1, 0, %p1;");
  };
  EXPECT_EQ(holds("infinite.f32 %p1, 0fFF800000"), 1u);
  EXPECT_EQ(holds("infinite.f32 %p1, 0f7FC00000"), 0u);
  EXPECT_EQ(holds("finite.f32 %p1, 0f7F800000"), 0u);
  EXPECT_EQ(holds("finite.f32 %p1, 0f00000001"), 1u);
  EXPECT_EQ(holds("number.f32 %p1, 0f7F800000"), 1u);
  EXPECT_EQ(holds("notanumber.f32 %p1, 0fFFC00000"), 1u);
  EXPECT_EQ(holds("normal.f32 %p1, 0f00000001"), 0u);
  EXPECT_EQ(holds("normal.f32 %p1, 0f3F800000"), 1u);
  EXPECT_EQ(holds("subnormal.f32 %p1, 0f80000001"), 1u);
  EXPECT_EQ(holds("subnormal.f32 %p1, 0f00000000"), 0u);
  // The sign of the first operand; a NaN keeps its bits.
  EXPECT_EQ(compute("copysign.f32 %r1, 0f80000000, 0f3F800000;"), 0xbf800000u);
  EXPECT_EQ(compute("copysign.f32 %r1, 0f40000000, 0fBF800000;"), 0x3f800000u);
  EXPECT_EQ(compute("copysign.f32 %r1, 0fBF800000, 0f7FC12345;"), 0xffc12345u);
}

TEST(PTX, Vectors) {
  EXPECT_EQ(compute("mov.b16 %h1, 1; mov.b16 %h2, 2; mov.b32 %r1, {%h1, %h2};"),
            0x20001u);
  EXPECT_EQ(compute("mov.b32 %r2, 0x50004; mov.b32 {%h1, %h2}, %r2;"
                    "cvt.u32.u16 %r1, %h2;"),
            5u);
}

TEST(PTX, Lanes) {
  Kernel kernel;
  EXPECT_EQ(kernel.run("shfl.sync.bfly.b32 %r1, %lane, 3, 31, -1;\n"
                       "shfl.sync.idx.b32 %r2, %lane, 5, 31, -1;\n"
                       "shfl.sync.up.b32 %r3|%p1, %lane, 2, 0, -1;\n"
                       "selp.b32 %r4, 1, 0, %p1;\n"
                       "setp.lt.u32 %p2, %lane, 4;\n"
                       "vote.sync.ballot.b32 %r5, %p2, -1;\n"
                       "shfl.sync.down.b32 %r6, %lane, 8, 0x180f, -1;\n"
                       "st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};\n"
                       "st.global.v2.b32 [%out+16], {%r5, %r6};"),
            "");
  EXPECT_EQ(kernel.get(8, 0), 11u);
  EXPECT_EQ(kernel.get(8, 1), 5u);
  EXPECT_EQ(kernel.get(8, 2), 6u);
  EXPECT_EQ(kernel.get(1, 2), 1u);
  EXPECT_EQ(kernel.get(1, 3), 0u);
  EXPECT_EQ(kernel.get(9, 4), 15u);
}

TEST(PTX, Branches) {
  // Collatz steps: lanes leave the loop one after another and meet behind it.
  Kernel kernel;
  EXPECT_EQ(kernel.run("mov.b32 %r1, 0; add.s32 %r2, %lane, 1;\n"
                       "LOOP:\nsetp.eq.s32 %p1, %r2, 1;\n@%p1 bra END;\n"
                       "and.b32 %r3, %r2, 1;\nsetp.eq.s32 %p2, %r3, 0;\n"
                       "@%p2 bra EVEN;\nmad.lo.s32 %r2, %r2, 3, 1;\n"
                       "bra NEXT;\nEVEN:\nshr.u32 %r2, %r2, 1;\nNEXT:\n"
                       "add.s32 %r1, %r1, 1;\nbra LOOP;\nEND:\n"
                       "vote.sync.ballot.b32 %r4, 1, -1;\n"
                       "st.global.v2.b32 [%out], {%r1, %r4};"),
            "");
  EXPECT_EQ(kernel.get(26), 111u);
  EXPECT_EQ(kernel.get(0), 0u);
  EXPECT_EQ(kernel.get(0, 1), 0xffffffffu);
}

TEST(PTX, Matrices) {
  Kernel kernel;
  EXPECT_EQ(kernel.run(
                "mov.b64 %d1, smem; cvt.u32.u64 %r1, %d1;\n"
                "shl.b32 %r2, %lane, 4; add.s32 %r2, %r1, %r2;\n"
                "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%lane};\n"
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];\n"
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r2];\n"
                "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %lane;\n"
                "st.global.v4.b32 [%out], {%r3, %r4, %r5, %r5};"),
            "");
  EXPECT_EQ(kernel.get(13, 0), 13u);
  EXPECT_EQ(kernel.get(13, 1), kernel.get(13, 2));
  // Rows 2 and 3 of column 3: the low and high halves of lanes 9 and 13 are
  // (9, 0) and (13, 0), of which column 3 is a high one.
  EXPECT_EQ(kernel.get(13, 1), 0u);
  EXPECT_EQ(kernel.get(9, 1), 9u | 13u << 16);
}

TEST(PTX, Atomics) {
  Kernel kernel;
  EXPECT_EQ(kernel.run("mov.b64 %d1, smem; mov.b32 %r1, 0;\n"
                       "st.shared.b32 [%d1], %r1;\n"
                       "atom.shared.add.u32 %r2, [%d1], 2;\n"
                       "ld.shared.b32 %r3, [%d1];\n"
                       "st.global.v2.b32 [%out], {%r2, %r3};"),
            "");
  EXPECT_EQ(kernel.get(5), 10u);
  EXPECT_EQ(kernel.get(5, 1), 64u);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(PTXErrors, Text) {
  Kernel kernel;
  EXPECT_PRED2(
      contains, kernel.run("frobnicate.b32 %r1;"),
      std::string("'frobnicate.b32' is an instruction that the executor "
                  "does not know"));
  EXPECT_PRED2(contains, kernel.run("add.s32.odd %r1, %r1, 1;"),
               std::string("'add.s32.odd'"));
  EXPECT_PRED2(contains, kernel.run("add.s32 %r1, %r1;"),
               std::string("expects 3 operands, got 2"));
  EXPECT_PRED2(contains, kernel.run("add.s32 %r1, %d1, 1;"),
               std::string("expects '%d1' to have 32 bits, got 64"));
  EXPECT_PRED2(contains, kernel.run("add.s32 %nobody, %r1, 1;"),
               std::string("uses '%nobody', which is not declared"));
  EXPECT_PRED2(contains, kernel.run("add.s32 %r64, %r1, 1;"),
               std::string("uses '%r64', which is not declared"));
  EXPECT_PRED2(contains, kernel.run("bra NOWHERE;"),
               std::string("jumps to 'NOWHERE', which is no label"));
  EXPECT_PRED2(contains, kernel.run("A:\nA:"),
               std::string("label 'A' is there twice"));
  EXPECT_PRED2(contains, kernel.run("add.s32 %r1 %r1, 1;"),
               std::string("expected ',' or ';'"));
}

TEST(PTXErrors, Memory) {
  Kernel kernel;
  std::string smem = "mov.b64 %d1, smem;\n";
  EXPECT_PRED2(contains, kernel.run(smem + "ld.shared.b32 %r1, [%d1];"),
               std::string("which was never written"));
  EXPECT_PRED2(contains, kernel.run(smem + "st.shared.b32 [%d1+4096], %lane;"),
               std::string("which has bytes 1024 to 5120"));
  EXPECT_PRED2(contains, kernel.run(smem + "st.shared.b32 [%d1+2], %lane;"),
               std::string("which is not aligned"));
  EXPECT_PRED2(contains, kernel.run("ld.param.b64 %d2, [k_param_0+4];"),
               std::string("reads up to byte 12 of parameter 'k_param_0'"));
  EXPECT_PRED2(contains,
               kernel.run("mov.b64 %d2, 64; ld.global.b32 %r1, [%d2];"),
               std::string("which is in no allocation"));
}

TEST(PTXErrors, Races) {
  Kernel two(64);
  std::string body = "mov.b64 %d1, smem; shl.b32 %r1, %lane, 2;\n"
                     "cvt.u64.u32 %d2, %r1; add.s64 %d2, %d2, %d1;\n"
                     "st.shared.b32 [%d2], %lane;\n";
  std::string other = "xor.b32 %r1, %r1, 128; cvt.u64.u32 %d2, %r1;\n"
                      "add.s64 %d2, %d2, %d1;\nld.shared.b32 %r2, [%d2];\n"
                      "st.global.b32 [%out], %r2;";
  EXPECT_EQ(two.run(body + "bar.sync 0;\n" + other), "");
  EXPECT_EQ(two.get(3), 35u);
  std::string error = two.run(body + other);
  EXPECT_TRUE(llvm::StringRef(error).contains("never written") ||
              llvm::StringRef(error).contains("with nothing that orders"))
      << error;
  // Writes of one after reads of the other.
  EXPECT_PRED2(contains,
               two.run(body + "bar.sync 0;\n" + other +
                       "\nxor.b32 %r1, %r1, 128; cvt.u64.u32 %d2, %r1;\n"
                       "add.s64 %d2, %d2, %d1;\nst.shared.b32 [%d2], %lane;"),
               std::string("with nothing that orders the two"));
}

TEST(PTXErrors, Proxies) {
  Kernel kernel;
  std::string before = "mov.b32 %r1, smem; add.s32 %r2, %r1, 1024;\n"
                       "setp.eq.u32 %p1, %lane, 0;\n"
                       "@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;\n"
                       "fence.mbarrier_init.release.cluster;\n"
                       "@%p1 st.shared.b32 [%r1], %lane;\n";
  std::string copy =
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n"
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%r1], [%out], 16, [%r2];";
  std::string wait =
      "\nW:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;\n"
      "@!%p3 bra W;\n";
  EXPECT_EQ(
      kernel.run(before + "fence.proxy.async.shared::cta;\n" + copy + wait),
      "");
  EXPECT_PRED2(contains, kernel.run(before + "fence.acq_rel.cta;\n" + copy),
               std::string("written without 'fence.proxy.async' since"));
}

TEST(PTXErrors, BulkGroups) {
  // Lane 0 issues a store; groups are those of a thread.
  Kernel kernel;
  std::string store =
      "mov.b32 %r1, smem; shl.b32 %r2, %lane, 4; add.s32 %r2, %r2, %r1;\n"
      "st.shared.v4.b32 [%r2], {%lane, %lane, %lane, %lane};\n"
      "fence.proxy.async.shared::cta; setp.eq.u32 %p1, %lane, 0;\n"
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 16;\n";
  std::string commit = "cp.async.bulk.commit_group;\n";
  std::string wait = "cp.async.bulk.wait_group.read 0;\n";
  EXPECT_EQ(kernel.run(store + commit + wait), "");
  EXPECT_EQ(kernel.run(store + "@%p1 " + commit + "@%p1 " + wait), "");
  std::string left = "ends with bulk stores that it has not waited for";
  EXPECT_PRED2(contains, kernel.run(store + "@!%p1 " + commit + wait), left);
  EXPECT_PRED2(contains, kernel.run(store + commit + "@!%p1 " + wait), left);
}

TEST(PTXErrors, Barriers) {
  Kernel two(64);
  EXPECT_PRED2(contains,
               two.run("setp.lt.u32 %p1, %lane, 32;\n@%p1 bra END;\n"
                       "bar.sync 1, 64;\nEND:"),
               std::string("deadlock in block 0"));
  EXPECT_PRED2(contains, two.run("bar.arrive 1, 96;"),
               std::string("is for 96 threads"));
  // A turn that nobody takes may be left, but not be handed on twice.
  std::string arrive = "setp.lt.u32 %p1, %lane, 32;\n@%p1 bar.arrive 1, 64;\n";
  EXPECT_EQ(two.run(arrive), "");
  EXPECT_PRED2(contains, two.run(arrive + "@%p1 bar.arrive 1, 64;"),
               std::string("a second time, before barrier 1 has opened"));
  EXPECT_PRED2(contains,
               two.run("setp.lt.u32 %p1, %lane, 3;\n@%p1 bar.sync 1, 64;"),
               std::string("its guard differs"));
}

TEST(PTXErrors, Mbarriers) {
  Kernel two(64);
  std::string start = "mov.b64 %d1, smem; setp.eq.u32 %p1, %lane, 0;\n";
  EXPECT_PRED2(contains,
               two.run(start + "mbarrier.arrive.shared::cta.b64 _, [%d1];"),
               std::string("where none was initialized"));
  std::string init = start + "@%p1 mbarrier.init.shared::cta.b64 [%d1], 1;\n";
  EXPECT_PRED2(contains,
               two.run(init + "setp.eq.u32 %p2, %lane, 32;\n"
                              "@%p2 mbarrier.arrive.shared::cta.b64 _, [%d1];"),
               std::string("nothing that orders it after its initialization"));
  std::string wait = "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%d1], "
                     "0;\n@%p3 bra D;\nbra W;\nD:";
  EXPECT_EQ(two.run(init +
                    "bar.sync 0;\nsetp.eq.u32 %p2, %lane, 32;\n"
                    "@%p2 mbarrier.arrive.shared::cta.b64 _, [%d1];\n" +
                    wait),
            "");
  // 64 arrivals of one are 64 phases, which nobody can follow.
  EXPECT_PRED2(contains,
               two.run(init +
                       "bar.sync 0;\n"
                       "mbarrier.arrive.shared::cta.b64 _, [%d1];\n" +
                       wait),
               std::string("no wait has seen phase 0 complete"));
  EXPECT_PRED2(contains, two.run(init + "bar.sync 0;\n" + wait),
               std::string("for parity 0 of the mbarrier"));
  EXPECT_PRED2(contains,
               two.run(init + "bar.sync 0;\nld.shared.b32 %r1, [%d1];"),
               std::string("where an mbarrier is"));
}

TEST(PTXErrors, Phases) {
  std::string init = "mov.b64 %d1, smem; setp.eq.u32 %p1, %lane, 0;\n"
                     "setp.eq.u32 %p2, %lane, 32; mov.b32 %r1, smem;\n"
                     "@%p1 mbarrier.init.shared::cta.b64 [%d1], COUNT;\n"
                     "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
  auto withCount = [&](const char *count) {
    std::string text = init;
    return text.replace(text.find("COUNT"), 5, count);
  };
  auto wait = [](const char *label, const char *parity) {
    return std::string("W") + label +
           ":\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%d1], " + parity +
           ";\n@%p3 bra D" + label + ";\nbra W" + label + ";\nD" + label +
           ":\n";
  };
  std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%d1];\n";
  // Two arrivals of a thread may be one phase or two.
  Kernel two(64);
  EXPECT_EQ(two.run(withCount("2") + "@%p1 " + arrive + "@%p2 " + arrive +
                    wait("1", "0") + "@%p1 " + arrive),
            "");
  EXPECT_PRED2(contains,
               two.run(withCount("2") + "@%p1 " + arrive + "@%p1 " + arrive),
               std::string("orders it after phase 0, in which it arrived"));
  // Warp 0 goes through two phases, of which warp 1 may miss one.
  std::string body = withCount("1") + "@%p1 " + arrive + wait("1", "0");
  std::string last = "mov.b32 %r5, 0;\nSPIN:\nadd.s32 %r5, %r5, 1;\n"
                     "setp.lt.s32 %p4, %r5, 100;\n@%p4 bra SPIN;\n@%p1 " +
                     arrive + wait("2", "1");
  EXPECT_EQ(two.run(body + "bar.sync 0;\n" + last), "");
  bool seen = false;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    two.options.scheduleSeed = seed;
    std::string error = two.run(body + last);
    EXPECT_NE(error, "") << seed;
    seen |= contains(error, "before the warp has seen phase 0 complete");
  }
  EXPECT_TRUE(seen);
  // Two copies to one place, which one mbarrier counts.
  Kernel one;
  std::string copy = "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::"
                     "complete_tx::bytes [%r2], [%out], 16, [%r1];\n";
  std::string expect =
      "add.s32 %r2, %r1, 1024;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32;\n";
  std::string copies =
      withCount("1") + expect + copy + "add.s32 %r2, %r2, 16;\n" + copy;
  EXPECT_EQ(one.run(copies + wait("1", "0")), "");
  EXPECT_PRED2(contains, one.run(copies),
               std::string("ends with a copy that nobody has waited for"));
  EXPECT_PRED2(contains, one.run(withCount("1") + expect + copy + copy),
               std::string("which a copy in flight writes"));
}

TEST(PTXErrors, Behind) {
  // Which warp is last to add shows which stays behind.
  Kernel three(96);
  for (uint64_t warp = 0; warp < 3; ++warp) {
    three.options.scheduleSeed = 2 * warp + 6;
    EXPECT_EQ(three.run("shr.u32 %r1, %lane, 5;\n"
                        "sub.s64 %d14, %out, %d15;\n"
                        "st.global.b32 [%d14], %r1;\n"),
              "");
    EXPECT_EQ(three.get(0), warp);
  }
}

TEST(PTXErrors, FarBehind) {
  // Warp 1 hands over what it has read before its fence: an error only where it
  // stays behind as soon as warp 0 can go on.
  auto body = [](const char *before, const char *behind) {
    return std::string(
               "mov.b32 %r1, smem; add.s32 %r2, %r1, 1024; add.s32 %r4, %r1, "
               "8;\n"
               "setp.eq.u32 %p1, %lane, 0; setp.eq.u32 %p2, %lane, 32;\n"
               "@%p1 mbarrier.init.shared::cta.b64 [%r1], 1;\n"
               "@%p1 mbarrier.init.shared::cta.b64 [%r4], 1;\n"
               "fence.mbarrier_init.release.cluster;\n"
               "@%p2 st.shared.b32 [%r2], %lane;\n"
               "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
               "@%p2 ld.shared.b32 %r3, [%r2];\n") +
           before + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r1];\n" +
           behind +
           "setp.ge.u32 %p4, %lane, 32;\n@%p4 bra END;\n"
           "W1:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;\n"
           "@!%p3 bra W1;\n"
           "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;\n"
           "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
           "bytes [%r2], [%out], 16, [%r4];\n"
           "W2:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;\n"
           "@!%p3 bra W2;\nEND:\n";
  };
  const char *fence = "fence.acq_rel.cta;\n";
  Kernel two(64);
  EXPECT_EQ(two.run(body("", fence)), "");
  two.options.scheduleSeed = 2;
  EXPECT_EQ(two.run(body(fence, "")), "");
  EXPECT_PRED2(contains, two.run(body("", fence)),
               std::string("read without a fence since"));
}

TEST(PTXErrors, Endless) {
  Kernel kernel;
  EXPECT_PRED2(contains, kernel.run("L:\nbra L;"),
               std::string("executes more than 100000"));
}

} // namespace
