/*===- fa3-c/FA3.h - C interface of the compiler ------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* fa3 for programs that use MLIR through mlir-c. Modules, pass managers and  *|
|* pipelines by name ("builtin.module(fa3-lower-to-nvvm-pipeline)") are those *|
|* of mlir-c; this adds what it lacks: registration, and translation of a     *|
|* lowered module to PTX and manifest. Link libFA3-C.so; it brings            *|
|* libFA3-MLIR-C.so, the C interface of MLIR.                                 *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FA3_C_FA3_H
#define FA3_C_FA3_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds fa3's dialects, the upstream ones that its pipelines use, and what
 *  fa3TranslateToPTX needs to the registry. */
MLIR_CAPI_EXPORTED void fa3RegisterAllDialects(MlirDialectRegistry registry);

/** Registers fa3's passes and pipelines by name, and upstream's canonicalize,
 *  cse and the like. Once per process. Names and options are those of
 *  docs/Passes.md; those of pipelines and of passes on attention
 *  (attention-outline, fa3-lower-host, ..) are stable, see docs/Embedding.md.
 */
MLIR_CAPI_EXPORTED void fa3RegisterAllPasses(void);

/** How a module is translated. A zero or empty field means the default. */
typedef struct {
  /** The chip; default sm_90a. */
  MlirStringRef chip;
  /** PTX ISA version times ten; default 90. */
  unsigned ptxVersion;
  /** Passes on LLVM IR: none, rows (default), small, O1, O3 or a
   *  pipeline of LLVM. */
  MlirStringRef passes;
  /** The host function, if there are several. */
  MlirStringRef function;
} Fa3TranslateOptions;

/** Translates what fa3-lower-to-nvvm-pipeline produced. PTX and manifest are
 *  each handed over in one call; `options` may be NULL. On failure neither is
 *  called, and diagnostics went to the handlers of the context. */
MLIR_CAPI_EXPORTED MlirLogicalResult
fa3TranslateToPTX(MlirModule module, const Fa3TranslateOptions *options,
                  MlirStringCallback ptx, void *ptxData,
                  MlirStringCallback manifest, void *manifestData);

#ifdef __cplusplus
}
#endif

#endif /* FA3_C_FA3_H */
