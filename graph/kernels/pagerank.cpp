// Python binding of the PageRank kernel: it converts arrays, and releases the GIL while the kernel computes.
//
// graph/algorithms/pagerank.py checks the arguments. Pushes run concurrently; an update excludes them. The GIL is released before
// the lock is acquired, so that no thread waits for the lock while it holds the GIL.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "pagerank/graph.hpp"
#include "pagerank/patched.hpp"
#include "pagerank/push.hpp"
#include "pagerank/shared.hpp"

namespace py = pybind11;

namespace {

using pagerank::Ends;
using pagerank::Node;
using pagerank::Pusher;
using Nodes = py::array_t<Node, py::array::c_style>;
using Weights = py::array_t<float, py::array::c_style>;
using Units = py::array_t<std::int64_t, py::array::c_style>;
using Scores = py::array_t<double, py::array::c_style>;

template <class Adjacency>
class KernelOf {
 public:
    template <class... Below>
    explicit KernelOf(const Below&... below) : graph_(below...) {}

    const Adjacency& graph() const { return graph_; }

    void update(const Nodes& edges, const Weights& weights) {
        if (edges.ndim() != 2 || edges.shape(1) != 2 || weights.ndim() != 1 || weights.shape(0) != edges.shape(0))
            throw std::invalid_argument("expected edges (n, 2) and weights (n,)");
        const auto count = static_cast<std::size_t>(edges.shape(0));
        const auto* ends = reinterpret_cast<const Ends*>(edges.data());
        const float* weight = weights.data();
        py::gil_scoped_release release;
        const std::unique_lock<std::shared_mutex> alone(mutex_);
        graph_.make_room(ends, count);
        for (std::size_t edge = 0; edge < count; ++edge) graph_.set(ends[edge], weight[edge]);
    }

    std::pair<Nodes, Scores> push(const Nodes& seeds, const Units& units, double damping, double tolerance, double unit,
                                  std::int64_t max_pushes) {
        if (seeds.ndim() != 1 || units.ndim() != 1 || seeds.shape(0) != units.shape(0))
            throw std::invalid_argument("expected seeds (n,) and units (n,)");
        const auto count = static_cast<std::size_t>(seeds.shape(0));
        const pagerank::Restart restart{seeds.data(), units.data(), count, damping, tolerance, unit, max_pushes};
        std::unique_ptr<Pusher> pusher;
        const std::vector<pagerank::Scored>* ranked = nullptr;
        {
            py::gil_scoped_release release;
            pusher = take();
            const std::shared_lock<std::shared_mutex> together(mutex_);
            ranked = &pusher->run(graph_, restart);
        }
        auto result = write(*ranked);
        give_back(std::move(pusher));
        return result;
    }

    Nodes neighbours(Node node) const {
        std::vector<Node> found;
        {
            py::gil_scoped_release release;
            const std::shared_lock<std::shared_mutex> together(mutex_);
            if (graph_.holds(node))
                for (const pagerank::Link& link : graph_.links(node)) found.push_back(link.node);
        }
        return Nodes(static_cast<py::ssize_t>(found.size()), found.data());
    }

    Scores shared(const Nodes& sources, const Nodes& targets, const Scores& strengths) const {
        if (sources.ndim() != 1 || targets.ndim() != 1 || strengths.ndim() != 1)
            throw std::invalid_argument("expected sources (m,), targets (n,) and strengths (k,)");
        const auto from = static_cast<std::size_t>(sources.shape(0)), to = static_cast<std::size_t>(targets.shape(0));
        Scores found({sources.shape(0), targets.shape(0)});
        double* rows = found.mutable_data();
        const double* strength = strengths.data();
        const Node *source = sources.data(), *target = targets.data();
        py::gil_scoped_release release;
        std::fill(rows, rows + from * to, 0.0);
        pagerank::SharedNeighbours shared(target, to, strength, static_cast<std::size_t>(strengths.shape(0)));
        const std::shared_lock<std::shared_mutex> together(mutex_);
        for (std::size_t row = 0; row < from; ++row) shared.read(graph_, source[row], rows + row * to);
        return found;
    }

