//===- Attention.h - the attention dialect ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is computed; see AttentionBase.td.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_ATTENTION_IR_ATTENTION_H
#define FA3_DIALECT_ATTENTION_IR_ATTENTION_H

#include "fa3/Dialect/Attention/IR/Operands.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa3::attention {

/// What a modification may use: indices of batch, head, query and key, and the
/// auxiliary operands of the operation.
struct ModContext {
  mlir::Value batch, head, query, key;
  mlir::ValueRange aux;
  /// Rows of k along its sequence dimension, the rows of a page.
  int64_t keyExtent = mlir::ShapedType::kDynamic;
  /// Keys that have no place are to have an index that is outside of every
  /// array: they are written. Otherwise any will do.
  bool isWritten = false;
};

/// Emits an edited score, or a condition of visibility.
using ScoreModBuilder = llvm::function_ref<mlir::Value(
    mlir::ImplicitLocOpBuilder &, const ModContext &, mlir::Value)>;
using MaskModBuilder = llvm::function_ref<mlir::Value(
    mlir::ImplicitLocOpBuilder &, const ModContext &)>;

/// What the methods of ScoredOpInterface of these names do.
void prependScoreMod(mlir::Operation *op, ScoreModBuilder build);
void prependMaskMod(mlir::Operation *op, MaskModBuilder build);
void prependKeepMod(mlir::Operation *op, MaskModBuilder build, float factor);

/// The greatest scale of an operation. Weights are right up to scores of 2^24,
/// gradients, which take a rounded lse, up to 2^14: products of queries and
/// keys have the rest.
double getGreatestScale(mlir::Operation *op);

/// The least scale that attention.quantize gives.
constexpr double kLeastQuantizedScale = 0x1p-64;

/// The Hadamard matrix of an order: the Kronecker product of the Paley matrix
/// of order `prime` + 1 (1 if that is 0) and the Sylvester matrix of `power`.
struct HadamardFactors {
  int64_t prime, power;
};
std::optional<HadamardFactors> getHadamardFactors(int64_t order);

/// The largest number of an 8-bit format.
double getLargestNumber(mlir::Type format);

/// The greatest static extent of an operand, and of what is counted together:
/// kernels count in 32 bits.
constexpr int64_t kGreatestExtent = int64_t(1) << 30;

/// The most that a compiler is asked to look through: operations of a region,
/// and mods.
constexpr size_t kMostOperations = 1024, kMostMods = 64;

/// Checks the static extents of all tensors of an operation.
llvm::LogicalResult verifyExtents(mlir::Operation *op);

/// Whether an index of a read in score or mask code is neither a constant nor
/// batch, head, query or key itself, so that it may lie outside an array that
/// is large enough.
bool isComputedIndex(mlir::Operation *read, mlir::Value index);

/// Of dropout with probability p, by FlashAttention-2's rounding: a weight is
/// kept where its random byte is at most `greatestByte`, and multiplied by
/// `scale`.
struct KeptShare {
  int64_t greatestByte;
  float scale;
};
/// None if p is not at least 0 and less than 1 in f32.
std::optional<KeptShare> getKeptShare(double p);

/// Whether an operation tells attention of sequences or blocks: it computes
/// nothing where it stands.
bool isDescription(mlir::Operation *op);
/// Those that an operation takes.
llvm::SmallVector<mlir::Operation *> getDescriptions(mlir::Operation *op);
/// Makes them its own: copies, if others take them too, right in front of it.
void ownDescriptions(mlir::Operation *op);
/// Erases an operation, and descriptions that nothing else takes.
void eraseWithDescriptions(mlir::Operation *op);
/// All regions with code of an operation, with those of its descriptions.
llvm::SmallVector<mlir::Region *> listCode(mlir::Operation *op);

/// Whether a region says lengths or places of sequences.
bool isOfSequences(mlir::Region *region);
/// Whether a region edits the output, or has the gradient of that code.
bool isOfEpilogue(mlir::Region *region);
/// Whether `epilogue` of an operation reads an auxiliary operand.
bool isReadByEpilogue(mlir::Operation *op, int64_t number);
/// Whether a region lists blocks.
bool isOfBlocks(mlir::Region *region);

/// Whether a function may have the operation beside attention, or in its place:
/// it makes operands of attention from arguments, or merges results.
bool isPreparation(mlir::Operation *op);

/// Whether an operation of a region divides integers. By zero it divides by
/// one: the quotient is the dividend, the remainder 0.
bool isDivision(mlir::Operation *op);
/// The number, or tile of numbers, to divide by: `divisor`, but 1 for 0.
mlir::Value buildDivisor(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value divisor);

/// How many numbers of a type may make an element: two of 8-bit floats, whose
/// digits are few; one of others.
uint64_t getMostTerms(mlir::Type format);

} // namespace fa3::attention

#include "fa3/Dialect/Attention/IR/AttentionEnums.h.inc"

namespace fa3::attention {

/// What a sequence of `queries` and `keys` really has; either may be null where
/// extents do not say it.
using LengthsBuilder = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(
    mlir::ImplicitLocOpBuilder &, const ModContext &, mlir::Value,
    mlir::Value)>;
/// Where the row is that is said to be at some indices.
using PlaceBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::ImplicitLocOpBuilder &, const ModContext &, mlir::ValueRange)>;

/// What lists of blocks say for the block `context.query` and the entry
/// `context.key`: four indices, or nothing for no lists.
using ListsBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::ImplicitLocOpBuilder &, const ModContext &)>;

/// What the methods of ScoredOpInterface of these names do.
mlir::Region *findLengths(mlir::Operation *op);
mlir::Region *findPlace(mlir::Operation *op, Sequence sequence);
mlir::Region *findList(mlir::Operation *op, Sequence by);
mlir::Value getMaxQ(mlir::Operation *op);
bool hasPlace(mlir::Operation *op, Sequence sequence);
bool hasLengths(mlir::Operation *op);
int64_t getPlaceRank(mlir::Operation *op, Sequence sequence);
void appendLengths(mlir::Operation *op, LengthsBuilder build);
void appendPlace(mlir::Operation *op, Sequence sequence, PlaceBuilder build);
std::optional<std::pair<int64_t, int64_t>>
getSizesOfBlocks(mlir::Operation *op);
void addBlocks(mlir::Operation *op, Sequence by,
               std::pair<int64_t, int64_t> sizes, ListsBuilder build);

} // namespace fa3::attention

#include "fa3/Dialect/Attention/IR/AttentionAttrInterfaces.h.inc"
#include "fa3/Dialect/Attention/IR/AttentionDialect.h.inc"
#include "fa3/Dialect/Attention/IR/AttentionOpInterfaces.h.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionAttributes.h.inc"
#define GET_OP_CLASSES
#include "fa3/Dialect/Attention/IR/AttentionOps.h.inc"

#endif // FA3_DIALECT_ATTENTION_IR_ATTENTION_H
