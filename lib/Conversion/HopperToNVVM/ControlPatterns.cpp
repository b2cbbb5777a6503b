//===- ControlPatterns.cpp - functions, groups of warps, registers --------===//
// SPDX-License-Identifier: Apache-2.0
#include "Patterns.h"
#include "fa3/Conversion/HopperToNVVM/HopperToNVVM.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

constexpr int64_t kTensorMapBytes = 128;
constexpr int64_t kTensorMapAlignment = 64;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What the kernel does to the memory behind an argument.
static StringRef getAccess(Value argument) {
  bool reads = false, writes = false;
  for (Operation *user : argument.getUsers()) {
    if (isa<TmaLoadOp, FragmentLoadOp, GatherOp, ScalarLoadOp, SearchOp,
            LoadExactOp, LLVM::LoadOp>(user)) {
      reads = true;
    } else if (isa<FlagAwaitOp>(user)) {
      reads = true;
    } else if (isa<RecordOp, FlagClearOp, FlagSetOp>(user)) {
      writes = true;
    } else if (auto store = dyn_cast<TmaStoreOp>(user)) {
      writes = true;
      reads |= store.getAdd();
    } else if (auto store = dyn_cast<FragmentStoreOp>(user)) {
      writes = true;
      reads |= store.getAdd() || store.getValue() == argument;
    } else {
      // Anything may happen, by way of a computed address for instance.
      reads = writes = true;
    }
  }
  return reads && writes ? "readwrite" : writes ? "write" : "read";
}

namespace {
struct FunctionPattern : KernelPattern<gpu::GPUFuncOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MLIRContext *context = op.getContext();
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    SmallVector<DictionaryAttr> argumentAttributes;
    for (auto [i, argument] : llvm::enumerate(op.getArguments())) {
      Type type = getTypeConverter()->convertType(argument.getType());
      if (!type || !LLVM::isCompatibleType(type))
        return op.emitOpError("argument ")
               << i << " of type " << argument.getType()
               << " cannot be passed to a kernel";
      signature.addInputs(i, type);
      argumentAttributes.push_back(getArgumentAttributes(op, i));
    }
    SmallVector<NamedAttribute> attributes;
    auto add = [&](StringRef name, Attribute value) {
      attributes.push_back({StringAttr::get(context, name), value});
    };
    add(NVVM::NVVMDialect::getKernelFuncAttrName(), UnitAttr::get(context));
    add(NVVM::NVVMDialect::getMaxntidAttrName(), op.getKnownBlockSizeAttr());
    add(NVVM::NVVMDialect::getMinctasmAttrName(),
        rewriter.getI32IntegerAttr(1));
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                            signature.getConvertedTypes());
    auto function = LLVM::LLVMFuncOp::create(
        rewriter, op.getLoc(), op.getName(), type, LLVM::Linkage::External,
        /*dsoLocal=*/false, LLVM::CConv::C, /*comdat=*/SymbolRefAttr(),
        attributes, argumentAttributes);
    // Selects the instructions that flush subnormals (.ftz).
    function.setDenormalFpMathF32("preserve-sign,preserve-sign");
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(),
                                function.end());
    rewriter.applySignatureConversion(&function.getBody().front(), signature,
                                      getTypeConverter());
    rewriter.eraseOp(op);
    return success();
  }

  static DictionaryAttr getArgumentAttributes(gpu::GPUFuncOp op, unsigned i) {
    Builder builder(op.getContext());
    BlockArgument argument = op.getArgument(i);
    NamedAttrList attributes(op.getArgAttrDict(i));
    bool isMap = isa<TensorMapType>(argument.getType());
    if (isMap) {
      auto bytes =
          LLVM::LLVMArrayType::get(builder.getI8Type(), kTensorMapBytes);
      attributes.set(LLVM::LLVMDialect::getByValAttrName(),
                     TypeAttr::get(bytes));
      attributes.set(LLVM::LLVMDialect::getAlignAttrName(),
                     builder.getI64IntegerAttr(kTensorMapAlignment));
      attributes.set(NVVM::NVVMDialect::getGridConstantAttrName(),
                     builder.getUnitAttr());
    }
    if (isMap || isa<LLVM::LLVMPointerType>(argument.getType()))
      attributes.set(kAccessAttrName,
                     builder.getStringAttr(getAccess(argument)));
    return attributes.getDictionary(op.getContext());
  }
};

