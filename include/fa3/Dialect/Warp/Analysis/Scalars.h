//===- Scalars.h - what decides control, the same in every group *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Groups repeat the arithmetic of loop bounds and conditions, so equal values
// are different SSA values. Here they get one name: a linear form over
// variables that are equal for every group of the kernel.
//===----------------------------------------------------------------------===//

#ifndef FA3_DIALECT_WARP_ANALYSIS_SCALARS_H
#define FA3_DIALECT_WARP_ANALYSIS_SCALARS_H

#include "fa3/Dialect/Warp/IR/Warp.h"
#include <map>
#include <optional>

namespace fa3::warp {

/// constant + sum of coefficient * variable, by rising variable.
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms;

  LinearForm() = default;
  LinearForm(int64_t constant) : constant(constant) {}
  static LinearForm variable(unsigned number);

  LinearForm operator+(const LinearForm &other) const;
  LinearForm operator-(const LinearForm &other) const;
  LinearForm operator*(int64_t factor) const;
  bool operator==(const LinearForm &other) const {
    return constant == other.constant && terms == other.terms;
  }
  bool isConstant() const { return terms.empty(); }
};

/// A condition: true where form >= 0 (or form = 0 if `equality`), reversed if
/// `negated`.
struct LinearCondition {
  LinearForm form;
  bool equality = false, negated = false;
};

/// Names of the scalars of one kernel. Integers are taken as unbounded: the
/// launch contract keeps extents below 2^31.
class ScalarAnalysis {
public:
  /// What is known of a variable; `operands` define it unless it is opaque.
  struct Variable {
    enum class Kind { Opaque, Min, Max, Floor } kind = Kind::Opaque;
    llvm::SmallVector<LinearForm, 2> operands;
    int64_t divisor = 1; ///< of a floor division
    std::optional<int64_t> least, greatest;
    bool isReplica = false;
  };

  explicit ScalarAnalysis(SpecializeOp specialize) : specialize(specialize) {}

  /// The form of `value`; none if it is not the same function of the kernel's
  /// arguments, the block and the replica wherever it is computed. `culprit`
  /// is then the value that is not.
  std::optional<LinearForm> getForm(mlir::Value value, mlir::Value &culprit);
  std::optional<LinearCondition> getCondition(mlir::Value value,
                                              mlir::Value &culprit);

  /// Iterations of a loop over `extent` > 0 values, `step` apart.
  LinearForm getTripCount(const LinearForm &extent, const LinearForm &step);

  /// Names a loop-carried value by its first value and the iteration: groups
  /// exchange it so that it is the same for all.
  void agree(mlir::Value carried) { agreed.insert(carried); }

  /// Gives the induction variables of loops that run in step one name.
  void unify(mlir::Value induction, mlir::Value other);

  /// Whether a form may differ between the replicas of a group.
  bool dependsOnReplica(const LinearForm &form) const;

  const Variable &getVariable(unsigned number) const {
    return variables[number];
  }
  /// A fresh variable, of which `operands` and bounds may say more.
  unsigned addVariable(Variable variable);

private:
  /// Identifies an expression: operation, attributes, forms of operands.
  using Key = std::vector<int64_t>;

  std::optional<LinearForm> compute(mlir::Value value, mlir::Value &culprit);
  std::optional<LinearForm> computeArgument(mlir::BlockArgument argument,
                                            mlir::Value &culprit);
  /// None if the result is no linear form or extremum or quotient of these.
  std::optional<LinearForm>
  computeArithmetic(mlir::Operation *op, llvm::ArrayRef<LinearForm> operands);
  /// The result as a name for what `op` makes of its operands.
  LinearForm getOpaque(mlir::OpResult result,
                       llvm::ArrayRef<LinearForm> operands);
  LinearForm getInduction(mlir::Value induction);
  LinearForm getNamed(Key key, Variable variable);
  LinearForm getExtremum(bool isMin, LinearForm a, LinearForm b);
  LinearForm getFloor(const LinearForm &form, int64_t divisor);

  SpecializeOp specialize;
  std::vector<Variable> variables;
  std::map<Key, unsigned> names;
  llvm::DenseMap<mlir::Value, std::optional<LinearForm>> forms;
  llvm::DenseMap<mlir::Value, mlir::Value> culprits;
  llvm::DenseMap<mlir::Value, LinearForm> inductions;
  llvm::DenseSet<mlir::Value> agreed;
};

} // namespace fa3::warp

#endif // FA3_DIALECT_WARP_ANALYSIS_SCALARS_H
