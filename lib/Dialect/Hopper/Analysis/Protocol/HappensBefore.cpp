//===- HappensBefore.cpp - drawings of what orders a kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HappensBefore.h"
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {

/// A box of the drawing: events that follow each other and look alike.
struct Box {
  unsigned lane;
  std::string label;
  bool inIteration = false;
  int row = 0;
  unsigned count = 1;
};

struct Edge {
  unsigned from, to;
  const char *kind;
  bool operator<(const Edge &other) const {
    return std::tie(from, to) < std::tie(other.from, other.to);
  }
};

/// Names of mbarriers and buffers: full and empty of what tma.load fills.
class Names {
public:
  explicit Names(warp::SpecializeOp specialize) {
    specialize.walk([&](TmaLoadOp load) {
      if (!buffers.contains(load.getBuffer()))
        buffers[load.getBuffer()] = std::string(1, 'A' + buffers.size() % 26);
      full[load.getBarrier()] = buffers[load.getBuffer()];
    });
    // A writer waits for the empty barrier just before it announces bytes.
    specialize.walk([&](BarrierExpectTxOp expect) {
      for (Operation *op = expect->getPrevNode(); op; op = op->getPrevNode())
        if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
          empty.insert({wait.getBarrier(), full[expect.getBarrier()]});
          break;
        }
    });
  }

  std::string getBarrier(Value barrier, int64_t number) const {
    std::string index = "[" + std::to_string(number) + "]";
    if (auto it = full.find(barrier); it != full.end())
      return "full " + it->second + index;
    if (auto it = empty.find(barrier); it != empty.end())
      return "empty " + it->second + index;
    return "mbarrier" + index;
  }
  std::string getBuffer(Value buffer) const {
    auto it = buffers.find(buffer);
    return it == buffers.end() ? "staging" : it->second;
  }
  std::vector<std::string> getLegend() const {
    std::vector<std::string> lines;
    for (auto &[buffer, name] : buffers) {
      std::string type;
      llvm::raw_string_ostream(type) << buffer.getType();
      lines.push_back(name + ": " + type);
    }
    return lines;
  }

private:
  llvm::MapVector<Value, std::string> buffers;
  llvm::DenseMap<Value, std::string> full, empty;
};

class Drawing {
public:
  Drawing(const ProtocolTrace &trace, const warp::JointState &state)
      : trace(trace), state(state), names(getSpecialize(state)) {}

  void select(unsigned p, unsigned choice, unsigned iteration);
  void arrange();
  void print(raw_ostream &out) const;

private:
  static warp::SpecializeOp getSpecialize(const warp::JointState &state) {
    return cast<warp::SpecializeOp>(
        state.processes.front().group->getParentOp());
  }
  std::string getLabel(const ProtocolTrace::Event &event) const;
  /// Lanes: every process, then copies, then products.
  unsigned getLane(const ProtocolTrace::Event &event) const;
  static bool isShown(Operation *op) {
    return !isa<WgmmaFenceOp, WgmmaCommitOp, TmaCommitOp, GroupReadyOp,
                InflightReadyOp>(op) &&
           op->getDialect() == op->getContext()->getLoadedDialect("hopper");
  }

  // Places in the picture.
  static constexpr int kLane = 280, kBox = 230, kRow = 40, kHeight = 26,
                       kTop = 64;
  static int getX(unsigned lane) { return 10 + int(lane) * kLane; }
  static int getY(int row) { return kTop + row * kRow; }
  unsigned getNumLanes() const { return state.processes.size() + 2; }
  void printHead(raw_ostream &out, int width, int height) const;
  void printLanes(raw_ostream &out, int bottom) const;
  void printEdge(raw_ostream &out, const Edge &edge) const;
  void printBox(raw_ostream &out, const Box &box) const;
  void printLegend(raw_ostream &out, ArrayRef<std::string> legend,
                   int line) const;

  const ProtocolTrace &trace;
  const warp::JointState &state;
  Names names;
  llvm::SetVector<unsigned> selected;
  std::set<unsigned> inIteration;
  std::vector<Box> boxes;
  std::vector<Edge> edges;
};

} // namespace

