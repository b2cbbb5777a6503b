// In front of every program of test/Embedding: numbers, and a way to print them.
func.func private @printMemrefF32(tensor<*xf32>)

// ((37 i + 11 (i * i mod 101) + seed) mod 61 - 30) / 16, for n elements.
func.func private @noise(%n: index, %seed: index) -> tensor<?xf16> {
  %empty = tensor.empty(%n) : tensor<?xf16>
  %x = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<?xf16>) {
  ^bb0(%unused: f16):
    %i = linalg.index 0 : index
    %c37 = arith.constant 37 : index
    %c11 = arith.constant 11 : index
    %c101 = arith.constant 101 : index
    %c61 = arith.constant 61 : index
    %square = arith.muli %i, %i : index
    %rest = arith.remui %square, %c101 : index
    %a = arith.muli %i, %c37 : index
    %b = arith.muli %rest, %c11 : index
    %c = arith.addi %a, %b : index
    %d = arith.addi %c, %seed : index
    %e = arith.remui %d, %c61 : index
    %f = arith.index_cast %e : index to i32
    %g = arith.sitofp %f : i32 to f16
    %middle = arith.constant 30.0 : f16
    %unit = arith.constant 0.0625 : f16
    %h = arith.subf %g, %middle : f16
    %y = arith.mulf %h, %unit : f16
    linalg.yield %y : f16
  } -> tensor<?xf16>
  return %x : tensor<?xf16>
}

func.func private @print(%x: tensor<?xf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf16>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                          iterator_types = ["parallel"]}
      ins(%x : tensor<?xf16>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f16, %unused: f32):
    %b = arith.extf %a : f16 to f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  %u = tensor.cast %wide : tensor<?xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
