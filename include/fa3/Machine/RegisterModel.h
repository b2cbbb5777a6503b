//===- RegisterModel.h - what ptxas makes of a kernel -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every constant that was fitted to ptxas: how many registers code takes beside
// the tiles that passes count, and how many a kernel may take before ptxas
// spills. RegisterModel.cpp has the values, one line each, with the test that
// fails when one is wrong; docs/Testing.md says how to fit them to another
// ptxas.
//===----------------------------------------------------------------------===//

#ifndef FA3_MACHINE_REGISTERMODEL_H
#define FA3_MACHINE_REGISTERMODEL_H

#include "fa3/Machine/Chip.h"
#include "llvm/ADT/ArrayRef.h"

namespace fa3 {

/// Counts are registers of one thread, unless they say otherwise. "Consumers"
/// are the warp groups that compute.
struct RegisterModel {
  // Code beside tiles.
  int64_t others;
  int64_t loadAddresses, readAddresses, termAddresses;
  int64_t heldAddresses, heldAddressesOfTwoSums;
  int64_t functions, numbers, reads, endedReads;
  int64_t functionsOfUnknown, numbersOfUnknown, readsOfUnknown;
  int64_t shortProduct, columnsPerDescriptor;
  int64_t loopOverTiles;
  int64_t termsOfUnknown, termsOfBytes;
  int64_t lateTiles, lateInLoop, lateToConstant, lateNumbers,
      lateNumbersOfUnknown, lateWide, lateColumns;

  // Tiles that make ptxas keep more than is counted.
  int64_t wideColumns, manyKeyUses, stepsOfKeyNumber;

  // What tiles of gradients keep of mask and score code, in quarters of a tile
  // of scores or in registers.
  int64_t columnQuarters, pairQuarters, manyShared, sharedQuarters,
      besideQuarters, manyKeyQuotients, keyQuarters;
  int64_t guardedLoads, guardedLoadsOfLong, loadsBesideLarge, rowElements;
  int64_t unevenRows, unevenShared;

  // Steps by which a quotient for each pair makes a block of keys narrower.
  int64_t stepsOfQuotient;

  // What a consumer may take, by the number of consumers.
  int64_t tileOfTwo, tileOfThree, tileOfFour;
  int64_t tile8OfTwo, tile8OfThree;
  int64_t loopOfTwo, numbersOfTwo, loopOfThree, loopOfFour;
  int64_t termsOfTwo, termsOfThree, termsOfFour;
  int64_t mostOfConsumer;

  // What producers keep.
  int64_t producerOfOne, producerOfTwo, nestedProducerOfTwo, producerOfThree,
      producerOfMore, converter, wideConverter;

  // Operands held in registers, in steps of a product.
  int64_t worthHolding, mostHeld, heldLate, narrowRead, columnsPerUnseen;

  /// The largest sum of tiles and code that the choice of a tile may plan for;
  /// of 8-bit operands, beside a role that converts.
  int64_t getTileBudget(int64_t consumers) const;
  int64_t getTile8Budget(int64_t consumers) const;
  /// The same for a kernel that gets a loop over tiles, or for one that keeps
  /// numbers of columns instead of row terms.
  int64_t getLoopBudget(int64_t consumers) const;
  int64_t getTermsBudget(int64_t consumers) const;

  /// Of the warp group of groups that do not compute, so that consumers get the
  /// most. `keepsMuch`: a loop of theirs holds another one, and the state of
  /// both is live; or they fill rings for groups that compute different things.
  /// `convertedBits`: of elements that some group changes on their way; 0 for
  /// none.
  int64_t getProducerRegisters(int64_t consumers, bool keepsMuch,
                               unsigned convertedBits) const;
};

/// One line of the table.
struct FittedConstant {
  const char *name;
  int64_t RegisterModel::*field;
  int64_t value;
  /// Where the test is that fails if it is wrong: configurations of
  /// test/Matrix/register_model.py, or a file.
  const char *test;
  const char *meaning;
};

/// The ptxas that the table was fitted to.
const char *getFittedPtxas();
llvm::ArrayRef<FittedConstant> getFittedConstants();

/// The model of kernels for that chip.
const RegisterModel &getRegisterModel(const Chip &chip);

} // namespace fa3

#endif // FA3_MACHINE_REGISTERMODEL_H
