//===- EmbedKernels.cpp - kernels inside of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layouts of fa3_arg (fa3_runtime.h) and fa3_host_program (fa3_host.h) are
// written down here once more, for 64-bit machines.
//
//===----------------------------------------------------------------------===//

#include "EmbedKernels.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Target/Manifest/Manifest.h"
#include "fa3/Target/PTX/PTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fa3;

/// FA3_MAX_RANK, the kinds of fa3_kind and of fa3_host_image.
constexpr int64_t kMaxRank = 8;
constexpr int32_t kTensor = 0, kScalar = 1;
constexpr int32_t kImagePTX = 0, kImageIR = 2;
constexpr int32_t kMemoryDevice = 0, kMemoryHost = 1;

/// The number of an element type in fa3_type, none if it has no place there.
static std::optional<int32_t> getTypeCode(Type type) {
  if (type.isIndex())
    return 10;
  static constexpr StringRef names[] = {"f16",      "bf16",   "f32", "f64",
                                        "f8E4M3FN", "f8E5M2", "i1",  "i8",
                                        "i16",      "i32",    "i64"};
  std::string name;
  llvm::raw_string_ostream(name) << type;
  for (auto [code, known] : llvm::enumerate(names))
    if (known == name)
      return code;
  return std::nullopt;
}

/// Names of the kernels that an operation launches; null for others.
static SymbolRefAttr getKernel(Operation *op) {
  if (auto launch = dyn_cast<tile::LaunchOp>(op))
    return launch.getKernelAttr();
  if (auto launch = dyn_cast<hopper::LaunchOp>(op))
    return launch.getKernelAttr();
  return {};
}

bool fa3::launchesKernels(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return WalkResult(failure(static_cast<bool>(getKernel(op))));
      })
      .wasInterrupted();
}

namespace {
/// What is carried of one host function.
struct Image {
  std::string manifest, code;
};

class Embedder {
public:
  Embedder(func::FuncOp function, SymbolTable &symbols,
           const EmbedOptions &options, EmbedOperands operands)
      : function(function), symbols(symbols), options(options),
        operands(operands), b(function.getLoc(), function) {}

  LogicalResult run();

private:
  FailureOr<Image> translate(ModuleOp part);
  LogicalResult verifyArguments();
  std::string chooseName(StringRef suffix);
  LLVM::GlobalOp addText(StringRef suffix, StringRef text);
  LLVM::GlobalOp addProgram(const Image &image);
  void buildBody(LLVM::GlobalOp program);
  void fillArgument(Value args, Value argument);
  void store(Value value, Value base, Type type, ArrayRef<LLVM::GEPArg> path);
  Value number(int64_t value, unsigned bits);
  Value getAddress(Value array);
  void addLaunch(Value program, Value args, Value count);
  LLVM::LLVMFuncOp declare(StringRef name, Type result, ArrayRef<Type> types);

