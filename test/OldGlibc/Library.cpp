// SPDX-License-Identifier: Apache-2.0
// A library with a C++ runtime of its own, as libfa3.so has: it throws and
// catches.
#include <stdexcept>
#include <string>

static const std::string madeWhenLoaded(30, 'z');

__attribute__((noinline)) static void raise(int value) {
  throw std::out_of_range(madeWhenLoaded + std::to_string(value));
}

extern "C" __attribute__((visibility("default"))) int throwInside(int value) {
  try {
    raise(value);
  } catch (const std::exception &error) {
    return std::stoi(error.what() + madeWhenLoaded.size());
  }
  return -1;
}