struct ReturnPattern : KernelPattern<gpu::ReturnOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

template <typename GpuOp, typename XOp, typename YOp, typename ZOp>
struct RegisterPattern : KernelPattern<GpuOp> {
  using KernelPattern<GpuOp>::KernelPattern;

  LogicalResult
  matchAndRewrite(GpuOp op, typename GpuOp::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type();
    Location loc = op.getLoc();
    Value value;
    switch (op.getDimension()) {
    case gpu::Dimension::x:
      value = XOp::create(rewriter, loc, i32);
      break;
    case gpu::Dimension::y:
      value = YOp::create(rewriter, loc, i32);
      break;
    case gpu::Dimension::z:
      value = ZOp::create(rewriter, loc, i32);
      break;
    }
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, rewriter.getIndexType(),
                                                    value);
    return success();
  }
};

struct LaneIdPattern : KernelPattern<gpu::LaneIdOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(gpu::LaneIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, rewriter.getIndexType(),
                                                    info.getOf(op).lane);
    return success();
  }
};

struct BarrierPattern : KernelPattern<gpu::BarrierOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op->getParentOfType<warp::GroupOp>())
      return op.emitOpError("waits for all warps of the block, of which only "
                            "those of its group come here");
    NVVM::Barrier0Op::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fa3::populateControlPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter,
                                  ConversionTarget &target,
                                  const KernelInfo &info) {
  patterns.add<FunctionPattern, ReturnPattern, LaneIdPattern, BarrierPattern,
               RegisterPattern<gpu::ThreadIdOp, NVVM::ThreadIdXOp,
                               NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>,
               RegisterPattern<gpu::BlockIdOp, NVVM::BlockIdXOp,
                               NVVM::BlockIdYOp, NVVM::BlockIdZOp>,
               RegisterPattern<gpu::BlockDimOp, NVVM::BlockDimXOp,
                               NVVM::BlockDimYOp, NVVM::BlockDimZOp>,
               RegisterPattern<gpu::GridDimOp, NVVM::GridDimXOp,
                               NVVM::GridDimYOp, NVVM::GridDimZOp>>(
      converter, patterns.getContext(), info);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// Groups that share warp groups, and the warps of those.
struct Span {
  int64_t begin, end;
  SmallVector<warp::GroupOp> groups;
};
} // namespace

static int64_t getBegin(warp::GroupOp group) {
  return static_cast<int64_t>(*group.getFirstWarp());
}

static int64_t getEnd(warp::GroupOp group) {
  return getBegin(group) + group.getWarps() * group.getReplicas();
}

/// Groups in the order of their warps, those of one warp group together.
static SmallVector<Span> getSpans(warp::SpecializeOp specialize) {
  SmallVector<warp::GroupOp> groups(specialize.getOps<warp::GroupOp>());
  llvm::stable_sort(groups, [](warp::GroupOp a, warp::GroupOp b) {
    return getBegin(a) < getBegin(b);
  });
  SmallVector<Span> spans;
  for (warp::GroupOp group : groups) {
    int64_t perGroup = getChip(group).warpsPerWarpgroup;
    int64_t begin = llvm::alignDown(getBegin(group), perGroup);
    int64_t end = llvm::alignTo(getEnd(group), perGroup);
    if (spans.empty() || begin >= spans.back().end) {
      spans.push_back({begin, end, {group}});
      continue;
    }
    spans.back().end = std::max(spans.back().end, end);
    spans.back().groups.push_back(group);
  }
  return spans;
}

/// Whether `value` is in [begin, end), leaving out sides that always hold.
static Value isInRange(OpBuilder &builder, Location loc, Value value,
                       int64_t begin, int64_t end, int64_t limit) {
  IntegerBuilder ints(builder, loc);
  Value result;
  if (begin != 0)
    result = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                   value, ints.constant(begin));
  if (end < limit) {
    Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        value, ints.constant(end));
    result = result ? Value(arith::AndIOp::create(builder, loc, result, below))
                    : below;
  }
  return result;
}