  func::FuncOp function;
  SymbolTable &symbols;
  const EmbedOptions &options;
  EmbedOperands operands;
  ImplicitLocOpBuilder b;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

FailureOr<std::string> fa3::emitKernels(func::FuncOp function,
                                        ArrayRef<gpu::GPUModuleOp> kernels,
                                        const EmbedOptions &options) {
  if (kernels.size() != 1)
    return function.emitError("launches kernels of ")
           << kernels.size() << " modules, expects one";
  gpu::GPUModuleOp module = kernels.front();
  WalkResult lowered = module.walk([](gpu::GPUFuncOp kernel) {
    kernel.emitError("expects kernels that are lowered to LLVM (run "
                     "fa3-lower-to-nvvm-pipeline, or embed them with "
                     "image=ir)");
    return WalkResult::interrupt();
  });
  if (lowered.wasInterrupted())
    return failure();
  PTXOptions ptxOptions;
  ptxOptions.chip = options.chip;
  ptxOptions.ptxVersion = options.ptxVersion;
  return translateToPTX(module, ptxOptions);
}

FailureOr<SmallVector<gpu::GPUModuleOp>>
fa3::findKernels(func::FuncOp function, const SymbolTable &symbols) {
  llvm::SetVector<gpu::GPUModuleOp> kernels;
  WalkResult found = function.walk([&](Operation *op) {
    SymbolRefAttr kernel = getKernel(op);
    if (!kernel)
      return WalkResult::advance();
    auto module = symbols.lookup<gpu::GPUModuleOp>(kernel.getRootReference());
    if (!module) {
      op->emitError("launches '")
          << kernel << "', which is no kernel of the module";
      return WalkResult::interrupt();
    }
    kernels.insert(module);
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  return llvm::to_vector(kernels);
}

FailureOr<Image> Embedder::translate(ModuleOp part) {
  Image image;
  if (options.image == HostImage::IR) {
    llvm::raw_string_ostream(image.code) << part;
    return image;
  }
  SmallVector<gpu::GPUModuleOp> kernels(part.getOps<gpu::GPUModuleOp>());
  FailureOr<std::string> ptx = emitKernels(function, kernels, options);
  if (failed(ptx))
    return failure();
  FailureOr<std::string> manifest = writeManifest(
      part, *ptx, {options.chip, options.ptxVersion, function.getName().str()});
  if (failed(manifest))
    return failure();
  return Image{std::move(*manifest), std::move(*ptx)};
}

LogicalResult Embedder::verifyArguments() {
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto array = dyn_cast<MemRefType>(type);
    Type element = array ? array.getElementType() : type;
    if (!getTypeCode(element))
      return function.emitError("argument ")
             << number << " of type " << type
             << " is nothing that the runtime takes";
    if (array && array.getRank() > kMaxRank)
      return function.emitError("argument ")
             << number << " has " << array.getRank()
             << " dimensions, the runtime takes at most " << kMaxRank;
  }
  return success();
}

std::string Embedder::chooseName(StringRef suffix) {
  std::string base = (function.getName() + suffix).str(), name = base;
  for (unsigned i = 1; symbols.lookup(name); ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

LLVM::GlobalOp Embedder::addText(StringRef suffix, StringRef text) {
  // The runtime reads text that ends with a zero.
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  return LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, chooseName(suffix),
                                b.getStringAttr(bytes));
}

/// fa3_host_program.
LLVM::GlobalOp Embedder::addProgram(const Image &image) {
  LLVM::GlobalOp manifest = addText("_manifest", image.manifest),
                 code = addText("_image", image.code),
                 name = addText("_name", function.getName());
  for (LLVM::GlobalOp global : {manifest, code, name})
    symbols.insert(global, Block::iterator(function));
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type(),
       i32 = b.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {ptr, ptr, i64, ptr, i64, i32, i32, ptr});
  auto program = LLVM::GlobalOp::create(b, type, /*isConstant=*/false,
                                        LLVM::Linkage::Internal,
                                        chooseName("_program"), Attribute());
  symbols.insert(program, Block::iterator(function));

  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&program.getInitializerRegion());
  Value value = LLVM::UndefOp::create(b, type);
  auto insert = [&](Value field, int64_t position) {
    value = LLVM::InsertValueOp::create(b, value, field, position);
  };
  insert(LLVM::AddressOfOp::create(b, name), 0);
  insert(LLVM::AddressOfOp::create(b, manifest), 1);
  insert(number(image.manifest.size(), 64), 2);
  insert(LLVM::AddressOfOp::create(b, code), 3);
  insert(number(image.code.size(), 64), 4);
  insert(number(options.image == HostImage::IR ? kImageIR : kImagePTX, 32), 5);
  insert(
      number(options.memory == HostMemory::Host ? kMemoryHost : kMemoryDevice,
             32),
      6);
  insert(LLVM::ZeroOp::create(b, ptr), 7);
  LLVM::ReturnOp::create(b, value);
  return program;
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

Value Embedder::number(int64_t value, unsigned bits) {
  return LLVM::ConstantOp::create(
      b, b.getIntegerType(bits),
      b.getIntegerAttr(b.getIntegerType(bits), value));
}

LLVM::LLVMFuncOp Embedder::declare(StringRef name, Type result,
                                   ArrayRef<Type> types) {
  if (auto known = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return known;
  auto type = LLVM::LLVMFunctionType::get(result, types);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  auto made = LLVM::LLVMFuncOp::create(b, name, type);
  symbols.insert(made, Block::iterator(function));
  return made;
}

/// fa3_arg.
static LLVM::LLVMStructType getArgType(MLIRContext *context) {
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  Type extents = LLVM::LLVMArrayType::get(i64, kMaxRank);
  return LLVM::LLVMStructType::getLiteral(
      context, {i32, i32, i64, i32, extents, extents});
}

void Embedder::store(Value value, Value base, Type type,
                     ArrayRef<LLVM::GEPArg> path) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value place = LLVM::GEPOp::create(b, ptr, type, base, path);
  LLVM::StoreOp::create(b, value, place);
}

/// Of the first element, as a number.
Value Embedder::getAddress(Value array) {
  auto toI64 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  };
  Type element = cast<MemRefType>(array.getType()).getElementType();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, array);
  Value address = toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      b, b.getIndexType(), array));
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  Value size = arith::ConstantOp::create(b, b.getI64IntegerAttr(bytes));
  Value offset = arith::MulIOp::create(b, toI64(metadata.getOffset()), size);
  return arith::AddIOp::create(b, address, offset);
}

