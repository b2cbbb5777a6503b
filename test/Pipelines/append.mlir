// Steps on caches: new keys go behind the others, turned by their positions, and
// attention reads what was written. Bits of the caches, also of what is not
// written, are those of the definition.

// One, two and many new keys of sequences that begin, go on and end where the
// cache does; what does not fit is dropped.
// RUN: fa3-run --cpu --function dense %s --dims b=3,sq=1,t=1,sk=90,pos=70 --lengths=first=0,25,89 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims b=3,sq=2,t=2,sk=90,pos=70 --lengths=first=0,25,89 | FileCheck %s
// RUN: fa3-run --cpu --function dense %s --dims b=3,sq=17,t=17,sk=90,pos=70 --lengths=first=-3,25,80 | FileCheck %s
// RUN: fa3-run --check-each-pass --function dense %s --dims b=2,sq=3,t=3,sk=70,pos=60 --lengths=first=5,69 | FileCheck %s --check-prefix=SAME

// Pages: in any order, the same for two sequences of which one writes nothing,
// and numbers of no page.
// RUN: fa3-run --cpu --function paged %s --dims b=2,sq=1,t=1,p0=7,n1=3,pos=200 --lengths=first=47,15 --pages=table=random | FileCheck %s
// RUN: fa3-run --cpu --function paged %s --dims b=2,sq=17,t=17,p0=7,n1=3,pos=200 --lengths=first=31,-5 --pages=table=reversed | FileCheck %s
// RUN: fa3-run --cpu --function paged %s --dims b=2,sq=4,t=4,p0=3,n1=3,pos=20 --lengths=first=30,4000 --pages=table=identity | FileCheck %s
// RUN: fa3-run --cpu --function paged %s --dims b=1,sq=4,t=4,p0=2,n1=3,pos=20 --lengths=first=30 --pages=table=wild | FileCheck %s
// RUN: fa3-run --check-each-pass --function paged %s --dims b=2,sq=2,t=2,p0=5,n1=2,pos=20 --lengths=first=15,31 --pages=table=random | FileCheck %s --check-prefix=SAME

// Without attention: rows that are returned, and a cache with padding and
// numbers of batches, one of which it does not have.
// RUN: fa3-run --cpu --function alone %s --dims b=3,s=5,t=4,p0=4,tk=20,pos=9 --lengths=first=-3,8,18 --lengths=pad=2,0,1 --lengths=idx=3,9,0 | FileCheck %s --check-prefix=ALONE
// RUN: fa3-run --check-each-pass --function alone %s --dims b=3,s=5,t=4,p0=4,tk=20,pos=9 --lengths=first=-3,8,18 --lengths=pad=2,0,1 --lengths=idx=3,9,0 | FileCheck %s --check-prefix=SAME

// A cache of 8 bits: new rows are divided by scales, of heads and of all, and rounded.
// DEFINE: %{eight} = --function eight %s --dims b=2,sq=3,t=3,sk=90,q_scale.0=2,k_scale.0=2
// RUN: fa3-run --cpu %{eight} --lengths=first=88,20 | FileCheck %s
// RUN: fa3-run --cpu %{eight} --lengths=first=-2,20 --distribution=outlier --seed 3 | FileCheck %s
// RUN: fa3-run --check-each-pass %{eight} --lengths=first=80,87 | FileCheck %s --check-prefix=SAME
// RUN: not fa3-run --cpu --function eight %s --dims b=2,sq=3,t=3,sk=90,q_scale.0=2,k_scale.0=3 --lengths=first=80,87 2>&1 | FileCheck %s --check-prefix=SCALES
// SCALES: scales of k and what is appended to it differ in dimension 0

// CHECK: o: max error {{[0-9.e-]+}}, bound {{[0-9.e-]+}}
// CHECK-NEXT: k: max abs 0, max rel 0, rms 0
// CHECK-NEXT: v: max abs 0, max rel 0, rms 0
// ALONE: cache: max abs 0, max rel 0, rms 0
// ALONE-NEXT: x_rotated: max abs 0, max rel 0, rms 0
// SAME: same answer after

