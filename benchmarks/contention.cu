// SPDX-License-Identifier: Apache-2.0
// How fast element code runs beside products, and products beside it: warp
// groups with nothing but asynchronous products of zeros and groups with
// nothing but element code share the four schedulers of a multiprocessor.
//
//   nvcc -gencode arch=compute_90a,code=sm_90a -O3 -o contention contention.cu
//   ./contention
//
// For each kind of element code, and "p+e" groups of products and element code:
// the share of time in which the tensor cores work, and how many instructions
// (for the last five kinds: scores) a scheduler begins per cycle.
// Results: docs/experiments/what-binds-a-step.md.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum class Kind {
  Add,
  Fma,
  Max,
  Convert,
  Half,
  Exp2,
  Softmax,
  Capped,
  Polynomial,
  NoSum,
  NoExp2
};
static constexpr const char *kNames[] = {
    "add",     "fma",     "max",        "convert", "add.f16x2", "exp2",
    "softmax", "softcap", "polynomial", "no sum",  "no exp2"};

static constexpr int kElements = 16; // of a thread's tile of element code
static constexpr int kProducts = 8;  // in flight
static constexpr int kRounds = 800;

// Four accumulators of a product, and the names of n of them in a statement.
#define ACC4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ACC16(i) ACC4(i), ACC4(i + 4), ACC4(i + 8), ACC4(i + 12)
#define NAMES32                                                                \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "     \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "     \
  "%30, %31"
#define NAMES56                                                                \
  NAMES32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "     \
          "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55"

/// The first product of an attention with 112 keys a step: both operands are in
/// shared memory.
struct FirstProduct {
  static constexpr int n = 112;
  static constexpr const char *kName = "m64n112k16, A in shared memory";
  static __device__ void issue(float *d, uint64_t a, uint64_t b,
                               const uint32_t *) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n112k16.f32.f16.f16 {" NAMES56
                 "}, %56, %57, 1, 1, 1, 0, 0;"
                 : ACC16(0), ACC16(16), ACC16(32), ACC4(48), ACC4(52)
                 : "l"(a), "l"(b));
  }
};

/// The second product with heads of 64: the left operand is in registers.
struct SecondProduct {
  static constexpr int n = 64;
  static constexpr const char *kName = "m64n64k16, A in registers";
  static __device__ void issue(float *d, uint64_t, uint64_t b,
                               const uint32_t *a) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
                 : ACC16(0), ACC16(16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

/// One instruction of the kind on each element.
template <Kind kind>
__device__ void runInstruction(float (&x)[kElements], float y) {
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    float other = x[(i + 5) % kElements];
    if constexpr (kind == Kind::Add)
      asm volatile("add.ftz.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(other));
    if constexpr (kind == Kind::Fma)
      asm volatile("fma.rn.ftz.f32 %0, %0, 0f3F812345, %1;"
                   : "+f"(x[i])
                   : "f"(y));
    if constexpr (kind == Kind::Max)
      asm volatile("max.ftz.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(y));
    if constexpr (kind == Kind::Convert)
      asm volatile("{ .reg .b32 t; cvt.rn.f16x2.f32 t, %0, %1; "
                   "mov.b32 %0, t; }"
                   : "+f"(x[i])
                   : "f"(y));
    if constexpr (kind == Kind::Half)
      asm volatile("{ .reg .b32 s, t; mov.b32 s, %0; mov.b32 t, %1; "
                   "add.rn.f16x2 s, s, t; mov.b32 %0, s; }"
                   : "+f"(x[i])
                   : "f"(y));
    if constexpr (kind == Kind::Exp2)
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
  }
}

/// Puts elements i - 1 and i, converted to 16 bits, in their places.
__device__ void convertPair(float (&x)[kElements], const float (&e)[kElements],
                            int i) {
  x[i - 1] = e[i];
  asm volatile("{ .reg .b32 t; cvt.rn.f16x2.f32 t, %1, %2; mov.b32 %0, t; }"
               : "=f"(x[i])
               : "f"(e[i - 1]), "f"(e[i]));
}

/// Without tanh: a polynomial of small scores and a test that they are.
__device__ void runPolynomial(float (&x)[kElements], float y, int &greatest,
                              float (&sums)[4]) {
  float e[kElements];
#pragma unroll
  for (int i = 0; i < kElements; i += 2)
    asm volatile("{ .reg .f32 s, t; .reg .b32 u; abs.ftz.f32 s, %1; "
                 "abs.ftz.f32 t, %2; max.ftz.f32 s, s, t; mov.b32 u, s; "
                 "max.s32 %0, %0, u; }"
                 : "+r"(greatest)
                 : "f"(x[i]), "f"(x[i + 1]));
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    asm volatile("{ .reg .f32 t; mul.ftz.f32 t, %1, %1; "
                 "fma.rn.ftz.f32 t, t, 0fB4BD0000, 0f3E028A00; "
                 "fma.rn.ftz.f32 t, %1, t, %2; ex2.approx.ftz.f32 %0, t; }"
                 : "=f"(e[i])
                 : "f"(x[i]), "f"(y));
    asm volatile("add.ftz.f32 %0, %0, %1;" : "+f"(sums[i % 4]) : "f"(e[i]));
    if (i % 2)
      convertPair(x, e, i);
  }
}

/// The instructions of online softmax on each element.
template <Kind kind>
__device__ void runSoftmax(float (&x)[kElements], float y, float (&maxima)[4],
                           float (&sums)[4]) {
  float e[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    float score = x[i];
    if constexpr (kind == Kind::Capped)
      asm volatile("{ .reg .f32 t; mul.ftz.f32 t, %0, 0f3AE7B46A; "
                   "tanh.approx.f32 %0, t; }"
                   : "+f"(score));
    asm volatile("max.ftz.f32 %0, %0, %1;" : "+f"(maxima[i % 4]) : "f"(score));
    asm volatile("fma.rn.ftz.f32 %0, %1, 0f3F812345, %2;"
                 : "=f"(e[i])
                 : "f"(score), "f"(y));
    if constexpr (kind != Kind::NoExp2)
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(e[i]));
    if constexpr (kind != Kind::NoSum)
      asm volatile("add.ftz.f32 %0, %0, %1;" : "+f"(sums[i % 4]) : "f"(e[i]));
    if (i % 2)
      convertPair(x, e, i);
  }
}

/// `products` groups, `elements` groups behind them. `counts` gets what each
/// group has done and the cycles that it took.
template <typename Product, Kind kind>
__global__ void __launch_bounds__(512, 1)
    share(int products, int elements, unsigned long long *counts, float *sink) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ volatile int done;
  for (int i = threadIdx.x; i < 12 * 1024; i += blockDim.x)
    reinterpret_cast<float *>(memory)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;");
  if (threadIdx.x == 0)
    done = products == 0;
  __syncthreads();
  int group = threadIdx.x / 128;
  auto describe = [&](int offset) {
    uint64_t base = __cvta_generic_to_shared(memory) + offset;
    return (base >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  };
  unsigned long long count = 0, start = clock64();
  float total = 0;
  if (group < products) {
    uint64_t a = describe(0), b = describe(16384);
    float d[Product::n / 2] = {};
    uint32_t words[4] = {};
    for (int round = 0; round < kRounds; ++round) {
      asm volatile("wgmma.fence.sync.aligned;");
#pragma unroll
      for (int i = 0; i < kProducts; ++i)
        Product::issue(d, a + i % 4 * 2, b + i % 4 * 2, words);
      asm volatile("wgmma.commit_group.sync.aligned;");
      asm volatile("wgmma.wait_group.sync.aligned 0;");
      count += kProducts;
    }
    done = 1;
    for (float value : d)
      total += value;
  } else if (group < products + elements) {
    float x[kElements], maxima[4] = {}, sums[4] = {};
    int greatest = 0;
    for (int i = 0; i < kElements; ++i)
      x[i] = threadIdx.x * 0.001f * i;
    float y = sink ? 1.0001f : threadIdx.x;
    for (int round = 0; products ? !done : round < kRounds; ++round) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if constexpr (kind < Kind::Softmax)
          runInstruction<kind>(x, y);
        else if constexpr (kind == Kind::Polynomial)
          runPolynomial(x, y, greatest, sums);
        else
          runSoftmax<kind>(x, y, maxima, sums);
      count += 8 * kElements;
    }
    total += greatest;
    for (float value : x)
      total += value;
    for (int i = 0; i < 4; ++i)
      total += maxima[i] + sums[i];
  }
  if (threadIdx.x % 128 == 0) {
    counts[blockIdx.x * 8 + group] = count;
    counts[blockIdx.x * 8 + 4 + group] = clock64() - start;
  }
  if (total == 123.456f)
    *sink = total;
}