void Embedder::fillArgument(Value args, Value argument) {
  LLVM::LLVMStructType type = getArgType(b.getContext());
  int32_t index = cast<BlockArgument>(argument).getArgNumber();
  auto set = [&](Value value, int32_t field) {
    store(value, args, type, {index, field});
  };
  auto toI64 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  };
  auto array = dyn_cast<MemRefType>(argument.getType());
  Type element = array ? array.getElementType() : argument.getType();
  set(number(array ? kTensor : kScalar, 32), 0);
  set(number(*getTypeCode(element), 32), 1);
  set(number(array ? array.getRank() : 0, 32), 3);
  if (!array) {
    // A real is a double, an integer has 64 bits, whatever the type.
    Value value = argument;
    if (element.isIndex())
      value = toI64(argument);
    else if (auto real = dyn_cast<FloatType>(element))
      value =
          real.getWidth() < 64
              ? arith::ExtFOp::create(b, b.getF64Type(), argument).getResult()
              : argument;
    else if (element.getIntOrFloatBitWidth() < 64)
      value = arith::ExtSIOp::create(b, b.getI64Type(), argument);
    set(value, 2);
    return;
  }
  set(getAddress(argument), 2);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, argument);
  for (int32_t dim = 0; dim < array.getRank(); ++dim) {
    store(toI64(metadata.getSizes()[dim]), args, type, {index, 4, dim});
    store(toI64(metadata.getStrides()[dim]), args, type, {index, 5, dim});
  }
}

void Embedder::addLaunch(Value program, Value args, Value count) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type(),
       none = LLVM::LLVMVoidType::get(b.getContext());
  if (!operands.workspace && !operands.stream) {
    LLVM::CallOp::create(b, declare("fa3_host_launch", none, {ptr, ptr, i64}),
                         ValueRange{program, args, count});
    return;
  }
  auto addArgument = [&](Type type) -> Value {
    unsigned number = function.getNumArguments();
    (void)function.insertArgument(number, type, {}, b.getLoc());
    return function.getArgument(number);
  };
  Value workspace = LLVM::ZeroOp::create(b, ptr), bytes = number(0, 64);
  if (operands.workspace) {
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
    Value array = addArgument(type);
    workspace = LLVM::IntToPtrOp::create(b, ptr, getAddress(array));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    bytes = arith::IndexCastOp::create(b, i64,
                                       memref::DimOp::create(b, array, zero));
  }
  Value stream = operands.stream
                     ? addArgument(ptr)
                     : LLVM::CallOp::create(
                           b, declare("fa3_host_stream", ptr, {}), ValueRange())
                           .getResult();
  LLVM::CallOp::create(
      b, declare("fa3_host_launch_on", none, {ptr, ptr, i64, ptr, ptr, i64}),
      ValueRange{program, args, count, stream, workspace, bytes});
}

void Embedder::buildBody(LLVM::GlobalOp program) {
  Block &entry = function.getBody().front();
  while (!entry.empty())
    entry.back().erase();
  b.setInsertionPointToEnd(&entry);
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value count = number(entry.getNumArguments(), 64);
  Value args = LLVM::AllocaOp::create(b, ptr, getArgType(b.getContext()), count,
                                      /*alignment=*/8);
  for (Value argument : entry.getArguments())
    fillArgument(args, argument);
  addLaunch(LLVM::AddressOfOp::create(b, program), args, count);
  func::ReturnOp::create(b);
}

LogicalResult Embedder::run() {
  if (failed(verifyArguments()))
    return failure();
  FailureOr<SmallVector<gpu::GPUModuleOp>> kernels =
      findKernels(function, symbols);
  if (failed(kernels))
    return failure();
  OwningOpRef<ModuleOp> part = ModuleOp::create(function.getLoc());
  OpBuilder inPart = OpBuilder::atBlockEnd(part->getBody());
  inPart.clone(*function.getOperation());
  for (gpu::GPUModuleOp module : *kernels)
    inPart.clone(*module.getOperation());
  FailureOr<Image> image = translate(*part);
  if (failed(image))
    return failure();
  buildBody(addProgram(*image));
  for (gpu::GPUModuleOp module : *kernels)
    symbols.erase(module);
  return success();
}

LogicalResult fa3::embedKernels(func::FuncOp function, SymbolTable &symbols,
                                const EmbedOptions &options,
                                EmbedOperands operands) {
  return Embedder(function, symbols, options, operands).run();
}
