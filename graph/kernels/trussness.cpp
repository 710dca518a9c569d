// Python's view of the dynamic truss decomposition: arrays in, arrays out, the GIL released while the engine works.
//
// One owner at a time: the object has no lock. Errors leave it as it was: std::invalid_argument is ValueError, an absent edge
// KeyError. Arrays are int32 and (n, 2); any other type is a TypeError, so that nothing is narrowed in silence.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "truss/engine.hpp"

namespace py = pybind11;

namespace {

using truss::Ends;
using EdgeArray = py::array_t<std::int32_t, py::array::c_style>;

void read(const EdgeArray& edges, std::vector<Ends>& into) {
    if (edges.ndim() != 2 || edges.shape(1) != 2) throw std::invalid_argument("edges must have the shape (n, 2)");
    const auto* first = reinterpret_cast<const Ends*>(edges.data());
    into.assign(first, first + edges.shape(0));
}

std::pair<EdgeArray, py::array_t<std::int32_t>> write(const std::vector<truss::Value>& values) {
    const auto count = static_cast<py::ssize_t>(values.size());
    EdgeArray edges({count, py::ssize_t{2}});
    py::array_t<std::int32_t> numbers(count);
    auto* ends = reinterpret_cast<Ends*>(edges.mutable_data());
    auto* number = numbers.mutable_data();
    for (const truss::Value& value : values) *ends++ = value.ends, *number++ = value.trussness;
    return {std::move(edges), std::move(numbers)};
}

class Kernel {
 public:
    Kernel(const EdgeArray& edges, std::int64_t stride) {
        std::vector<Ends> batch;
        read(edges, batch);
        py::gil_scoped_release release;
        engine_ = std::make_unique<truss::Engine>(std::move(batch), stride);
    }

    auto update(const EdgeArray& added, const EdgeArray& removed) {
        read(added, added_);
        read(removed, removed_);
        {
            py::gil_scoped_release release;
            engine_->update(added_, removed_);
        }
        return write(engine_->values());
    }

    std::int32_t trussness(std::int32_t u, std::int32_t v) const {
        return engine_->state().order[find(u, v)].trussness;
    }

    auto edges() const {
        const truss::PeelOrder& order = engine_->state().order;
        std::vector<truss::Value> values;
        {
            py::gil_scoped_release release;
            values.reserve(static_cast<std::size_t>(order.size()));
            for (truss::EdgeId edge = 0; edge < order.records(); ++edge)
                if (order.is_live(edge)) values.push_back({order.ends(edge), order[edge].trussness});
            std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.ends < b.ends; });
        }
        return write(values);
    }

    std::vector<std::string> violations() const {
        py::gil_scoped_release release;
        return truss::Audit(engine_->state()).whole();
    }

    std::vector<std::string> violations_of(const EdgeArray& edges) const {
        std::vector<Ends> batch;
        read(edges, batch);
        py::gil_scoped_release release;
        return truss::Audit(engine_->state()).of(batch);
    }

    // Breaks the state on purpose, so that a test can see the self-check fail: the value alone changes.
    void overwrite(std::int32_t u, std::int32_t v, std::int32_t value) {
        engine_->state().order[find(u, v)].trussness = value;
    }

    std::int64_t size() const { return engine_->state().order.size(); }
    std::size_t memory_bytes() const { return engine_->memory_bytes(); }

 private:
    truss::EdgeId find(std::int32_t u, std::int32_t v) const {
        const truss::EdgeId edge = engine_->state().adjacency.find(u, v);
        if (edge == truss::none) throw py::key_error(truss::Engine::name({u, v}) + " is not there");
        return edge;
    }

    std::unique_ptr<truss::Engine> engine_;
    std::vector<Ends> added_, removed_;
};

// The adjacency alone, as the benchmark's yardstick: the same structure, check for the edge included, without trussness.
class BareAdjacency {
 public:
    void insert(const EdgeArray& edges) {
        read(edges, batch_);
        py::gil_scoped_release release;
        for (const Ends& ends : batch_)
            if (adjacency_.find(ends.u, ends.v) == truss::none) adjacency_.insert(ends.u, ends.v, next_++);
    }

    std::int64_t size() const { return next_; }

 private:
    truss::Adjacency adjacency_;
    truss::EdgeId next_ = 0;
    std::vector<Ends> batch_;
};

}  // namespace

PYBIND11_MODULE(_trussness, module) {
    module.doc() = "Compiled kernel of graph.trussness.";
    py::class_<Kernel>(module, "Kernel")
        .def(py::init<const EdgeArray&, std::int64_t>(), py::arg("edges").noconvert(), py::kw_only(),
             py::arg("stride") = truss::PeelOrder::usual_stride)
        .def("update", &Kernel::update, py::arg("added").noconvert(), py::arg("removed").noconvert())
        .def("trussness", &Kernel::trussness, py::arg("u"), py::arg("v"))
        .def("edges", &Kernel::edges)
        .def("violations", &Kernel::violations)
        .def("violations_of", &Kernel::violations_of, py::arg("edges").noconvert())
        .def("memory_bytes", &Kernel::memory_bytes)
        .def("overwrite", &Kernel::overwrite, py::arg("u"), py::arg("v"), py::arg("value"))
        .def("__len__", &Kernel::size);
    py::class_<BareAdjacency>(module, "BareAdjacency")
        .def(py::init<>())
        .def("insert", &BareAdjacency::insert, py::arg("edges").noconvert())
        .def("__len__", &BareAdjacency::size);
}
