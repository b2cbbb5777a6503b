// RUN: fa3-opt %s -fa3-merge-variants -split-input-file -verify-diagnostics

module {
// expected-error @+1 {{is a variant without a host function}}
module {
  gpu.module @k {
  }
}
}

// -----

module {
module {
  // expected-note @+1 {{this is the first}}
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  // expected-error @+1 {{is a second host function}}
  func.func @g(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
module {
  // expected-error @+1 {{neither launches a kernel nor is a condition, whose result is an i1}}
  func.func @f(%n: index) {
    return
  }
}
}

// -----

module {
module {
  // expected-error @+1 {{has no place in a variant: expects host function, condition and kernels}}
  memref.global @x : memref<4xf32>
}
}

// -----

module {
// Launches under control flow.
module {
  func.func @f(%n: index, %c: i1) {
    // expected-error @+1 {{expects straight-line code around launches of a variant, got a region}}
    scf.if %c {
      tile.launch @k::@f blocks %n args()
    }
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
module {
  // expected-error @+1 {{is a condition of the last variant, which is launched if no other is}}
  func.func @condition(%n: index) -> i1 {
    %true = arith.constant true
    return %true : i1
  }
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
// expected-error @+1 {{is a variant without a condition, and not the last one}}
module @one {
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
module @two {
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
module @one {
  // expected-error @+1 {{expects the arguments of the first host function, '(index) -> ()', got '(i64) -> i1'}}
  func.func @condition(%n: i64) -> i1 {
    %true = arith.constant true
    return %true : i1
  }
  // expected-note @+1 {{this is the first}}
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
module @two {
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
module @one {
  func.func @condition(%n: index) -> i1 {
    %true = arith.constant true
    return %true : i1
  }
  // expected-note @+1 {{this is the first}}
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
module @two {
  // expected-error @+1 {{has another name than the first host function, 'f'}}
  func.func @g(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
// expected-note @+1 {{this is the other}}
func.func private @f()
module @one {
  // expected-error @+1 {{needs the name 'f', which another operation has}}
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

// Memory of a variant alone.
module {
module {
  func.func @f(%n: index) {
    // expected-error @+1 {{has effects in front of the launches of a variant, where values and checks may stand}}
    %w = memref.alloc(%n) : memref<?xf32>
    %v = memref.cast %w : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
}

// -----

module {
module {
  func.func @f(%n: index) {
    tile.launch @k::@f blocks %n args()
    return
  }
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
    // expected-error @+1 {{is no symbol in a module of kernels of a variant}}
    %x = arith.constant 1 : index
  }
}
}
