/*===- fa3-c/Passes.h - passes and pipelines from C ---------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* Constructors of the passes whose names are stable, written by tablegen:    *|
|* those on attention, convert-to-attention, attention-to-tile and            *|
|* fa3-lower-host. `mlirCreateFA3Outline()` makes attention-outline with its  *|
|* default options, `mlirRegisterFA3Outline()` registers it by that name, and *|
|* `mlirRegisterFA3Passes()` all of them. A pass belongs to the caller until  *|
|* mlirPassManagerAddOwnedPass or mlirOpPassManagerAddOwnedPass takes it.     *|
|*                                                                            *|
|* With other options a pass comes from text, as everywhere in mlir-c:        *|
|*                                                                            *|
|*   mlirOpPassManagerAddPipeline(passes, "fa3-lower-host{launch=gpu}", ..);  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FA3_C_PASSES_H
#define FA3_C_PASSES_H

#include "fa3-c/Passes.capi.h.inc"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds the passes of a pipeline, which docs/Passes.md has by these names:
 *  fa3-tile, fa3-specialize, .. and fa3-lower-to-nvvm-pipeline, the whole way.
 *  `passes` is one on modules, or on any operation. `options` is text as in
 *  "block-m=128 tuning-table=none", empty for the defaults. What is wrong with
 *  it goes to `error`, in one call or more; then nothing was added. */
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddTilePipeline(MlirOpPassManager passes, MlirStringRef options,
                   MlirStringCallback error, void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddSpecializePipeline(MlirOpPassManager passes, MlirStringRef options,
                         MlirStringCallback error, void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddPipelinePipeline(MlirOpPassManager passes, MlirStringRef options,
                       MlirStringCallback error, void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddLayoutPipeline(MlirOpPassManager passes, MlirStringRef options,
                     MlirStringCallback error, void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddHopperPipeline(MlirOpPassManager passes, MlirStringRef options,
                     MlirStringCallback error, void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult fa3AddPTXPipeline(MlirOpPassManager passes,
                                                       MlirStringRef options,
                                                       MlirStringCallback error,
                                                       void *errorData);
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3AddLowerToNVVMPipeline(MlirOpPassManager passes, MlirStringRef options,
                          MlirStringCallback error, void *errorData);

#ifdef __cplusplus
}
#endif

#endif /* FA3_C_PASSES_H */
