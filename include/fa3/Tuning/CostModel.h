//===- CostModel.h - cycles of an attention kernel --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which kernels of 16-bit forward attention can be compiled, and how long they
// take: what tiles are chosen by without a measurement, and what fa3-tune
// measures first. All times are cycles of the multiprocessor's clock. Figures
// of the hardware are those of fa3/Machine/Chip.h; docs/Tuning.md
// gives the formulas and how far they are from measurements.
//===----------------------------------------------------------------------===//

#ifndef FA3_TUNING_COSTMODEL_H
#define FA3_TUNING_COSTMODEL_H

#include "fa3/Machine/Chip.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fa3::tuning {

enum class Mask { Full, Causal, Window };
/// Score code that is written as one mod; a bias has 16 bits.
enum class Score { Plain, Softcap, Alibi, Bias };
/// Such as "causal" and "full-softcap".
std::string getName(Mask mask, Score score = Score::Plain);
std::optional<std::pair<Mask, Score>> parseMask(llvm::StringRef name);
/// What parseMask takes, in words.
inline constexpr llvm::StringLiteral kMaskNames =
    "full, causal or window, with -softcap, -alibi, -bias or nothing behind it";

/// Sizes that decide the time of a forward.
struct Problem {
  int64_t bits = 16; ///< of the operands: 16 or 8
  int64_t d = 128, dv = 128;
  /// Whether 8-bit values are given with keys in the last dimension: no role
  /// transposes them then, and the rows of K come in the order of products.
  bool transposedV = false;
  Mask mask = Mask::Full;
  Score score = Score::Plain;
  int64_t queries = 4096, keys = 4096;
  /// Whether the passes know how many queries there are.
  bool knowsQueries = true;
  /// Heads of all batches.
  int64_t heads = 16;
  /// Keys that a row sees, with Mask::Window.
  int64_t window = 1024;
  /// Multiprocessors of the device.
  int64_t sms = 132;
  const Chip *chip = &kSm90a;
};

/// The value of an option that is a number. Without one, which reads as 0, the
/// passes choose.
class NumberSetting {
public:
  NumberSetting &operator=(int64_t number) {
    value = number;
    return *this;
  }
  operator int64_t() const { return value.value_or(0); }
  bool isSet() const { return value.has_value(); }

private:
  std::optional<int64_t> value;
};

/// A point of the search: values of all options that a tuning table may set, as
/// Options.td names them. Empty texts leave an option to the passes.
struct Point {
#define FA3_TUNABLE_OPTION(member, name, isNumber)                             \
  std::conditional_t<isNumber, NumberSetting, std::string> member;
#include "fa3/Options/Options.h.inc"

  /// As options of fa3-lower-to-nvvm-pipeline, in the order of Options.td.
  std::string getOptions() const;
};

/// The tile that the pipeline takes without options.
Point getDefaultTile(const Problem &problem);

/// Why a point cannot be compiled without spilling, or does not fit shared
/// memory; nothing if it can.
std::optional<std::string> getObstacle(const Problem &problem,
                                       const Point &point);

/// A prediction and where it comes from. A *step* is one block of keys for all
/// rows of a tile.
struct Prediction {
  /// Cycles of a step that the tensor core, the exponentials, the issue slots
  /// and, with 8 bits, shared memory need, and what warp groups wait for each
  /// other.
  double tensor = 0, exponentials = 0, issue = 0, shared = 0, exposed = 0;
  double step = 0;
  /// Cycles of a tile beside its steps: first loads, last stores.
  double start = 0;
  int64_t tiles = 0, steps = 0; ///< of the whole launch
  /// Of the multiprocessor that is done last.
  double cycles = 0;
  /// Share of its time that the tensor core works on visible scores.
  double efficiency = 0;
};
Prediction predict(const Problem &problem, const Point &point);

/// A point with its prediction.
struct Candidate {
  Point point;
  Prediction prediction;
};

/// All points that can be compiled: every tile with the passes' choice of the
/// rest. Best first.
std::vector<Candidate> rankTiles(const Problem &problem);

/// Points to measure, at most `count`: the default, tiles predicted within
/// `slack` of the best, and variations of the other options on the best of
/// them.
std::vector<Candidate> getPointsToMeasure(const Problem &problem, size_t count,
                                          double slack = 1.25);

} // namespace fa3::tuning

#endif // FA3_TUNING_COSTMODEL_H
