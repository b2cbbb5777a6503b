//===- ManifestTest.cpp - reading of manifests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "TestSupport.h"
#include "gtest/gtest.h"

using namespace fa3test;

namespace {

/// The error after a replacement in the manifest.
std::string error(const std::string &from, const std::string &to) {
  Program program;
  EXPECT_EQ(program.parse(replaced(manifest(), from, to)), FA3_ERROR_MANIFEST)
      << to;
  EXPECT_EQ(program.get(), nullptr);
  return program.message();
}

TEST(ManifestTest, Reads) {
  Program program;
  ASSERT_EQ(program.parse(manifest()), FA3_OK) << program.message();
  EXPECT_STREQ(fa3_program_function(program.get()), "attention");
  EXPECT_STREQ(fa3_program_chip(program.get()), "sm_90a");
  EXPECT_STREQ(fa3_program_producer(program.get()), "fa3 test");
  ASSERT_EQ(fa3_program_num_args(program.get()), 7u);
  fa3_arg_info info;
  ASSERT_EQ(fa3_program_arg_info(program.get(), 3, &info, nullptr), FA3_OK);
  EXPECT_STREQ(info.name, "o");
  EXPECT_EQ(info.kind, FA3_TENSOR);
  EXPECT_EQ(info.type, FA3_BF16);
  EXPECT_EQ(info.access, FA3_WRITE);
  EXPECT_EQ(info.rank, 4);
  EXPECT_STREQ(info.dim_name[2], "sq");
  EXPECT_EQ(info.extent[2], -1);
  EXPECT_EQ(info.dim_name[3], nullptr);
  EXPECT_EQ(info.extent[3], 128);
  ASSERT_EQ(fa3_program_arg_info(program.get(), 5, &info, nullptr), FA3_OK);
  EXPECT_EQ(info.kind, FA3_SCALAR);
  EXPECT_EQ(fa3_program_arg_info(program.get(), 7, &info, nullptr),
            FA3_ERROR_ARGUMENT);
  ASSERT_EQ(fa3_program_num_launches(program.get()), 1u);
  fa3_launch_info launch;
  ASSERT_EQ(fa3_program_launch_info(program.get(), 0, &launch, nullptr),
            FA3_OK);
  EXPECT_STREQ(launch.kernel, "fwd");
  EXPECT_EQ(launch.block, 512);
  EXPECT_EQ(launch.smem, 181248);
  EXPECT_EQ(launch.num_args, 9u);
  EXPECT_EQ(fa3_program_launch_info(program.get(), 1, &launch, nullptr),
            FA3_ERROR_ARGUMENT);
}

TEST(ManifestTest, OptionalMembers) {
  Program program;
  EXPECT_EQ(program.parse(replaced(manifest(), "\"cluster\": 1,", "")), FA3_OK);
  EXPECT_EQ(program.parse(replaced(manifest(), "\"workspaces\"",
                                   "\"info\": {\"x\": [1]}, \"workspaces\"")),
            FA3_OK);
  ASSERT_EQ(
      program.parse(replaced(manifest(), "\"bytes\": \"2 * q.shape[0]\",", "")),
      FA3_OK);
  int64_t value;
  std::vector<fa3_arg> args = arguments();
  EXPECT_EQ(fa3_evaluate(program.get(), FA3_BYTES, args.data(), args.size(),
                         &value, &program.status),
            FA3_ERROR_ARGUMENT);
  EXPECT_EQ(program.message(),
            "the manifest of 'attention' has no member 'bytes'");
}

TEST(ManifestTest, ErrorsNameTheField) {
  EXPECT_EQ(error("\"schema\": 1", "\"schema\": 2"),
            "manifest field 'schema': 2 is not between 1 and 1");
  EXPECT_EQ(error("\"producer\": \"fa3 test\",", ""),
            "manifest field 'producer': missing");
  EXPECT_EQ(error("\"chip\": \"sm_90a\"", "\"chip\": 90"),
            "manifest field 'chip': expected a string, found an integer");
  EXPECT_EQ(error("\"function\"", "\"funktion\""),
            "manifest field 'funktion': not a member of schema 1");
  EXPECT_EQ(error("\"name\": \"k\"", "\"name\": \"q\""),
            "manifest field 'args[1].name': name used by an earlier argument");
  EXPECT_EQ(error("\"name\": \"k\"", "\"name\": \"min\""),
            "manifest field 'args[1].name': a reserved word of formulas");
  EXPECT_EQ(error("\"name\": \"k\"", "\"name\": \"2k\""),
            "manifest field 'args[1].name': not an identifier");
  EXPECT_EQ(error("\"kind\": \"tensor\"", "\"kind\": \"matrix\""),
            "manifest field 'args[0].kind': expected 'tensor' or 'scalar'");
  EXPECT_EQ(error("\"type\": \"bf16\"", "\"type\": \"bfloat\""),
            "manifest field 'args[0].type': not an element type");
  EXPECT_EQ(error("[\"b\", \"h\", \"sq\", 128]", "[\"b\", \"h\", 1.5, 128]"),
            "manifest field 'args[0].dims[2]': expected a name or an extent, "
            "found a number that is no 64-bit integer");
  EXPECT_EQ(error("[\"b\", \"h\", \"sq\", 128]", "[\"b\", \"h\", -1, 128]"),
            "manifest field 'args[0].dims[2]': -1 is not between 0 and "
            "9223372036854775807");
  EXPECT_EQ(error("[\"b\", \"h\", \"sq\", 128]", "[1,2,3,4,5,6,7,8,9]"),
            "manifest field 'args[0].dims': 9 elements, at most 8 allowed");
  EXPECT_EQ(error("\"access\": \"read\"", "\"access\": \"peek\""),
            "manifest field 'args[0].access': expected 'read', 'write' or "
            "'readwrite'");
}

TEST(ManifestTest, ErrorsOfWorkspaces) {
  auto workspaces = [](const std::string &list) {
    return error("\"workspaces\": []", "\"workspaces\": [" + list + "]");
  };
  EXPECT_EQ(workspaces("{}"), "manifest field 'workspaces[0].name': missing");
  EXPECT_EQ(workspaces("{\"name\": \"q\", \"type\": \"f32\", \"shape\": []}"),
            "manifest field 'workspaces[0].name': name used by an earlier "
            "argument");
  EXPECT_EQ(workspaces("{\"name\": \"w\", \"type\": \"f\", \"shape\": []}"),
            "manifest field 'workspaces[0].type': not an element type");
  EXPECT_EQ(workspaces("{\"name\": \"w\", \"type\": \"f32\", \"size\": 1}"),
            "manifest field 'workspaces[0].size': not a member of schema 1");
  EXPECT_EQ(
      workspaces("{\"name\": \"w\", \"type\": \"f32\", \"shape\": [4]}"),
      "manifest field 'workspaces[0].shape[0]': expected a formula, found an "
      "integer");
  // Shapes see the arguments, not one another.
  EXPECT_NE(workspaces("{\"name\": \"w\", \"type\": \"f32\", \"shape\": "
                       "[\"w.shape[0]\"]}")
                .find("workspaces[0].shape[0]"),
            std::string::npos);
}

TEST(ManifestTest, ErrorsOfScalarsAndRequirements) {
  EXPECT_EQ(error("\"kind\": \"scalar\", \"type\": \"f32\"",
                  "\"kind\": \"scalar\", \"type\": \"f16\""),
            "manifest field 'args[5].type': a scalar is of type f32, i32 or "
            "i64");
  EXPECT_EQ(error("\"kind\": \"scalar\", \"type\": \"f32\"",
                  "\"kind\": \"scalar\", \"dims\": [], \"type\": \"f32\""),
            "manifest field 'args[5].dims': not a member of schema 1");
  EXPECT_EQ(error("\"message\": \"window out of range\"", "\"message\": null"),
            "manifest field 'requires[0].message': expected a string, found "
            "null");
  EXPECT_EQ(error("window >= 0 &&", "window >= &&"),
            "manifest field 'requires[0].that': expected an operand at column "
            "11 of 'window >= && window <= 1000'");
}

TEST(ManifestTest, ErrorsOfLaunches) {
  EXPECT_EQ(error("\"block\": 512", "\"block\": 2048"),
            "manifest field 'launches[0].block': 2048 is not between 1 and "
            "1024");
  EXPECT_EQ(error("\"smem\": 181248", "\"smem\": 232449"),
            "manifest field 'launches[0].smem': 232449 is not between 0 and "
            "232448");
  EXPECT_EQ(error("\"cluster\": 1", "\"cluster\": 16"),
            "manifest field 'launches[0].cluster': 16 is not between 1 and 8");
  EXPECT_EQ(error("\"cluster\": 1", "\"cluster\": 1, \"waits\": 1"),
            "manifest field 'launches[0].waits': expected true or false");
  EXPECT_EQ(error("\"grid\": \"ceildiv(", "\"grid\": \"ceil("),
            "manifest field 'launches[0].grid': no argument of this name at "
            "column 1 of 'ceil(q.shape[2], 192) * q.shape[1] * q.shape[0]'");
  EXPECT_EQ(error("\"grid\": \"ceil", "\"condition\": 1, \"grid\": \"ceil"),
            "manifest field 'launches[0].condition': expected a formula, found "
            "an integer");
  EXPECT_EQ(error("\"grid\": \"ceil",
                  "\"condition\": \"r.shape[0] < 2\", \"grid\": \"ceil"),
            "manifest field 'launches[0].condition': no argument of this name "
            "at column 1 of 'r.shape[0] < 2'");
  EXPECT_EQ(error("\"source\": \"lse\"", "\"source\": \"lsd\""),
            "manifest field 'launches[0].args[4].source': no argument of this "
            "name");
  EXPECT_EQ(error("\"source\": \"lse\"", "\"source\": \"scale\""),
            "manifest field 'launches[0].args[4].source': a scalar has no "
            "address");
  EXPECT_EQ(error("\"kind\": \"i64\"", "\"kind\": \"i16\""),
            "manifest field 'launches[0].args[6].kind': expected 'tensormap', "
            "'pointer', 'counter', 'i32', 'i64' or 'f32'");
  EXPECT_EQ(error("\"value\": \"scale\"", "\"value\": \"window\""),
            "manifest field 'launches[0].args[7].value': not a scalar of type "
            "f32");
  EXPECT_EQ(
      error("{\"kind\": \"f32\", \"value\": \"scale\"}",
            "{\"kind\": \"pointer\", \"source\": \"q\", \"value\": \"1\"}"),
      "manifest field 'launches[0].args[7].value': not a member of "
      "schema 1");
}

TEST(ManifestTest, ErrorsOfTensorMaps) {
  EXPECT_EQ(error("\"box\": [64, 192, 1, 1]", "\"box\": [64, 257, 1, 1]"),
            "manifest field 'launches[0].args[0].box[1]': 257 is not between 1 "
            "and 256");
  EXPECT_EQ(error("\"box\": [64, 192, 1, 1]", "\"box\": []"),
            "manifest field 'launches[0].args[0].box': a box has at least one "
            "dimension");
  EXPECT_EQ(error("\"box\": [64, 192, 1, 1]", "\"box\": [72, 192, 1, 1]"),
            "manifest field 'launches[0].args[0].box[0]': a row of 144 bytes "
            "is not a multiple of 16 within a swizzle of 128");
  EXPECT_EQ(error("\"box\": [64, 192, 1, 1]", "\"box\": [60, 192, 1, 1]"),
            "manifest field 'launches[0].args[0].box[0]': a row of 120 bytes "
            "is not a multiple of 16 within a swizzle of 128");
  EXPECT_EQ(error("\"box\": [64, 192, 1, 1]", "\"box\": [64, 192, 1]"),
            "manifest field 'launches[0].args[0].dims': 4 elements, expected "
            "3");
  EXPECT_EQ(error("\"2 * q.stride[2]\", ", ""),
            "manifest field 'launches[0].args[0].strides': 2 elements, "
            "expected 3");
  EXPECT_EQ(error("\"swizzle\": 128", "\"swizzle\": 96"),
            "manifest field 'launches[0].args[0].swizzle': expected 0, 32, 64 "
            "or 128");
  EXPECT_EQ(error("\"source\": \"q\", \"type\": \"bf16\"",
                  "\"source\": \"q\", \"type\": \"f16\""),
            "manifest field 'launches[0].args[0].type': differs from the "
            "element type of the source");
  EXPECT_EQ(error("\"dims\": [\"q.shape[3]\"", "\"dims\": [128"),
            "manifest field 'launches[0].args[0].dims[0]': expected a formula, "
            "found an integer");
}

TEST(ManifestTest, ErrorsOfTheHash) {
  auto withHash = [](const std::string &hash) {
    std::string text = manifest();
    size_t at = text.find("\"ptx_hash\": \"") + 13;
    return text.substr(0, at) + hash + "\"}";
  };
  Program program;
  EXPECT_EQ(program.parse(withHash("Ff")), FA3_OK) << program.message();
  for (const char *hash : {"", "xyz", "12345678123456781", "0x12"})
    EXPECT_EQ(program.parse(withHash(hash)), FA3_ERROR_MANIFEST) << hash;
}

TEST(ManifestTest, RefusesOtherDocuments) {
  Program program;
  for (const char *text : {"", "[]", "1", "null", "{}", "{\"schema\": 1}",
                           "{\"schema\": \"1\"}"}) {
    EXPECT_EQ(program.parse(text), FA3_ERROR_MANIFEST) << text;
    EXPECT_FALSE(program.message().empty());
  }
  EXPECT_EQ(program.parse("[]"), FA3_ERROR_MANIFEST);
  EXPECT_EQ(program.message(),
            "manifest field '(top)': expected an object, found an array");
}

TEST(ManifestTest, NullPointersAreErrors) {
  fa3_status status;
  fa3_program *program = nullptr;
  EXPECT_EQ(fa3_program_parse(nullptr, 0, 1, &program, &status),
            FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fa3_program_parse("{}", 2, 1, nullptr, &status),
            FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fa3_program_parse("{}", 2, 1, &program, nullptr),
            FA3_ERROR_MANIFEST);
  EXPECT_EQ(fa3_validate(nullptr, nullptr, 0, &status), FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fa3_launch(nullptr, nullptr, 0, nullptr, &status),
            FA3_ERROR_ARGUMENT);
  EXPECT_EQ(fa3_program_destroy(nullptr, &status), FA3_OK);
  EXPECT_EQ(fa3_program_num_args(nullptr), 0u);
  EXPECT_EQ(fa3_program_function(nullptr), nullptr);
}

TEST(ManifestTest, PtxThatFits) {
  Program program;
  ASSERT_EQ(program.parse(manifest()), FA3_OK);
  std::string code = ptx();
  EXPECT_EQ(fa3_program_check_ptx(program.get(), code.data(), code.size(),
                                  &program.status),
            FA3_OK);
  // A counted terminating zero is not part of the text.
  EXPECT_EQ(fa3_program_check_ptx(program.get(), code.c_str(), code.size() + 1,
                                  &program.status),
            FA3_OK);
  code += "\n";
  EXPECT_EQ(fa3_program_check_ptx(program.get(), code.data(), code.size(),
                                  &program.status),
            FA3_ERROR_MISMATCH);
  EXPECT_NE(program.message().find("was written for another PTX"),
            std::string::npos);
}

} // namespace
