// Sums of 16-bit weights by products, which is slower and off by default.
// RUN: fa3-run --cpu --check-each-pass="sums=rounded block-m=128 block-n=64" %s --dims b=1,sq=70,sk=131 | FileCheck %s
// RUN: fa3-run --cpu --check-each-pass="sums=rounded stages=1 mode=dynamic block-m=64 block-n=80" %s --sms=2 --dims b=2,sq=200,sk=131 | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes
func.func @no_lse_16(%q: tensor<?x1x?x64xf16>, %k: tensor<?x1x?x64xf16>, %v: tensor<?x1x?x64xf16>) -> tensor<?x1x?x64xf16> {
  %o = attention.forward %q, %k, %v : (tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>) -> tensor<?x1x?x64xf16>
  return %o : tensor<?x1x?x64xf16>
}