func.func @dense(%q: tensor<?x4x?x80xf16>, %kn: tensor<?x2x?x80xf16>, %vn: tensor<?x2x?x80xf16>, %k: tensor<?x2x?x80xf16>, %v: tensor<?x2x?x80xf16>,
    %cos: tensor<?x16xf16>, %sin: tensor<?x16xf16>, %first: tensor<?xi32>) -> tensor<?x4x?x80xf16> {
  %tq = attention.rotary %q, %cos, %sin at %first interleaved : tensor<?x4x?x80xf16>, tensor<?x16xf16>, tensor<?xi32>
  %tk = attention.rotary %kn, %cos, %sin at %first interleaved : tensor<?x2x?x80xf16>, tensor<?x16xf16>, tensor<?xi32>
  %k1 = attention.append %tk, %k at %first : tensor<?x2x?x80xf16>, tensor<?x2x?x80xf16>, tensor<?xi32>
  %v1 = attention.append %vn, %v at %first : tensor<?x2x?x80xf16>, tensor<?x2x?x80xf16>, tensor<?xi32>
  %sequences = attention.sequences
    lengths (%b) {
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }
  %o = attention.forward %tq, %k1, %v1 aux(%first : tensor<?xi32>) sequences %sequences mods [#attention.causal]
    : (tensor<?x4x?x80xf16>, tensor<?x2x?x80xf16>, tensor<?x2x?x80xf16>) -> tensor<?x4x?x80xf16>
  return %o : tensor<?x4x?x80xf16>
}

func.func @paged(%q: tensor<?x?x4x64xbf16>, %kn: tensor<?x?x2x64xbf16>, %vn: tensor<?x?x2x64xbf16>, %k: tensor<?x16x2x64xbf16>, %v: tensor<?x16x2x64xbf16>,
    %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>, %first: tensor<?xi32>, %table: tensor<?x?xi32> {tile.name = "table"}) -> tensor<?x?x4x64xbf16> {
  %tq = attention.rotary %q, %cos, %sin at %first layout bshd : tensor<?x?x4x64xbf16>, tensor<?x32xf32>, tensor<?xi32>
  %tk = attention.rotary %kn, %cos, %sin at %first layout bshd : tensor<?x?x2x64xbf16>, tensor<?x32xf32>, tensor<?xi32>
  %k1 = attention.append %tk, %k at %first aux(%table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>] : tensor<?x?x2x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?xi32>
  %v1 = attention.append %vn, %v at %first aux(%table : tensor<?x?xi32>) layout bshd
      mods [#attention.paged<table = 0>] : tensor<?x?x2x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?xi32>
  %sequences = attention.sequences
    lengths (%b) {
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }
  %o = attention.forward %tq, %k1, %v1 aux(%table, %first : tensor<?x?xi32>, tensor<?xi32>) sequences %sequences layout bshd mods [#attention.paged<table = 0>]
    : (tensor<?x?x4x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16>) -> tensor<?x?x4x64xbf16>
  return %o : tensor<?x?x4x64xbf16>
}

func.func @alone(%x: tensor<?x3x?x64xbf16>, %cos: tensor<?x8xf32>, %sin: tensor<?x8xf32>, %first: tensor<?xi32>, %pad: tensor<?xi32> {tile.name = "pad"},
    %idx: tensor<?xi32> {tile.name = "idx"}, %kn: tensor<?x3x?x64xbf16>, %k: tensor<?x3x?x64xbf16>) -> tensor<?x3x?x64xbf16> {
  %y = attention.rotary %x, %cos, %sin at %first : tensor<?x3x?x64xbf16>, tensor<?x8xf32>, tensor<?xi32>
  %k1 = attention.append %kn, %k at %first aux(%pad, %idx : tensor<?xi32>, tensor<?xi32>)
      mods [#attention.leftpad<aux = 0>, #attention.batch_index<aux = 1>] : tensor<?x3x?x64xbf16>, tensor<?x3x?x64xbf16>, tensor<?xi32>
  return %y : tensor<?x3x?x64xbf16>
}

func.func @eight(%q: tensor<?x?x4x64xf8E4M3FN>, %kn: tensor<?x?x2x64xbf16>, %vn: tensor<?x?x2x64xbf16>, %k: tensor<?x?x2x64xf8E4M3FN>, %v: tensor<?x?x2x64xf8E4M3FN>,
    %qs: tensor<?x1x1xf32>, %ks: tensor<?x2x1xf32>, %vs: tensor<1x1x1xf32>, %first: tensor<?xi32>) -> tensor<?x?x4x64xbf16> {
  %k1 = attention.append %kn, %k at %first scales(%ks : tensor<?x2x1xf32>) layout bshd : tensor<?x?x2x64xbf16>, tensor<?x?x2x64xf8E4M3FN>, tensor<?xi32>
  %v1 = attention.append %vn, %v at %first scales(%vs : tensor<1x1x1xf32>) layout bshd : tensor<?x?x2x64xbf16>, tensor<?x?x2x64xf8E4M3FN>, tensor<?xi32>
  %sequences = attention.sequences
    lengths (%b) {
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }
  %o = attention.forward %q, %k1, %v1 aux(%first : tensor<?xi32>) scales(%qs, %ks, %vs : tensor<?x1x1xf32>, tensor<?x2x1xf32>, tensor<1x1x1xf32>) sequences %sequences layout bshd mods [#attention.causal]
    : (tensor<?x?x4x64xf8E4M3FN>, tensor<?x?x2x64xf8E4M3FN>, tensor<?x?x2x64xf8E4M3FN>) -> tensor<?x?x4x64xbf16>
  return %o : tensor<?x?x4x64xbf16>
}
