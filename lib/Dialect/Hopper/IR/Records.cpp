//===- Records.cpp - what the events of a kernel mean ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Records.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

/// Strings, integers, and lists and dictionaries of them; null for the rest.
static llvm::json::Value toJSON(Attribute attribute) {
  if (auto string = dyn_cast<StringAttr>(attribute))
    return string.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array values;
    for (Attribute element : array)
      values.push_back(toJSON(element));
    return values;
  }
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object values;
    for (NamedAttribute entry : dictionary)
      values[entry.getName().getValue()] = toJSON(entry.getValue());
    return values;
  }
  return nullptr;
}

std::optional<llvm::json::Object>
fa3::hopper::describeRecords(FunctionOpInterface host) {
  for (unsigned i = 0; i < host.getNumArguments(); ++i) {
    auto records = host.getArgAttrOfType<DictionaryAttr>(i, kRecordsAttrName);
    if (!records)
      continue;
    auto name = host.getArgAttrOfType<StringAttr>(i, kArgumentNameAttr);
    llvm::json::Object object = *toJSON(records).getAsObject();
    object["argument"] = name ? name.str() : "arg" + std::to_string(i);
    return object;
  }
  return std::nullopt;
}
