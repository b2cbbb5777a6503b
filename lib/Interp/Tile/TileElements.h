//===- TileElements.h - tiles of arrays and of slots ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_TILE_TILEELEMENTS_H
#define FA3_LIB_INTERP_TILE_TILEELEMENTS_H

#include "../Core/Context.h"
#include "fa3/Dialect/Tile/IR/Tile.h"

namespace fa3::interp {

/// Extents of a tile; one of rank 1 is a single row.
struct TileShape {
  int64_t rows = 1, columns = 1;
  unsigned rank = 2;
  /// In an array: elements of the inner of the two dimensions that the first
  /// one of the tile runs over; 0 where it has one.
  int64_t fold = 0;
  int64_t size() const { return rows * columns; }
};
inline TileShape getTileShape(mlir::RankedTensorType type) {
  if (type.getRank() == 1)
    return {1, type.getDimSize(0), 1};
  return {type.getDimSize(0), type.getDimSize(1), 2};
}

/// Reads the tile at `indices` of an array into dense lanes; elements outside
/// the array are zero.
void loadTile(const Array &array, llvm::ArrayRef<int64_t> indices,
              TileShape shape, void *lanes);
/// Asks the code of places for the indices of every piece of a copy, one behind
/// the other.
mlir::FailureOr<llvm::SmallVector<int64_t>>
findPieces(Context &c, const Code &places, int64_t pieces);
/// Reads a tile whose pieces are at these indices; rows from number `limit` on
/// are zero.
void loadPieces(const Array &array, llvm::ArrayRef<int64_t> indices,
                int64_t pieces, TileShape shape, std::optional<int64_t> limit,
                void *lanes);
/// Writes a tile; elements outside the array are dropped. With `add` they are
/// added to the array's, rounding to its format.
void storeTile(const Array &array, llvm::ArrayRef<int64_t> indices,
               TileShape shape, const void *lanes, bool add = false);

/// What a product needs of its attributes and types.
struct DotExtra : Extra {
  tile::DotShape shape;
  bool lhsIsView = false, rhsIsView = false;
  bool transposeLhs = false, transposeRhs = false;
};

/// lhs x rhs + acc, summed in the format of the accumulator. The operands are
/// dense lanes in the order of their tiles.
void multiply(const DotExtra &dot, Format format, const float *lhs,
              const float *rhs, Buffer &acc, Buffer &out);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_TILE_TILEELEMENTS_H