template <typename Product, Kind kind>
static void measure(unsigned long long *counts, float *sink) {
  constexpr int kBytes = 64 * 1024, kProcessors = 132;
  auto kernel = share<Product, kind>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kBytes);
  std::printf("%-10s", kNames[static_cast<int>(kind)]);
  struct Groups {
    int products, elements;
  };
  constexpr Groups kGroups[] = {{0, 3}, {1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}};
  for (auto [products, elements] : kGroups) {
    kernel<<<kProcessors, 512, kBytes>>>(products, elements, counts, sink);
    if (cudaError_t error = cudaDeviceSynchronize()) {
      std::printf(" %s\n", cudaGetErrorString(error));
      std::exit(1);
    }
    unsigned long long of[8];
    cudaMemcpy(of, counts, sizeof(of), cudaMemcpyDeviceToHost);
    double tensor = 0, rate = 0;
    for (int i = 0; i < products; ++i) // m64 n k16 takes n / 2 cycles
      tensor += double(of[i]) * Product::n / 2 / of[4 + i];
    for (int i = products; i < products + elements; ++i)
      rate += double(of[i]) / of[4 + i];
    std::printf("  %d+%d %.2f %.3f", products, elements, tensor, rate);
  }
  std::printf("\n");
}

template <typename Product>
static void measureAll(unsigned long long *counts, float *sink) {
  std::printf("%s\n", Product::kName);
  measure<Product, Kind::Add>(counts, sink);
  measure<Product, Kind::Fma>(counts, sink);
  measure<Product, Kind::Max>(counts, sink);
  measure<Product, Kind::Convert>(counts, sink);
  measure<Product, Kind::Half>(counts, sink);
  measure<Product, Kind::Exp2>(counts, sink);
  measure<Product, Kind::Softmax>(counts, sink);
  measure<Product, Kind::Capped>(counts, sink);
  measure<Product, Kind::Polynomial>(counts, sink);
  measure<Product, Kind::NoSum>(counts, sink);
  measure<Product, Kind::NoExp2>(counts, sink);
}

int main() {
  unsigned long long *counts;
  float *sink;
  cudaMalloc(&counts, 132 * 8 * sizeof(*counts));
  cudaMalloc(&sink, sizeof(*sink));
  measureAll<FirstProduct>(counts, sink);
  measureAll<SecondProduct>(counts, sink);
}
