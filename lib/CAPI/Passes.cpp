//===- Passes.cpp - passes and pipelines from C ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3-c/Passes.h"
#include "fa3/Conversion/AttentionToTile/AttentionToTile.h"
#include "fa3/Conversion/ConvertToAttention/ConvertToAttention.h"
#include "fa3/Conversion/LowerHost/LowerHost.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::attention;

/// The group of StablePasses.td.
static void registerFA3Passes() {
  registerAttentionPasses();
  registerAttentionToTilePasses();
  registerConvertToAttentionPasses();
  registerLowerHostPasses();
}

// What tablegen writes has C names.
extern "C" {
#include "fa3-c/Passes.capi.cpp.inc"
}

using AddPasses = void (*)(OpPassManager &, const PipelineOptions &);

static MlirLogicalResult addPipeline(AddPasses build, MlirOpPassManager passes,
                                     MlirStringRef text,
                                     MlirStringCallback error,
                                     void *errorData) {
  OpPassManager &manager = *unwrap(passes);
  StringRef anchor = manager.getOpAnchorName();
  std::string message;
  llvm::raw_string_ostream os(message);
  PipelineOptions options;
  if (anchor != ModuleOp::getOperationName() &&
      anchor != OpPassManager::getAnyOpAnchorName())
    os << "expects passes on '" << ModuleOp::getOperationName() << "', got '"
       << anchor << "'";
  else if (std::optional<std::string> wrong = explainWrongOption(unwrap(text)))
    os << *wrong;
  else if (succeeded(options.parseFromString(unwrap(text), os)))
    build(manager, options);
  else if (message.empty())
    os << "cannot read the options '" << unwrap(text) << "'";
  if (message.empty())
    return mlirLogicalResultSuccess();
  error(wrap(StringRef(message)), errorData);
  return mlirLogicalResultFailure();
}

#define FA3_PIPELINE(name)                                                     \
  MlirLogicalResult fa3Add##name##Pipeline(                                    \
      MlirOpPassManager passes, MlirStringRef options,                         \
      MlirStringCallback error, void *errorData) {                             \
    return addPipeline(build##name##Pipeline, passes, options, error,          \
                       errorData);                                             \
  }

FA3_PIPELINE(Tile)
FA3_PIPELINE(Specialize)
FA3_PIPELINE(Pipeline)
FA3_PIPELINE(Layout)
FA3_PIPELINE(Hopper)
FA3_PIPELINE(PTX)
FA3_PIPELINE(LowerToNVVM)

#undef FA3_PIPELINE
