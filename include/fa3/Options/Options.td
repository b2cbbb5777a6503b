//===- Options.td - options of the pipelines ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place of an option: its name, type, words, default, range and text. A
// pass that takes it names the record in its list of options, and the pipelines
// give each pass those that it has. fa3-tblgen makes C++ of the rest.
//===----------------------------------------------------------------------===//

#ifndef FA3_OPTIONS
#define FA3_OPTIONS

include "mlir/Pass/PassBase.td"

/// The words of an option: the enumeration ::fa3::options::<name>, whose cases
/// are the words in CamelCase.
class Words<string name, list<string> theWords> {
  string cppName = name;
  list<string> words = theWords;
}

/// An option of the pipelines. A tuning table may set it if it is `tunable`,
/// which changes the time that a kernel takes, and answers by rounding at most.
class PipelineOption<string member, string name, string type, string init,
                     string text> : Option<member, name, type, init, text> {
  bit tunable = false;
  // Of numbers; `least` is a multiple of `step`.
  int least = 0;
  int most = 0x7fffffffffffffff;
  int step = 1;
}

class Number<string member, string name, string init, string text>
    : PipelineOption<member, name, "::fa3::options::Number", init, text> {
  let additionalOptFlags = "::fa3::options::Bounds{" # !cast<string>(least) #
      ", " # !cast<string>(most) # ", " # !cast<string>(step) # "}";
}
class Text<string member, string name, string init, string text>
    : PipelineOption<member, name, "std::string", "\"" # init # "\"", text>;
class Flag<string member, string name, string init, string text>
    : PipelineOption<member, name, "bool", init, text>;
/// `init` is the case of the word.
class Word<string member, string name, Words words, string init, string text>
    : PipelineOption<member, name, "::fa3::options::" # words.cppName,
                     "::fa3::options::" # words.cppName # "::" # init, text>;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// What a pass decides unless it is told.
def Words_Choice : Words<"Choice", ["auto", "true", "false"]>;
def Words_Rescale : Words<"Rescale", ["lazy", "eager", "never"]>;
def Words_Loads : Words<"Loads", ["auto", "bulk", "threads"]>;
def Words_LastBlock : Words<"LastBlock", ["auto", "whole", "narrow"]>;
def Words_Mode : Words<"Mode", ["auto", "cta", "static", "dynamic"]>;
def Words_Order : Words<"Order", ["auto", "rows", "longest-first", "list"]>;
def Words_Heights : Words<"Heights", ["even", "auto"]>;
def Words_Sums : Words<"Sums", ["auto", "exact", "rounded"]>;
def Words_Store : Words<"Store", ["auto", "staged", "in-place", "direct"]>;
def Words_Solver : Words<"Solver", ["list", "modulo"]>;
def Words_Edges : Words<"Edges", ["apart", "together", "none"]>;
def Words_Switch : Words<"Switch", ["on", "off"]>;
def Words_EarlyVotes
    : Words<"EarlyVotes", ["auto", "integers", "floats", "none"]>;
def Words_ScaleOperands : Words<"ScaleOperands", ["auto", "always", "never"]>;
def Words_BackwardForm : Words<"BackwardForm", ["auto", "split", "fused"]>;
def Words_BlockLists
    : Words<"BlockLists", ["auto", "call", "apart", "never"]>;

//===----------------------------------------------------------------------===//
// Options of attention-derive-blocks
//===----------------------------------------------------------------------===//

def Option_BlockLists : Word<
    "blockLists", "block-lists", Words_BlockLists, "Auto",
    "lists of the blocks that a mask lets see, made from its code: call (kernels "
    "in front of attention), apart (a function of their own, whose lists "
    "attention takes), never, or auto (call, where lengths are known and long "
    "and the mask is not decided by inequalities)">;

//===----------------------------------------------------------------------===//
// Options of attention-to-tile
//===----------------------------------------------------------------------===//