std::string Drawing::getLabel(const ProtocolTrace::Event &event) const {
  Operation *op = event.op;
  if (auto wait = dyn_cast<BarrierWaitOp>(op))
    return "wait " + names.getBarrier(wait.getBarrier(), event.number);
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return "arrive " + names.getBarrier(arrive.getBarrier(), event.number);
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op))
    return "expect " + std::to_string(expect.getBytes()) + " bytes, " +
           names.getBarrier(expect.getBarrier(), event.number);
  if (auto load = dyn_cast<TmaLoadOp>(op))
    return "copy to " + names.getBuffer(load.getBuffer()) + "[" +
           std::to_string(event.number) + "]";
  if (auto mma = dyn_cast<WgmmaOp>(op)) {
    std::string label =
        llvm::formatv("wgmma {0}x{1}x{2}", mma.getM(), mma.getN(), mma.getK());
    for (Value operand : {mma.getLhs(), Value(mma.getRhs())}) {
      auto desc = operand.getDefiningOp<DescOp>();
      label += desc ? " " + names.getBuffer(desc.getBuffer()) : " registers";
    }
    return label;
  }
  if (auto wait = dyn_cast<WgmmaWaitOp>(op))
    return llvm::formatv("wait for products, {0} may stay", *wait.getPending());
  return op->getName().stripDialect().str();
}

unsigned Drawing::getLane(const ProtocolTrace::Event &event) const {
  unsigned numProcesses = state.processes.size();
  if (isa<TmaLoadOp, TmaStoreOp>(event.op))
    return numProcesses;
  if (isa<WgmmaOp>(event.op))
    return numProcesses + 1;
  return event.process;
}

void Drawing::select(unsigned p, unsigned choice, unsigned iteration) {
  auto isShownEvent = [&](unsigned i) { return isShown(trace.events[i].op); };
  for (auto [i, event] : llvm::enumerate(trace.events)) {
    // The loop has begun this iteration, and this event is inside it.
    Operation *loop = state.processes[p].program->getInstructions()[choice].op;
    if (event.process == p && event.taken[choice] == iteration &&
        loop->isProperAncestor(event.op) && isShownEvent(i))
      inIteration.insert(i);
  }
  selected.insert(inIteration.begin(), inIteration.end());
  // What the iteration waited for, and who waited for it.
  for (auto [i, event] : llvm::enumerate(trace.events))
    for (unsigned source : event.sources) {
      if (inIteration.count(i))
        selected.insert(source);
      else if (inIteration.count(source) && isShownEvent(i))
        selected.insert(i);
    }
  // Other processes are drawn without gaps.
  for (unsigned q = 0; q < state.processes.size(); ++q) {
    std::optional<unsigned> first, last;
    for (unsigned i : selected)
      if (trace.events[i].process == q && q != p) {
        first = first ? std::min(*first, i) : i;
        last = last ? std::max(*last, i) : i;
      }
    for (unsigned i = first.value_or(1); i <= last.value_or(0); ++i)
      if (trace.events[i].process == q && isShownEvent(i))
        selected.insert(i);
  }
}

void Drawing::arrange() {
  SmallVector<unsigned> order(selected.begin(), selected.end());
  llvm::sort(order);
  llvm::DenseMap<unsigned, unsigned> boxOf;
  llvm::DenseMap<unsigned, unsigned> lastOfProcess;
  for (unsigned i : order) {
    const ProtocolTrace::Event &event = trace.events[i];
    std::string label = getLabel(event);
    unsigned lane = getLane(event);
    // Boxes of one copy.
    auto previous = lastOfProcess.find(event.process);
    if (lane != event.process && previous != lastOfProcess.end() &&
        boxes[previous->second].lane == lane &&
        boxes[previous->second].label == label) {
      ++boxes[previous->second].count;
      boxOf[i] = previous->second;
      continue;
    }
    Box box{lane, label};
    box.inIteration = inIteration.count(i);
    unsigned number = boxes.size();
    boxOf[i] = number;
    auto connect = [&](unsigned from, const char *kind) {
      edges.push_back({from, number, kind});
      box.row = std::max(box.row, boxes[from].row + 1);
    };
    if (previous != lastOfProcess.end())
      connect(previous->second, "program");
    for (unsigned source : event.sources) {
      auto it = boxOf.find(source);
      if (it == boxOf.end())
        continue;
      unsigned fromLane = boxes[it->second].lane;
      connect(it->second, fromLane == state.processes.size()       ? "copy"
                          : fromLane == state.processes.size() + 1 ? "product"
                                                                   : "barrier");
    }
    boxes.push_back(std::move(box));
    lastOfProcess[event.process] = number;
  }
  llvm::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [](const Edge &a, const Edge &b) {
                            return a.from == b.from && a.to == b.to;
                          }),
              edges.end());
}

