// Gradients of attention with the learned table of relative positions that T5
// has: 32 buckets of distances, 16 of each sign, one element for each head. The
// gradient of an element is the sum over all pairs in its bucket: sums are of
// integers in memory, so that every run gives the same bits, and there is no
// array of an element for each pair.
func.func @backward_t5_table(
    %q: tensor<?x8x?x64xbf16> {tile.name = "q"},
    %k: tensor<?x8x?x64xbf16> {tile.name = "k"},
    %v: tensor<?x8x?x64xbf16> {tile.name = "v"},
    %o: tensor<?x8x?x64xbf16> {tile.name = "o"},
    %lse: tensor<?x8x?xf32> {tile.name = "lse"},
    %do: tensor<?x8x?x64xbf16> {tile.name = "do"},
    %table: tensor<32x8xf32> {tile.name = "table"})
    -> (tensor<?x8x?x64xbf16> {tile.name = "dq"},
        tensor<?x8x?x64xbf16> {tile.name = "dk"},
        tensor<?x8x?x64xbf16> {tile.name = "dv"},
        tensor<32x8xf32> {tile.name = "dtable"}) {
  %dq, %dk, %dv, %dtable = attention.backward %q, %k, %v, %o, %lse, %do
    aux(%table : tensor<32x8xf32>) grad_aux [0]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
       tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
        tensor<32x8xf32>)
    score_mod (%x, %b, %h, %i, %j) {
      %c0 = arith.constant 0 : i32
      %c8 = arith.constant 8 : i32
      %c15 = arith.constant 15 : i32
      %c16 = arith.constant 16 : i32
      %difference = arith.subi %j, %i : index
      %d = arith.index_cast %difference : index to i32
      %minus = arith.subi %c0, %d : i32
      %distance = arith.maxsi %d, %minus : i32
      // Buckets 0 to 7 are distances, 8 to 15 grow by powers of 2^(1/2).
      %isNear = arith.cmpi slt, %distance, %c8 : i32
      %atLeast8 = arith.maxsi %distance, %c8 : i32
      %number = arith.sitofp %atLeast8 : i32 to f32
      %log = math.log2 %number : f32
      %two = arith.constant 2.0 : f32
      %scaled = arith.mulf %log, %two : f32
      %whole = arith.fptosi %scaled : f32 to i32
      %c2 = arith.constant 2 : i32
      %farBucket = arith.addi %whole, %c2 : i32
      %far = arith.minsi %farBucket, %c15 : i32
      %bucket = arith.select %isNear, %distance, %far : i32
      %isBehind = arith.cmpi sgt, %d, %c0 : i32
      %offset = arith.select %isBehind, %c16, %c0 : i32
      %signed = arith.addi %bucket, %offset : i32
      %at = arith.index_cast %signed : i32 to index
      %bias = tensor.extract %table[%at, %h] : tensor<32x8xf32>
      %score = arith.addf %x, %bias : f32
      attention.yield %score : f32
    }
  return %dq, %dk, %dv, %dtable
    : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
      tensor<32x8xf32>
}
