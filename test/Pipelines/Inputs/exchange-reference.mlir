// With P = X Y^T, rounded: A = P Y and R = P^T X, element by element.
!x = memref<?x64xf16, strided<[?, 1]>>
!r = memref<?x64xf32, strided<[?, 1]>>
func.func @f(%x: !x {tile.name = "x"}, %y: !x {tile.name = "y"},
             %a: !r {tile.name = "a"}, %r: !r {tile.name = "r"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : !x
  %m = memref.dim %y, %c0 : !x
  scf.for %j = %c0 to %m step %c1 {
    scf.for %c = %c0 to %c64 step %c1 {
      memref.store %zero, %r[%j, %c] : !r
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    scf.for %c = %c0 to %c64 step %c1 {
      memref.store %zero, %a[%i, %c] : !r
    }
    scf.for %j = %c0 to %m step %c1 {
      %sum = scf.for %c = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
        %u = memref.load %x[%i, %c] : !x
        %v = memref.load %y[%j, %c] : !x
        %u32 = arith.extf %u : f16 to f32
        %v32 = arith.extf %v : f16 to f32
        %p = arith.mulf %u32, %v32 : f32
        %t = arith.addf %s, %p : f32
        scf.yield %t : f32
      }
      %p16 = arith.truncf %sum : f32 to f16
      %p = arith.extf %p16 : f16 to f32
      scf.for %c = %c0 to %c64 step %c1 {
        %u = memref.load %x[%i, %c] : !x
        %v = memref.load %y[%j, %c] : !x
        %u32 = arith.extf %u : f16 to f32
        %v32 = arith.extf %v : f16 to f32
        %pv = arith.mulf %p, %v32 : f32
        %pu = arith.mulf %p, %u32 : f32
        %a0 = memref.load %a[%i, %c] : !r
        %r0 = memref.load %r[%j, %c] : !r
        %a1 = arith.addf %a0, %pv : f32
        %r1 = arith.addf %r0, %pu : f32
        memref.store %a1, %a[%i, %c] : !r
        memref.store %r1, %r[%j, %c] : !r
      }
    }
  }
  return
}
