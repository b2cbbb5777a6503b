// RUN: fa3-opt %s -tile-assign-roles -verify-diagnostics

gpu.module @m {
  // expected-error @+1 {{'gpu.func' op expects a kernel of one block (control flow in scf operations), got 3}}
  gpu.func @branches(%condition: i1) kernel {
    cf.cond_br %condition, ^bb1, ^bb2
  ^bb1:
    cf.br ^bb2
  ^bb2:
    gpu.return
  }
}
