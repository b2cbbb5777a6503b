//===- TestSupport.h - a program to test with -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_UNITTESTS_RUNTIME_TESTSUPPORT_H
#define FA3_UNITTESTS_RUNTIME_TESTSUPPORT_H

#include "fa3/Runtime/fa3_runtime.h"

#include <string>
#include <vector>

namespace fa3test {

/// PTX of kernel `fwd` with the parameters that manifest() states.
std::string ptx();

/// A forward attention: q, k, v, o (tensors, tensor maps), lse (tensor), scale
/// (f32), window (i32). Every member of the schema is there.
std::string manifest();

/// `text` with the first `from` replaced; fails the test if there is none.
std::string replaced(std::string text, const std::string &from,
                     const std::string &to);

/// manifest() with the formula of `flops` replaced.
std::string withFlops(const std::string &formula);

/// manifest() with the hash of another PTX.
std::string withHashOf(const std::string &text);

/// manifest() with two workspaces, the second of which the kernel takes in
/// place of lse: 100 bytes, and 4 for every query and head.
std::string withWorkspaces();

struct Shape {
  int64_t batch = 2, heads = 3, queries = 300, keys = 170;
};

/// Contiguous arguments in the order of the manifest; addresses are made up.
std::vector<fa3_arg> arguments(const Shape &shape = Shape());

enum ArgumentIndex { Q, K, V, O, Lse, Scale, Window };

/// Owns a program and the status of the last call.
class Program {
public:
  Program() = default;
  Program(const Program &) = delete;
  ~Program() { reset(); }

  fa3_code parse(const std::string &manifest, int64_t sms = 132);
  fa3_code load(const std::string &manifest, const std::string &image,
                fa3_image_kind kind = FA3_IMAGE_PTX);
  fa3_code validate(const std::vector<fa3_arg> &args);
  fa3_code launch(const std::vector<fa3_arg> &args, void *stream = nullptr);
  fa3_code flops(const std::vector<fa3_arg> &args, int64_t &value);
  fa3_code reset();

  std::string message() const { return status.message; }
  fa3_program *get() const { return program; }

  fa3_status status = {};

private:
  fa3_program *program = nullptr;
};

} // namespace fa3test

#endif // FA3_UNITTESTS_RUNTIME_TESTSUPPORT_H
