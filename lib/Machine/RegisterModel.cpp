//===- RegisterModel.cpp - constants fitted to ptxas ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of forward tiles. To fit another ptxas, change values here and run
// check-fa3-register-model: it fails where a kernel spills, and where a wider
// tile would have fitted.
//===----------------------------------------------------------------------===//

#include "fa3/Machine/RegisterModel.h"

using namespace fa3;

const char *fa3::getFittedPtxas() { return "13.0"; }

#define FITTED(name, value, test, meaning)                                     \
  {#name, &RegisterModel::name, value, test, meaning}

static constexpr FittedConstant kTable[] = {
    // Code beside tiles.
    FITTED(others, 25, "d128-full", "addresses, barrier state, loop control"),
    FITTED(loadAddresses, 8, "tile-choice.mlir",
           "of a tile that threads load element by element"),
    FITTED(readAddresses, 2, "d128-bias",
           "of a tile that is read from shared memory"),
    FITTED(termAddresses, 2, "d128-full-2f8E4M3FN",
           "of 32 columns of q beyond those that other registers hold"),
    FITTED(heldAddresses, 8, "d128-full-2f8E4M3FN",
           "such addresses that other registers hold"),
    FITTED(heldAddressesOfTwoSums, 4, "two-level.mlir",
           "the same beside the two sums of two-level accumulation"),
    FITTED(functions, 3, "d128-softcap", "exp or tanh of scores"),
    FITTED(functionsOfUnknown, 3, "d128-softcap",
           "the same with extents that are not constants"),
    FITTED(numbers, 3, "d128-alibi", "coordinates as floating-point numbers"),
    FITTED(numbersOfUnknown, 8, "d128-alibi",
           "the same with extents that are not constants"),
    FITTED(reads, 20, "d128-bias", "a tile that element code reads"),
    FITTED(readsOfUnknown, 28, "d128-bias",
           "the same with extents that are not constants"),
    FITTED(endedReads, 36, "d128-bias",
           "the same where rows end before the tile does"),
    FITTED(shortProduct, 128, "d256-full",
           "columns of a left operand whose descriptors take nothing"),
    FITTED(columnsPerDescriptor, 8, "d256-full",
           "columns beyond these that take one more"),
    FITTED(loopOverTiles, 8, "d128-causal",
           "state of a loop over the tiles of a launch"),
    FITTED(termsOfUnknown, 4, "row-terms-registers.mlir",
           "of row terms, with extents that are not constants"),
    FITTED(termsOfBytes, 24, "row-terms-registers.mlir",
           "of row terms beside 8-bit weights"),
    FITTED(lateTiles, 9, "late-registers.mlir",
           "less, in loops that read what an earlier step exchanged: tiles "
           "that take the place of those they are computed from"),
    FITTED(lateInLoop, 8, "late-registers.mlir", "of a loop around such a one"),
    FITTED(lateToConstant, 24, "late-registers.mlir",
           "the same where steps start anywhere and end at a constant"),
    FITTED(lateNumbers, 4, "late-registers.mlir",
           "of coordinates beside operands that such a loop holds"),
    FITTED(lateNumbersOfUnknown, 8, "late-registers.mlir",
           "the same where steps end at what only the launch knows"),
    FITTED(lateWide, 24, "late-registers.mlir",
           "of numbers of more than `narrowRead` columns in such a loop"),
    FITTED(lateColumns, 64, "late-registers.mlir",
           "columns of operands from which such numbers fit beside a mask of "
           "rows"),
    // Tiles that make ptxas keep more than is counted.
    FITTED(wideColumns, 256, "d128-window",
           "d and dv together from which uses of the key cost a step"),
    FITTED(manyKeyUses, 2, "d128-window", "so many uses"),
    FITTED(stepsOfKeyNumber, 1, "key-tables.mlir",
           "steps for an integer of a key, where lengths are not known"),
    // What tiles of gradients keep of mask and score code. Quarters are those
    // of a tile of scores.
    FITTED(columnQuarters, 1, "code-registers.mlir",
           "for a quotient or an element of each column of a step"),
    FITTED(pairQuarters, 2, "code-registers.mlir",
           "for numbers of pairs that no score enters, beside narrow heads"),
    FITTED(manyShared, 3, "code-registers.mlir",
           "values that a derivative shares with score code and that are many"),
    FITTED(sharedQuarters, 2, "code-registers.mlir",
           "for so many, beside a mask"),
    FITTED(besideQuarters, 1, "code-registers.mlir",
           "for fewer, beside a mask that keeps something, too"),
    FITTED(manyKeyQuotients, 3, "code-registers.mlir",
           "quotients of a key that are many where keys are columns"),
    FITTED(keyQuarters, 2, "code-registers.mlir", "for so many"),
    FITTED(guardedLoads, 10, "code-registers.mlir",
           "of a tile that threads load where lengths are constants"),
    FITTED(guardedLoadsOfLong, 8, "code-registers.mlir",
           "the same of heads that are not short"),
    FITTED(loadsBesideLarge, 2, "code-registers.mlir",
           "of two such tiles beside scores that may be large"),
    FITTED(rowElements, 10, "code-registers.mlir",
           "of elements of rows beside such scores"),
    FITTED(unevenRows, 5, "code-registers.mlir",
           "of what rows keep where the columns of a head are no whole blocks "
           "of shared memory"),
    FITTED(unevenShared, 17, "code-registers.mlir",
           "of a derivative that shares two values or more there, with lengths "
           "that are no constants"),
    FITTED(stepsOfQuotient, 2, "code-registers.mlir",
           "steps for a quotient of each pair by what is no constant"),
    // What a consumer may take, by the number of consumers.
    FITTED(tileOfTwo, 232, "d256-full", "tiles and code, 16 bits"),
    FITTED(tileOfThree, 152, "d128-full", "tiles and code, 16 bits"),
    FITTED(tileOfFour, 108, "d64-full", "tiles and code, 16 bits"),
    FITTED(tile8OfTwo, 216, "d256-full-f8E4M3FN", "tiles and code, 8 bits"),
    FITTED(tile8OfThree, 152, "d128-full-f8E4M3FN", "tiles and code, 8 bits"),
    FITTED(loopOfTwo, 264, "grid-choice.mlir",
           "with a loop over tiles: no kernel of two spills below"),
    FITTED(numbersOfTwo, 260, "grid-choice-numbers.mlir",
           "with a loop over tiles that read integers in front"),
    FITTED(loopOfThree, 164, "grid-choice.mlir", "with a loop"),
    FITTED(loopOfFour, 116, "grid-choice.mlir", "with a loop"),
    FITTED(termsOfTwo, 230, "row-terms-registers.mlir", "with row terms"),
    FITTED(termsOfThree, 175, "row-terms-registers.mlir", "with row terms"),
    FITTED(termsOfFour, 124, "row-terms-registers.mlir", "with row terms"),
    FITTED(mostOfConsumer, 240, "assign-registers.mlir",
           "that setmaxnreg is asked for"),
    // What producers keep: what a loader needs, and what division by the number
    // of consumers would lose; or words that are converted, and addresses.
    FITTED(producerOfOne, 56, "assign-registers.mlir", "beside one consumer"),
    FITTED(producerOfTwo, 24, "assign-registers.mlir", "beside two"),
    FITTED(nestedProducerOfTwo, 40, "assign-registers.mlir",
           "beside two, with nested loops or rings for different groups"),
    FITTED(producerOfThree, 32, "assign-registers.mlir",
           "beside three or four"),
    FITTED(producerOfMore, 24, "assign-registers.mlir", "beside more"),
    FITTED(converter, 56, "assign-registers.mlir",
           "with a group that converts"),
    FITTED(wideConverter, 96, "assign-registers.mlir",
           "with one that converts to more than 8 bits"),
    // Operands held in registers. One step is not worth it, and more leave
    // nothing for code that is not counted. Conversions to 8 bits and tiles for
    // element code of more than `narrowRead` columns take registers as well, by
    // what ptxas spills.
    FITTED(worthHolding, 2, "hold-operands.mlir", "steps, without reads"),
    FITTED(mostHeld, 4, "hold-operands.mlir", "steps, with reads"),
    FITTED(heldLate, 4, "late-registers.mlir",
           "steps of all operands of a loop that reads what an earlier step "
           "exchanged"),
    FITTED(narrowRead, 64, "hold-operands.mlir",
           "columns of a tile that is read which take nothing"),
    FITTED(columnsPerUnseen, 2, "hold-operands.mlir",
           "columns beyond these that take one"),
};
static_assert(sizeof(RegisterModel) / sizeof(int64_t) ==
                  sizeof(kTable) / sizeof(FittedConstant),
              "every constant has one line");

llvm::ArrayRef<FittedConstant> fa3::getFittedConstants() { return kTable; }

const RegisterModel &fa3::getRegisterModel(const Chip &) {
  static const RegisterModel model = [] {
    RegisterModel result{};
    for (const FittedConstant &constant : kTable)
      result.*constant.field = constant.value;
    return result;
  }();
  return model;
}

static int64_t byConsumers(int64_t consumers, int64_t two, int64_t three,
                           int64_t four) {
  return consumers >= 4 ? four : consumers == 3 ? three : two;
}

int64_t RegisterModel::getTileBudget(int64_t consumers) const {
  return byConsumers(consumers, tileOfTwo, tileOfThree, tileOfFour);
}

int64_t RegisterModel::getTile8Budget(int64_t consumers) const {
  return consumers >= 3 ? tile8OfThree : tile8OfTwo;
}

int64_t RegisterModel::getLoopBudget(int64_t consumers) const {
  return byConsumers(consumers, loopOfTwo, loopOfThree, loopOfFour);
}

int64_t RegisterModel::getTermsBudget(int64_t consumers) const {
  return byConsumers(consumers, termsOfTwo, termsOfThree, termsOfFour);
}

int64_t RegisterModel::getProducerRegisters(int64_t consumers, bool keepsMuch,
                                            unsigned convertedBits) const {
  if (convertedBits)
    return convertedBits > 8 ? wideConverter : converter;
  switch (consumers) {
  case 1:
    return producerOfOne;
  case 2:
    return keepsMuch ? nestedProducerOfTwo : producerOfTwo;
  case 3:
  case 4:
    return producerOfThree;
  default:
    return producerOfMore;
  }
}
