//===- ScalarRegion.h - scalar code becomes code on tiles -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SCALARREGION_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SCALARREGION_H

#include "fa3/Dialect/Tile/Analysis/ElementLoads.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3 {

/// Expands a score_mod or mask_mod region for one block of scores. Every value
/// is kept at the lowest rank that it needs: a scalar if it is the same for the
/// whole block, a tile of rank 1 if it varies with the query or the key only, a
/// tile of rank 2 otherwise. Rows are queries and columns keys, or the other
/// way round, as the arguments of the region are bound.
class ScalarRegionExpander {
public:
  /// What a value of the region varies with.
  enum Varies : unsigned { Uniform = 0, Rows = 1, Columns = 2, Both = 3 };
  struct Entry {
    mlir::Value value;
    unsigned varies = Uniform;
  };

  ScalarRegionExpander(mlir::OpBuilder &builder, int64_t rows, int64_t columns)
      : builder(builder), rows(rows), columns(columns) {}

  /// Binds a value of the region (argument, capture).
  void bind(mlir::Value value, Entry entry) { entries[value] = entry; }
  /// Binds a value of an operation that is not expanded any more.
  void bindResult(mlir::Value value, Entry entry) {
    bind(value, entry);
    known.insert(value);
  }
  /// Binds an auxiliary operand to the memref that holds it, and where rows are
  /// keys to a view of it with the last two dimensions exchanged.
  void bindAux(mlir::Value tensor, mlir::Value memref,
               mlir::Value transposed = {}) {
    aux.map(tensor, memref);
    if (transposed)
      transposedAux.map(tensor, transposed);
  }
  /// Lengths that `attention.length` stands for.
  void bindLengths(mlir::Value queries, mlir::Value keys) {
    queryLength = queries;
    keyLength = keys;
  }

  /// What `attention.heads` stands for.
  void bindHeads(mlir::Value value) { heads = value; }

  /// Reads elements at quotients that are the same for a whole block once, in
  /// place of one by one.
  void readQuotientsOnce() { readsOnce = true; }

  /// Expands the operations of the region: there is a form for all that the
  /// verifier lets in.
  void expandOperations(mlir::Region &region);
  /// Expands those operations of a region that some of its values come from.
  void expandOperationsOf(mlir::Region &region, mlir::ValueRange values);
  /// Expands the region and gives the entry of the yielded value.
  Entry expand(mlir::Region &region);
  /// The entry of a value of an expanded region, or of a capture.
  Entry get(mlir::Value value) const {
    auto it = entries.find(value);
    return it == entries.end() ? Entry{value, Uniform} : it->second;
  }

  /// The value of an entry as a tile that varies with at least `varies`.
  mlir::Value lift(mlir::Location loc, Entry entry, unsigned varies);

  mlir::RankedTensorType getType(unsigned varies, mlir::Type element) const;

private:
  void expandOp(mlir::Operation *op);
  void expandExtract(mlir::Operation *op);
  void expandGather(mlir::Operation *op);
  mlir::Value getUniformQuotient(mlir::Location loc, Entry entry);
  mlir::Value bringInside(mlir::Location loc, mlir::Value index,
                          mlir::Value memref, int64_t dim,
                          mlir::Value &isInside);

  mlir::OpBuilder &builder;
  int64_t rows, columns;
  llvm::DenseMap<mlir::Value, Entry> entries;
  llvm::DenseSet<mlir::Value> known; ///< bound results
  mlir::IRMapping aux, transposedAux;
  mlir::Value queryLength, keyLength, heads;
  bool readsOnce = false;
};

/// Where the scores of a block are.
struct BlockPlace {
  mlir::Value batch;
  ScalarRegionExpander::Entry head, query, key;
};

/// Binds the last four arguments of a region, and the values it captures.
void bindPlace(ScalarRegionExpander &expander, mlir::Region &region,
               const BlockPlace &place, const mlir::IRMapping &captures);

/// The conjunction of two conditions.
ScalarRegionExpander::Entry bothHold(mlir::ImplicitLocOpBuilder &b,
                                     ScalarRegionExpander &expander,
                                     ScalarRegionExpander::Entry x,
                                     ScalarRegionExpander::Entry y);

/// Whether an operation divides integers, or gives what is left.
bool isQuotient(mlir::Operation *op);

/// Whether an operation is a quotient that is the same for all numbers of a
/// block.
bool isUniformQuotient(mlir::Operation *op, mlir::Value number, int64_t span);

/// Adds what a region asks for. The last two of its arguments are query and
/// key. With `spans` the queries and the keys of a block are the first numbers
/// of one of as many, or some of them: a quotient of a number by a multiple of
/// that is uniform.
void addRegionDemand(
    mlir::Region &region, tile::LoadPolicy loads, RegionDemand &demand,
    std::optional<std::pair<int64_t, int64_t>> spans = std::nullopt,
    bool isSilent = false);

/// Keys that a region computes something for together with the query, before it
/// looks at their last bits: 2^n if it shifts the key by n; 0 for none.
int64_t getKeySpan(mlir::Region &region);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_EMIT_SCALARREGION_H
