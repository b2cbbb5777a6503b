//===- Drawing.cpp - the steady state of blocks as a picture --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Trace/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3::trace;
using llvm::StringRef;

namespace {
/// Pixels.
constexpr int kNames = 170, kWidth = 1000, kRow = 22, kBar = 18, kHead = 44,
              kGap = 16, kCharacter = 7;

class Drawing {
public:
  Drawing(llvm::raw_ostream &out, llvm::ArrayRef<Timeline> blocks);
  void print();

private:
  struct Style {
    StringRef kind, color, meaning;
  };
  static constexpr Style kStyles[] = {
      {"work", "#fdf3d0", "arithmetic, or the code between waits"},
      {"wait", "#d9d9d9", "wait for an mbarrier"},
      {"await", "#f2c6b8", "wait for products"},
      {"issue", "#b3380f", "issue of products"},
      {"sync", "#bdbdbd", "threads meet"},
      {"drain", "#bdbdbd", "wait for stores"},
      {"product", "#e58a63", "products in flight"},
      {"copy", "#7ea6dc", "copies in flight"},
      {"unit", "#7fb08a", "unit busy (predicted)"},
  };

  bool isVisible(const Timeline &block, const Span &span) const {
    return span.when.end > block.steady.begin &&
           span.when.begin < block.steady.end;
  }
  /// Lanes with something in the window.
  llvm::SmallVector<unsigned> getLanes(const Timeline &block) const;
  void printBlock(const Timeline &block, int top);
  void printSpan(const Timeline &block, const Span &span, int y);
  void printAxis(int top, int rows);
  void printLegend(int top);
  int getHeight(const Timeline &block) const {
    return kHead + kRow * getLanes(block).size() + kGap;
  }
  double toX(const Timeline &block, int64_t cycle) const {
    return kNames + (cycle - block.steady.begin) * scale;
  }

  llvm::raw_ostream &out;
  llvm::ArrayRef<Timeline> blocks;
  int64_t length = 1; ///< of the longest window, in cycles
  double scale;       ///< pixels per cycle
};
} // namespace

constexpr Drawing::Style Drawing::kStyles[];

