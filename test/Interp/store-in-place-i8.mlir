// The output, of 16 bits, over integers of 8 bits that a product has read.
// RUN: fa3-run --check-each-pass="store=in-place mode=static" %s --dims b=1,sq=70,sk=40 --sms 2 | FileCheck %s
// CHECK: same answer after

func.func @f(%q: tensor<?x2x?x64xi8> {tile.name = "q"},
             %k: tensor<?x2x?x64xi8> {tile.name = "k"},
             %v: tensor<?x2x?x64xf8E4M3FN> {tile.name = "v"},
             %qs: tensor<1x1x1xf32>, %ks: tensor<1x1x1xf32>, %vs: tensor<1x1x1xf32>)
    -> tensor<?x2x?x64xf16> {
  %o = attention.forward %q, %k, %v scales(%qs, %ks, %vs : tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    : (tensor<?x2x?x64xi8>, tensor<?x2x?x64xi8>, tensor<?x2x?x64xf8E4M3FN>) -> tensor<?x2x?x64xf16>
  return %o : tensor<?x2x?x64xf16>
}
