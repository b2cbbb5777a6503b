/*===- fa3-c/Compiler.h - MLIR text to PTX, in one call ------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The interface of libfa3.so, the whole compiler in one library: LLVM and MLIR
 * are inside and hidden, so it works beside others in the same process. It
 * needs no CUDA toolkit and no GPU. What it makes is launched by fa3_runtime.h.
 * docs/Embedding.md is the guide; examples/compile.c uses all of it.
 *
 * Every call that compiles gives a result, which holds what was made and what
 * was said about it, also when it fails. Text that accessors give lives as long
 * as its result and ends with a zero byte.
 *
 * Threads: calls do not share state, any number of threads may compile at the
 * same time. A result may be read by several threads.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_C_COMPILER_H
#define FA3_C_COMPILER_H

#include "fa3/Runtime/fa3_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every incompatible change of this header. */
#define FA3_COMPILER_ABI 1

FA3_API int fa3_compiler_abi(void);

/* The version, such as "0.2.0". */
FA3_API const char *fa3_version(void);
/* The version of LLVM and MLIR inside. */
FA3_API const char *fa3_llvm_version(void);
/* Hexadecimal digits that name this build: two libraries with one build ID make
 * the same PTX from the same input. For keys of caches. */
FA3_API const char *fa3_build_id(void);

/*===----------------------------------------------------------------------===*
 * Results
 *===----------------------------------------------------------------------===*/

typedef enum fa3_outcome {
  FA3_DONE = 0,
  FA3_FAILED = 1,  /* the input is wrong or not supported: see diagnostics */
  FA3_BAD_CALL = 2 /* an argument of the call breaks its contract: likewise */
} fa3_outcome;

typedef struct fa3_result fa3_result;

/* Frees a result; null is ignored. */
FA3_API void fa3_result_destroy(fa3_result *result);

/* What was made, with its size in bytes (`size` may be null); null for what the
 * call does not make. A cubin is not text. */
FA3_API const char *fa3_result_ptx(const fa3_result *result, size_t *size);
FA3_API const char *fa3_result_manifest(const fa3_result *result, size_t *size);
FA3_API const char *fa3_result_cubin(const fa3_result *result, size_t *size);
FA3_API const char *fa3_result_ir(const fa3_result *result, size_t *size);

/* The functions of a program (fa3_compile_program), in its order. */
typedef struct fa3_function {
  /* The symbol that attention.call names; in a module inside of the program
   * with the names of modules in front, "inner::f". */
  const char *name;
  /* As the accessors above give them; no cubin is null. */
  const char *ptx, *manifest, *cubin;
  size_t ptx_size, manifest_size, cubin_size;
} fa3_function;

FA3_API size_t fa3_result_num_functions(const fa3_result *result);
/* Fills *function and returns 1; returns 0 if there is no such function. */
FA3_API int fa3_result_function(const fa3_result *result, size_t index,
                                fa3_function *function);

typedef enum fa3_severity {
  FA3_NOTE = 0, /* belongs to the diagnostic before it */
  FA3_REMARK = 1,
  FA3_WARNING = 2,
  FA3_ERROR = 3
} fa3_severity;

typedef struct fa3_diagnostic {
  fa3_severity severity;
  /* Where in the input, from 1; 0 if not known. */
  int32_t line, column;
  const char *file; /* the source name of the options, or a file; "" */
  const char *message;
} fa3_diagnostic;

FA3_API size_t fa3_result_num_diagnostics(const fa3_result *result);
/* Fills *diagnostic and returns 1; returns 0 if there is no such diagnostic. */
FA3_API int fa3_result_diagnostic(const fa3_result *result, size_t index,
                                  fa3_diagnostic *diagnostic);
/* All of them as text, a line each: "name:line:column: error: message". */
FA3_API const char *fa3_result_diagnostics(const fa3_result *result);

/* What ptxas says about a kernel; only there if it was run. */
typedef struct fa3_kernel_usage {
  const char *name;
  int64_t registers, stack_bytes, spill_store_bytes, spill_load_bytes;
} fa3_kernel_usage;

FA3_API size_t fa3_result_num_kernels(const fa3_result *result);
FA3_API int fa3_result_kernel(const fa3_result *result, size_t index,
                              fa3_kernel_usage *usage);

/*===----------------------------------------------------------------------===*
 * Compiling
 *===----------------------------------------------------------------------===*/

typedef enum fa3_assemble {
  FA3_ASSEMBLE_NEVER = 0, /* PTX only, the driver compiles it when loaded */
  FA3_ASSEMBLE_ALWAYS = 1 /* a cubin as well; no ptxas is an error */
} fa3_assemble;

/* Zero or null in a field means the default. Set `size` to
 * sizeof(fa3_options): later versions add fields at the end. */
