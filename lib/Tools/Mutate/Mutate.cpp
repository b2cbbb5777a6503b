//===- Mutate.cpp - passes that make mutants ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Mutate/Mutate.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa3::mutate;

namespace {

template <ArrayRef<MutantKind> (*getKinds)()>
class MutatePass
    : public PassWrapper<MutatePass<getKinds>, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MutatePass)

  MutatePass(StringRef argument, StringRef description)
      : argument(argument), description(description) {}
  MutatePass(const MutatePass &other)
      : PassWrapper<MutatePass<getKinds>, OperationPass<ModuleOp>>(other),
        argument(other.argument), description(other.description) {}

  StringRef getArgument() const final { return argument; }
  StringRef getDescription() const final { return description; }

  void runOnOperation() final {
    ModuleOp module = this->getOperation();
    bool known = false;
    for (const MutantKind &mutant : getKinds()) {
      if (!kind.empty() && kind != mutant.name)
        continue;
      known = true;
      Places places;
      mutant.collect(module, places);
      numPlaces += places.size();
      if (count) {
        llvm::outs() << mutant.name << ": " << places.size() << '\n';
        continue;
      }
      if (kind.empty())
        break;
      if (index < 0 || index >= static_cast<int64_t>(places.size())) {
        module.emitError("has ")
            << places.size() << " places for '" << kind << "', index is "
            << static_cast<int64_t>(index);
        return this->signalPassFailure();
      }
      return places[index].apply();
    }
    if (known && count)
      return;
    InFlightDiagnostic diagnostic = module.emitError("'")
                                    << argument << "' does not know the kind '"
                                    << kind << "'; there are";
    for (const MutantKind &mutant : getKinds())
      diagnostic << ' ' << mutant.name;
    this->signalPassFailure();
  }

private:
  StringRef argument, description;
  Pass::Option<std::string> kind{*this, "kind",
                                 llvm::cl::desc("kind of the mutant")};
  Pass::Option<int64_t> index{
      *this, "index", llvm::cl::desc("number of the place"), llvm::cl::init(0)};
  Pass::Option<bool> count{
      *this, "count",
      llvm::cl::desc("print the number of places instead, of all kinds unless "
                     "one is given"),
      llvm::cl::init(false)};
  Pass::Statistic numPlaces{this, "places",
                            "places where a mutant can be made"};
};

} // namespace

void fa3::mutate::registerMutationPasses() {
  registerPass([]() -> std::unique_ptr<Pass> {
    return std::make_unique<MutatePass<getHopperMutants>>(
        "hopper-mutate", "makes a mutant in a hopper kernel, for tests");
  });
  registerPass([]() -> std::unique_ptr<Pass> {
    return std::make_unique<MutatePass<getTileMutants>>(
        "tile-mutate",
        "makes a mutant in a specialized tile kernel, for tests");
  });
}