static std::string escape(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

Drawing::Drawing(llvm::raw_ostream &out, llvm::ArrayRef<Timeline> blocks)
    : out(out), blocks(blocks) {
  for (const Timeline &block : blocks)
    length = std::max(length, block.steady.end - block.steady.begin);
  scale = double(kWidth) / length;
}

llvm::SmallVector<unsigned> Drawing::getLanes(const Timeline &block) const {
  llvm::SmallVector<unsigned> lanes;
  for (unsigned lane = 0; lane < block.lanes.size(); ++lane)
    if (llvm::any_of(block.spans, [&](const Span &span) {
          return span.lane == lane && isVisible(block, span);
        }))
      lanes.push_back(lane);
  return lanes;
}

void Drawing::printSpan(const Timeline &block, const Span &span, int y) {
  int64_t begin = std::max(span.when.begin, block.steady.begin);
  int64_t end = std::min(span.when.end, block.steady.end);
  double x = toX(block, begin), width = (end - begin) * scale;
  const auto *style = llvm::find_if(
      kStyles, [&](const Style &s) { return s.kind == span.kind; });
  StringRef color =
      style == std::end(kStyles) ? StringRef("#eee") : style->color;
  out << llvm::formatv(
      "<g><title>{0}: {1} cycles</title><rect x=\"{2:F1}\" y=\"{3}\" "
      "width=\"{4:F1}\" height=\"{5}\" fill=\"{6}\" stroke=\"#666\" "
      "stroke-width=\"0.5\"/>",
      escape(span.name), span.when.end - span.when.begin, x, y,
      std::max(width, 0.5), kBar, color);
  std::string label = span.name;
  if (width >= double(kCharacter * label.size()))
    out << llvm::formatv("<text x=\"{0:F1}\" y=\"{1}\" "
                         "text-anchor=\"middle\"{2}>{3}</text>",
                         x + width / 2, y + 13,
                         span.kind == "issue" ? " fill=\"#fff\"" : "",
                         escape(label));
  out << "</g>\n";
}

/// A line every so many cycles: 1, 2 or 5 times a power of ten.
void Drawing::printAxis(int top, int rows) {
  int64_t step = 1;
  for (int64_t factor = 1; length / step > 10; factor *= 10)
    for (int64_t digit : {1, 2, 5})
      if (length / step > 10)
        step = factor * digit;
  for (int64_t cycle = 0; cycle <= length; cycle += step) {
    double x = kNames + cycle * scale;
    out << llvm::formatv("<path d=\"M{0:F1} {1}V{2}\" stroke=\"#ddd\"/>"
                         "<text x=\"{0:F1}\" y=\"{3}\" fill=\"#666\" "
                         "text-anchor=\"middle\">{4}</text>\n",
                         x, top + kHead - 6, top + kHead + rows * kRow,
                         top + kHead - 10, cycle);
  }
}

void Drawing::printBlock(const Timeline &block, int top) {
  std::string title = block.name;
  if (block.iteration)
    title += llvm::formatv(": {0} cycles per iteration (median), two shown",
                           *block.iteration);
  else
    title += ": no steady state";
  out << llvm::formatv(
      "<text x=\"10\" y=\"{0}\" font-weight=\"bold\">{1}</text>\n", top + 16,
      escape(title));
  llvm::SmallVector<unsigned> lanes = getLanes(block);
  printAxis(top, lanes.size());
  for (auto [row, lane] : llvm::enumerate(lanes)) {
    int y = top + kHead + int(row) * kRow;
    out << llvm::formatv("<text x=\"10\" y=\"{0}\">{1}</text>\n", y + 13,
                         escape(block.lanes[lane]));
    for (const Span &span : block.spans)
      if (span.lane == lane && isVisible(block, span))
        printSpan(block, span, y);
    for (const Span &mark : block.marks)
      if (mark.lane == lane && mark.when.begin >= block.steady.begin &&
          mark.when.begin <= block.steady.end)
        out << llvm::formatv("<g><title>{0}</title><path "
                             "d=\"M{1:F1} {2}l-3 5h6z\" fill=\"#0a6e31\"/>"
                             "</g>\n",
                             escape(mark.name), toX(block, mark.when.begin),
                             y + kBar - 5);
  }
}

void Drawing::printLegend(int top) {
  int x = 10, y = top;
  for (const Style &style : kStyles) {
    int width = 30 + kCharacter * int(style.meaning.size());
    if (x + width > kNames + kWidth) {
      x = 10;
      y += kRow;
    }
    out << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"12\" "
                         "height=\"12\" fill=\"{2}\" stroke=\"#666\" "
                         "stroke-width=\"0.5\"/><text x=\"{3}\" y=\"{4}\">{5}"
                         "</text>\n",
                         x, y, style.color, x + 17, y + 11,
                         escape(style.meaning));
    x += width;
  }
  out << llvm::formatv("<text x=\"10\" y=\"{0}\">triangles: arrivals, copies "
                       "and stores issued; time in cycles</text>\n",
                       y + kRow + 11);
}

void Drawing::print() {
  int height = 4 * kRow;
  for (const Timeline &block : blocks)
    height += getHeight(block);
  out << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#fff\"/>\n",
      kNames + kWidth + 20, height);
  int top = 0;
  for (const Timeline &block : blocks) {
    printBlock(block, top);
    top += getHeight(block);
  }
  printLegend(top + 6);
  out << "</svg>\n";
}

void fa3::trace::writeDrawing(llvm::raw_ostream &os,
                              llvm::ArrayRef<Timeline> blocks) {
  Drawing(os, blocks).print();
}
