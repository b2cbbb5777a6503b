// Steps with a mask in front of those without one and behind them as one loop in two
// rounds: the same answer after every pass, whatever of the three is empty.
// DEFINE: %{edges} = fa3-run --cpu %S/../Inputs/window.mlir
// RUN: %{edges} --dims b=1,h=2,hk=1,sq=150,sk=333 --check-each-pass='block-m=64 block-n=32 edges=together' | FileCheck %s
// RUN: %{edges} --dims b=2,h=1,hk=1,sq=129,sk=65 --check-each-pass='block-m=128 block-n=64 edges=together mode=static' --sms 2 --completion random | FileCheck %s
// RUN: %{edges} --dims b=1,h=1,hk=1,sq=300,sk=1000 --check-each-pass='block-m=64 block-n=16 edges=together stages=1' --schedule-seed 3 --guards random | FileCheck %s
// RUN: %{edges} --dims b=1,h=1,hk=1,sq=70,sk=0 --check-each-pass='block-m=64 block-n=64 edges=together mode=dynamic' | FileCheck %s
// CHECK: same answer after {{[0-9]+}} passes
