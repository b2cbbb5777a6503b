// Names that a program has already: the pass chooses others; a function that is
// compiled as it is has its own.
// RUN: split-file %s %t
// RUN: fa3-opt %t/free.mlir -fa3-lower-to-nvvm-pipeline | FileCheck %s
// RUN: not fa3-opt %t/taken.mlir -fa3-lower-to-nvvm-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=TAKEN

//--- free.mlir
// CHECK: attention.call @f_attention_2(
!t = tensor<1x2x300x64xf16>
func.func @f(%q: !t) -> (!t, !t) {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o, %q : !t, !t
}
func.func private @f_attention(!t)
func.func private @f_attention_1_kernels(!t)

//--- taken.mlir
// TAKEN: taken.mlir:5:{{.*}} error: {{.*}}needs the name 'f_kernels', which another operation has
// TAKEN: taken.mlir:8:{{.*}} note: this is the other
!t = tensor<1x2x300x64xf16>
func.func @f(%q: !t) -> !t {
  %o = attention.forward %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}
func.func private @f_kernels(!t)