static std::string escape(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

void Drawing::printHead(raw_ostream &out, int width, int height) const {
  out << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n",
      width, height);
  out << "<style>.program{stroke:#999}.barrier{stroke:#0a6e31}"
         ".copy{stroke:#1559b3}.product{stroke:#b3380f}"
         "path{fill:none;stroke-width:1.4}</style>\n<defs>";
  for (auto [kind, color] :
       {std::pair("program", "#999"), std::pair("barrier", "#0a6e31"),
        std::pair("copy", "#1559b3"), std::pair("product", "#b3380f")})
    out << llvm::formatv("<marker id=\"{0}\" viewBox=\"0 0 8 8\" refX=\"8\" "
                         "refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
                         "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
                         "style=\"fill:{1};stroke:none\"/></marker>",
                         kind, color);
  out << llvm::formatv("</defs>\n<rect width=\"{0}\" height=\"{1}\" "
                       "fill=\"#fff\"/>\n",
                       width, height);
}

/// Every lane has a name and a line down to the bottom.
void Drawing::printLanes(raw_ostream &out, int bottom) const {
  for (unsigned lane = 0; lane < getNumLanes(); ++lane) {
    std::string name =
        lane < state.processes.size()
            ? warp::Explorer::getName(state.processes[lane])
            : (lane == state.processes.size() ? "copies (TMA)" : "tensor core");
    out << llvm::formatv(
        "<text x=\"{0}\" y=\"30\" font-weight=\"bold\">{1}</text>\n",
        getX(lane), escape(name));
    out << llvm::formatv("<path d=\"M{0} 42V{1}\" style=\"stroke:#eee\"/>\n",
                         getX(lane) + kBox / 2, bottom);
  }
}

/// Down inside a lane, from side to side between lanes.
void Drawing::printEdge(raw_ostream &out, const Edge &edge) const {
  const Box &from = boxes[edge.from], &to = boxes[edge.to];
  int y1 = getY(from.row) + kHeight, y2 = getY(to.row);
  int x1 = getX(from.lane) + kBox / 2, x2 = getX(to.lane) + kBox / 2;
  if (from.lane != to.lane) {
    bool right = to.lane > from.lane;
    x1 = getX(from.lane) + (right ? kBox : 0);
    x2 = getX(to.lane) + (right ? 0 : kBox);
    y1 -= kHeight / 2;
    y2 += kHeight / 2;
    int middle = (x1 + x2) / 2;
    out << llvm::formatv("<path class=\"{0}\" marker-end=\"url(#{0})\" "
                         "d=\"M{1} {2}C{3} {2} {3} {4} {5} {4}\"/>\n",
                         edge.kind, x1, y1, middle, y2, x2);
  } else {
    out << llvm::formatv("<path class=\"{0}\" marker-end=\"url(#{0})\" "
                         "d=\"M{1} {2}L{3} {4}\"/>\n",
                         edge.kind, x1, y1, x2, y2);
  }
}

void Drawing::printBox(raw_ostream &out, const Box &box) const {
  int x = getX(box.lane), y = getY(box.row);
  std::string label = box.label;
  if (box.count > 1)
    label += llvm::formatv(", {0} boxes", box.count);
  out << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" "
                       "rx=\"4\" fill=\"{4}\" stroke=\"#555\"/>\n",
                       x, y, int(kBox), int(kHeight),
                       box.inIteration ? "#fdf3d0" : "#f4f4f4");
  out << llvm::formatv("<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}"
                       "</text>\n",
                       x + kBox / 2, y + 17, escape(label));
}

void Drawing::printLegend(raw_ostream &out, ArrayRef<std::string> legend,
                          int line) const {
  out << llvm::formatv(
      "<text x=\"10\" y=\"{0}\">yellow: the iteration; arrows: "
      "gray program order, green mbarrier, blue bytes landed, red "
      "products retired</text>\n",
      line);
  for (const std::string &entry : legend)
    out << llvm::formatv("<text x=\"10\" y=\"{0}\">{1}</text>\n", line += 18,
                         escape(entry));
}

void Drawing::print(raw_ostream &out) const {
  int rows = 0;
  for (const Box &box : boxes)
    rows = std::max(rows, box.row + 1);
  std::vector<std::string> legend = names.getLegend();
  int bottom = getY(rows);
  printHead(out, getNumLanes() * kLane + 20,
            bottom + 30 + 18 * (legend.size() + 1));
  printLanes(out, bottom);
  for (const Edge &edge : edges)
    printEdge(out, edge);
  for (const Box &box : boxes)
    printBox(out, box);
  printLegend(out, legend, bottom + 24);
  out << "</svg>\n";
}

void fa3::hopper::drawTrace(const ProtocolTrace &trace,
                            const warp::JointState &state, unsigned p,
                            unsigned choice, unsigned iteration,
                            raw_ostream &out) {
  Drawing drawing(trace, state);
  drawing.select(p, choice, iteration);
  drawing.arrange();
  drawing.print(out);
}
