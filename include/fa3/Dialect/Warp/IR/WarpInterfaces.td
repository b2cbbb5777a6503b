//===- WarpInterfaces.td - what warp asks of types and ops -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_WARP_INTERFACES
#define FA3_WARP_INTERFACES

include "mlir/IR/OpBase.td"

def Warp_LinearTypeInterface : TypeInterface<"LinearTypeInterface"> {
  let cppNamespace = "::fa3::warp";
  let description = [{
    A type whose values are used up: at most one operation on every path of
    control consumes a value. Uses by operations with the trait `BorrowsLinear`
    do not count.
  }];
  let methods = [
    InterfaceMethod<
      "Whether a value may end unconsumed (affine) instead of having to be "
      "consumed on every path (linear).",
      "bool", "mayDrop", (ins)>,
  ];
}

def Warp_StorageAttrInterface : AttrInterface<"StorageAttrInterface"> {
  let cppNamespace = "::fa3::warp";
  let description = [{
    A tensor encoding that says how the tensor is laid out in shared memory.
  }];
  let methods = [
    InterfaceMethod<
      "Bytes of shared memory one tensor of this shape takes, padding included.",
      "int64_t", "getStorageBytes",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType)>,
  ];
}

def Warp_AccessOpInterface : OpInterface<"AccessOpInterface"> {
  let cppNamespace = "::fa3::warp";
  let description = [{
    An operation that reads or writes the memory of a slot through a view. What
    it says decides the barriers of the ring (who arrives, when) and the fences.
  }];
  let methods = [
    InterfaceMethod<
      "Values (views) whose memory the operation reads.",
      "::llvm::SmallVector<::mlir::Value>", "getReadViews", (ins)>,
    InterfaceMethod<
      "Values (views) whose memory the operation writes.",
      "::llvm::SmallVector<::mlir::Value>", "getWrittenViews", (ins)>,
    InterfaceMethod<
      "How the access becomes complete.",
      "::fa3::warp::Completion", "getCompletion", (ins)>,
    InterfaceMethod<
      "The token that says when an asynchronous access is complete; null if "
      "the operation is complete when it returns, or publishing waits for it.",
      "::mlir::Value", "getDoneToken", (ins), "", "return {};">,
  ];
}

def Warp_BorrowsLinear : NativeOpTrait<"BorrowsLinear"> {
  let cppNamespace = "::fa3::warp";
}

#endif // FA3_WARP_INTERFACES
