//===- TestSupport.cpp - a program to test with ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"

#include <cinttypes>
#include <cstdio>
#include <gtest/gtest.h>

namespace fa3test {

std::string ptx() {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry fwd(
	.param .align 64 .b8 fwd_param_0[128],
	.param .align 64 .b8 fwd_param_1[128],
	.param .align 64 .b8 fwd_param_2[128],
	.param .align 64 .b8 fwd_param_3[128],
	.param .u64 .ptr .global .align 1 fwd_param_4,
	.param .u32 fwd_param_5,
	.param .u64 fwd_param_6,
	.param .f32 fwd_param_7,
	.param .u32 fwd_param_8
)
.maxntid 512
{
	ret;
}
)";
}

static std::string map(const char *name, int rows) {
  char text[512];
  std::snprintf(
      text, sizeof(text),
      R"({"kind": "tensormap", "source": "%s", "type": "bf16", "swizzle": 128,
          "box": [64, %d, 1, 1],
          "dims": ["%s.shape[3]", "%s.shape[2]", "%s.shape[1]", "%s.shape[0]"],
          "strides": ["2 * %s.stride[2]", "2 * %s.stride[1]", "2 * %s.stride[0]"]})",
      name, rows, name, name, name, name, name, name, name);
  return text;
}

static std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

std::string manifest() {
  const std::string code = ptx();
  return R"({
  "schema": 1, "producer": "fa3 test", "function": "attention",
  "chip": "sm_90a", "ptx_isa": "9.0",
  "args": [
    {"name": "q", "kind": "tensor", "type": "bf16", "dims": ["b", "h", "sq", 128], "access": "read"},
    {"name": "k", "kind": "tensor", "type": "bf16", "dims": ["b", "h", "sk", 128], "access": "read"},
    {"name": "v", "kind": "tensor", "type": "bf16", "dims": ["b", "h", "sk", 128], "access": "read"},
    {"name": "o", "kind": "tensor", "type": "bf16", "dims": ["b", "h", "sq", 128], "access": "write"},
    {"name": "lse", "kind": "tensor", "type": "f32", "dims": ["b", "h", "sq"], "access": "write"},
    {"name": "scale", "kind": "scalar", "type": "f32"},
    {"name": "window", "kind": "scalar", "type": "i32"} ],
  "requires": [ {"that": "window >= 0 && window <= 1000", "message": "window out of range"} ],
  "launches": [ {"kernel": "fwd",
    "grid": "ceildiv(q.shape[2], 192) * q.shape[1] * q.shape[0]",
    "block": 512, "cluster": 1, "smem": 181248,
    "args": [ )" +
         map("q", 192) + ", " + map("k", 80) + ", " + map("v", 80) + ", " +
         map("o", 64) + R"(,
      {"kind": "pointer", "source": "lse"},
      {"kind": "i32", "value": "q.shape[2]"},
      {"kind": "i64", "value": "lse.stride[1]"},
      {"kind": "f32", "value": "scale"},
      {"kind": "i32", "value": "window - 1"} ]} ],
  "workspaces": [], "flops": "4 * q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * 128",
  "bytes": "2 * q.shape[0]", "ptx_hash": ")" +
         hex(fa3_hash(code.data(), code.size())) + "\"}";
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string withFlops(const std::string &formula) {
  return replaced(manifest(),
                  "4 * q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * 128",
                  formula);
}

std::string withHashOf(const std::string &text) {
  std::string code = ptx();
  return replaced(manifest(), hex(fa3_hash(code.data(), code.size())),
                  hex(fa3_hash(text.data(), text.size())));
}

std::string withWorkspaces() {
  std::string text = replaced(
      manifest(), "\"workspaces\": []",
      "\"workspaces\": [{\"name\": \"a\", \"type\": \"i8\", \"shape\": "
      "[\"100\"]}, {\"name\": \"w\", \"type\": \"f32\", \"shape\": "
      "[\"q.shape[1]\", \"q.shape[2]\"]}]");
  text = replaced(text, "\"source\": \"lse\"", "\"source\": \"w\"");
  return replaced(text, "lse.stride[1]", "w.stride[0] + w.shape[0]");
}

std::vector<fa3_arg> arguments(const Shape &s) {
  auto tensor = [](fa3_type type, uintptr_t address,
                   std::vector<int64_t> shape) {
    return fa3_tensor(type, reinterpret_cast<void *>(address),
                      static_cast<int32_t>(shape.size()), shape.data(),
                      nullptr);
  };
  return {
      tensor(FA3_BF16, 0x10000000, {s.batch, s.heads, s.queries, 128}),
      tensor(FA3_BF16, 0x20000000, {s.batch, s.heads, s.keys, 128}),
      tensor(FA3_BF16, 0x30000000, {s.batch, s.heads, s.keys, 128}),
      tensor(FA3_BF16, 0x40000000, {s.batch, s.heads, s.queries, 128}),
      tensor(FA3_F32, 0x50000000, {s.batch, s.heads, s.queries}),
      fa3_scalar_real(FA3_F32, 0.125),
      fa3_scalar_integer(FA3_I32, 8),
  };
}

fa3_code Program::parse(const std::string &text, int64_t sms) {
  reset();
  return fa3_program_parse(text.data(), text.size(), sms, &program, &status);
}

fa3_code Program::load(const std::string &text, const std::string &image,
                       fa3_image_kind kind) {
  reset();
  return fa3_program_load(text.data(), text.size(), image.data(), image.size(),
                          kind, &program, &status);
}

fa3_code Program::validate(const std::vector<fa3_arg> &args) {
  return fa3_validate(program, args.data(), args.size(), &status);
}

fa3_code Program::launch(const std::vector<fa3_arg> &args, void *stream) {
  return fa3_launch(program, args.data(), args.size(), stream, &status);
}

fa3_code Program::flops(const std::vector<fa3_arg> &args, int64_t &value) {
  return fa3_evaluate(program, FA3_FLOPS, args.data(), args.size(), &value,
                      &status);
}

fa3_code Program::reset() {
  fa3_program *old = program;
  program = nullptr;
  return fa3_program_destroy(old, &status);
}

} // namespace fa3test
