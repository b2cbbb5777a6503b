// SPDX-License-Identifier: Apache-2.0
// What a program and a library that are linked for an older C library rely on:
// constructors, exceptions through their own unwinder, threads, and each
// function that lib/OldGlibc has in place of the C library's. Prints what is
// wrong.
//
//   fa3-old-glibc <library>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <malloc.h>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

static int failures = 0;
static void check(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "fa3-old-glibc: wrong: %s\n", what);
  ++failures;
}

static int argumentsOfConstructor = 0;
__attribute__((constructor)) static void construct(int argc, char **, char **) {
  argumentsOfConstructor = argc;
}
static std::string madeAtStart(100, 'x');
struct Ending {
  ~Ending() { std::puts("fa3-old-glibc: destructors run"); }
};
static Ending ending;

__attribute__((noinline)) static int throwAndCatch(int depth) {
  if (depth == 0)
    throw std::runtime_error(madeAtStart);
  std::string onTheWay(40, 'y');
  try {
    return throwAndCatch(depth - 1) + static_cast<int>(onTheWay.size());
  } catch (const std::logic_error &) {
    return -1;
  }
}

static void checkExceptions(int (*ofLibrary)(int)) {
  std::atomic<int> caught{0}, caughtByLibrary{0};
  std::once_flag once;
  int calls = 0;
  auto shared = std::make_shared<int>(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, shared] {
      std::call_once(once, [&] { ++calls; });
      for (int round = 0; round < 200; ++round) {
        try {
          throwAndCatch(round % 5);
        } catch (const std::runtime_error &error) {
          caught += error.what() == madeAtStart;
        }
        caughtByLibrary += ofLibrary(round) == round;
        std::shared_ptr<int> copy = shared;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  check(caught == 800, "exceptions in threads");
  check(caughtByLibrary == 800, "exceptions in threads of the library");
  check(calls == 1, "std::call_once");
  check(shared.use_count() == 1, "counts of std::shared_ptr");
}

static void checkFiles() {
  char folder[] = "/tmp/fa3-old-glibc-XXXXXX";
  if (!mkdtemp(folder))
    return check(false, "mkdtemp");
  std::string file = folder + std::string("/file");
  std::string link = folder + std::string("/link");
  std::string pipe = folder + std::string("/pipe");
  std::ofstream(file) << "12345";
  check(symlink("file", link.c_str()) == 0, "symlink");
  struct stat status;
  struct stat64 status64;
  check(stat(link.c_str(), &status) == 0 && status.st_size == 5 &&
            S_ISREG(status.st_mode),
        "stat");
  check(stat64(link.c_str(), &status64) == 0 && status64.st_size == 5,
        "stat64");
  check(lstat(link.c_str(), &status) == 0 && S_ISLNK(status.st_mode), "lstat");
  check(lstat64(link.c_str(), &status64) == 0 && S_ISLNK(status64.st_mode),
        "lstat64");
  if (FILE *open = std::fopen(file.c_str(), "r")) {
    check(fstat(fileno(open), &status) == 0 && status.st_size == 5, "fstat");
    check(fstat64(fileno(open), &status64) == 0 && status64.st_size == 5,
          "fstat64");
    std::fclose(open);
  }
  check(stat("/nonexistent", &status) == -1 && errno == ENOENT,
        "errno of stat");
  check(mknod(pipe.c_str(), S_IFIFO | 0600, 0) == 0 &&
            stat(pipe.c_str(), &status) == 0 && S_ISFIFO(status.st_mode),
        "mknod");
  for (const std::string &path : {file, link, pipe})
    unlink(path.c_str());
  rmdir(folder);
}

static void checkNumbers() {
  std::random_device device;
  unsigned different = device();
  for (int i = 0; i < 4 && different; ++i)
    different &= device();
  std::vector<unsigned> numbers;
  for (int i = 0; i < 8; ++i)
    numbers.push_back(device());
  bool allEqual = true;
  for (unsigned number : numbers)
    allEqual &= number == numbers[0];
  check(!allEqual, "std::random_device");

  std::unique_ptr<char[]> memory(new char[100000]);
  memory[0] = 1;
  check(mallinfo2().uordblks + mallinfo2().hblkhd >= 100000, "mallinfo2");

  volatile double two = 2, three = 3;
  check(std::exp2(three) == 8 && std::log2(two) == 1 &&
            std::pow(two, three) == 8,
        "exp2, log2, pow");
  check(std::fabs(std::log(std::exp(two)) - 2) < 1e-15, "exp, log");
}

int main(int argc, char **argv) {
  check(argumentsOfConstructor == argc, "arguments of a constructor");
  check(madeAtStart == std::string(100, 'x'), "objects made at start");
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (!library) {
    std::fprintf(stderr, "fa3-old-glibc: expects a library: %s\n",
                 argc == 2 ? dlerror() : "none given");
    return 2;
  }
  using Function = int (*)(int);
  checkExceptions(reinterpret_cast<Function>(dlsym(library, "throwInside")));
  checkFiles();
  checkNumbers();
  std::puts(failures ? "fa3-old-glibc: failed" : "fa3-old-glibc: all right");
  return failures != 0;
}