typedef struct fa3_options {
  size_t size;
  /* The name of the input in diagnostics; "<input>". */
  const char *source_name;
  /* Options of fa3-lower-to-nvvm-pipeline, such as "block-m=128 check=false"
   * (docs/Passes.md). */
  const char *pipeline_options;
  /* Passes as fa3-opt takes them, "builtin.module(...)", in place of that
   * pipeline. */
  const char *pass_pipeline;
  /* "sm_90a". */
  const char *chip;
  /* The host function, if there are several. */
  const char *function;
  /* Passes on LLVM IR: none, rows, small, O1, O3 or a pipeline of LLVM. */
  const char *llvm_passes;
  /* Path of ptxas; PATH, then /usr/local/cuda/bin. */
  const char *ptxas;
  /* PTX ISA version times ten; 90. Drivers for CUDA 12 take at most 80 (12.0)
   * to 88 (12.9). */
  int32_t ptx_version;
  /* Locations in the PTX: messages of ptxas name the operation. */
  int32_t locations;
  fa3_assemble assemble;
  /* The text may have operations of dialects that fa3 does not know, and
   * attention of other projects becomes attention.forward before anything else
   * is done (docs/Importing.md). A pass_pipeline says by itself where it wants
   * that: convert-to-attention. */
  int32_t foreign;
  /* Options of convert-to-attention, such as "raise=false"; for `foreign`. */
  const char *convert_options;
} fa3_options;

/* Compiles a module to PTX and manifest, and with FA3_ASSEMBLE_ALWAYS to a
 * cubin. `options` may be null. */
FA3_API fa3_outcome fa3_compile(const char *text, size_t length,
                                const fa3_options *options,
                                fa3_result **result);

/* Compiles the attention of a whole program, which may hold anything else: each
 * kind of attention has a function, a PTX and a manifest of its own
 * (fa3_result_function). fa3_result_ir is the program with attention.call in
 * the place of attention, as attention-outline makes it; in the generic form if
 * `foreign`. A program without attention, or with some that does not compile,
 * fails. Takes no pass_pipeline and no `function`. */
FA3_API fa3_outcome fa3_compile_program(const char *text, size_t length,
                                        const fa3_options *options,
                                        fa3_result **result);

/* Runs the compiler up to the end of a stage and gives the module as text, as
 * fa3_compile with the same options would have it there. Stages, in order:
 *
 *   attention   parsed and verified
 *   tile        sequential tile kernels
 *   specialize  groups of warps, joined by rings
 *   pipeline    software-pipelined
 *   layout      every tile with its layout
 *   hopper      hopper kernels, waits and fences inserted
 *   nvvm        llvm and nvvm operations, and the host function
 *   llvm        LLVM IR
 *
 * With a `pass_pipeline` in the options that is run and `stage` is null. */
FA3_API fa3_outcome fa3_lower(const char *text, size_t length,
                              const char *stage, const fa3_options *options,
                              fa3_result **result);

/*===----------------------------------------------------------------------===*
 * Predicting
 *===----------------------------------------------------------------------===*/

/* Sizes that a text leaves to the run. Zero means the default. Set `size` to
 * sizeof(fa3_sizes). */
typedef struct fa3_sizes {
  size_t size;
  int64_t batch;           /* 1 */
  int64_t heads;           /* of queries; 1 */
  int64_t queries;         /* 4096 */
  int64_t keys;            /* as many as queries */
  int64_t multiprocessors; /* of the device; 132 */
} fa3_sizes;

/* What a function of attention will be, and how long a launch takes by the cost
 * model (docs/Tuning.md). */
typedef struct fa3_prediction {
  const char *function; /* as in fa3_function */
  /* What attention-to-tile decides, a line for each decision; of gradients
   * behind that of a forward. */
  const char *plan;
  /* Rows and keys of a tile of the forward; 0 without one. */
  int64_t rows, keys;
  /* Whether the model knows this kind of attention: one forward, full, causal
   * or with a window, with at most one softcap, ALiBi or bias. What follows is
   * 0 otherwise. */
  int32_t is_known;
  /* Cycles from the launch to the end of the last multiprocessor, of the clock
   * that these run at; the share of it that the tensor core works on what the
   * mask shows. */
  double cycles, efficiency;
  /* Tiles of the launch, and their steps: a block of keys each. */
  int64_t tiles, steps;
  /* Cycles of a step, and what it needs of the tensor core, exponentials, issue
   * slots and shared memory (8 bits), which overlap, and time that nothing
   * fills; cycles of a tile beside its steps. */
  double step, tensor, exponentials, issue, shared, exposed, start;
} fa3_prediction;

/* Predicts all attention of a module or program, of which it compiles nothing:
 * fa3_result_prediction. The options are those of fa3_compile_program; `sizes`
 * may be null. */
