//===- Result.cpp - what a call of libfa3 gives ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as data and as text, and the accessors of a result.
//===----------------------------------------------------------------------===//

#include "Result.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// The place in a file that a location names first.
static FileLineColLoc findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static fa3_severity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return FA3_NOTE;
  case DiagnosticSeverity::Remark:
    return FA3_REMARK;
  case DiagnosticSeverity::Warning:
    return FA3_WARNING;
  case DiagnosticSeverity::Error:
    break;
  }
  return FA3_ERROR;
}

static const char *getName(fa3_severity severity) {
  static const char *const names[] = {"note", "remark", "warning", "error"};
  return names[severity];
}

void fa3_result::add(mlir::Diagnostic &diagnostic) {
  Diagnostic &added = diagnostics.emplace_back();
  added.severity = getSeverity(diagnostic.getSeverity());
  added.message = diagnostic.str();
  added.line = added.column = 0;
  if (FileLineColLoc place = findPlace(diagnostic.getLocation())) {
    added.file = place.getFilename().str();
    added.line = place.getLine();
    added.column = place.getColumn();
  }
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    add(note);
}

void fa3_result::refuse(const llvm::Twine &message) {
  diagnostics.push_back({FA3_ERROR, 0, 0, "", message.str()});
}

void fa3_result::finish() {
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : diagnostics) {
    if (!diagnostic.file.empty())
      os << diagnostic.file << ':';
    if (diagnostic.line)
      os << diagnostic.line << ':' << diagnostic.column << ':';
    if (!diagnostic.file.empty() || diagnostic.line)
      os << ' ';
    os << getName(diagnostic.severity) << ": " << diagnostic.message << '\n';
  }
}

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

static const char *get(const std::optional<std::string> &text, size_t *size) {
  if (size)
    *size = text ? text->size() : 0;
  return text ? text->c_str() : nullptr;
}

void fa3_result_destroy(fa3_result *result) { delete result; }

const char *fa3_result_ptx(const fa3_result *result, size_t *size) {
  return get(result->ptx, size);
}
const char *fa3_result_manifest(const fa3_result *result, size_t *size) {
  return get(result->manifest, size);
}
const char *fa3_result_cubin(const fa3_result *result, size_t *size) {
  return get(result->cubin, size);
}
const char *fa3_result_ir(const fa3_result *result, size_t *size) {
  return get(result->ir, size);
}

size_t fa3_result_num_functions(const fa3_result *result) {
  return result->functions.size();
}
int fa3_result_function(const fa3_result *result, size_t index,
                        fa3_function *function) {
  if (index >= result->functions.size())
    return 0;
  const fa3_result::Function &made = result->functions[index];
  *function = {made.name.c_str(),
               made.ptx.c_str(),
               made.manifest.c_str(),
               nullptr,
               made.ptx.size(),
               made.manifest.size(),
               0};
  function->cubin = get(made.cubin, &function->cubin_size);
  return 1;
}

size_t fa3_result_num_predictions(const fa3_result *result) {
  return result->predictions.size();
}
int fa3_result_prediction(const fa3_result *result, size_t index,
                          fa3_prediction *prediction) {
  if (index >= result->predictions.size())
    return 0;
  const fa3_result::Prediction &made = result->predictions[index];
  *prediction = made.numbers;
  prediction->function = made.function.c_str();
  prediction->plan = made.plan.c_str();
  return 1;
}

size_t fa3_result_num_diagnostics(const fa3_result *result) {
  return result->diagnostics.size();
}
int fa3_result_diagnostic(const fa3_result *result, size_t index,
                          fa3_diagnostic *diagnostic) {
  if (index >= result->diagnostics.size())
    return 0;
  const fa3_result::Diagnostic &d = result->diagnostics[index];
  *diagnostic = {d.severity, d.line, d.column, d.file.c_str(),
                 d.message.c_str()};
  return 1;
}
const char *fa3_result_diagnostics(const fa3_result *result) {
  return result->text.c_str();
}

size_t fa3_result_num_kernels(const fa3_result *result) {
  return result->kernels.size();
}
int fa3_result_kernel(const fa3_result *result, size_t index,
                      fa3_kernel_usage *usage) {
  if (index >= result->kernels.size())
    return 0;
  const fa3::KernelUsage &kernel = result->kernels[index];
  *usage = {kernel.name.c_str(), kernel.registers, kernel.stackBytes,
            kernel.spillStoreBytes, kernel.spillLoadBytes};
  return 1;
}