let tunable = true in {
let least = 64, step = 64 in
def Option_BlockM : Number<"blockM", "block-m", "0",
    "query rows per CTA (0: choose)">;
let least = 16, most = 256, step = 16 in
def Option_BlockN : Number<"blockN", "block-n", "0",
    "keys per step (0: choose)">;
def Option_Rescale : Word<"rescale", "rescale", Words_Rescale, "Lazy",
    "when the accumulator is rescaled: lazy, eager, or never, for scores with "
    "bounds">;
} // tunable
def Option_RescaleThreshold : PipelineOption<
    "rescaleThreshold", "rescale-threshold", "double", "-1.0",
    "log2 of the growth of a row maximum that lazy rescaling tolerates (-1: 8, "
    "with 8-bit operands 4)">;
def Option_Loads : Word<"loads", "loads", Words_Loads, "Auto",
    "who loads tiles for score code: bulk copies, threads, or auto: bulk where "
    "static extents allow it">;
def Option_TwoLevel : Word<
    "twoLevel", "two-level-accumulation", Words_Choice, "Auto",
    "add the product of every step to the output in fp32: true, false, or auto, "
    "for many 8-bit keys">;
def Option_TwoLevelSteps : Number<"twoLevelSteps", "two-level-steps", "0",
    "steps whose products are added up before they go to the sum in fp32 "
    "(0: choose)">;
def Option_PackGqa : Word<"packGqa", "pack-gqa", Words_Choice, "Auto",
    "the heads of a group as rows of one tile: auto (for few queries and masks "
    "by query), true or false">;
let step = 16 in
def Option_PartKeys : Number<"partKeys", "part-keys", "0",
    "keys of each part of `splits`, the last of which has all the rest; results "
    "do not depend on the number of parts if there are enough (0: as many parts "
    "as there are share the keys)">;
let tunable = true in {
def Option_LastBlock : Word<"lastBlock", "last-block", Words_LastBlock, "Auto",
    "keys that do not fill a block: whole, narrow, or auto (narrow for a known "
    "number without mask, auxiliary tensors and ping-pong, if it spares 32 "
    "columns behind three whole blocks)">;
let most = 240, step = 16 in
def Option_LastKeys : Number<"lastKeys", "last-keys", "0",
    "keys of the narrow block of last-block=narrow where only the launch knows "
    "how many there are, if other blocks are wider (0: half of one)">;
} // tunable

def Option_BackwardForm : Word<
    "backwardForm", "backward-form", Words_BackwardForm, "Auto",
    "kernels of a gradient: split (scores twice, the same bits in every run), "
    "fused (scores once, dq added in memory), or auto (the faster one that "
    "`deterministic` allows)">;
def Option_Deterministic : Flag<"deterministic", "deterministic", "false",
    "whether every run has to give the same bits: gradients are then not added "
    "in memory, or as integers">;

//===----------------------------------------------------------------------===//
// Options of the grid
//===----------------------------------------------------------------------===//

let tunable = true in {
def Option_Mode : Word<"mode", "mode", Words_Mode, "Auto",
    "cta: one CTA per tile; one per SM: static, dynamic; auto">;
def Option_Order : Word<"order", "order", Words_Order, "Auto",
    "order of tiles: auto, rows, longest-first or list">;
def Option_Heights : Word<"heights", "heights", Words_Heights, "Auto",
    "whether tiles may have fewer rows than others, for known extents: even, "
    "auto">;
} // tunable
let least = 1 in
def Option_SMs : Number<"sms", "sms", "132",
    "SMs of the device, for heights=auto">;
let tunable = true in {
def Option_L2Bytes : Number<"l2Bytes", "l2-bytes", "33554432",
    "bytes of L2 cache for what tiles of a section share (0: no sections)">;
let most = 1048576 in
def Option_SectionRounds : Number<"sectionRounds", "section-rounds", "3",
    "tiles that a section has for every SM (0: as many as l2-bytes holds)">;
} // tunable

//===----------------------------------------------------------------------===//
// Options of groups
//===----------------------------------------------------------------------===//

def Option_Replicas : Number<"replicas", "replicas", "0",
    "replicas of the math group (0: one per 64 rows)">;
def Option_WarpSpecialize : Flag<"warpSpecialize", "warp-specialize", "true",
    "whether copies have warps of their own; else those that compute make them">;
def Option_JoinRings : Flag<"joinRings", "join-rings", "true",
    "whether numbers that copies bring beside a tile are a field of its ring "
    "(tile-join-rings)">;