FA3_API fa3_outcome fa3_predict(const char *text, size_t length,
                                const fa3_options *options,
                                const fa3_sizes *sizes, fa3_result **result);

FA3_API size_t fa3_result_num_predictions(const fa3_result *result);
/* Fills *prediction and returns 1; returns 0 if there is no such prediction. */
FA3_API int fa3_result_prediction(const fa3_result *result, size_t index,
                                  fa3_prediction *prediction);

/*===----------------------------------------------------------------------===*
 * Choosing between kernels
 *
 * What the compiler chooses where a text leaves it open, for callers that have
 * to know it beforehand. Nothing is read or compiled: answers take less than a
 * microsecond. Set `size` to that of the structure of facts. Functions fill
 * what they answer and return 1; they return 0 where a size is not known or a
 * number is not in its range, 0 to 2^30 if nothing else is said.
 *===----------------------------------------------------------------------===*/

/* The query heads of one key head. */
typedef struct fa3_group_facts {
  size_t size;
  int64_t heads;          /* at least 1 */
  int64_t value_head_dim; /* of v */
  /* Whether a mask shows a query some keys and not others, as causal does. */
  int32_t is_masked;
} fa3_group_facts;

typedef struct fa3_group_plan {
  /* Rows of a tile that a query of all these heads takes (pack-gqa=true); 0
   * where they cannot be rows of one tile. */
  int64_t rows;
  /* Groups that they are taken apart into, if they are more than rows. */
  int64_t parts;
  /* Whether the compiler makes rows of them by itself, where it knows `group`
   * and no number of queries. If not, a kernel for any group is as good. */
  int32_t is_packed;
} fa3_group_plan;

FA3_API int fa3_plan_group(const fa3_group_facts *facts, fa3_group_plan *plan);

/* Keys that may be summed up in parts (the operand `splits`). */
typedef struct fa3_part_facts {
  size_t size;
  int64_t sequences, heads, key_heads; /* key heads divide heads */
  /* Of a sequence, at most. */
  int64_t queries, keys;
  int64_t multiprocessors; /* at least 1 */
  int32_t packs_groups;    /* whether heads of a group are rows, if they can */
} fa3_part_facts;

/* How many parts fill the device, at least 1. 1: a kernel without parts is
 * better. A launch that leaves `splits` open takes as many, by the extents that
 * it is given. */
FA3_API int fa3_plan_parts(const fa3_part_facts *facts, int64_t *parts);

/* Gradients of sequences that have as many queries and keys as the tensors,
 * with no other mask than causal, and no code; whether every run has to give
 * the same bits. */
typedef struct fa3_gradient_facts {
  size_t size;
  int64_t head_dim, value_head_dim; /* at least 1 */
  int32_t is_masked, is_deterministic;
} fa3_gradient_facts;

/* Of how many queries or keys, whichever are more, gradients are faster with
 * the option backward-form=split than with what the compiler chooses where it
 * knows no lengths: of fewer than that. 0: of none. */
FA3_API int fa3_plan_gradients(const fa3_gradient_facts *facts,
                               int64_t *split_below);

/*===----------------------------------------------------------------------===*
 * Running on the CPU
 *===----------------------------------------------------------------------===*/

/* Runs a module in the interpreter, on host memory: lowers it to the end of
 * `stage` (null: tile; tile to hopper) and calls its host function; or "ptx":
 * executes its PTX, with every check of docs/Interpreter.md. Arguments
 * are those of the manifest, in its order, as for fa3_launch, but with
 * addresses of host memory. Shapes and types are checked. Slow: for tests and
 * examples, some 10^6 to 10^7 multiplications per second. */
FA3_API fa3_outcome fa3_interpret(const char *text, size_t length,
                                  const char *stage, const fa3_options *options,
                                  const fa3_arg *args, size_t num_args,
                                  fa3_result **result);

/* Computes attention on tensors by its definition in double precision, without
 * lowering anything: what tests compare with. Arguments as fa3_interpret. */
FA3_API fa3_outcome fa3_define(const char *text, size_t length,
                               const fa3_options *options, const fa3_arg *args,
                               size_t num_args, fa3_result **result);

/* Predicts what the warp groups, products and copies of the first thread block
 * do when: compiles the module with records and runs it in the interpreter with
 * a clock, for a GPU of `sms` multiprocessors. Arguments as fa3_interpret; the
 * arrays are not written to. Trace events as Perfetto and chrome://tracing read
 * them, JSON, are fa3_result_ir; a cycle is shown as a nanosecond. */
FA3_API fa3_outcome fa3_trace(const char *text, size_t length,
                              const fa3_options *options, const fa3_arg *args,
                              size_t num_args, int64_t sms,
                              fa3_result **result);

#ifdef __cplusplus
}
#endif

#endif /* FA3_C_COMPILER_H */
