// Parts of a number of keys: a part starts at its number times its blocks, and
// the last one ends with the keys. Where the launch chooses, there are as many
// as keys fill. The merge looks at eight at once, however many there are, but
// for up to two at both: that is the same, since a part that is not there
// changes nothing.
// RUN: fa3-opt %s -attention-to-tile="block-n=64 part-keys=192" | FileCheck %s
// RUN: not fa3-opt %s -attention-to-tile="block-n=64 part-keys=160" -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEPS
// STEPS: 'attention.forward' op splits keys: expects part-keys to be a multiple of the 64 keys of a step, got 160
// RUN: not fa3-opt %s -attention-to-tile="part-keys=-16" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not fa3-opt %s -attention-to-tile="part-keys=24" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: for the --part-keys option: expects

// CHECK-LABEL: func.func @few(
// CHECK: %[[EACH:.*]] = arith.constant 192 : index
// CHECK: arith.ceildivsi %{{.*}}, %[[EACH]] : index
// CHECK: %[[ARE_FEW:.*]] = arith.cmpi sle, %{{.*}}, %c2{{.*}} : index
// CHECK-NEXT: scf.if %[[ARE_FEW]]
// CHECK-NEXT: tile.launch {{.*}}@few_merge_few args
// CHECK: tile.launch {{.*}}@few_merge args
// CHECK: gpu.func @few(
// CHECK: tile.grid
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART:.*]], %[[THREE]] : index
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[THREE]] : index
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[PART]], %{{.*}} : index
// CHECK: arith.select %[[LAST]], %[[BLOCKS]], %[[END]] : index
// CHECK: gpu.func @few_merge_few(
// CHECK: arith.constant dense<-0.000000e+00>
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TWO]]
// CHECK-NOT: scf.for
// CHECK: gpu.func @few_merge(
// CHECK: arith.constant dense<-0.000000e+00>
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[EIGHT]]
// CHECK-NOT: scf.for
func.func @few(%q: tensor<2x4x3x64xbf16> {tile.name = "q"}, %k: tensor<2x2x?x64xbf16> {tile.name = "k"}, %v: tensor<2x2x?x64xbf16> {tile.name = "v"})
    -> tensor<2x4x3x64xbf16> {
  %n = arith.constant 0 : index
  %o = attention.forward %q, %k, %v splits %n
    : (tensor<2x4x3x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>) -> tensor<2x4x3x64xbf16>
  return %o : tensor<2x4x3x64xbf16>
}

// One kernel adds sinks to what it has divided, from natural logarithms.
// CHECK-LABEL: gpu.func @sinks(
// CHECK: %[[OUT:.*]] = arith.mulf %{{.*}}#0, %{{.*}}tensor<64x64xf32>
// CHECK: %[[LSE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xi1>, tensor<64xf32>
// CHECK: %[[MOST:.*]] = arith.maxnumf %[[LSE]], %{{.*}} : tensor<64xf32>
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : tensor<64x64xf32>
// CHECK: arith.select %{{.*}}, %[[NONE]], %[[OUT]]
// CHECK: arith.maxnumf %[[MOST]], %{{.*}} : tensor<64xf32>
// CHECK-NOT: gpu.func @sinks_merge
func.func @sinks(%q: tensor<2x4x64x64xbf16> {tile.name = "q"}, %k: tensor<2x4x?x64xbf16> {tile.name = "k"}, %v: tensor<2x4x?x64xbf16> {tile.name = "v"}, %sinks: tensor<4xf32> {tile.name = "sinks"})
    -> tensor<2x4x64x64xbf16> {
  %o = attention.forward %q, %k, %v sinks(%sinks : tensor<4xf32>)
    : (tensor<2x4x64x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>) -> tensor<2x4x64x64xbf16>
  return %o : tensor<2x4x64x64xbf16>
}