def Option_Sums : Word<"sums", "sums", Words_Sums, "Auto",
    "sums of what a product multiplies: auto, exact or rounded">;
let tunable = true in
def Option_Store : Word<"store", "store", Words_Store, "Auto",
    "how tiles are stored: auto, staged, in-place or direct">;

//===----------------------------------------------------------------------===//
// Options of the software pipeline
//===----------------------------------------------------------------------===//

let tunable = true in {
def Option_Edges : Word<"edges", "edges", Words_Edges, "Apart",
    "steps with a mask in front of those without one and behind them: apart, "
    "together in one loop (less code for ptxas), or none: all steps have the "
    "mask (least code)">;
def Option_Stages : Number<"stages", "stages", "0",
    "greatest number of pipeline stages (0: 1 for loops in whose steps the "
    "results of independent products meet, else 2)">;
def Option_LateProducts : Word<
    "lateProducts", "late-products", Words_Choice, "Auto",
    "whether products that read what replicas exchange in a loop, and what is "
    "stored of them, come an iteration late, and numbers of columns are read in "
    "front of the product that starves them: true, false, or auto, where the "
    "estimate of registers allows it">;
def Option_Solver : Word<"solver", "solver", Words_Solver, "List",
    "what finds stages and positions: list (greedy, without times), modulo (by "
    "times of units)">;
def Option_PingPong : Word<"pingPong", "ping-pong", Words_Switch, "Off",
    "whether replicas issue their products in turns: on, off">;
// Its range is that of a number, unless it is `auto`.
def Option_Hold : Text<"hold", "hold", "auto",
    "32-byte steps of each row of left operands that loops do not change which "
    "are held in registers: auto, or a number">;
let least = 24, most = 256, step = 8 in
def Option_ProducerRegisters : Number<
    "producerRegisters", "producer-registers", "0",
    "registers per thread of warp groups that load or convert; the others get "
    "the rest (0: as many as that takes)">;
let least = 1 in
def Option_MaxDepth : Number<"maxDepth", "max-depth", "4",
    "greatest depth of a ring">;
} // tunable
def Option_SmemBudget : Number<"smemBudget", "smem-budget", "::fa3::kSharedMemoryBudget",
    "bytes of shared memory for rings">;
def Option_Check : Flag<"check", "check", "true",
    "prove that groups neither deadlock nor race (warp-check, "
    "hopper-check-protocol)">;

//===----------------------------------------------------------------------===//
// Options of hopper and below
//===----------------------------------------------------------------------===//

let tunable = true in {
def Option_EarlyVotes : Word<
    "earlyVotes", "early-votes", Words_EarlyVotes, "Auto",
    "votes on maxima across lanes by what each lane has: auto, integers, floats "
    "or none">;
def Option_ShortenTanh : Flag<"shortenTanh", "shorten-tanh", "true",
    "tanh by a polynomial in warps all of whose arguments are small">;
def Option_ScaleOperands : Word<
    "scaleOperands", "scale-operands", Words_ScaleOperands, "Auto",
    "scale an operand of products whose tanh are polynomials, which spares one "
    "of their multiplications and rounds that operand: auto (where sums of rows "
    "only divide), always or never">;
} // tunable
def Option_Record : Number<"record", "record", "0",
    "CTAs whose events are recorded (0: none)">;
let tunable = true in {
let least = 1 in
def Option_ReductionChains : Number<
    "reductionChains", "reduction-chains", "2",
    "partial results of a reduction within one thread">;
def Option_LLVMPasses : Text<"llvmPasses", "llvm-passes", "",
    "passes on LLVM IR, as --opt of fa3-translate takes them and unless that is "
    "given (empty: its default)">;
} // tunable
def Option_TuningTable : Text<"tuningTable", "tuning-table", "",
    "table of measured options that are set unless given (empty: the shipped "
    "one; none); of the whole pipeline only">;
let most = 8 in
def Option_Variants : Number<"variants", "variants", "0",
    "greatest number of kernels of one function, of which extents choose one at "
    "the launch (0: choose, 1: one kernel for all extents); of the whole "
    "pipeline only">;

#endif // FA3_OPTIONS
