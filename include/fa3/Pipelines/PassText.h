//===- PassText.h - names in texts of pipelines -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR's parser of pipelines says that it knows no such pass, or no such
// option. What looks at the text in front of it says which one may be meant.
//===----------------------------------------------------------------------===//

#ifndef FA3_PIPELINES_PASSTEXT_H
#define FA3_PIPELINES_PASSTEXT_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>

namespace fa3 {

/// The first name in `builtin.module(pass{option=value},..)` that no pass,
/// pipeline or option has. Nothing else is checked.
std::optional<std::string> explainPipelineText(llvm::StringRef text);

/// The same for `--pass=option=value`, `--pass-pipeline=..` and other arguments
/// of a tool, which pass.
std::optional<std::string>
explainPassArguments(llvm::ArrayRef<const char *> arguments);

} // namespace fa3

#endif // FA3_PIPELINES_PASSTEXT_H
