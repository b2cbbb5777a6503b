// SPDX-License-Identifier: Apache-2.0
// Three interfaces of fa3, implemented elsewhere: ModAttrInterface,
// GradientOpInterface and AccessOpInterface.
#include "dialect.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"

namespace embed {

// A modification: attention-expand-mods asks it for code.
class AtanAttr : public mlir::Attribute::AttrBase<
                     AtanAttr, mlir::Attribute, mlir::AttributeStorage,
                     fa3::attention::ModAttrInterface::Trait> {
public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "embed.atan";
  mlir::Value buildScoreMod(mlir::ImplicitLocOpBuilder &builder,
                            const fa3::attention::ModContext &,
                            mlir::Value score) const {
    return mlir::math::AtanOp::create(builder, score);
  }
};

// A derivative: attention-derive-gradient asks for it.
struct AtanGradient
    : fa3::attention::GradientOpInterface::ExternalModel<AtanGradient,
                                                         mlir::math::AtanOp> {
  llvm::SmallVector<mlir::Value> buildGradients(mlir::Operation *op,
                                                mlir::ImplicitLocOpBuilder &b,
                                                mlir::Value gradient) const {
    mlir::Value x = op->getOperand(0);
    mlir::Value one =
        mlir::arith::ConstantOp::create(b, b.getFloatAttr(x.getType(), 1));
    mlir::Value square = mlir::arith::MulFOp::create(b, x, x);
    mlir::Value sum = mlir::arith::AddFOp::create(b, one, square);
    return {mlir::arith::DivFOp::create(b, gradient, sum)};
  }
};

// An operation on a slot: the checks of rings ask which views it accesses.
class LookOp : public mlir::Op<LookOp, mlir::OpTrait::ZeroResults,
                               mlir::OpTrait::OneOperand,
                               fa3::warp::AccessOpInterface::Trait> {
public:
  using Op::Op;
  static llvm::StringRef getOperationName() { return "embed.look"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  llvm::SmallVector<mlir::Value> getReadViews() { return {getOperand()}; }
  llvm::SmallVector<mlir::Value> getWrittenViews() { return {}; }
  fa3::warp::Completion getCompletion() {
    return fa3::warp::Completion::Synchronous;
  }
};

class EmbedDialect : public mlir::Dialect {
public:
  explicit EmbedDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                mlir::TypeID::get<EmbedDialect>()) {
    addAttributes<AtanAttr>();
    addOperations<LookOp>();
  }
  static constexpr llvm::StringLiteral getDialectNamespace() { return "embed"; }
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser,
                                 mlir::Type) const override {
    if (parser.parseKeyword("atan"))
      return {};
    return AtanAttr::get(getContext());
  }
  void printAttribute(mlir::Attribute,
                      mlir::DialectAsmPrinter &printer) const override {
    printer << "atan";
  }
};

void registerDialect(mlir::DialectRegistry &registry) {
  registry.insert<EmbedDialect>();
  registry.addExtension(
      +[](mlir::MLIRContext *context, mlir::math::MathDialect *) {
        mlir::math::AtanOp::attachInterface<AtanGradient>(*context);
      });
}

} // namespace embed
