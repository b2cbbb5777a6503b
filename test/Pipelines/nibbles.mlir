// Keys and values of 4 bits, two in a byte, with a scale for every row, beside
// queries of 16 bits: the same answer after every pass, and right by definition.
// RUN: fa3-run --cpu %s --function=dense --dims b=2,h=4,hk=2,sq=70,sk=150 --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=dense --dims b=1,h=2,hk=1,sq=130,sk=33 --check-each-pass='block-m=128 block-n=32 mode=static' --sms 2 --completion random | FileCheck %s
// RUN: fa3-run --cpu %s --function=dense --dims b=1,h=2,hk=2,sq=130,sk=150 --check-each-pass='block-m=64 block-n=64 mode=dynamic' --schedule-seed 3 --guards random | FileCheck %s
// RUN: fa3-run --cpu %s --function=window --dims b=1,h=2,hk=1,sq=100,sk=140 --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=widest --dims b=1,h=1,hk=1,sq=64,sk=80 --check-each-pass | FileCheck %s
// RUN: fa3-run --cpu %s --function=narrow --check-each-pass | FileCheck %s

// CHECK: same answer after {{[0-9]+}} passes

func.func @dense(%q: tensor<?x?x?x64xbf16> {tile.name = "q"}, %k: tensor<?x?x?x32xi8> {tile.name = "k"}, %v: tensor<?x?x?x32xi8> {tile.name = "v"},
                 %ks: tensor<?x?x?xf32> {tile.name = "k_scale"}, %vs: tensor<?x?x?xf32> {tile.name = "v_scale"})
    -> (tensor<?x?x?x64xbf16> {tile.name = "o"}, tensor<?x?x?xf32> {tile.name = "lse"}) {
  %o, %lse = attention.forward %q, %k, %v nibbles(%ks, %vs : tensor<?x?x?xf32>, tensor<?x?x?xf32>)
      mods [#attention.causal]
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x32xi8>, tensor<?x?x?x32xi8>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// Head dims that differ, heads behind rows, f16, a soft cap.
func.func @window(%q: tensor<?x?x?x96xf16>, %k: tensor<?x?x?x48xi8>, %v: tensor<?x?x?x16xi8>,
                  %ks: tensor<?x?x?xf32>, %vs: tensor<?x?x?xf32>) -> tensor<?x?x?x32xf16> {
  %o = attention.forward %q, %k, %v nibbles(%ks, %vs : tensor<?x?x?xf32>, tensor<?x?x?xf32>) layout bshd
      mods [#attention.window<left = 40, right = 3>, #attention.softcap<20.0>]
    : (tensor<?x?x?x96xf16>, tensor<?x?x?x48xi8>, tensor<?x?x?x16xi8>) -> tensor<?x?x?x32xf16>
  return %o : tensor<?x?x?x32xf16>
}

func.func @widest(%q: tensor<?x?x?x256xbf16>, %k: tensor<?x?x?x128xi8>, %v: tensor<?x?x?x128xi8>,
                  %ks: tensor<?x?x?xf32>, %vs: tensor<?x?x?xf32>) -> tensor<?x?x?x256xbf16> {
  %o = attention.forward %q, %k, %v nibbles(%ks, %vs : tensor<?x?x?xf32>, tensor<?x?x?xf32>)
    : (tensor<?x?x?x256xbf16>, tensor<?x?x?x128xi8>, tensor<?x?x?x128xi8>) -> tensor<?x?x?x256xbf16>
  return %o : tensor<?x?x?x256xbf16>
}

func.func @narrow(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x1x500x32xi8>, %v: tensor<1x1x500x32xi8>,
                  %ks: tensor<1x1x500xf32>, %vs: tensor<1x1x500xf32>) -> tensor<1x2x64x64xbf16> {
  %o = attention.forward %q, %k, %v nibbles(%ks, %vs : tensor<1x1x500xf32>, tensor<1x1x500xf32>)
    : (tensor<1x2x64x64xbf16>, tensor<1x1x500x32xi8>, tensor<1x1x500x32xi8>) -> tensor<1x2x64x64xbf16>
  return %o : tensor<1x2x64x64xbf16>
}
