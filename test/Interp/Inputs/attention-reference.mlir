// Causal attention (bottom-right aligned) in f64, row by row. A row that sees
// no key gets zeros, and -inf as its log-sum-exp.
!t = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
func.func @attention(%q: !t {tile.name = "q", tile.dims = ["b", "h", "sq", "d"]},
                     %k: !t {tile.name = "k", tile.dims = ["b", "h", "sk", "d"]},
                     %v: !t {tile.name = "v", tile.dims = ["b", "h", "sk", "d"]},
                     %o: !t {tile.name = "o", tile.dims = ["b", "h", "sq", "d"]},
                     %lse: memref<?x?x?xf32> {tile.name = "lse", tile.dims = ["b", "h", "sq"]},
                     %scale: f32 {tile.name = "scale"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f64
  %minusInf = arith.constant 0xFFF0000000000000 : f64
  %scale64 = arith.extf %scale : f32 to f64
  %nb = memref.dim %q, %c0 : !t
  %nh = memref.dim %q, %c1 : !t
  %sq = memref.dim %q, %c2 : !t
  %sk = memref.dim %k, %c2 : !t
  %off = arith.subi %sk, %sq : index
  %scores = memref.alloc(%sk) : memref<?xf64>
  scf.for %b = %c0 to %nb step %c1 {
    scf.for %h = %c0 to %nh step %c1 {
      scf.for %i = %c0 to %sq step %c1 {
        %last = arith.addi %i, %off : index
        %next = arith.addi %last, %c1 : index
        %seen = arith.maxsi %next, %c0 : index
        %max = scf.for %j = %c0 to %seen step %c1 iter_args(%m = %minusInf) -> (f64) {
          %s = scf.for %e = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> (f64) {
            %x = memref.load %q[%b, %h, %i, %e] : !t
            %y = memref.load %k[%b, %h, %j, %e] : !t
            %x64 = arith.extf %x : f16 to f64
            %y64 = arith.extf %y : f16 to f64
            %p = arith.mulf %x64, %y64 : f64
            %t = arith.addf %acc, %p : f64
            scf.yield %t : f64
          }
          %scaled = arith.mulf %s, %scale64 : f64
          memref.store %scaled, %scores[%j] : memref<?xf64>
          %m1 = arith.maximumf %m, %scaled : f64
          scf.yield %m1 : f64
        }
        %sum = scf.for %j = %c0 to %seen step %c1 iter_args(%l = %zero) -> (f64) {
          %s = memref.load %scores[%j] : memref<?xf64>
          %d = arith.subf %s, %max : f64
          %p = math.exp %d : f64
          memref.store %p, %scores[%j] : memref<?xf64>
          %l1 = arith.addf %l, %p : f64
          scf.yield %l1 : f64
        }
        %any = arith.cmpf ogt, %sum, %zero : f64
        scf.for %e = %c0 to %c64 step %c1 {
          %r = scf.for %j = %c0 to %seen step %c1 iter_args(%acc = %zero) -> (f64) {
            %p = memref.load %scores[%j] : memref<?xf64>
            %y = memref.load %v[%b, %h, %j, %e] : !t
            %y64 = arith.extf %y : f16 to f64
            %py = arith.mulf %p, %y64 : f64
            %t = arith.addf %acc, %py : f64
            scf.yield %t : f64
          }
          %n = scf.if %any -> (f64) {
            %n1 = arith.divf %r, %sum : f64
            scf.yield %n1 : f64
          } else {
            scf.yield %zero : f64
          }
          %n16 = arith.truncf %n : f64 to f16
          memref.store %n16, %o[%b, %h, %i, %e] : !t
        }
        %log = math.log %sum : f64
        %total = arith.addf %max, %log : f64
        %lse1 = arith.select %any, %total, %minusInf : f64
        %lse32 = arith.truncf %lse1 : f64 to f32
        memref.store %lse32, %lse[%b, %h, %i] : memref<?x?x?xf32>
      }
    }
  }
  memref.dealloc %scores : memref<?xf64>
  return
}
