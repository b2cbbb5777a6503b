// p = exp2(x - max of the row), o = (p in f16) * v, l = sum of the row of p,
// where rows whose maximum is positive are doubled.
func.func @rows(%x: memref<?x64xf16> {tile.name = "x", tile.dims = ["m", "n"]},
                %v: memref<64x64xf16> {tile.name = "v", tile.dims = ["n", "d"]},
                %o: memref<?x64xf16> {tile.name = "o", tile.dims = ["m", "d"]},
                %l: memref<?xf32> {tile.name = "l", tile.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %low = arith.constant -1.0e30 : f32
  %m = memref.dim %x, %c0 : memref<?x64xf16>
  %p = memref.alloca() : memref<64xf32>
  scf.for %i = %c0 to %m step %c1 {
    %max = scf.for %j = %c0 to %c64 step %c1 iter_args(%mx = %low) -> (f32) {
      %e = memref.load %x[%i, %j] : memref<?x64xf16>
      %f = arith.extf %e : f16 to f32
      %n = arith.maxnumf %mx, %f : f32
      scf.yield %n : f32
    }
    %grow = arith.cmpf ogt, %max, %zero : f32
    %sum = scf.for %j = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (f32) {
      %e = memref.load %x[%i, %j] : memref<?x64xf16>
      %f = arith.extf %e : f16 to f32
      %d = arith.subf %f, %max : f32
      %q = math.exp2 %d : f32
      %q2 = arith.mulf %q, %two : f32
      %q3 = arith.select %grow, %q2, %q : f32
      %r = arith.truncf %q3 : f32 to f16
      %r32 = arith.extf %r : f16 to f32
      memref.store %r32, %p[%j] : memref<64xf32>
      %t = arith.addf %s, %q3 : f32
      scf.yield %t : f32
    }
    memref.store %sum, %l[%i] : memref<?xf32>
    scf.for %j = %c0 to %c64 step %c1 {
      %acc = scf.for %k = %c0 to %c64 step %c1 iter_args(%a = %zero) -> (f32) {
        %q = memref.load %p[%k] : memref<64xf32>
        %e = memref.load %v[%k, %j] : memref<64x64xf16>
        %f = arith.extf %e : f16 to f32
        %pf = arith.mulf %q, %f : f32
        %n = arith.addf %a, %pf : f32
        scf.yield %n : f32
      }
      %r = arith.truncf %acc : f32 to f16
      memref.store %r, %o[%i, %j] : memref<?x64xf16>
    }
  }
  return
}
