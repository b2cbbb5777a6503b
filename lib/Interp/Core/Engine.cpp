//===- Engine.cpp - decoded functions, calls, entry point -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Engine.h"
#include "../Hopper/Progress.h"
#include "../Tile/Ordered.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fa3::interp;

/// Calls nest no deeper than this: a bound for recursion without end.
static constexpr unsigned kMaxDepth = 64;

InFlightDiagnostic Context::error(Operation *op) const {
  InFlightDiagnostic diagnostic = op->emitError();
  if (cta) {
    Diagnostic &note = diagnostic.attachNote(cta->kernel->getLoc());
    note << "while running block " << cta->block << " of the kernel";
    if (group && group->op)
      note << ", " << group->name;
  }
  return diagnostic;
}

Engine::Engine(const Options &options)
    : options(options), random(options.choiceSeed) {
  populateArith(registry);
  populateCompare(registry);
  populateConversions(registry);
  populateMath(registry);
  populateControl(registry);
  populateMemRef(registry);
  populateTensorAndVector(registry);
  populateLaunch(registry);
  populateShare(registry);
  populateTile(registry);
  populateTileArrays(registry);
  populateWarp(registry);
  populateSlotMemory(registry);
  populateTileAsync(registry);
  populateOrdered(registry);
  populateProgress(registry);
  populateHopperBarriers(registry);
  populateHopperRecords(registry);
  populateHopperTma(registry);
  populateHopperWgmma(registry);
  populateHopperFragments(registry);
  populateHopperFragmentMemory(registry);
  populateFlags(registry);
}

const fa3::interp::Function *
Engine::getFunction(Operation *op, const CodeOptions &codeOptions) {
  std::unique_ptr<Function> &function = functions[{op, codeOptions.threads}];
  if (!function) {
    // Decoding may reach other functions only when it runs, so the reference
    // into the map stays valid.
    function = Decoder(registry, codeOptions).decode(op);
  }
  return function.get();
}

LogicalResult Engine::exploreBlock(const Cta &cta) {
  ExplorationSummary unused;
  ExplorationSummary &summary = options.summary ? *options.summary : unused;
  ++summary.blocks;
  if (!explored.insert(cta.protocol->getHash() >> 1).second)
    return success();
  Exploration result = explore(*cta.protocol, options.exploreStates);
  ++summary.protocols;
  summary.states += result.states;
  summary.mostStates = std::max(summary.mostStates, result.states);
  summary.mostEvents = std::max(summary.mostEvents, result.events);
  if (result.error.empty()) {
    summary.incomplete += !result.complete;
    return success();
  }
  summary.failed = true;
  Operation *op = result.op ? result.op : cta.kernel;
  InFlightDiagnostic diagnostic = op->emitError("in some order of events, ");
  if (result.op)
    diagnostic << "'" << op->getName() << "' ";
  diagnostic << result.error;
  for (const Exploration::Place &place : result.places)
    diagnostic.attachNote(place.op->getLoc())
        << place.agent << (place.blocked ? " waits here" : " is here");
  diagnostic.attachNote(cta.kernel->getLoc())
      << "in block " << cta.block << " of the kernel";
  return diagnostic;
}

LogicalResult Engine::call(const Context *caller, const Function &function,
                           ArrayRef<Cell> arguments,
                           SmallVectorImpl<Cell> &results) {
  std::vector<Cell> cells(function.numCells);
  Context context{*this, cells.data()};
  if (caller) {
    context.cta = caller->cta;
    context.group = caller->group;
    context.depth = caller->depth + 1;
  }
  if (context.depth > kMaxDepth)
    return context.error(function.op)
           << "calls nest deeper than " << kMaxDepth << " levels";
  for (auto [id, value] : llvm::zip_equal(function.body.arguments, arguments))
    cells[id] = value;
  if (failed(runCode(context, function.body)))
    return failure();
  for (CellId id : function.body.yields)
    results.push_back(cells[id]);
  return success();
}

LogicalResult fa3::interp::interpret(FunctionOpInterface function,
                                     ArrayRef<Argument> arguments,
                                     const Options &options) {
  if (function.getNumArguments() != arguments.size())
    return function->emitError("takes ")
           << function.getNumArguments() << " arguments, got "
           << arguments.size();
  Engine engine(options);
  const Function *decoded = engine.getFunction(function);
  if (!decoded)
    return failure();
  SmallVector<Cell> cells;
  for (const Argument &argument : arguments) {
    Cell &cell = cells.emplace_back();
    if (auto *array = std::get_if<Array>(&argument))
      cell.object = new ArrayObject(*array);
    else if (auto *integer = std::get_if<int64_t>(&argument))
      cell.i = *integer;
    else
      cell.d = std::get<double>(argument);
  }
  SmallVector<Cell> results;
  return engine.call(nullptr, *decoded, cells, results);
}