    double degree(Node node) const {
        py::gil_scoped_release release;
        const std::shared_lock<std::shared_mutex> together(mutex_);
        return graph_.holds(node) ? graph_.degree(node) : 0.0;
    }

    double weight(Node u, Node v) const {
        py::gil_scoped_release release;
        const std::shared_lock<std::shared_mutex> together(mutex_);
        return static_cast<double>(graph_.weight(u, v));
    }

    std::int64_t size() const {
        py::gil_scoped_release release;
        const std::shared_lock<std::shared_mutex> together(mutex_);
        return graph_.edges();
    }

    std::size_t memory_bytes() const {
        py::gil_scoped_release release;
        const std::shared_lock<std::shared_mutex> together(mutex_);
        const std::lock_guard<std::mutex> mine(idle_mutex_);
        std::size_t bytes = graph_.memory_bytes();
        for (const auto& pusher : idle_) bytes += pusher->memory_bytes();
        return bytes;
    }

 private:
    static std::pair<Nodes, Scores> write(const std::vector<pagerank::Scored>& ranked) {
        const auto count = static_cast<py::ssize_t>(ranked.size());
        Nodes nodes(count);
        Scores scores(count);
        Node* node = nodes.mutable_data();
        double* score = scores.mutable_data();
        for (const pagerank::Scored& some : ranked) *node++ = some.node, *score++ = some.score;
        return {std::move(nodes), std::move(scores)};
    }

    std::unique_ptr<Pusher> take() {
        const std::lock_guard<std::mutex> mine(idle_mutex_);
        if (idle_.empty()) return std::make_unique<Pusher>();
        auto pusher = std::move(idle_.back());
        idle_.pop_back();
        return pusher;
    }

    void give_back(std::unique_ptr<Pusher> pusher) {
        const std::lock_guard<std::mutex> mine(idle_mutex_);
        idle_.push_back(std::move(pusher));
    }

    Adjacency graph_;
    mutable std::shared_mutex mutex_;
    std::vector<std::unique_ptr<Pusher>> idle_;
    mutable std::mutex idle_mutex_;
};

using Kernel = KernelOf<pagerank::Graph>;
using PatchedKernel = KernelOf<pagerank::PatchedGraph>;

template <class Adjacency>
py::class_<KernelOf<Adjacency>> bind(py::module_& module, const char* name) {
    using Kernel = KernelOf<Adjacency>;
    return py::class_<Kernel>(module, name)
        .def("update", &Kernel::update, py::arg("edges").noconvert(), py::arg("weights").noconvert())
        .def("push", &Kernel::push, py::arg("seeds").noconvert(), py::arg("units").noconvert(), py::arg("damping"), py::arg("tolerance"),
             py::arg("unit"), py::arg("max_pushes"))
        .def("neighbours", &Kernel::neighbours, py::arg("node"))
        .def("shared", &Kernel::shared, py::arg("sources").noconvert(), py::arg("targets").noconvert(), py::arg("strengths").noconvert())
        .def("degree", &Kernel::degree, py::arg("node"))
        .def("weight", &Kernel::weight, py::arg("u"), py::arg("v"))
        .def("memory_bytes", &Kernel::memory_bytes)
        .def("__len__", &Kernel::size);
}

}  // namespace

PYBIND11_MODULE(_pagerank, module) {
    module.doc() = "Compiled kernel of graphtide.graph.algorithms.pagerank.";
    bind<pagerank::Graph>(module, "Kernel").def(py::init<>());
    bind<pagerank::PatchedGraph>(module, "PatchedKernel")
        .def(py::init([](const Kernel& below) { return std::make_unique<PatchedKernel>(below.graph()); }), py::arg("below"),
             py::keep_alive<1, 2>());
}
