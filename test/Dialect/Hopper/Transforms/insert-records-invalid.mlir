// RUN: fa3-opt %s --hopper-insert-records --split-input-file --verify-diagnostics
// RUN: not fa3-opt /dev/null --hopper-insert-records=ctas=0 2>&1 | FileCheck %s --check-prefix=CTAS
// CTAS: hopper-insert-records: expects at least 1 CTA, got 0
// RUN: not fa3-opt /dev/null --hopper-insert-records=capacity=100 2>&1 | FileCheck %s --check-prefix=CAPACITY
// CAPACITY: hopper-insert-records: expects a capacity that is a power of two between 2 and 16777216, got 100

func.func @host(%n: index) {
  hopper.launch @m::@kernel blocks %n threads 128 smem 0 args()
  // expected-note @+1 {{the second launch}}
  hopper.launch @m::@kernel blocks %n threads 128 smem 0 args()
  return
}
gpu.module @m {
  // expected-error @+1 {{is launched 2 times, records need a kernel of one launch}}
  gpu.func @kernel() kernel {
    gpu.return
  }
}

// -----

// expected-error @+1 {{is called, so that it cannot take an array of records}}
func.func @host(%n: index) {
  hopper.launch @m::@kernel blocks %n threads 128 smem 0 args()
  return
}
func.func @caller(%n: index) {
  call @host(%n) : (index) -> ()
  return
}
gpu.module @m {
  gpu.func @kernel() kernel {
    gpu.return
  }
}

// -----

func.func @host(%n: index) {
  hopper.launch @m::@kernel blocks %n threads 128 smem 0 args()
  return
}
gpu.module @m {
  gpu.func @kernel() kernel {
    %true = arith.constant true
    warp.specialize {
      warp.group @math warps 4 at 0 (%g) {
        // expected-error @+1 {{in a kernel whose events are to be recorded, expects 'scf.for'}}
        scf.while : () -> () {
          scf.condition(%true)
        } do {
          scf.yield
        }
      }
    }
    gpu.return
  }
}
