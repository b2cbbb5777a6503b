//===- ManifestFuzz.cpp - a manifest that anybody may have written --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parses the input as a manifest; if it is one, describes it, evaluates its
// formulas and launches it on the fake driver with good and bad arguments.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "fa3/Runtime/fa3_runtime.h"

#include <cstdlib>
#include <string>
#include <vector>

static const char kPtx[] = R"(.version 9.0
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

/// What the fake driver takes for a cubin: it has no hash to fit.
static std::string makeCubin() {
  std::string image("\x7f"
                    "ELF\x02\x01",
                    6);
  image.resize(64);
  image[58] = 64; // size of an entry of the table of sections, which is empty
  return image + kPtx + '\0';
}

static const int64_t kExtents[] = {
    0,   1,   2,    3,         7,         16,        64, 128,       170,
    300, 512, 4096, 1ll << 31, 1ll << 32, 1ll << 40, -1, INT64_MAX, INT64_MIN};
static constexpr size_t kNumExtents = std::size(kExtents);
static constexpr size_t kNumGoodExtents = 12;

namespace {
/// Numbers that depend on the input only.
struct Random {
  uint64_t state;
  uint32_t operator()() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state >> 33);
  }
};

/// How bad the arguments of a call are.
enum Mood { Good, Odd, Overlapping, Hostile, kNumMoods };
} // namespace

static fa3_arg makeTensor(const fa3_arg_info &info, size_t index, Mood mood,
                          Random &random) {
  int64_t shape[FA3_MAX_RANK], stride[FA3_MAX_RANK];
  for (int d = 0; d < info.rank; ++d) {
    if (info.extent[d] >= 0)
      shape[d] = info.extent[d];
    else if (mood == Hostile)
      shape[d] = kExtents[random() % kNumExtents];
    else // equal names, equal extents
      shape[d] = kExtents[1 + (info.dim_name[d][0] + random.state / 1024) %
                                  (kNumGoodExtents - 1)];
    stride[d] = kExtents[random() % kNumExtents];
  }
  uintptr_t address = 0x1000000000ull * (index + 1);
  if (mood == Overlapping)
    address = 0x1000 + random() % 4096 * 16;
  if (mood == Hostile)
    address = random() % 2 ? -16 * (random() % 64) : random() % 64 * 8;
  bool isStrided = mood != Good && random() % 2;
  return fa3_tensor(info.type, reinterpret_cast<void *>(address), info.rank,
                    shape, isStrided ? stride : nullptr);
}

static std::vector<fa3_arg> makeArgs(const fa3_program *program, Mood mood,
                                     Random random) {
  std::vector<fa3_arg> args;
  for (size_t i = 0; i < fa3_program_num_args(program); ++i) {
    fa3_arg_info info;
    FA3_FUZZ_CHECK(fa3_program_arg_info(program, i, &info, nullptr) == FA3_OK);
    if (info.kind == FA3_TENSOR)
      args.push_back(makeTensor(info, i, mood, random));
    else if (info.type == FA3_F32)
      args.push_back(
          fa3_scalar_real(info.type, static_cast<int32_t>(random()) / 1000.0));
    else
      args.push_back(
          fa3_scalar_integer(info.type, kExtents[random() % kNumExtents]));
  }
  return args;
}

/// The status says what the code says.
static bool call(fa3_code code, const fa3_status &status) {
  FA3_FUZZ_CHECK(code == status.code);
  FA3_FUZZ_CHECK((code == FA3_OK) == (status.message[0] == '\0'));
  return code == FA3_OK;
}

static void drive(const fa3_program *program, bool isLoaded, uint64_t seed) {
  fa3_status status;
  int64_t value;
  for (int mood = 0; mood < kNumMoods; ++mood) {
    std::vector<fa3_arg> args =
        makeArgs(program, static_cast<Mood>(mood), Random{seed + mood});
    const fa3_arg *data = args.data();
    size_t size = args.size();
    bool isValid = call(fa3_validate(program, data, size, &status), status);
    for (fa3_quantity quantity : {FA3_FLOPS, FA3_BYTES})
      call(fa3_evaluate(program, quantity, data, size, &value, &status),
           status);
    for (size_t i = 0; i < fa3_program_num_launches(program); ++i) {
      fa3_launch_info info;
      call(fa3_program_launch_info(program, i, &info, &status), status);
      if (call(fa3_evaluate_grid(program, i, data, size, &value, &status),
               status))
        FA3_FUZZ_CHECK(value >= 0 && value <= INT32_MAX);
    }
    int64_t workspace = 0;
    bool hasSize = call(
        fa3_workspace_size(program, data, size, &workspace, &status), status);
    FA3_FUZZ_CHECK(!hasSize || workspace >= 0);
    if (!isLoaded)
      continue;
    void *memory = reinterpret_cast<void *>(uintptr_t(0x700000000000));
    bool launched = call(fa3_launch_with_workspace(program, data, size, memory,
                                                   workspace, nullptr, &status),
                         status);
    FA3_FUZZ_CHECK(!launched || isValid);
  }
}

/// Forgets what the fake driver has recorded.
static void resetDriver() {
  static auto *reset =
      reinterpret_cast<void (*)()>(fuzz::findInDriver("fakeCudaReset"));
  reset();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string cubin = makeCubin();
  // Memory of exactly the size, so that reading beyond is seen.
  std::vector<char> text(data, data + size);
  uint64_t seed = fa3_hash(data, size);
  fa3_program *program = nullptr;
  fa3_status status;
  if (!call(fa3_program_parse(text.data(), size, 132, &program, &status),
            status)) {
    FA3_FUZZ_CHECK(!program);
    return 0;
  }
  drive(program, /*isLoaded=*/false, seed);
  call(fa3_program_check_ptx(program, kPtx, sizeof(kPtx), &status), status);
  FA3_FUZZ_CHECK(fa3_program_destroy(program, &status) == FA3_OK);
  for (bool isCubin : {false, true}) {
    const void *image = kPtx;
    if (isCubin)
      image = cubin.data();
    if (!call(fa3_program_load(text.data(), size, image,
                               isCubin ? cubin.size() : sizeof(kPtx),
                               isCubin ? FA3_IMAGE_CUBIN : FA3_IMAGE_PTX,
                               &program, &status),
              status))
      continue;
    drive(program, /*isLoaded=*/true, seed);
    FA3_FUZZ_CHECK(fa3_program_destroy(program, &status) == FA3_OK);
  }
  resetDriver();
  return 0;
}
