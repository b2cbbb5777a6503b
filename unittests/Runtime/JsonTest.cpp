//===- JsonTest.cpp - the JSON reader of the runtime ----------------------===//
// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include "Json.h"
}

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

#include <random>
#include <string>

namespace {

/// Parses a text; keeps the tree and the error.
struct Document {
  explicit Document(const std::string &text) {
    value = fa3_json_parse(text.data(), text.size(), &arena, &status);
  }
  ~Document() { fa3_arena_free(&arena); }
  fa3_arena arena = {nullptr};
  fa3_status status = {};
  const fa3_json *value;
};

std::string error(const std::string &text) {
  Document document(text);
  EXPECT_EQ(document.value, nullptr) << text;
  return document.status.message;
}

TEST(JsonTest, Values) {
  Document document(R"( {"a": [1, -2, 3.5, true, false, null], "b": {}} )");
  ASSERT_NE(document.value, nullptr);
  ASSERT_EQ(document.value->type, FA3_JSON_OBJECT);
  EXPECT_EQ(document.value->count, 2u);
  const fa3_json *a = fa3_json_member(document.value, "a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->count, 6u);
  const fa3_json *element = a->first;
  EXPECT_EQ(element->integer, 1);
  element = element->next;
  EXPECT_EQ(element->integer, -2);
  element = element->next;
  EXPECT_EQ(element->type, FA3_JSON_NUMBER);
  element = element->next;
  EXPECT_EQ(element->type, FA3_JSON_BOOL);
  EXPECT_EQ(element->integer, 1);
  element = element->next->next;
  EXPECT_EQ(element->type, FA3_JSON_NULL);
  EXPECT_EQ(element->next, nullptr);
  EXPECT_EQ(fa3_json_member(document.value, "c"), nullptr);
}

TEST(JsonTest, Integers) {
  EXPECT_EQ(Document("9223372036854775807").value->integer, INT64_MAX);
  EXPECT_EQ(Document("-9223372036854775808").value->integer, INT64_MIN);
  EXPECT_EQ(Document("9223372036854775808").value->type, FA3_JSON_NUMBER);
  EXPECT_EQ(Document("-9223372036854775809").value->type, FA3_JSON_NUMBER);
  EXPECT_EQ(Document("1e2").value->type, FA3_JSON_NUMBER);
  EXPECT_EQ(Document("-0").value->integer, 0);
}

TEST(JsonTest, Strings) {
  EXPECT_STREQ(Document(R"("a\"\\\/\b\f\n\r\tz")").value->string,
               "a\"\\/\b\f\n\r\tz");
  EXPECT_STREQ(Document(R"("\u0041\u00e9\u20AC\ud83d\ude00")").value->string,
               "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_STREQ(Document("\"\xC3\xA9\"").value->string, "\xC3\xA9");
}

TEST(JsonTest, ErrorsNameThePlace) {
  EXPECT_EQ(error("{\"a\": 1,\n \"b\" 2}"),
            "manifest line 2 column 6: expected ':'");
  EXPECT_EQ(error("[1, 2"), "manifest line 1 column 6: expected ',' or ']'");
  EXPECT_EQ(error(""), "manifest line 1 column 1: expected a value");
  EXPECT_EQ(error("1 2"),
            "manifest line 1 column 3: unexpected text after the value");
}

TEST(JsonTest, Refuses) {
  for (const char *text : {"{",
                           "[",
                           "\"",
                           "\"\\",
                           "[1,]",
                           "{\"a\":1,}",
                           "{,}",
                           "[,]",
                           "tru",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           ".5",
                           "+1",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\u0000\"",
                           "\"\n\"",
                           "\"\xC0\xAF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xE2\"",
                           "{\"a\":1,\"a\":2}",
                           "{a:1}",
                           "NaN",
                           "'a'",
                           "[1 2]",
                           "{\"a\"}"})
    EXPECT_NE(error(text), "") << text;
}

TEST(JsonTest, BoundsNesting) {
  auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NE(Document(nested(32)).value, nullptr);
  EXPECT_EQ(error(nested(33)), "manifest line 1 column 33: nested too deeply");
  error(std::string(1000000, '['));
}

TEST(JsonTest, AcceptsOnlyWhatLLVMAccepts) {
  const std::string seed =
      R"({"a": [1, -2.5e3, "x\u00e9\n", true, null], "b": {"c": "d"}})";
  const std::string pieces = "{}[]\",:\\0123456789-+.eEtrufalsn \x80\xC3u";
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      char piece = pieces[random() % pieces.size()];
      switch (random() % 3) {
      case 0:
        text[at] = piece;
        break;
      case 1:
        text.insert(at, 1, piece);
        break;
      default:
        text.erase(at, 1);
      }
    }
    Document document(text);
    if (!document.value) {
      EXPECT_NE(document.status.message[0], '\0');
      continue;
    }
    ++accepted;
    llvm::Expected<llvm::json::Value> theirs = llvm::json::parse(text);
    EXPECT_TRUE(static_cast<bool>(theirs)) << text;
    if (!theirs)
      llvm::consumeError(theirs.takeError());
  }
  EXPECT_GT(accepted, 1000);
}

} // namespace