/// Moves the body of a group to the insertion point.
static void inlineGroup(RewriterBase &rewriter, warp::GroupOp group,
                        const KernelInfo &info) {
  Location loc = group.getLoc();
  IntegerBuilder ints(rewriter, loc);
  Value number = ints.div(ints.add(info.getBlockWarp(), -getBegin(group)),
                          group.getWarps());
  Value replica = arith::IndexCastOp::create(rewriter, loc,
                                             rewriter.getIndexType(), number);
  Block *body = group.getBodyBlock();
  const GroupInfo &own = info.get(group);
  rewriter.eraseOp(body->getTerminator());
  if (!own.singleThreaded) {
    rewriter.inlineBlockBefore(body, rewriter.getInsertionBlock(),
                               rewriter.getInsertionPoint(), replica);
    return;
  }
  // What the elected thread's number needs comes first, the rest in one thread.
  Operation *elected = own.elected.getDefiningOp();
  auto branch = scf::IfOp::create(rewriter, loc, own.elected,
                                  /*withElseRegion=*/false);
  Block *inner = branch.thenBlock();
  inner->getOperations().splice(inner->begin(), body->getOperations(),
                                std::next(Block::iterator(elected)),
                                body->end());
  rewriter.inlineBlockBefore(body, branch, replica);
}

/// Registers that the groups of a span agree on.
static LogicalResult emitRegisters(OpBuilder &builder, Span &span,
                                   const KernelInfo &info) {
  const GroupInfo &first = info.get(span.groups.front());
  for (warp::GroupOp group : span.groups) {
    const GroupInfo &own = info.get(group);
    if (own.registers == first.registers &&
        own.increasesRegisters == first.increasesRegisters)
      continue;
    InFlightDiagnostic diagnostic = group.emitOpError(
        "expects the 'hopper.setmaxnreg' of the groups in its warp group");
    diagnostic.attachNote(span.groups.front().getLoc()) << "one of them";
    return diagnostic;
  }
  if (first.registers)
    NVVM::SetMaxRegisterOp::create(
        builder, span.groups.front().getLoc(), *first.registers,
        first.increasesRegisters ? NVVM::SetMaxRegisterAction::increase
                                 : NVVM::SetMaxRegisterAction::decrease);
  return success();
}

LogicalResult fa3::lowerSpecialize(RewriterBase &rewriter,
                                   warp::SpecializeOp specialize,
                                   const KernelInfo &info) {
  Value warp = info.getBlockWarp();
  SmallVector<Span> spans = getSpans(specialize);
  rewriter.setInsertionPoint(specialize);
  int64_t begin = 0;
  for (Span &span : spans) {
    // Warps before this span have gone another way, those behind it fall
    // through. Warp groups branch as a whole: setmaxnreg counts idle warps too.
    Location loc = span.groups.front().getLoc();
    Value isHere =
        isInRange(rewriter, loc, warp, span.begin == begin ? 0 : span.begin,
                  span.end, info.getNumWarps());
    Block *block = rewriter.getInsertionBlock();
    Block::iterator point = rewriter.getInsertionPoint();
    scf::IfOp branch;
    if (isHere) {
      bool isLast = &span == &spans.back();
      branch = scf::IfOp::create(rewriter, loc, isHere,
                                 /*withElseRegion=*/!isLast);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    if (failed(emitRegisters(rewriter, span, info)))
      return failure();
    for (warp::GroupOp group : span.groups) {
      OpBuilder::InsertionGuard guard(rewriter);
      Value isMine;
      if (getBegin(group) != span.begin || getEnd(group) != span.end)
        isMine = isInRange(rewriter, group.getLoc(), warp,
                           getBegin(group) == span.begin ? 0 : getBegin(group),
                           getEnd(group), span.end);
      if (isMine) {
        auto inner = scf::IfOp::create(rewriter, group.getLoc(), isMine,
                                       /*withElseRegion=*/false);
        rewriter.setInsertionPointToStart(inner.thenBlock());
      }
      inlineGroup(rewriter, group, info);
    }
    if (branch && !branch.getElseRegion().empty())
      rewriter.setInsertionPointToStart(branch.elseBlock());
    else
      rewriter.setInsertionPoint(block, point);
    begin = span.end;
  }
  rewriter.eraseOp(specialize);
  return success();
}
