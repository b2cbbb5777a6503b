/*===- Json.c - strict JSON reader ----------------------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See Json.h. Recursive descent with a bounded depth.
 *===----------------------------------------------------------------------===*/

#include "Json.h"

#include <string.h>

enum { MAX_DEPTH = 32, MAX_MEMBERS = 256 };

typedef struct {
  const unsigned char *text;
  size_t at, size;
  int depth;
  fa3_arena *arena;
  fa3_status *status;
} parser;

/* Reports at the current position; lines and columns count from 1. */
static fa3_json *fail(const parser *p, const char *what) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < p->at && i < p->size; ++i) {
    ++column;
    if (p->text[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  fa3_fail(p->status, FA3_ERROR_MANIFEST, "manifest line %zu column %zu: %s",
           line, column, what);
  return NULL;
}

static fa3_json *fail_memory(const parser *p) {
  fa3_fail_memory(p->status);
  return NULL;
}

/* The next character, or -1 at the end. */
static int peek(const parser *p) {
  return p->at < p->size ? p->text[p->at] : -1;
}

static void skip_space(parser *p) {
  int c = peek(p);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    ++p->at;
    c = peek(p);
  }
}

static fa3_json *make(parser *p, fa3_json_type type) {
  fa3_json *value = fa3_arena_alloc(p->arena, sizeof(*value));
  if (!value)
    return fail_memory(p);
  value->type = type;
  return value;
}

/*===----------------------------------------------------------------------===*
 * Strings
 *===----------------------------------------------------------------------===*/

/* Bytes of the well-formed UTF-8 sequence at `s`, or 0 (Unicode 15, table 3-7:
 * the second byte excludes overlong forms, surrogates and beyond U+10FFFF). */
static size_t utf8_length(const unsigned char *s, size_t size) {
  unsigned first = s[0];
  if (first < 0x80)
    return 1;
  size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                  : first >= 0xE0 && first <= 0xEF ? 3
                  : first >= 0xF0 && first <= 0xF4 ? 4
                                                   : 0;
  if (length == 0 || length > size)
    return 0;
  unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (s[1] < low || s[1] > high)
    return 0;
  for (size_t i = 2; i < length; ++i)
    if (s[i] < 0x80 || s[i] > 0xBF)
      return 0;
  return length;
}

static size_t utf8_encode(uint32_t point, char *out) {
  if (point < 0x80) {
    out[0] = (char)point;
    return 1;
  }
  if (point < 0x800) {
    out[0] = (char)(0xC0 | point >> 6);
    out[1] = (char)(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = (char)(0xE0 | point >> 12);
    out[1] = (char)(0x80 | (point >> 6 & 0x3F));
    out[2] = (char)(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | point >> 18);
  out[1] = (char)(0x80 | (point >> 12 & 0x3F));
  out[2] = (char)(0x80 | (point >> 6 & 0x3F));
  out[3] = (char)(0x80 | (point & 0x3F));
  return 4;
}

/* The value of the 4 digits of \uXXXX, or -1. */
static int32_t hex4(parser *p) {
  int32_t value = 0;
  for (int i = 0; i < 4; ++i, ++p->at) {
    int c = peek(p), digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

/* After a backslash: appends the character to `out` and returns its bytes, or 0
 * after an error. */
static size_t parse_escape(parser *p, char *out) {
  static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
  int c = peek(p);
  const char *found = c > 0 ? strchr(plain, c) : NULL;
  if (found) {
    ++p->at;
    *out = meaning[found - plain];
    return 1;
  }
  if (c != 'u') {
    fail(p, "unknown escape in a string");
    return 0;
  }
  ++p->at;
  int32_t point = hex4(p);
  if (point >= 0xD800 && point <= 0xDBFF) {
    int32_t low = -1;
    if (p->size - p->at >= 2 && p->text[p->at] == '\\' &&
        p->text[p->at + 1] == 'u') {
      p->at += 2;
      low = hex4(p);
    }
    if (low < 0xDC00 || low > 0xDFFF)
      point = -1;
    else
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  } else if (point >= 0xDC00 && point <= 0xDFFF) {
    point = -1;
  }
  if (point < 0) {
    fail(p, "malformed \\u escape in a string");
    return 0;
  }
  if (point == 0) {
    fail(p, "zero character in a string");
    return 0;
  }
  return utf8_encode((uint32_t)point, out);
}

/* Parses the string at the opening quote. */
static const char *parse_string(parser *p) {
  /* An escape is never shorter than what it stands for, so that the distance to
   * the closing quote bounds the length. */
  size_t end = p->at + 1;
  while (end < p->size && p->text[end] != '"')
    end += p->text[end] == '\\' ? 2 : 1;
  if (end >= p->size) {
    fail(p, "unterminated string");
    return NULL;
  }
  char *out = fa3_arena_alloc(p->arena, end - p->at);
  if (!out) {
    fail_memory(p);
    return NULL;
  }
  size_t length = 0;
  for (++p->at; p->at < end;) {
    unsigned c = p->text[p->at];
    if (c == '\\') {
      ++p->at;
      size_t written = parse_escape(p, out + length);
      if (!written)
        return NULL;
      length += written;
      continue;
    }
    size_t bytes = c < 0x20 ? 0 : utf8_length(p->text + p->at, end - p->at);
    if (!bytes) {
      fail(p, c < 0x20 ? "control character in a string"
                       : "invalid UTF-8 in a string");
      return NULL;
    }
    memcpy(out + length, p->text + p->at, bytes);
    length += bytes;
    p->at += bytes;
  }
  ++p->at;
  out[length] = '\0';
  return out;
}

/*===----------------------------------------------------------------------===*
 * Values
 *===----------------------------------------------------------------------===*/

/* Skips digits; returns how many. */
static size_t skip_digits(parser *p) {
  size_t start = p->at;
  while (peek(p) >= '0' && peek(p) <= '9')
    ++p->at;
  return p->at - start;
}

static fa3_json *parse_number(parser *p) {
  int negative = peek(p) == '-', integral = 1;
  p->at += (size_t)negative;
  size_t start = p->at, digits = skip_digits(p);
  if (digits == 0)
    return fail(p, "expected a digit");
  if (digits > 1 && p->text[start] == '0')
    return fail(p, "number with a leading zero");
  int64_t value = 0;
  for (size_t i = start; i < start + digits && integral; ++i) {
    int digit = p->text[i] - '0';
    integral = !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_sub_overflow(value, digit, &value);
  }
  /* Collected below zero, where the range is larger by one. */
  if (integral && !negative)
    integral = !__builtin_sub_overflow((int64_t)0, value, &value);
  if (peek(p) == '.') {
    integral = 0;
    ++p->at;
    if (!skip_digits(p))
      return fail(p, "expected a digit after the decimal point");
  }
  if (peek(p) == 'e' || peek(p) == 'E') {
    integral = 0;
    ++p->at;
    if (peek(p) == '+' || peek(p) == '-')
      ++p->at;
    if (!skip_digits(p))
      return fail(p, "expected a digit in the exponent");
  }
  fa3_json *result = make(p, integral ? FA3_JSON_INTEGER : FA3_JSON_NUMBER);
  if (result && integral)
    result->integer = value;
  return result;
}

static fa3_json *parse_word(parser *p) {
  static const struct {
    const char *word;
    fa3_json_type type;
    int64_t value;
  } words[] = {{"true", FA3_JSON_BOOL, 1},
               {"false", FA3_JSON_BOOL, 0},
               {"null", FA3_JSON_NULL, 0}};
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
    size_t length = strlen(words[i].word);
    if (p->size - p->at < length ||
        memcmp(p->text + p->at, words[i].word, length) != 0)
      continue;
    p->at += length;
    fa3_json *value = make(p, words[i].type);
    if (value)
      value->integer = words[i].value;
    return value;
  }
  return fail(p, "expected a value");
}

static fa3_json *parse_value(parser *p);

static const char *parse_key(parser *p, const fa3_json *object) {
  skip_space(p);
  if (peek(p) != '"') {
    fail(p, "expected a member name");
    return NULL;
  }
  const char *key = parse_string(p);
  if (!key)
    return NULL;
  if (fa3_json_member(object, key)) {
    fail(p, "member name used twice in an object");
    return NULL;
  }
  skip_space(p);
  if (peek(p) != ':') {
    fail(p, "expected ':'");
    return NULL;
  }
  ++p->at;
  return key;
}

/* Parses an array or object at its opening bracket. */
static fa3_json *parse_container(parser *p, int is_object) {
  const int close = is_object ? '}' : ']';
  fa3_json *result = make(p, is_object ? FA3_JSON_OBJECT : FA3_JSON_ARRAY);
  if (!result)
    return NULL;
  if (++p->depth > MAX_DEPTH)
    return fail(p, "nested too deeply");
  ++p->at;
  skip_space(p);
  fa3_json **tail = &result->first;
  while (peek(p) != close || result->count) {
    const char *key = NULL;
    if (is_object) {
      if (result->count == MAX_MEMBERS)
        return fail(p, "too many members in an object");
      if (!(key = parse_key(p, result)))
        return NULL;
    }
    fa3_json *element = parse_value(p);
    if (!element)
      return NULL;
    element->key = key;
    *tail = element;
    tail = &element->next;
    ++result->count;
    skip_space(p);
    if (peek(p) == close)
      break;
    if (peek(p) != ',')
      return fail(p, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
    ++p->at;
  }
  ++p->at;
  --p->depth;
  return result;
}

static fa3_json *parse_value(parser *p) {
  skip_space(p);
  int c = peek(p);
  if (c == '{' || c == '[')
    return parse_container(p, c == '{');
  if (c == '"') {
    const char *string = parse_string(p);
    fa3_json *value = string ? make(p, FA3_JSON_STRING) : NULL;
    if (value)
      value->string = string;
    return value;
  }
  if (c == '-' || (c >= '0' && c <= '9'))
    return parse_number(p);
  return parse_word(p);
}

const fa3_json *fa3_json_parse(const char *text, size_t size, fa3_arena *arena,
                               fa3_status *status) {
  parser p = {(const unsigned char *)text, 0, size, 0, arena, status};
  const fa3_json *value = parse_value(&p);
  if (!value)
    return NULL;
  skip_space(&p);
  if (p.at != p.size)
    return fail(&p, "unexpected text after the value");
  return value;
}

const fa3_json *fa3_json_member(const fa3_json *object, const char *key) {
  for (const fa3_json *member = object->first; member; member = member->next)
    if (member->key && !strcmp(member->key, key))
      return member;
  return NULL;
}

const char *fa3_json_describe(const fa3_json *value) {
  switch (value->type) {
  case FA3_JSON_NULL:
    return "null";
  case FA3_JSON_BOOL:
    return "a truth value";
  case FA3_JSON_INTEGER:
    return "an integer";
  case FA3_JSON_NUMBER:
    return "a number that is no 64-bit integer";
  case FA3_JSON_STRING:
    return "a string";
  case FA3_JSON_ARRAY:
    return "an array";
  case FA3_JSON_OBJECT:
    return "an object";
  }
  return "an unknown value";
}
