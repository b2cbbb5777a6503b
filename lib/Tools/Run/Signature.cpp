//===- Signature.cpp - the arguments of a manifest ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/Signature.h"
#include "Fail.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Runtime/fa3_runtime.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::run;

namespace {
struct ProgramDeleter {
  void operator()(fa3_program *program) const {
    fa3_status status;
    fa3_program_destroy(program, &status);
  }
};
} // namespace

static Type getType(Builder &builder, fa3_type type) {
  switch (type) {
  case FA3_F16:
    return builder.getF16Type();
  case FA3_BF16:
    return builder.getBF16Type();
  case FA3_F32:
    return builder.getF32Type();
  case FA3_F64:
    return builder.getF64Type();
  case FA3_F8E4M3FN:
    return builder.getType<Float8E4M3FNType>();
  case FA3_F8E5M2:
    return builder.getType<Float8E5M2Type>();
  case FA3_I1:
    return builder.getI1Type();
  case FA3_I8:
    return builder.getI8Type();
  case FA3_I16:
    return builder.getIntegerType(16);
  case FA3_I32:
    return builder.getI32Type();
  case FA3_I64:
    return builder.getI64Type();
  }
  return {};
}

/// A memref with any strides; `dims` gets a name for each dimension.
static Type getMemRef(Builder &builder, const fa3_arg_info &info,
                      SmallVectorImpl<std::string> &dims) {
  SmallVector<int64_t> shape, strides(info.rank, ShapedType::kDynamic);
  for (int32_t d = 0; d < info.rank; ++d) {
    bool isStatic = info.extent[d] >= 0;
    shape.push_back(isStatic ? info.extent[d] : ShapedType::kDynamic);
    dims.push_back(info.dim_name[d]
                       ? info.dim_name[d]
                       : (Twine(info.name) + "." + Twine(d)).str());
  }
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), /*offset=*/0, strides);
  return MemRefType::get(shape, getType(builder, info.type), layout);
}

FailureOr<Signature> fa3::run::readSignature(StringRef manifest, StringRef path,
                                             MLIRContext &context) {
  context.loadDialect<func::FuncDialect, tile::TileDialect>();
  Location loc = FileLineColLoc::get(&context, path, 1, 1);
  fa3_program *raw;
  fa3_status status;
  // Nothing is evaluated here, so the number of SMs does not matter.
  if (fa3_program_parse(manifest.data(), manifest.size(), /*device_sms=*/1,
                        &raw, &status) != FA3_OK)
    return emitError(loc) << status.message;
  std::unique_ptr<fa3_program, ProgramDeleter> program(raw);

  Signature signature;
  OpBuilder builder(&context);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (size_t i = 0, e = fa3_program_num_args(raw); i < e; ++i) {
    fa3_arg_info info;
    if (fa3_program_arg_info(raw, i, &info, &status) != FA3_OK)
      return emitError(loc) << status.message;
    SmallVector<NamedAttribute> named = {builder.getNamedAttr(
        tile::TileDialect::kNameAttrName, builder.getStringAttr(info.name))};
    interp::Access access{/*read=*/true, /*written=*/false};
    if (info.kind == FA3_TENSOR) {
      SmallVector<std::string> dims;
      types.push_back(getMemRef(builder, info, dims));
      named.push_back(
          builder.getNamedAttr(tile::TileDialect::kDimsAttrName,
                               builder.getStrArrayAttr(SmallVector<StringRef>(
                                   dims.begin(), dims.end()))));
      access = {info.access != FA3_WRITE, info.access != FA3_READ};
    } else {
      types.push_back(getType(builder, info.type));
    }
    attributes.push_back(builder.getDictionaryAttr(named));
    signature.accesses.push_back(access);
  }
  signature.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(signature.module->getBody());
  auto function = func::FuncOp::create(builder, loc, fa3_program_function(raw),
                                       builder.getFunctionType(types, {}),
                                       ArrayRef<NamedAttribute>{}, attributes);
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  signature.function = function;
  return signature;
}
