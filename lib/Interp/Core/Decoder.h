//===- Decoder.h - from IR to instructions ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each part of the interpreter registers, for the operations it knows, how they
// become instructions. An operation nobody registered is an error.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_INTERP_CORE_DECODER_H
#define FA3_LIB_INTERP_CORE_DECODER_H

#include "DecodedProgram.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <functional>

namespace fa3::interp {

class Decoder;

/// Decoding functions by operation.
class Registry {
public:
  using DecodeFunction =
      std::function<mlir::LogicalResult(Decoder &, mlir::Operation *)>;

  /// Registers `decode`, callable with (Decoder &, OpType). `varying` says that
  /// operands may be scalars that differ between threads.
  template <typename OpType, typename Function>
  void add(Function decode, bool varying = false) {
    entries[mlir::TypeID::get<OpType>()] = {
        [decode](Decoder &decoder, mlir::Operation *op) {
          return decode(decoder, llvm::cast<OpType>(op));
        },
        varying};
  }
  /// Registers operations that become one instruction on their operands and
  /// results, without attributes.
  template <typename OpType>
  void addPlain(Handler handler);

  struct Entry {
    DecodeFunction decode;
    bool varying;
  };
  const Entry *lookup(mlir::Operation *op) const {
    auto it = entries.find(op->getName().getTypeID());
    return it == entries.end() ? nullptr : &it->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Entry> entries;
};

/// How the code of a function is meant.
struct CodeOptions {
  /// Threads that execute the code outside groups.
  int64_t threads = 1;
  /// Bits of `index`: 32 in kernels of the hopper stage.
  Format indexFormat = Format::I64;
  /// Whether operations take time.
  bool timed = false;
};

class Decoder {
public:
  Decoder(const Registry &registry, const CodeOptions &options)
      : registry(registry), options(options), threads(options.threads) {}

  /// Decodes a function with one block. Null after a diagnostic.
  std::unique_ptr<Function> decode(mlir::Operation *function);

  //===--- for decoding functions -----------------------------------------===//

  /// The cell of a value; new temporary cells.
  CellId cell(mlir::Value value);
  CellId newCell() { return function->numCells++; }
  llvm::ArrayRef<CellId> cells(mlir::ValueRange values);
  llvm::ArrayRef<CellId> copy(llvm::ArrayRef<CellId> ids);

  /// Appends an instruction; without cells given, those of op's operands and
  /// results.
  Instr &emit(mlir::Operation *op, Handler handler, llvm::ArrayRef<CellId> in,
              llvm::ArrayRef<CellId> out, const Extra *extra = nullptr);
  Instr &emit(mlir::Operation *op, Handler handler,
              const Extra *extra = nullptr);

  /// Data of an instruction, owned by the function.
  template <typename T>
  T *makeExtra() {
    auto owned = std::make_unique<T>();
    T *result = owned.get();
    function->extras.push_back(std::move(owned));
    return result;
  }

  /// Decodes the single block of a region. `groupThreads` changes the number of
  /// threads inside.
  mlir::LogicalResult decodeRegion(mlir::Region &region, Code &code,
                                   std::optional<int64_t> groupThreads = {});

  /// Lets `emitMore` append instructions to the end of a decoded region.
  template <typename Function>
  void appendTo(Code &code, Function &&emitMore) {
    Code *outer = std::exchange(current, &code);
    emitMore();
    current = outer;
  }

  /// Copies of `from` to `to`.
  Moves makeMoves(llvm::ArrayRef<CellId> from, llvm::ArrayRef<CellId> to);

  /// The function being decoded.
  const Function *getFunction() const { return function.get(); }

  /// Threads that execute the operation being decoded.
  int64_t getThreads() const { return threads; }

  /// Whether a scalar differs between threads: it is held as a buffer with one
  /// element per thread.
  bool isVarying(mlir::Value value) const { return varying.contains(value); }
  /// Whether a value is held as a buffer, and its number of elements.
  bool isBuffered(mlir::Value value) const;
  int64_t getCount(mlir::Type type) const;
  int64_t getCount(mlir::Value value) const {
    return getCount(value.getType());
  }

  /// Format of a scalar, or of the elements of a tensor or vector. Emits an
  /// error at `op` if there is none.
  mlir::FailureOr<Format> getFormat(mlir::Operation *op, mlir::Type type);

  /// The cell of a scalar operand of an elementwise operation as a buffer of
  /// all threads.
  CellId asBuffer(mlir::Operation *op, mlir::Value value, int64_t count);

  /// Counts memory that a block of a kernel holds for `op`: `entries` times the
  /// elements of `type`, in every copy of the group around it. Emits an error
  /// once the kernel asks for more than the interpreter gives to one block.
  mlir::LogicalResult reserve(mlir::Operation *op, mlir::Type type,
                              uint64_t entries = 1);

private:
  mlir::LogicalResult decodeOp(mlir::Operation *op);
  void findVarying(mlir::Operation *root);

  const Registry &registry;
  CodeOptions options;
  int64_t threads;
  uint64_t reserved = 0; ///< bytes of tiles of one block
  std::unique_ptr<Function> function;
  Code *current = nullptr;
  llvm::DenseMap<mlir::Value, CellId> cellOf;
  llvm::DenseSet<mlir::Value> varying;
};

template <typename OpType>
void Registry::addPlain(Handler handler) {
  add<OpType>([handler](Decoder &decoder, OpType op) {
    decoder.emit(op, handler);
    return mlir::success();
  });
}

void populateArith(Registry &registry);
void populateCompare(Registry &registry);
void populateConversions(Registry &registry);
void populateMath(Registry &registry);
void populateControl(Registry &registry);
void populateMemRef(Registry &registry);
void populateTensorAndVector(Registry &registry);
void populateLaunch(Registry &registry);
void populateShare(Registry &registry);
void populateTile(Registry &registry);
void populateTileArrays(Registry &registry);
void populateFlags(Registry &registry);
void populateWarp(Registry &registry);
void populateSlotMemory(Registry &registry);
void populateTileAsync(Registry &registry);
void populateHopperBarriers(Registry &registry);
void populateHopperRecords(Registry &registry);
void populateHopperTma(Registry &registry);
void populateHopperWgmma(Registry &registry);
void populateHopperFragments(Registry &registry);
void populateHopperFragmentMemory(Registry &registry);

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_DECODER_H
