// Python binding of the dynamic truss decomposition: it converts arrays, and releases the GIL while the engine computes.
//
// The object has one owner and no lock. A call that fails changes nothing: std::invalid_argument becomes ValueError, an
// absent edge KeyError. Arrays are int32 of shape (n, 2); any other type raises TypeError, so that no value is silently
// truncated.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "truss/engine.hpp"

namespace py = pybind11;

namespace {

using truss::Ends;
// Checks the array itself: the conversion of py::array_t takes longer than a small update.
void read(const py::array& edges, std::vector<Ends>& into) {
    constexpr int int32 = py::detail::npy_api::NPY_INT32_;
    const py::dtype type = edges.dtype();
    if (type.num() != int32 || type.byteorder() != '=') throw py::type_error("edges must be int32");
    if (edges.ndim() != 2 || edges.shape(1) != 2) throw py::value_error("edges must have the shape (n, 2)");
    const bool dense = edges.flags() & py::array::c_style;
    const py::array rows = dense ? edges : py::array_t<std::int32_t, py::array::c_style>::ensure(edges);
    const auto* first = static_cast<const Ends*>(rows.data());
    into.assign(first, first + rows.shape(0));
}

// Releases the GIL for a scope. pybind11's own guard looks up its internals each time, which costs a measurable part of a
// small update.
class WithoutGil {
 public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { PyEval_RestoreThread(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

 private:
    PyThreadState* state_;
};

// Returns an uninitialised int32 array from numpy's constructor; that of py::array_t takes five times as long for small
// arrays.
template <std::size_t dimensions>
py::array new_array(std::array<Py_intptr_t, dimensions> shape) {
    static const auto& numpy = py::detail::npy_api::get();
    static PyObject* const type = py::dtype::of<std::int32_t>().release().ptr();
    Py_INCREF(type);  // the call consumes a reference
    PyObject* made = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, type, static_cast<int>(dimensions), shape.data(),
                                                 nullptr, nullptr, 0, nullptr);
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::array>(made);
}

// Returns the type of the result of an update: a tuple with named fields. Creating one takes as long as a plain tuple; a
// NamedTuple made in Python takes longer than the rest of a small update's binding.
PyTypeObject* change_type() {
    static PyStructSequence_Field fields[] = {
        {"edges", "(k, 2) int32, u < v, sorted."},
        {"values", "(k,) int32, the trussness after the update."},
        {nullptr, nullptr},
    };
    static PyStructSequence_Desc description = {
        "graphtide.graph._trussness.TrussnessChange",
        "Every edge whose trussness after an update is new or different; removed edges are not included.", fields, 2};
    static PyTypeObject* const type = PyStructSequence_NewType(&description);
    if (!type) throw py::error_already_set();
    return type;
}

py::object write(const std::vector<truss::Value>& values) {
    const auto count = static_cast<Py_intptr_t>(values.size());
    py::array edges = new_array<2>({count, 2});
    py::array numbers = new_array<1>({count});
    auto* ends = static_cast<Ends*>(edges.mutable_data());
    auto* number = static_cast<std::int32_t*>(numbers.mutable_data());
    for (const truss::Value& value : values) *ends++ = value.ends, *number++ = value.trussness;
    PyObject* made = PyStructSequence_New(change_type());
    if (!made) throw py::error_already_set();
    PyStructSequence_SetItem(made, 0, edges.release().ptr());
    PyStructSequence_SetItem(made, 1, numbers.release().ptr());
    return py::reinterpret_steal<py::object>(made);
}

class Kernel {
 public:
    Kernel(const py::array& edges, std::int64_t stride) {
        std::vector<Ends> batch;
        read(edges, batch);
        const WithoutGil released;
        engine_ = std::make_unique<truss::Engine>(std::move(batch), stride);
    }

    py::object update(const py::array& added, const py::array& removed) {
        read(added, added_);
        read(removed, removed_);
        {
            const WithoutGil released;
            engine_->update(added_, removed_);
        }
        return write(engine_->values());
    }

    std::int32_t trussness(std::int32_t u, std::int32_t v) const {
        return engine_->state().order[find(u, v)].trussness;
    }

    py::object edges() const {
        const truss::PeelOrder& order = engine_->state().order;
        std::vector<truss::Value> values;
        {
            const WithoutGil released;
            values.reserve(static_cast<std::size_t>(order.size()));
            for (truss::EdgeId edge = 0; edge < order.records(); ++edge)
                if (order.is_live(edge)) values.push_back({order.ends(edge), order[edge].trussness});
            std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.ends < b.ends; });
        }
        return write(values);
    }

    std::vector<std::string> violations() const {
        const WithoutGil released;
        return truss::Audit(engine_->state()).whole();
    }

    std::vector<std::string> violations_of(const py::array& edges) const {
        std::vector<Ends> batch;
        read(edges, batch);
        const WithoutGil released;
        return truss::Audit(engine_->state()).of(batch);
    }

    // Corrupts the value of one edge for tests of the self-check.
    void overwrite(std::int32_t u, std::int32_t v, std::int32_t value) {
        engine_->state().order[find(u, v)].trussness = value;
    }

    std::int64_t size() const { return engine_->state().order.size(); }
    std::int64_t work() const { return engine_->state().work; }
    std::size_t memory_bytes() const { return engine_->memory_bytes(); }

 private:
    truss::EdgeId find(std::int32_t u, std::int32_t v) const {
        const truss::EdgeId edge = engine_->state().adjacency.find(u, v);
        if (edge == truss::none) throw py::key_error(truss::name({u, v}) + " is not there");
        return edge;
    }

    std::unique_ptr<truss::Engine> engine_;
    std::vector<Ends> added_, removed_;
};

// The adjacency alone, as the baseline of the benchmark: the same structure with its checks, without trussness.
class BareAdjacency {
 public:
    void insert(const py::array& edges) {
        read(edges, batch_);
        const WithoutGil released;
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
    module.doc() = "Compiled kernel of graphtide.graph.algorithms.trussness.";
    module.attr("TrussnessChange") = py::handle(reinterpret_cast<PyObject*>(change_type()));
    // The class itself, not a base of one in Python: pybind11 finds the object of a subclass by a look-up for each call.
    py::class_<Kernel>(module, "Trussness")
        .def(py::init<const py::array&, std::int64_t>(), py::arg("edges"), py::kw_only(),
             py::arg("stride") = truss::PeelOrder::usual_stride)
        .def("update", &Kernel::update, py::arg("added"), py::arg("removed"))
        .def("trussness", &Kernel::trussness, py::arg("u"), py::arg("v"))
        .def("edges", &Kernel::edges)
        .def("violations", &Kernel::violations)
        .def("violations_of", &Kernel::violations_of, py::arg("edges"))
        .def("work", &Kernel::work)
        .def("memory_bytes", &Kernel::memory_bytes)
        .def("overwrite", &Kernel::overwrite, py::arg("u"), py::arg("v"), py::arg("value"))
        .def("__len__", &Kernel::size);
    py::class_<BareAdjacency>(module, "BareAdjacency")
        .def(py::init<>())
        .def("insert", &BareAdjacency::insert, py::arg("edges"))
        .def("__len__", &BareAdjacency::size);
}
