//===- Table.h - options found by measurement -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A table says, for classes of problems on one kind of device, with which
// options of the pipeline kernels were fastest. It changes no answer: an entry
// holds nothing that a user could not give on the command line.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_TABLE_H
#define FA3_TUNING_TABLE_H

#include "fa3/Tuning/CostModel.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace mlir {
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace fa3::attention {
class ForwardOp;
} // namespace fa3::attention

namespace fa3::tuning {

/// What entries are found by.
struct ProblemClass {
  int64_t bits = 16; ///< of the elements
  int64_t d = 0, dv = 0;
  Mask mask = Mask::Full;
  Score score = Score::Plain;
  /// Number of keys, rounded to a power of two; 0 if only known at run time.
  int64_t length = 0;

  bool operator==(const ProblemClass &other) const {
    return bits == other.bits && d == other.d && dv == other.dv &&
           mask == other.mask && score == other.score && length == other.length;
  }
  std::string str() const;
};

/// The power of two whose ratio to `keys` is least.
int64_t getLengthClass(int64_t keys);

/// The class of the attention in a module. Nothing if there is none, if there
/// are several that differ, or if its mask or score code has no class.
std::optional<ProblemClass> classify(mlir::ModuleOp module);

/// Extents that a text says of an attention.forward; nothing where only the
/// host knows.
struct KnownExtents {
  std::optional<int64_t> batch, heads, queries, keys;
  /// Keys that a row sees by a window.
  std::optional<int64_t> window;
};
KnownExtents getKnownExtents(attention::ForwardOp op);

struct Entry {
  ProblemClass problem;
  /// With a length only known at run time: the entry is for fewer keys than
  /// `below`, or for at least `from`. That of neither is for any number, and
  /// for all of them where a function has one kernel. 0: none.
  int64_t below = 0, from = 0;
  std::string options;
  /// TFLOP/s with these options, and without any.
  double tflops = 0, byDefault = 0;
};

class Table {
public:
  /// Says what is wrong with the options of an entry, if anything is.
  using Validator =
      llvm::function_ref<std::optional<std::string>(llvm::StringRef)>;

  /// Reads the text of a table. Errors are diagnostics with line and column of
  /// `path`.
  static mlir::FailureOr<Table> parse(mlir::MLIRContext *context,
                                      llvm::StringRef path,
                                      llvm::StringRef text, Validator validate);

  /// The entry for any number of keys of a class.
  const Entry *lookup(const ProblemClass &problem) const;
  /// The entries of a class, from the one for the fewest keys to the one for
  /// any number.
  llvm::SmallVector<const Entry *> lookupAll(const ProblemClass &problem) const;
  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  /// Such as sm_90a, and a line about the measurement.
  llvm::StringRef getDevice() const { return device; }
  llvm::StringRef getMeasured() const { return measured; }

private:
  std::vector<Entry> entries;
  std::string device, measured;
};

/// The text of the table that is part of this library.
llvm::StringRef getShippedTable();

} // namespace fa3::tuning

#endif // FA3_TUNING_TABLE_H
